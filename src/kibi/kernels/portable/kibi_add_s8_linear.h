/* ADD of two rows of the same shape where one rounding is enough, as was proven for every pair of inputs. */
#ifndef KIBI_ADD_S8_LINEAR_H
#define KIBI_ADD_S8_LINEAR_H

#include "kibi.h"

#ifdef __cplusplus
extern "C" {
#endif

/* An output is floor(a * factor1 / 2**8) + floor(b * factor2 / 2**8) + start, shifted to the right by 20 and cut to int8; for
 * any two int8 the sum fits 32 bits. Kernels in assembly know where each field lies. */
typedef struct {
    int32_t factor1;
    int32_t factor2;
    int32_t start;
    int32_t elements; /* at least 1 */
} kibi_add_s8_linear_params;

/* output: [elements]; may be an input row, or begin below it.
 * rows: two pointers to [elements].
 * scratch: none. */
void kibi_add_s8_linear(int8_t *output, const int8_t *const *rows, const kibi_add_s8_linear_params *params, void *scratch);

#ifdef __cplusplus
}
#endif

#endif
