/* Writes weights of a plan file that is in memory which can be written byte by byte, such as RAM or FRAM. */
#ifndef KIBI_WEIGHTS_H
#define KIBI_WEIGHTS_H

#include "kibi_core.h"

#ifdef __cplusplus
extern "C" {
#endif

#if KIBI_CORE_WEIGHTS
/* Exchanges `count` bytes of the model's file from byte `offset` on with `bytes`, which have the old ones then; between two calls that
 * compute, also in the middle of an inference. The file must have fences: `kibi compile --format plan --fences`.
 *
 * until: not NULL: the inference must not see the new bytes. Where a step of it will read some of them, nothing is written, and
 * KIBI_PAUSED is returned: `*until` is after how many steps of the inference, as kibi_model_run_for counts them, the same call
 * writes; a row that is pushed counts as a step. NULL: the bytes are written at once, and if the inference has read bytes before they
 * were written, and reads bytes after they were written, of this call or of several, it ends with KIBI_DIRTY in place of KIBI_OK:
 * the outputs are there, but belong to neither the old weights nor the new ones.
 *
 * KIBI_ERROR_ACCESS: the file has no fences, no fence lists some of the bytes, or `count` is 0; nothing is written. Any bytes may be
 * written there: a file that kibi_model_open has taken cannot lead a kernel out of its memory, whichever they are. The file's
 * SHA-256 stays that of the old bytes. */
kibi_status kibi_weights_write(kibi_model *model, uint32_t offset, void *bytes, uint32_t count, uint32_t *until);
#endif

#ifdef __cplusplus
}
#endif

#endif
