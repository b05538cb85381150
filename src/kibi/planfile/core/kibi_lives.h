/* Which bytes of an arena hold something between two steps of an inference. Only the core includes it. */
#ifndef KIBI_LIVES_H
#define KIBI_LIVES_H

#include "kibi_core.h"

/* So many nodes have their steps counted once for all; those after them are counted each time that it matters. */
#ifndef KIBI_CORE_COUNTED
#define KIBI_CORE_COUNTED 64
#endif

/* A part of an inference: from one place in the order to another. */
typedef struct {
    const kibi_model *model;
    kibi_position now, until;         /* the next step at its start, and at its end */
    uint16_t done[KIBI_CORE_COUNTED]; /* how many steps each node has run at its start, */
    uint16_t due[KIBI_CORE_COUNTED];  /* and at its end */
} kibi_span;

/* Moves a place on by so many steps, or to the end of the order; returns by how many. */
uint32_t kibi_advance(const kibi_model *model, kibi_position *place, uint32_t steps);

/* How many steps an inference has run at its place. */
uint32_t kibi_steps_done(const kibi_model *model);

/* The next `steps` steps of an inference. */
void kibi_span_of(kibi_span *span, const kibi_model *model, uint32_t steps);

/* Finds the first run of bytes of the arena, from a byte on, that hold something during a part of an inference: they are written
 * before its end, and read later than its start, or they are scratch of its steps. Returns where it begins; `end` is one byte after it.
 * UINT32_MAX: there is none. */
uint32_t kibi_occupied(const kibi_span *span, uint32_t from, uint32_t *end);

/* Of kibi_core.c: whether a model has all its memory; and the entry of a tensor's table, or the place in its ring, for a row. */
kibi_status kibi_ready(const kibi_model *model);
uint32_t kibi_placed(const uint8_t *file, const kibi_file_tensor *tensor, uint32_t row);

#endif
