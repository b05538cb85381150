/* What units of SVDF share, portable: how a sum is scaled. */
#ifndef KIBI_SVDF_SCALED_H
#define KIBI_SVDF_SCALED_H

#include "kibi_requantize.h"
#include "kibi_svdf_memory.h"
#include "kibi_svdf_units.h"

/* A sum, scaled. */
static inline int32_t kibi_svdf_scaled(int32_t sum, int32_t doubled, int32_t shift)
{
    return kibi_requantize(sum, (int32_t)((uint32_t)doubled >> 1), ~shift);
}

/* Writes the output of a unit. */
static inline void kibi_svdf_write(kibi_svdf_units *task, int32_t sum)
{
    const int32_t value = kibi_svdf_scaled(sum, task->output_multiplier, task->output_shift);
    *task->output++ = (int8_t)kibi_clamp(kibi_wrapping_add(value, task->output_zero_point), -128, 127);
}

#endif
