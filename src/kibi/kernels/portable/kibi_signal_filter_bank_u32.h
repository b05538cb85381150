/* SignalFilterBank: all at once. */
#ifndef KIBI_SIGNAL_FILTER_BANK_U32_H
#define KIBI_SIGNAL_FILTER_BANK_U32_H

#include "kibi.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    int32_t channels;                /* bands */
    const int16_t *weights;          /* factors of the band that ends with a stretch */
    const int16_t *unweights;        /* factors of the band that begins with a stretch, as many */
    const int16_t *frequency_starts; /* [channels + 1], the first energy of each stretch */
    const int16_t *weight_starts;    /* [channels + 1], the first weight and unweight of each stretch */
    const int16_t *widths;           /* [channels + 1], energies of each stretch */
} kibi_signal_filter_bank_u32_params;

/* output: [channels]; lies apart from the input.
 * rows: one pointer to the energies; every stretch lies within them, and within the weights.
 * scratch: none. */
void kibi_signal_filter_bank_u32(uint64_t *output, const uint32_t *const *rows,
                                 const kibi_signal_filter_bank_u32_params *params, void *scratch);

#ifdef __cplusplus
}
#endif

#endif
