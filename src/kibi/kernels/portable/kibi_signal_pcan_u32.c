/* SignalPCAN, portable. Rule N46. */
#include "kibi_signal_pcan_u32.h"

static int16_t gain_of(uint32_t noise, const int16_t *lut)
{
    int32_t bits = 0;
    int32_t fraction;
    int32_t rise;
    if (noise <= 2) {
        return lut[noise];
    }
    for (uint32_t rest = noise; rest != 0; rest >>= 1) {
        ++bits;
    }
    lut += 4 * bits - 6;
    fraction = (int32_t)((bits < 11 ? noise << (11 - bits) : noise >> (bits - 11)) & 0x3ffu);
    rise = ((lut[2] * fraction) >> 5) + lut[1] * 32;
    return (int16_t)(lut[0] + ((rise * fraction + (1 << 14)) >> 15));
}

void kibi_signal_pcan_u32(uint32_t *output, const uint32_t *const *rows,
                          const kibi_signal_pcan_u32_params *params, void *scratch)
{
    (void)scratch;
    for (int32_t i = 0; i < params->elements; ++i) {
        const uint32_t gain = (uint32_t)gain_of(rows[1][i], KIBI_AT(int16_t, params, gain_lut));
        const uint32_t ratio = (uint32_t)(((uint64_t)rows[0][i] * gain) >> params->snr_shift);
        output[i] = ratio < (2u << 12) ? (ratio * ratio) >> 20 : (ratio >> 6) - 64;
    }
}
