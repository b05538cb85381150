/* kibi_frame_difference_s8.h */
#ifndef KIBI_FRAME_DIFFERENCE_S8_H
#define KIBI_FRAME_DIFFERENCE_S8_H

#include "kibi.h"

typedef struct {
    int32_t elements;          /* of a row */
    int32_t threshold;         /* 0 … 255 */
    int32_t output_zero_point; /* -128 … 127 */
} kibi_frame_difference_s8_params;

/* output: [elements]; may be one of the rows, or begin below it.
 * rows: two pointers to [elements]: the frame's row, the background's.
 * scratch: none. */
void kibi_frame_difference_s8(int8_t *output, const int8_t *const *rows, const kibi_frame_difference_s8_params *params,
                              void *scratch);

#endif
