/* A block of sums of products: two rows of weights and two inputs. A function of its own, so that its loop has all registers. */
#ifndef KIBI_DOT_2X2_S8_H
#define KIBI_DOT_2X2_S8_H

#include "kibi.h"

#ifdef __cplusplus
extern "C" {
#endif

/* sums[2 * j + i] becomes bias[i] plus the products of weights row i and input j, over `count` elements.
 * w: two rows of weights, `stride` elements apart. x0, x1: two inputs. */
void kibi_dot_2x2_s8(int32_t sums[4], const int32_t bias[2], const int8_t *w, int32_t stride, const int8_t *x0,
                     const int8_t *x1, int32_t count);

#ifdef __cplusplus
}
#endif

#endif
