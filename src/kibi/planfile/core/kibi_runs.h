/* The runs of a graph: what a file says of the next steps. Only the core includes it. */
#ifndef KIBI_RUNS_H
#define KIBI_RUNS_H

#include "kibi_core.h"
#include "kibi_features.h"

/* The most slots of a step that this core has room for: pointers to rows, outputs and states. */
#ifndef KIBI_CORE_SLOTS
#define KIBI_CORE_SLOTS 1024
#endif

/* Bytes of an entry in a run. One byte names a 16-bit number in the table before the runs. */
#define KIBI_WIDTH(graph) (KIBI_CORE_HALVES || KIBI_CORE_WIDE ? (graph)->width : 1u)

#if defined(__GNUC__)
#define KIBI_INLINE static inline __attribute__((always_inline))
#else
#define KIBI_INLINE static inline
#endif

/* Keeps a compiler from computing a pointer anew wherever it is used. */
#if defined(__GNUC__)
#define KIBI_HIDDEN(pointer) __asm__("" : "+r"(pointer))
#else
#define KIBI_HIDDEN(pointer) ((void)0)
#endif

/* Says that a condition holds rarely: what happens then is not on the way of the others. */
#if defined(__GNUC__)
#define KIBI_RARELY(condition) (__builtin_expect((condition), 0) != 0)
#else
#define KIBI_RARELY(condition) (condition)
#endif

/* What ended a call of kibi_run_model: all is done, an operator waits for further inferences, a loop has taken too many turns, the
 * steps were used up, or a row of an input must come next. */
enum {
    KIBI_ENDED_DONE = 0,
    KIBI_ENDED_WAITS = 1,
    KIBI_ENDED_AT_LIMIT = 2,
    KIBI_ENDED_PAUSED = 3,
    KIBI_ENDED_NEEDS_ROW = 4
};

/* Added to what ended an inference: it read bytes before they were written, and it reads bytes after they were written. */
#define KIBI_TAG_OLD 16
#define KIBI_TAG_NEW 32
#define KIBI_TAGS (KIBI_CORE_WEIGHTS * (KIBI_TAG_OLD | KIBI_TAG_NEW))

KIBI_INLINE const void *kibi_at(const kibi_model *model, uint32_t offset)
{
    return model->file + offset;
}

KIBI_INLINE const kibi_file_header *kibi_header_of(const kibi_model *model)
{
    return (const kibi_file_header *)(const void *)model->file;
}

/* The bytes of the state, which are numbered after those of the arena. */
#define KIBI_STATE_BYTES(header) (KIBI_CORE_STATES ? (header)->state_bytes : 0u)

/* A run: some steps of a node. */
typedef struct {
    const kibi_file_node *node;
    const uint8_t *entries; /* of its first step; then how far each pointer moves on, where there are several steps */
    const uint8_t *next;    /* the run after it */
    uint32_t count;         /* steps */
    uint32_t first;         /* number of the first step; 0 where the node does not count */
#if KIBI_CORE_SPACED
    uint32_t spaced;        /* pointers to inputs that are evenly spaced: an entry and a distance say where they lead */
#endif
} kibi_run;

/* So many pointers, the first ones of a step, are evenly spaced. */
KIBI_INLINE uint32_t kibi_spaced(const kibi_run *run)
{
#if KIBI_CORE_SPACED
    return run->spaced;
#else
    (void)run;
    return 0;
#endif
}

/* The 16-bit numbers of a graph whose entries are bytes. */
KIBI_INLINE const uint16_t *kibi_table(const uint8_t *file, const kibi_file_graph *graph)
{
    return (const uint16_t *)(const void *)(file + graph->runs - KIBI_TABLE_BYTES);
}

/* One of a run's first numbers, which have a byte or two. */
KIBI_INLINE uint32_t kibi_number(const kibi_file_graph *graph, const uint8_t *at)
{
    return KIBI_WIDTH(graph) == 1u ? at[0] : *(const uint16_t *)(const void *)at;
}

