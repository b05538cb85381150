/* BROADCAST_ARGS of int64: the shape that two shapes broadcast to. */
#ifndef KIBI_BROADCAST_ARGS_S64_H
#define KIBI_BROADCAST_ARGS_S64_H

#include "kibi.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    int32_t elements1; /* of the first shape */
    int32_t elements2; /* of the second shape */
    int32_t elements;  /* of the output: the larger of both */
} kibi_broadcast_args_s64_params;

/* output: [elements]; may overlap a shape of as many elements, or begin below it; below a shorter one it begins by at least as much
 * as that one is shorter.
 * rows: the two shapes; where sizes differ and none is 1, the first counts.
 * scratch: none. */
void kibi_broadcast_args_s64(int64_t *output, const int64_t *const *rows,
                             const kibi_broadcast_args_s64_params *params, void *scratch);

#ifdef __cplusplus
}
#endif

#endif
