/* Lends bytes of an arena while an inference is paused. */
#ifndef KIBI_SPARE_H
#define KIBI_SPARE_H

#include "kibi_core.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The largest run of bytes of the arena that stays free while the next `steps` row steps run; with 0, until the next call that
 * computes. 0 bytes where none is. Before an inference begins, all bytes but those of the inputs are free: read outputs first.
 * A row that is pushed counts as a step. KIBI_ERROR_ARENA_LEASE: the bytes are somebody else's. */
kibi_status kibi_model_spare(const kibi_model *model, uint32_t steps, void **from, size_t *bytes);

#ifdef __cplusplus
}
#endif

#endif
