/* SPDX-License-Identifier: Apache-2.0 */
/* kibi compile pooled.tflite --target cortex-m0plus */
#include <stdio.h>
#include <string.h>

#include "pooled.h"

/* The caller owns all memory; words align it. */
static uint64_t arena[(POOLED_ARENA_BYTES + 7u) / 8u];

int main(void)
{
    pooled_t model;
    if (pooled_init(&model, arena, sizeof arena) != KIBI_OK) {
        return 1;
    }
    memset(pooled_input(&model, 0), 0, POOLED_INPUT_0_BYTES); /* write real inputs here, before each inference */
    if (pooled_invoke(&model) != KIBI_OK) {
        return 1;
    }
    const int8_t *const output = (const int8_t *)pooled_output(&model, 0);
    for (unsigned i = 0; i < POOLED_OUTPUT_0_ELEMENTS; ++i) {
        printf("%d\n", (int)output[i]);
    }
    return 0;
}
