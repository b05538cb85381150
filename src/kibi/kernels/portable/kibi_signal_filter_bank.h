/* SIGNAL_FILTER_BANK, its logarithm and its square root: each kernel computes one output row. */
#ifndef KIBI_SIGNAL_FILTER_BANK_H
#define KIBI_SIGNAL_FILTER_BANK_H

#include "kibi_unary.h"

typedef struct {
    int32_t elements;
    int32_t correction_bits; /* 0 to 31: the input is shifted to the left */
    int32_t output_scale;
    const int16_t *curve;    /* [129]: by how much log2(1 + k / 128) exceeds k / 128, with 16 fraction bits */
} kibi_signal_filter_bank_log_u32_params;

/* SignalFilterBankLog: all at once.
 * output: [elements]; may be the input, or begin below it.
 * rows: one pointer to [elements].
 * scratch: none. */
void kibi_signal_filter_bank_log_u32(int16_t *output, const uint32_t *const *rows,
                                     const kibi_signal_filter_bank_log_u32_params *params, void *scratch);

typedef struct {
    int32_t channels;                /* bands */
    const int16_t *weights;          /* factors of the band that ends with a stretch */
    const int16_t *unweights;        /* factors of the band that begins with a stretch, as many */
    const int16_t *frequency_starts; /* [channels + 1], the first energy of each stretch */
    const int16_t *weight_starts;    /* [channels + 1], the first weight and unweight of each stretch */
    const int16_t *widths;           /* [channels + 1], energies of each stretch */
} kibi_signal_filter_bank_u32_params;

/* SignalFilterBank: all at once.
 * output: [channels]; does not overlap the input.
 * rows: one pointer to the energies; every stretch is within them, and within the weights.
 * scratch: none. */
void kibi_signal_filter_bank_u32(uint64_t *output, const uint32_t *const *rows,
                                 const kibi_signal_filter_bank_u32_params *params, void *scratch);

/* SignalFilterBankSquareRoot: all at once.
 * output: [elements] uint32_t; may be an input, or begin below it.
 * rows: two pointers: to [elements] uint64_t, and to one int32_t, of which the lowest five bits count.
 * scratch: none. */
void kibi_signal_filter_bank_square_root_u64(void *output, const void *const *rows, const kibi_elements_params *params,
                                             void *scratch);

#endif
