/* SignalFilterBankLog: all at once. */
#ifndef KIBI_SIGNAL_FILTER_BANK_LOG_U32_H
#define KIBI_SIGNAL_FILTER_BANK_LOG_U32_H

#include "kibi.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    int32_t elements;
    int32_t correction_bits; /* 0 to 31: the input is shifted to the left */
    int32_t output_scale;
    const int16_t *curve;    /* [129]: by how much log2(1 + k / 128) exceeds k / 128, with 16 fraction bits */
} kibi_signal_filter_bank_log_u32_params;

/* output: [elements]; may be the input, or lie below it.
 * rows: one pointer to [elements].
 * scratch: none. */
void kibi_signal_filter_bank_log_u32(int16_t *output, const uint32_t *const *rows,
                                     const kibi_signal_filter_bank_log_u32_params *params, void *scratch);

#ifdef __cplusplus
}
#endif

#endif
