/* CIRCULAR_BUFFER: the newest rows. */
#ifndef KIBI_CIRCULAR_BUFFER_S8_H
#define KIBI_CIRCULAR_BUFFER_S8_H

#include "kibi.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    int32_t pieces; /* of the new row */
    int32_t piece_bytes;
    int32_t kept;      /* rows that stay, of the pieces' size together; 0 where there is only the new one */
    int32_t cycles;    /* inferences of which the last gives outputs; at least 1 */
} kibi_circular_buffer_s8_params;

/* output: [kept + 1][pieces * piece_bytes]; may begin at the first row of the memory, or below it, if rows lie in order.
 * rows: pieces pointers to [piece_bytes]; then, where rows are kept, kept + 1 pointers to the rows of the memory, the oldest
 * first.
 * scratch: none.
 * states: one pointer to an int32_t: how many more inferences there must be before outputs are given, 0 for none; changed. */
void kibi_circular_buffer_s8(int8_t *output, const int8_t *const *rows, const kibi_circular_buffer_s8_params *params,
                             void *scratch, void *const *states);

#ifdef __cplusplus
}
#endif

#endif
