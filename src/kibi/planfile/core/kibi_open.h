/* Opens plan files that nobody trusts. */
#ifndef KIBI_OPEN_H
#define KIBI_OPEN_H

#include "kibi_core.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Kernels, and the contract of each, which says what a file may ask of it. */
typedef struct {
    const kibi_kernels *kernels;
    const uint8_t *const *contracts;
} kibi_checked_kernels;

/* Opens a model after all of its file was checked: sizes, offsets, every row of every step, what each kernel asks for, the order, and
 * the SHA-256. A file that passes cannot lead a kernel out of the arena, the variables, external buffers and the file, nor make
 * it run for ever, whoever made it. KIBI_ERROR_FILE and KIBI_ERROR_KERNEL refuse; the model is closed then.
 * Otherwise as kibi_model_open_trusted. The arena's bytes are used meanwhile. */
kibi_status kibi_model_open(kibi_model *model, const void *file, size_t bytes, const kibi_checked_kernels *kernels,
                            void *arena, size_t arena_bytes);

#ifdef __cplusplus
}
#endif

#endif
