/* SPDX-License-Identifier: Apache-2.0 */
/* kibi compile pooled.tflite --target cortex-m0plus */
/* pooled.tflite: SHA-256 of the graph as text 3336d83f6e142f3c450ead890e9268ad6b6f97e2e8b71392b00a2069751e0d5c */
/* pooled.tflite: 3 operators, 13608 multiply-accumulates, an arena of 222 bytes (no plan of this order needs less
 * than 212).
 * Written by Kibi 0.1.0 for cortex-m0plus. Each function below runs rows of one operator; the order is at the end. */

#include "pooled.h"

#include "kernels/kibi_conv2d.h"
#include "kernels/kibi_reduction.h"
#include "pooled_weights.h"

/* The arena:
 *   offset    bytes  steps         what
 *       96      126  0 to 22       tensor_0
 *   by row      252  0 to 25       conv0
 *   by row      252  2 to 26       conv1
 *       16        4  26 to 26      head
 *        0       16  3 to 26       scratch of operator 2 (MEAN) */

/* tensor_0: [1, 9, 7, 2] int8, 9 rows of 14 bytes, from 96 */
static inline int8_t *tensor_0_row(uint8_t *arena, int32_t row)
{
    return (int8_t *)(void *)(arena + row * 14 + 96);
}

/* conv0: [1, 9, 7, 4] int8, 9 rows of 28 bytes, placed one by one */
static const uint8_t plan_conv0_offsets[9] = {
    54, 82, 16, 110, 72, 138, 44, 166, 16
};

static inline int8_t *conv0_row(uint8_t *arena, int32_t row)
{
    return (int8_t *)(void *)(arena + plan_conv0_offsets[row]);
}

/* conv1: [1, 9, 7, 4] int8, 9 rows of 28 bytes, placed one by one */
static const uint8_t plan_conv1_offsets[9] = {
    16, 44, 44, 44, 44, 16, 16, 72, 194
};

static inline int8_t *conv1_row(uint8_t *arena, int32_t row)
{
    return (int8_t *)(void *)(arena + plan_conv1_offsets[row]);
}

/* head: [1, 4] int8, 1 row of 4 bytes, from 16 */
static inline int8_t *head_row(uint8_t *arena)
{
    return (int8_t *)(void *)(arena + 16);
}

static const kibi_conv2d_s8_params params_0 = {
    pooled_0_filter, /* filter */
    pooled_0_bias, /* bias */
    pooled_0_multiplier, /* multiplier */
    pooled_0_shift, /* shift */
    pooled_0_padding, /* padding */
    7,           /* input_width */
    2,           /* input_channels */
    7,           /* output_width */
    4,           /* output_channels */
    0,           /* output_zero_point */
    -128,        /* activation_min */
    127,         /* activation_max */
    1,           /* groups */
    0,           /* uses_im2col */
    3,           /* kernel_rows */
    3,           /* kernel_width */
    1,           /* stride */
    1,           /* dilation */
    1,           /* pad */
};

/* Operator 0 (CONV_2D), 9 steps: input tensor_0 [1, 9, 7, 2] int8 at 96; filter tensor_1 [4, 3, 3, 2] int8; output
 * conv0 [1, 9, 7, 4] int8 by row. */
static KIBI_NOINLINE void pooled_0_conv_2d(uint8_t *arena, int32_t step)
{
    KIBI_OPERATOR_BEGIN(1);
    const int8_t *rows[3];
    for (int32_t k = 0; k < 3; ++k) {
        const int32_t row = step - 1 + k;
        rows[k] = row >= 0 && row < 9 ? tensor_0_row(arena, row) : pooled_fill_minus_3;
    }
    kibi_conv2d_s8(conv0_row(arena, step), rows, &params_0, NULL);
    KIBI_OPERATOR_END(0, "operator 0 (CONV_2D)");
}

static const kibi_conv2d_s8_params params_1 = {
    pooled_1_filter, /* filter */
    pooled_1_bias, /* bias */
    pooled_1_multiplier, /* multiplier */
    pooled_1_shift, /* shift */
    pooled_1_padding, /* padding */
    7,           /* input_width */
    4,           /* input_channels */
    7,           /* output_width */
    4,           /* output_channels */
    0,           /* output_zero_point */
    -128,        /* activation_min */
    127,         /* activation_max */
    1,           /* groups */
    0,           /* uses_im2col */
    3,           /* kernel_rows */
    3,           /* kernel_width */
    1,           /* stride */
    1,           /* dilation */
    1,           /* pad */
};

