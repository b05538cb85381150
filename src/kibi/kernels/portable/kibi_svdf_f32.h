/* SVDF of floats: the whole output. */
#ifndef KIBI_SVDF_F32_H
#define KIBI_SVDF_F32_H

#include "kibi.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    const float *weights_feature; /* [filters][depth] */
    const float *weights_time;    /* [filters][memory] */
    const float *bias;            /* [units] */
    int32_t batches;
    int32_t depth;                /* elements of an input vector */
    int32_t units;
    int32_t filters_per_unit;
    int32_t memory;               /* results of each filter that are kept: the newest ones */
    int32_t has_activation;       /* 0: outputs are the sums, and the kernel does not read the fields below */
    float activation_min;
    float activation_max;
    float activation_of_nan;      /* the output where the sum is a NaN */
} kibi_svdf_f32_params;

/* output: [batches][units]; may overlap the input where no unit is written over a vector that is still read: a vector of the
 * input is read until the last unit is computed.
 * rows: one pointer to [batches][depth].
 * Products are added in the vector's order, and the sums of a unit's filters in theirs, to the bias.
 * scratch: none.
 * states: one pointer to [batches][filters][memory] float, the oldest first. */
void kibi_svdf_f32(float *output, const float *const *rows, const kibi_svdf_f32_params *params, void *scratch,
                   void *const *states);

#ifdef __cplusplus
}
#endif

#endif
