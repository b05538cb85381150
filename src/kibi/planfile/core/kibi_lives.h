/* Which bytes of an arena hold something between two steps of an inference. Only the core includes it. */
#ifndef KIBI_LIVES_H
#define KIBI_LIVES_H

#include "kibi_core.h"

/* So many parts of an arena are told apart; where there are more, some bytes count as taken that are free. */
#ifndef KIBI_CORE_PARTS
#define KIBI_CORE_PARTS 64
#endif

/* What bytes are: not touched so far, free, or taken. */
enum { KIBI_UNTOUCHED, KIBI_FREE, KIBI_TAKEN };

/* The parts of an arena, by ascending address. */
typedef struct {
    uint32_t count;
    uint32_t first[KIBI_CORE_PARTS + 1]; /* the byte at which each begins; after the last one the arena's size */
    uint8_t use[KIBI_CORE_PARTS];        /* no two neighbours have the same, but for those that were not touched */
} kibi_parts;

/* Moves a place on by so many steps, or to the end of the order; returns by how many. */
uint32_t kibi_advance(const kibi_model *model, kibi_position *place, uint32_t steps);

/* How many steps an inference has run at its place. */
uint32_t kibi_steps_done(const kibi_model *model);

/* Finds which bytes of the arena are taken while the next `steps` steps run: those that these write, and those that are read from
 * then on before they are written. */
void kibi_parts_of(kibi_parts *parts, const kibi_model *model, uint32_t steps);

#endif
