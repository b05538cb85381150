/* LEAKY_RELU of floats: one output row. */
#ifndef KIBI_LEAKY_RELU_F32_H
#define KIBI_LEAKY_RELU_F32_H

#include "kibi.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    int32_t elements; /* of a row */
    float alpha;
} kibi_leaky_relu_f32_params;

/* output: [elements]; may be the input row itself, or begin below it.
 * rows: one pointer to [elements].
 * scratch: none. */
void kibi_leaky_relu_f32(float *output, const float *const *rows, const kibi_leaky_relu_f32_params *params, void *scratch);

#ifdef __cplusplus
}
#endif

#endif
