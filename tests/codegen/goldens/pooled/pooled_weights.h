/* SPDX-License-Identifier: Apache-2.0 */
/* kibi compile pooled.tflite --target cortex-m0plus */
/* pooled.tflite: SHA-256 of the graph as text 3336d83f6e142f3c450ead890e9268ad6b6f97e2e8b71392b00a2069751e0d5c */
#ifndef POOLED_WEIGHTS_H
#define POOLED_WEIGHTS_H

#include "kernels/kibi.h"

#ifdef __cplusplus
extern "C" {
#endif

extern const int8_t pooled_0_filter[72];
extern const int32_t pooled_0_bias[4];
extern const int32_t pooled_0_multiplier[4];
extern const int8_t pooled_0_shift[4];
extern const int8_t pooled_0_padding[2];
extern const int8_t pooled_1_filter[144];
extern const int32_t pooled_1_bias[4];
extern const int32_t pooled_1_multiplier[4];
extern const int8_t pooled_1_shift[4];
extern const int8_t pooled_1_padding[4];
extern const int8_t pooled_fill_minus_3[14];
extern const int8_t pooled_fill_0[28];

#ifdef __cplusplus
}
#endif

#endif
