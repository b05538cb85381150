/* LEAKY_RELU: one output row. */
#ifndef KIBI_LEAKY_RELU_S16_H
#define KIBI_LEAKY_RELU_S16_H

#include "kibi.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    int32_t elements;         /* of a row */
    int32_t zero_point;
    int32_t output_zero_point;
    int32_t multiplier;       /* of inputs that are not negative: 0 ... 2**31 - 1 */
    int32_t shift;            /* -31 ... 30; negative is to the right */
    int32_t alpha_multiplier; /* of negative inputs: 0 ... 2**31 - 1 */
    int32_t alpha_shift;      /* -31 ... 30 */
    int32_t alpha_sign;       /* 1 or -1: the sign of the slope below 0, whose magnitude the factor has */
} kibi_leaky_relu_s16_params;

/* output: [elements]; may be the input row itself, or begin below it.
 * rows: one pointer to [elements].
 * scratch: none. */
void kibi_leaky_relu_s16(int16_t *output, const int16_t *const *rows, const kibi_leaky_relu_s16_params *params, void *scratch);

#ifdef __cplusplus
}
#endif

#endif
