/* Saves an inference that is paused, and goes on with it after power was lost. */
#ifndef KIBI_CHECKPOINT_H
#define KIBI_CHECKPOINT_H

#include "kernels/kibi_newest_slot.h"
#include "kibi_core.h"

#ifdef __cplusplus
extern "C" {
#endif

/* For models in one arena that store their inputs and outputs: KIBI_ERROR_SEQUENCE where inputs arrive by the row, and where the
 * caller owns buffers. */

/* How many bytes of a slot a checkpoint takes that is written now; 0 where none can be. None takes more than
 * `sizeof (kibi_slot_head)`, the file's arena_bytes and its state_bytes together; 4 more with KIBI_CORE_WEIGHTS=1. */
uint32_t kibi_model_checkpoint_bytes(const kibi_model *model);

/* Saves what is needed to go on from here into the older one of two slots. KIBI_ERROR_STORAGE if your function failed: the other slot
 * is as it was. KIBI_ERROR_ARENA_LEASE: the bytes are somebody else's. */
kibi_status kibi_model_checkpoint(kibi_model *model, const kibi_slots *slots);

/* Restores the newest checkpoint that is complete: kibi_model_run_for goes on from there. KIBI_ERROR_CHECKPOINT if neither slot has one
 * of this file; KIBI_ERROR_STORAGE if your function failed, and variables have their first values then. Both times the next inference
 * begins anew. With KIBI_CORE_WEIGHTS=1 an inference that had begun, and that goes on with other weights than those that were there
 * when it was saved, ends with KIBI_DIRTY. */
kibi_status kibi_model_resume(kibi_model *model, const kibi_slots *slots);

#ifdef __cplusplus
}
#endif

#endif
