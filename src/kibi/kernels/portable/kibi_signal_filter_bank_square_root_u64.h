/* SignalFilterBankSquareRoot: all at once. */
#ifndef KIBI_SIGNAL_FILTER_BANK_SQUARE_ROOT_U64_H
#define KIBI_SIGNAL_FILTER_BANK_SQUARE_ROOT_U64_H

#include "kibi.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    int32_t elements; /* of a row */
} kibi_signal_filter_bank_square_root_u64_params;

/* output: [elements] uint32_t; may be an input, or lie below it.
 * rows: two pointers: to [elements] uint64_t, and to one int32_t, of which the lowest five bits count.
 * scratch: none. */
void kibi_signal_filter_bank_square_root_u64(void *output, const void *const *rows,
    const kibi_signal_filter_bank_square_root_u64_params *params, void *scratch);

#ifdef __cplusplus
}
#endif

#endif