/* Reads a run that is known to be right. */
KIBI_INLINE kibi_run kibi_read_run(const uint8_t *file, const kibi_file_graph *graph, const uint8_t *at)
{
    const uint32_t head = kibi_number(graph, at), size = KIBI_WIDTH(graph) == 1u ? 1u : 2u;
    const kibi_file_node *const node = (const kibi_file_node *)(const void *)(file + graph->nodes) + head / 2u;
    uint32_t numbers = node->pointers;
    kibi_run run = {.node = node, .count = 1};
    at += size;
    if ((head & KIBI_MANY) != 0) {
        run.count = kibi_number(graph, at);
        at += size;
        numbers *= 2u;
#if KIBI_CORE_SPACED
        if (run.count == 0 && node->rows != 0) { /* it has one step */
            run.count = 1;
            run.spaced = node->rows;
            numbers = node->pointers - node->rows + 2u;
        }
#endif
    }
    if ((node->flags & KIBI_KIND_COUNTS) != 0) {
        run.first = kibi_number(graph, at);
        at += size;
    }
    run.entries = at;
    run.next = at + numbers * KIBI_WIDTH(graph);
    return run;
}

/* An entry of a run, or how far a pointer moves on: the number at an index. */
KIBI_INLINE uint32_t kibi_entry(const uint8_t *file, const kibi_file_graph *graph, const uint8_t *entries, uint32_t index)
{
    if (KIBI_WIDTH(graph) == 1u) {
        return kibi_table(file, graph)[entries[index]];
    }
    const uint16_t *const entry = (const uint16_t *)(const void *)entries + index * (KIBI_WIDTH(graph) / 2u);
    return !KIBI_CORE_WIDE || KIBI_WIDTH(graph) == 2u ? entry[0] : entry[0] | (uint32_t)entry[1] << 16;
}

/* The number of the entry of a pointer. */
KIBI_INLINE uint32_t kibi_entry_of(const kibi_run *run, uint32_t index)
{
    const uint32_t spaced = kibi_spaced(run);
    return spaced == 0 ? index : index < spaced ? 0 : index - spaced + 2u;
}

/* How far after the place of its entry a pointer leads, in a step that so many steps of its run precede: modulo 2^32. */
KIBI_INLINE uint32_t kibi_moved(const uint8_t *file, const kibi_file_graph *graph, const kibi_run *run, uint32_t index,
                                uint32_t steps)
{
    const int is_spaced = index < kibi_spaced(run);
    const uint32_t times = is_spaced ? index : steps;
    if (times == 0) {
        return 0;
    }
    const uint32_t number = kibi_entry(file, graph, run->entries, is_spaced ? 1u : run->node->pointers + index);
    const int32_t distance = !KIBI_CORE_WIDE || KIBI_WIDTH(graph) != 4u ? (int16_t)number : (int32_t)number;
    return (uint32_t)distance * times;
}

/* Goes on with an inference, given a row or NULL, for up to so many steps: kibi_run.c. */
int kibi_run_model(kibi_model *model, const void *row, uint32_t steps);

/* Bytes of one of the memories: kibi_run.c. NULL for a null pointer. */
uint8_t *kibi_bytes_at(const kibi_model *model, uint32_t memory, uint32_t offset);

/* Returns 1 if the header describes a plan file that this core can read, else 0: kibi_core.c. */
int kibi_is_file(const void *file, size_t bytes);

/* Opens a model without a look at its graphs: kibi_core.c. */
kibi_status kibi_open_file(kibi_model *model, const void *file, size_t bytes, const kibi_kernels *kernels, void *arena,
                           size_t arena_bytes);

/* Notes whether each kernel is where the file expects it; of a model whose graphs are right: kibi_core.c. */
void kibi_expect_kernels(kibi_model *model);

/* Whether a model has all its memory: kibi_core.c. */
kibi_status kibi_ready(const kibi_model *model);

#endif
