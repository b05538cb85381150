/* CIRCULAR_BUFFER: one slot. */
#ifndef KIBI_CIRCULAR_BUFFER_S8_H
#define KIBI_CIRCULAR_BUFFER_S8_H

#include "kibi.h"

typedef struct {
    int32_t pieces; /* pointers that hold the newest slot one after another */
    int32_t piece_bytes;
    int32_t cycles; /* at least 1: of so many inferences the last one gives outputs */
} kibi_circular_buffer_s8_params;

/* output: [pieces][piece_bytes]; may overlap the slot of the memory in any way.
 * rows: pieces pointers to [piece_bytes], the newest slot; then one to the slot of the memory that moves here, of all pieces
 * together; or NULL for the last slot, which the newest becomes.
 * scratch: none.
 * states: one pointer to an int32_t: how many more inferences there must be before outputs are given, 0 for none; changed by the
 * last slot. */
void kibi_circular_buffer_s8(int8_t *output, const int8_t *const *rows, const kibi_circular_buffer_s8_params *params,
                             void *scratch, void *const *states);

#endif
