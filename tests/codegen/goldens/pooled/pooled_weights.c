/* SPDX-License-Identifier: Apache-2.0 */
/* kibi compile pooled.tflite --target cortex-m0plus */
/* pooled.tflite: SHA-256 of the graph as text 3336d83f6e142f3c450ead890e9268ad6b6f97e2e8b71392b00a2069751e0d5c */
/* The numbers are the model's: its own licence holds for them. */

#include "pooled_weights.h"

/* Operator 0 (CONV_2D), filter of kibi_conv2d_s8: [output_channels][kernel_rows][kernel_width][input_channels /
 * groups]. */
const int8_t pooled_0_filter[72] = {
    113, 32, 47, 101, 20, 70, 85, -70, -113, -51, -55, 95, 105, -126, 0, 82, -94, 76, -97, -8, 81, -50, -40, -57, 56,
    -63, 125, -14, -6, 1, 21, 14, 2, 126, 78, 75, 51, 31, -41, 125, -9, -73, 88, -87, 91, 29, -98, -116, -14, -118, -91,
    4, 120, -9, 79, 106, 82, 33, -15, 4, -60, -1, -31, -64, 126, -124, -103, -78, 120, 49, 97, -76
};

/* Operator 0 (CONV_2D), bias of kibi_conv2d_s8: [output_channels], which includes -input_zero_point * the sum of the
 * channel's filter. */
const int32_t pooled_0_bias[4] = {
    951, 732, -351, 432
};

/* Operator 0 (CONV_2D), multiplier of kibi_conv2d_s8: [output_channels], 0 ... 2**31 - 1. */
const int32_t pooled_0_multiplier[4] = {
    1570730988, 1570730988, 1570730988, 1570730988
};

/* Operator 0 (CONV_2D), shift of kibi_conv2d_s8: [output_channels], -31 ... 30. */
const int8_t pooled_0_shift[4] = {
    -8, -8, -8, -8
};

/* Operator 0 (CONV_2D), padding of kibi_conv2d_s8: the input's zero point, once for each element of the most
 * neighbouring columns of a window that are outside the input. */
const int8_t pooled_0_padding[2] = {
    -3, -3
};

/* Operator 1 (CONV_2D), filter of kibi_conv2d_s8: [output_channels][kernel_rows][kernel_width][input_channels /
 * groups]. */
const int8_t pooled_1_filter[144] = {
    56, -33, -3, -127, 30, 84, 42, -88, 9, -59, 119, 97, -80, 2, 112, 89, 53, 36, -117, 62, -7, -104, -65, 10, 58, 2,
    29, 95, 47, -35, 37, 25, -100, -112, 41, -29, 25, -45, -70, -89, -30, 81, -25, -31, 19, 122, -27, 23, -15, 27, -14,
    35, 12, 45, 116, -89, 16, -15, -36, -66, -114, -25, 83, -103, -24, 119, 115, -73, -126, 44, -124, -51, -1, 95, -104,
    41, 8, -94, 88, 88, -4, 113, 27, 103, 117, 18, -56, -90, 16, -78, 64, 109, -65, 13, -115, -81, -31, 98, 120, 36, 21,
    18, -112, -32, 123, -23, -73, -66, 54, -118, 120, 96, 17, -8, 67, 12, -6, -45, -14, 64, -113, -121, 56, -33, 77,
    -120, 104, -96, -21, 119, -100, 40, 58, -18, -107, 6, -17, 95, 46, -40, -113, 23, -56, 47
};

/* Operator 1 (CONV_2D), bias of kibi_conv2d_s8: [output_channels], which includes -input_zero_point * the sum of the
 * channel's filter. */
const int32_t pooled_1_bias[4] = {
    0, 0, 0, 0
};

/* Operator 1 (CONV_2D), multiplier of kibi_conv2d_s8: [output_channels], 0 ... 2**31 - 1. */
const int32_t pooled_1_multiplier[4] = {
    2052421730, 2052421730, 2052421730, 2052421730
};

/* Operator 1 (CONV_2D), shift of kibi_conv2d_s8: [output_channels], -31 ... 30. */
const int8_t pooled_1_shift[4] = {
    -10, -10, -10, -10
};

/* Operator 1 (CONV_2D), padding of kibi_conv2d_s8: the input's zero point, once for each element of the most
 * neighbouring columns of a window that are outside the input. */
const int8_t pooled_1_padding[4] = {
    0, 0, 0, 0
};

/* Rows outside of inputs: -3, of at most 14 elements. */
const int8_t pooled_fill_minus_3[14] = {
    -3, -3, -3, -3, -3, -3, -3, -3, -3, -3, -3, -3, -3, -3
};

/* Rows outside of inputs: 0, of at most 28 elements. */
const int8_t pooled_fill_0[28] = {
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0
};
