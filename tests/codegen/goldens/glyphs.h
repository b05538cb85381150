/* SPDX-License-Identifier: Apache-2.0 */
/* kibi compile glyphs.tflite --target cortex-m0plus */
/* glyphs.tflite: SHA-256 8469dfb1689bfc2a7fd37f3026ad4e8c44a6f20ecd5d6b5b57f181db003d2b34 */
#ifndef GLYPHS_H
#define GLYPHS_H

#include "kernels/kibi.h"

#ifdef __cplusplus
extern "C" {
#endif

#define GLYPHS_ARENA_BYTES 2931u
#define GLYPHS_ARENA_ALIGNMENT 4u

#define GLYPHS_INPUTS 1u
/* input 0: image, [1, 28, 28, 1] int8 */
#define GLYPHS_INPUT_0_ELEMENTS 784u
#define GLYPHS_INPUT_0_BYTES 784u
#define GLYPHS_INPUT_0_SCALE 0.003921568859368563f
#define GLYPHS_INPUT_0_ZERO_POINT (-128)

#define GLYPHS_OUTPUTS 1u
/* output 0: probabilities, [1, 10] int8 */
#define GLYPHS_OUTPUT_0_ELEMENTS 10u
#define GLYPHS_OUTPUT_0_BYTES 10u
#define GLYPHS_OUTPUT_0_SCALE 0.00390625f
#define GLYPHS_OUTPUT_0_ZERO_POINT (-128)

/* All that the library keeps between calls. The caller owns it; no field is for the caller's use. */
typedef struct {
    uint8_t *arena;
} glyphs_t;

/* Gives the model its arena: GLYPHS_ARENA_BYTES bytes, aligned to GLYPHS_ARENA_ALIGNMENT. The bytes belong to the
 * model only from the moment that inputs are written until outputs have been read; models that run one after another
 * may share them. */
kibi_status glyphs_init(glyphs_t *model, void *arena, size_t arena_bytes);

/* Returns where to write input `index` before each glyphs_invoke, which overwrites it; NULL if it does not exist. */
int8_t *glyphs_input(glyphs_t *model, unsigned index);

/* Returns output `index`, valid after glyphs_invoke until the arena is used again; NULL if there is no such output. */
const int8_t *glyphs_output(const glyphs_t *model, unsigned index);

/* One inference. */
kibi_status glyphs_invoke(glyphs_t *model);

#ifdef __cplusplus
}
#endif

#endif
