/* The runs of a graph: what a file says of the next steps. Only the core includes it. */
#ifndef KIBI_RUNS_H
#define KIBI_RUNS_H

#include "kibi_core.h"
#include "kibi_features.h"

/* The most graphs that a kernel runs, and slots for them: each has five pointers, and a pointer leads to it. */
#define KIBI_MOST_BODIES 2u
#define KIBI_GRAPH_SLOTS 12u

/* 16-bit numbers of an entry in a run. */
#define KIBI_WIDTH(graph) (KIBI_CORE_WIDE ? (graph)->width : 1u)

#if defined(__GNUC__)
#define KIBI_INLINE static inline __attribute__((always_inline))
#else
#define KIBI_INLINE static inline
#endif

/* A run: some steps of a node. */
typedef struct {
    const kibi_file_node *node;
    const uint16_t *entries; /* of its first step; then how far each pointer moves on, where there are several steps */
    const uint16_t *next;    /* the run after it */
    uint32_t count;          /* steps */
    uint32_t first;          /* number of the first step; 0 where the node does not count */
} kibi_run;

/* Reads a run that is known to be right. */
KIBI_INLINE kibi_run kibi_read_run(const uint8_t *file, const kibi_file_graph *graph, const uint16_t *at)
{
    const uint32_t head = *at++;
    const kibi_file_node *const node =
        (const kibi_file_node *)(const void *)(file + graph->nodes) + (head & ~KIBI_MANY);
    uint32_t numbers = node->pointers * KIBI_WIDTH(graph);
    kibi_run run = {node, NULL, NULL, 1, 0};
    if ((head & KIBI_MANY) != 0) {
        run.count = *at++;
        numbers *= 2u;
    }
    if ((node->flags & KIBI_KIND_COUNTS) != 0) {
        run.first = *at++;
    }
    run.entries = at;
    run.next = at + numbers;
    return run;
}

/* An entry of a run, or how far a pointer moves on: the number at an index. */
KIBI_INLINE uint32_t kibi_entry(const kibi_file_graph *graph, const uint16_t *entries, uint32_t index)
{
    entries += index * KIBI_WIDTH(graph);
    return KIBI_WIDTH(graph) == 1u ? entries[0] : entries[0] | (uint32_t)entries[1] << 16;
}

/* How far a pointer of a run with several steps has moved after so many of them: modulo 2^32. */
KIBI_INLINE uint32_t kibi_moved(const kibi_file_graph *graph, const kibi_run *run, uint32_t index, uint32_t steps)
{
    const uint32_t number = kibi_entry(graph, run->entries, run->node->pointers + index);
    const int32_t distance = KIBI_WIDTH(graph) == 1u ? (int16_t)number : (int32_t)number;
    return (uint32_t)distance * steps;
}

/* Bytes of one of the memories: kibi_core.c. NULL for a null pointer. */
uint8_t *kibi_bytes_at(const kibi_model *model, uint32_t memory, uint32_t offset);

/* Whether a model has all its memory: kibi_core.c. */
kibi_status kibi_ready(const kibi_model *model);

#endif