/* Operator 1 (CONV_2D), 9 steps: input conv0 [1, 9, 7, 4] int8 by row; filter tensor_3 [4, 3, 3, 4] int8; output
 * conv1 [1, 9, 7, 4] int8 by row. */
static KIBI_NOINLINE void pooled_1_conv_2d(uint8_t *arena, int32_t step)
{
    KIBI_OPERATOR_BEGIN(1);
    const int8_t *rows[3];
    for (int32_t k = 0; k < 3; ++k) {
        const int32_t row = step - 1 + k;
        rows[k] = row >= 0 && row < 9 ? conv0_row(arena, row) : pooled_fill_0;
    }
    kibi_conv2d_s8(conv1_row(arena, step), rows, &params_1, NULL);
    KIBI_OPERATOR_END(1, "operator 1 (CONV_2D)");
}

static const kibi_mean_params params_2 = {
    9,           /* size1 */
    7,           /* size2 */
    4,           /* size3 */
    0,           /* step0 */
    0,           /* step1 */
    0,           /* step2 */
    1,           /* step3 */
    9,           /* steps */
    4,           /* output_elements */
    0,           /* start */
    4,           /* output_zero_point */
    681740882,   /* multiplier */
    -1,          /* shift */
};

/* Operator 2 (MEAN), 9 steps: input conv1 [1, 9, 7, 4] int8 by row; axes tensor_6 [2] int32; output head [1, 4] int8
 * at 16. */
static KIBI_NOINLINE void pooled_2_mean(uint8_t *arena, int32_t step)
{
    KIBI_OPERATOR_BEGIN(1);
    const int8_t *const rows[1] = {conv1_row(arena, step)};
    kibi_mean_s8(head_row(arena), rows, &params_2, arena, step);
    KIBI_OPERATOR_END(2, "operator 2 (MEAN)");
}

/* One inference, in the order of the plan. Each call computes rows of one operator: all, one, or those from a first
 * one to before another one. */
static void pooled_run(uint8_t *arena)
{
    for (int32_t i = 0; i < 10; ++i) {
        if (i < 9) {
            pooled_0_conv_2d(arena, i); /* conv0 */
        }
        if (i >= 1) {
            pooled_1_conv_2d(arena, i - 1); /* conv1 */
            pooled_2_mean(arena, i - 1); /* head */
        }
    }
}

kibi_status pooled_init(pooled_t *model, void *arena, size_t arena_bytes)
{
    if (model == NULL) {
        KIBI_ERROR(NullPointer, 0x7d51952du);
        return KIBI_ERROR_NULL;
    }
    model->arena = NULL;
    if (arena == NULL) {
        KIBI_ERROR(NullPointer, 0x7d51952du);
        return KIBI_ERROR_NULL;
    }
    if (arena_bytes < POOLED_ARENA_BYTES) {
        KIBI_ERROR(ArenaTooSmall, 0xd39adf79u);
        return KIBI_ERROR_ARENA_SIZE;
    }
    if ((uintptr_t)arena % POOLED_ARENA_ALIGNMENT != 0u) {
        KIBI_ERROR(ArenaMisaligned, 0xc01ff0a9u);
        return KIBI_ERROR_ARENA_ALIGNMENT;
    }
    model->arena = (uint8_t *)arena;
    return KIBI_OK;
}

int8_t *pooled_input(pooled_t *model, unsigned index)
{
    if (model == NULL || model->arena == NULL) {
        return NULL;
    }
    switch (index) {
    case 0:
        return (int8_t *)(void *)(model->arena + 96);
    default:
        return NULL;
    }
}

const int8_t *pooled_output(const pooled_t *model, unsigned index)
{
    if (model == NULL || model->arena == NULL) {
        return NULL;
    }
    switch (index) {
    case 0:
        return (const int8_t *)(void *)(model->arena + 16);
    default:
        return NULL;
    }
}

kibi_status pooled_invoke(pooled_t *model)
{
    if (model == NULL) {
        KIBI_ERROR(NullPointer, 0x7d51952du);
        return KIBI_ERROR_NULL;
    }
    if (model->arena == NULL) {
        KIBI_ERROR(NotInitialized, 0x7293c39cu);
        return KIBI_ERROR_NOT_INITIALIZED;
    }
    KIBI_EVENT(InferenceStarted, 0x4acf8cb9u);
    pooled_run(model->arena);
    KIBI_EVENT(InferenceEnded, 0x5e804ac0u);
    return KIBI_OK;
}
