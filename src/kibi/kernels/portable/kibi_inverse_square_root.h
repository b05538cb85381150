/* 1 / sqrt(value) as multiplier and shift. */
#ifndef KIBI_INVERSE_SQUARE_ROOT_H
#define KIBI_INVERSE_SQUARE_ROOT_H

#include "kibi.h"

/* A factor of multiplier * 2**(shift - 31). */
typedef struct {
    int32_t multiplier;
    int32_t shift;
} kibi_scaling;

/* Five Newton steps with 3 integer bits. value: 0 or more; 0 counts as 1. Source: TFLM, internal/common.h. */
static inline kibi_scaling kibi_inverse_square_root(int32_t value)
{
    kibi_scaling scaling = {INT32_MAX, 0};
    int32_t right_shift = 11;
    if (value <= 1) {
        return scaling;
    }
    while (value >= (1 << 29)) {
        value /= 4;
        ++right_shift;
    }
    while (value < (1 << 27)) {
        value *= 4;
        --right_shift;
    }
    const int64_t half = ((value >> 1) + 1) >> 1;
    int64_t x = 1 << 28;
    for (int step = 0; step < 5; ++step) {
        /* Products of numbers with 3 integer bits have 6, of three numbers 9. */
        const int64_t square = (x * x + (1 << 30)) >> 31;
        const int64_t cube = ((square * x + (1 << 30)) >> 31) * 64;
        const int64_t next = ((3 * (1 << 27) * x + (1 << 30)) >> 31) - ((half * cube + (1 << 30)) >> 31);
        x = next * 8;
    }
    scaling.multiplier = (int32_t)((x * 1518500250 + (1 << 30)) >> 31); /* half the root of 2 */
    scaling.shift = -right_shift;
    if (right_shift < 0) {
        scaling.multiplier = (int32_t)((uint32_t)scaling.multiplier << -right_shift);
        scaling.shift = 0;
    }
    return scaling;
}

#endif
