/* A graph inside of an operator: a function in the generated library, and where it takes and leaves its elements. */
#ifndef KIBI_SUBGRAPH_H
#define KIBI_SUBGRAPH_H

#include "kibi.h"

typedef struct kibi_subgraph {
    /* one inference of the body, which is given itself; not 0 where a loop inside reached its limit */
    int (*run)(const struct kibi_subgraph *body, uint8_t *arena);
    const uint32_t *inputs;  /* for each input the byte of the arena at which it begins */
    const uint32_t *outputs; /* the same for each output; two never share bytes */
} kibi_subgraph;

#endif
