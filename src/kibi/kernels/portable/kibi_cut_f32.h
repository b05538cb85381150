/* Floats cut to the range of an activation. */
#ifndef KIBI_CUT_F32_H
#define KIBI_CUT_F32_H

/* The value cut to low … high, the upper bound last; a NaN stays one. */
static inline float kibi_cut_f32(float value, float low, float high)
{
    const float raised = value < low ? low : value;
    return raised > high ? high : raised;
}

#endif
