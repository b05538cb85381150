/* SPDX-License-Identifier: Apache-2.0 */
/* kibi compile pooled.tflite --target cortex-m0plus */
/* pooled.tflite: SHA-256 of the graph as text 3336d83f6e142f3c450ead890e9268ad6b6f97e2e8b71392b00a2069751e0d5c */
#ifndef POOLED_H
#define POOLED_H

#include "kernels/kibi.h"

#ifdef __cplusplus
extern "C" {
#endif

#define POOLED_ARENA_BYTES 222u
#define POOLED_ARENA_ALIGNMENT 4u

#define POOLED_INPUTS 1u
/* input 0: tensor_0, [1, 9, 7, 2] int8 */
#define POOLED_INPUT_0_ELEMENTS 126u
#define POOLED_INPUT_0_BYTES 126u
#define POOLED_INPUT_0_SCALE 0.05000000074505806f
#define POOLED_INPUT_0_ZERO_POINT (-3)

#define POOLED_OUTPUTS 1u
/* output 0: head, [1, 4] int8 */
#define POOLED_OUTPUT_0_ELEMENTS 4u
#define POOLED_OUTPUT_0_BYTES 4u
#define POOLED_OUTPUT_0_SCALE 0.029999999329447746f
#define POOLED_OUTPUT_0_ZERO_POINT (4)

/* All that the library keeps between calls. The caller owns it; no field is for the caller's use. */
typedef struct {
    uint8_t *arena;
} pooled_t;

/* Gives the model its arena: POOLED_ARENA_BYTES bytes, aligned to POOLED_ARENA_ALIGNMENT. The bytes belong to the
 * model only from the moment that inputs are written until outputs have been read; models that run one after another
 * may share them. */
kibi_status pooled_init(pooled_t *model, void *arena, size_t arena_bytes);

/* Returns where to write input `index` before each pooled_invoke, which overwrites it; NULL if it does not exist. */
int8_t *pooled_input(pooled_t *model, unsigned index);

/* Returns output `index`, valid after pooled_invoke until the arena is used again; NULL if there is no such output. */
const int8_t *pooled_output(const pooled_t *model, unsigned index);

/* One inference. */
kibi_status pooled_invoke(pooled_t *model);

#ifdef __cplusplus
}
#endif

#endif
