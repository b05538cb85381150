/* A graph inside of an operator: a function in the generated library, and where it takes and leaves its elements. */
#ifndef KIBI_SUBGRAPH_H
#define KIBI_SUBGRAPH_H

#include "kibi.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    int (*run)(uint8_t *arena); /* one inference of the body; not 0 where a loop inside reached its limit */
    const uint32_t *inputs;     /* for each input the byte of the arena at which it begins */
    const uint32_t *outputs;    /* the same for each output; two never share bytes */
} kibi_subgraph;

/* Zeros behind output `i`, where several lie in a bundle: each begins at a multiple of 8. `pieces` has two numbers of each output:
 * where it begins, and its bytes. */
static inline void kibi_pad_output(uint8_t *output, const int32_t *pieces, int32_t i, int32_t outputs)
{
    const int32_t end = pieces[2 * i] + pieces[2 * i + 1];
    for (int32_t k = end; outputs > 1 && k % 8 != 0; ++k) {
        output[k] = 0;
    }
}

#ifdef __cplusplus
}
#endif

#endif
