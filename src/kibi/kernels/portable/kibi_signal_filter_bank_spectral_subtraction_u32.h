/* SignalFilterBankSpectralSubtraction: all at once. */
#ifndef KIBI_SIGNAL_FILTER_BANK_SPECTRAL_SUBTRACTION_U32_H
#define KIBI_SIGNAL_FILTER_BANK_SPECTRAL_SUBTRACTION_U32_H

#include "kibi.h"

typedef struct {
    int32_t elements;
    int32_t clamps;                        /* not 0: the estimate that is kept is at most the shifted signal */
    int32_t smoothing;                     /* factor of the signal, for even channels */
    int32_t one_minus_smoothing;           /* factor of the last estimate, for even channels */
    int32_t alternate_smoothing;           /* factor of the signal, for odd channels */
    int32_t alternate_one_minus_smoothing; /* factor of the last estimate, for odd channels */
    int32_t min_signal_remaining;          /* factor of the signal; the output is at least the product */
    int32_t smoothing_bits;                /* 0 to 31: the signal is shifted to the left before it is multiplied */
    int32_t spectral_subtraction_bits;     /* 0 to 63: products with the factors are shifted to the right */
} kibi_signal_filter_bank_spectral_subtraction_u32_params;

/* outputs: [elements] uint32_t; [elements] uint32_t, the estimates.
 * rows: one pointer to [elements]; each output may begin at the same byte or below.
 * scratch: none.
 * states: [elements] uint32_t, the estimates. */
void kibi_signal_filter_bank_spectral_subtraction_u32(void *const *outputs, const uint32_t *const *rows,
    const kibi_signal_filter_bank_spectral_subtraction_u32_params *params, void *scratch, void *const *states);

#endif
