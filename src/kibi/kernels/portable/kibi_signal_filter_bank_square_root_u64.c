/* SignalFilterBankSquareRoot, portable. Rule N44. */
#include "kibi_signal_filter_bank.h"

/* Rounded to the nearest; 0xffff of what has 32 bits, and 0xffffffff, are not rounded up. */
static uint32_t root(uint64_t value)
{
    const uint32_t most = value >> 32 == 0 ? UINT16_MAX : UINT32_MAX;
    uint64_t bit = value >> 32 == 0 ? UINT64_C(1) << 30 : UINT64_C(1) << 62;
    uint64_t found = 0;
    while (bit > value) {
        bit >>= 2;
    }
    while (bit != 0) {
        if (value >= found + bit) {
            value -= found + bit;
            found = (found >> 1) + bit;
        } else {
            found >>= 1;
        }
        bit >>= 2;
    }
    return value > found && found != most ? (uint32_t)found + 1 : (uint32_t)found;
}

void kibi_signal_filter_bank_square_root_u64(void *output, const void *const *rows, const kibi_elements_params *params,
                                             void *scratch)
{
    uint32_t *const roots = (uint32_t *)output;
    const uint64_t *const input = (const uint64_t *)rows[0];
    const int32_t bits = *(const int32_t *)rows[1] & 31;
    (void)scratch;
    for (int32_t i = 0; i < params->elements; ++i) {
        roots[i] = root(input[i]) >> bits;
    }
}
