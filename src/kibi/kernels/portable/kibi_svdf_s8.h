/* SVDF: the whole output; input, output and memory of int8. */
#ifndef KIBI_SVDF_S8_H
#define KIBI_SVDF_S8_H

#include "kibi.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    const int8_t *weights_feature; /* [filters][depth] */
    const int32_t *feature_bias;   /* [filters], -input zero point * the sum of the filter's weights */
    const int8_t *weights_time;    /* [filters][memory] */
    const int32_t *bias;           /* [units] */
    int32_t batches;
    int32_t depth;                 /* elements of an input vector */
    int32_t units;
    int32_t filters_per_unit;
    int32_t memory;                /* results of each filter that are kept: the newest ones */
    int32_t state_zero_point;
    int32_t feature_multiplier;    /* 0 ... 2**31 - 1 */
    int32_t feature_shift;         /* -31 ... 30 */
    int32_t output_multiplier;     /* 0 ... 2**31 - 1 */
    int32_t output_shift;          /* -31 ... 30 */
    int32_t output_zero_point;
} kibi_svdf_s8_params;

/* output: [batches][units]; may overlap the input where no unit is written over a vector that is still read: a vector of the
 * input is read until the last unit is computed.
 * rows: one pointer to [batches][depth].
 * scratch: none.
 * states: one pointer to [batches][filters][memory] int8_t, the oldest first. */
void kibi_svdf_s8(int8_t *output, const int8_t *const *rows, const kibi_svdf_s8_params *params, void *scratch, void *const *states);

#ifdef __cplusplus
}
#endif

#endif
