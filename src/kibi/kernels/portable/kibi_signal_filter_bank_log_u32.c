/* SignalFilterBankLog, portable. Rule N45. */
#include "kibi_signal_filter_bank.h"

enum { LN_2 = 45426, HALF = 1 << 15 };

/* With 16 bits after the point; the value is not 0. */
static uint32_t log2_of(uint32_t value, const int16_t *curve)
{
    uint32_t whole = 0;
    uint32_t fraction;
    uint32_t segment;
    int32_t inside;
    for (uint32_t rest = value >> 1; rest != 0; rest >>= 1) {
        ++whole;
    }
    fraction = value - ((uint32_t)1 << whole);
    fraction = whole < 16 ? fraction << (16 - whole) : fraction >> (whole - 16);
    segment = fraction >> 9;
    inside = (int32_t)(fraction & 511u);
    inside = ((curve[segment + 1] - curve[segment]) * inside) >> 16;
    return (whole << 16) + fraction + (uint32_t)(curve[segment] + inside);
}

void kibi_signal_filter_bank_log_u32(int16_t *output, const uint32_t *const *rows,
                                     const kibi_signal_filter_bank_log_u32_params *params, void *scratch)
{
    const uint32_t *const input = rows[0];
    (void)scratch;
    for (int32_t i = 0; i < params->elements; ++i) {
        const uint32_t value = input[i] << params->correction_bits;
        uint32_t scaled = 0;
        if (value > 1) {
            const uint32_t natural = (uint32_t)(((uint64_t)LN_2 * log2_of(value,
                                                                          KIBI_AT(int16_t, params,
                                                                                  curve)) + HALF) >> 16);
            scaled = ((uint32_t)params->output_scale * natural + HALF) >> 16;
        }
        output[i] = (int16_t)(scaled < INT16_MAX ? scaled : INT16_MAX);
    }
}
