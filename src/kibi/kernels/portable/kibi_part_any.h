/* PART: some of the bytes of a bundle. */
#ifndef KIBI_PART_ANY_H
#define KIBI_PART_ANY_H

#include "kibi.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    int32_t offset; /* of the first byte in the bundle */
    int32_t bytes;  /* how many are copied */
} kibi_part_any_params;

/* output: [bytes].
 * rows: one pointer to the bundle, of at least offset + bytes; no overlap with output.
 * scratch: none. */
void kibi_part_any(void *output, const void *const *rows, const kibi_part_any_params *params, void *scratch);

#ifdef __cplusplus
}
#endif

#endif
