/* BROADCAST_ARGS: each kernel computes the shape that two shapes broadcast to. */
#ifndef KIBI_BROADCAST_ARGS_H
#define KIBI_BROADCAST_ARGS_H

#include "kibi.h"

typedef struct {
    int32_t elements1; /* of the first shape */
    int32_t elements2; /* of the second shape */
    int32_t elements;  /* of the output: the larger of both */
} kibi_broadcast_args_params;

/* Each of the following:
 * output: [elements]; may overlap a shape of as many elements, or begin below it; below a shorter one it begins by at least as much
 * as that one is shorter.
 * rows: the two shapes; where sizes differ and none is 1, the first counts.
 * scratch: none. */

/* BROADCAST_ARGS of int32: the shape that two shapes broadcast to. */
void kibi_broadcast_args_s32(int32_t *output, const int32_t *const *rows, const kibi_broadcast_args_params *params,
                             void *scratch);

/* BROADCAST_ARGS of int64: the shape that two shapes broadcast to. */
void kibi_broadcast_args_s64(int64_t *output, const int64_t *const *rows, const kibi_broadcast_args_params *params,
                             void *scratch);

#endif
