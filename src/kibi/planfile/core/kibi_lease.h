/* The lease: a word before a model's bytes in the arena says whose they are. Only the core includes it. */
#ifndef KIBI_LEASE_H
#define KIBI_LEASE_H

#include "kibi_core.h"

/* 1: models notice that somebody else has used their arena, which takes 4 bytes more; 0: no byte of RAM or code. All files of a core
 * are compiled with the same. */
#ifndef KIBI_CORE_LEASE
#define KIBI_CORE_LEASE 0
#endif

/* Bytes before those that the plan places: the word, and what keeps the alignment. */
#define KIBI_LEAD_BYTES(header) \
    (KIBI_CORE_LEASE == 0 ? 0u : (header)->arena_alignment < 4u ? 4u : (header)->arena_alignment)

/* Input `index` is about to be written: the bytes become the model's. An inference that lost them is forgotten. */
void kibi_lease_hand_over(kibi_model *model, unsigned index);

/* Makes the bytes the model's, with all of its inputs in them. */
void kibi_lease_take(const kibi_model *model);

/* Whether the bytes are still the model's, with all of its inputs. */
int kibi_lease_holds(const kibi_model *model);

/* The same for a call that computes. Where no input is in the arena, an inference that begins takes the bytes. */
int kibi_lease_begins(const kibi_model *model);

#endif
