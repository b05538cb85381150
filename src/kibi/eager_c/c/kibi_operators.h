/* Operators by hand: each checks its operands, prepares parameters in the metadata arena, evaluates row by row over the kernels that
 * generated code and plan files have, too, and gives the metadata back.
 *
 * Operands may be any tensors. Those of int8 have one scale, filters one or one for each output channel. What does not fit has the
 * status KIBI_ERROR_ARGUMENT; no output is written then. Bits are those of the operators of the same names in Python. */
#ifndef KIBI_OPERATORS_H
#define KIBI_OPERATORS_H

#include "kibi_operator.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Where a window stands at the borders. */
typedef enum { KIBI_VALID, KIBI_SAME } kibi_padding;

/* How a window moves. Zeros, and NULL for all, mean steps of 1, no gaps, VALID, and no activation. */
typedef struct {
    uint16_t stride_height;
    uint16_t stride_width;
    uint16_t dilation_height;
    uint16_t dilation_width;
    kibi_padding padding;
    kibi_activation activation;
} kibi_window_options;

/* CONV_2D: input [N, H, W, C], filter [O, KH, KW, C / groups], bias [O] or NULL, output [N, OH, OW, O]: int8 with a bias of int32, or
 * float. */
kibi_status kibi_op_conv2d(const kibi_context *context, kibi_tensor *output, kibi_tensor *input, kibi_tensor *filter,
                           kibi_tensor *bias, const kibi_window_options *options);

/* DEPTHWISE_CONV_2D: filter [1, KH, KW, C * M]; else as kibi_op_conv2d. */
kibi_status kibi_op_depthwise_conv2d(const kibi_context *context, kibi_tensor *output, kibi_tensor *input,
                                     kibi_tensor *filter, kibi_tensor *bias, const kibi_window_options *options);

/* FULLY_CONNECTED, a matrix product: input of B * K elements, filter [O, K], bias [O] or NULL, output of B * O elements: int8 with
 * a bias of int32, or float. */
kibi_status kibi_op_fully_connected(const kibi_context *context, kibi_tensor *output, kibi_tensor *input, kibi_tensor *filter,
                                    kibi_tensor *bias, kibi_activation activation);

/* Inputs of BATCH_MATMUL whose last two axes are in the other order; both: added up. */
#define KIBI_ADJOINT_1 1u
#define KIBI_ADJOINT_2 2u

/* BATCH_MATMUL: input1 [..., M, K] and input2 [..., K, N], output [..., M, N], whose batches broadcast: int8, or float.
 * adjoint: 0, or KIBI_ADJOINT_1, KIBI_ADJOINT_2, or both. */
kibi_status kibi_op_batch_matmul(const kibi_context *context, kibi_tensor *output, kibi_tensor *input1, kibi_tensor *input2,
                                 unsigned adjoint);

/* How a pool's window moves, and its size. */
typedef struct {
    uint16_t height;
    uint16_t width;
    kibi_window_options window; /* without gaps */
} kibi_pool_options;

/* MAX_POOL_2D, AVERAGE_POOL_2D and the smallest element of each window: input [N, H, W, C], output [N, OH, OW, C], both int8 of the
 * same scale and zero point, or float. */
kibi_status kibi_op_max_pool2d(const kibi_context *context, kibi_tensor *output, kibi_tensor *input,
                               const kibi_pool_options *options);
kibi_status kibi_op_average_pool2d(const kibi_context *context, kibi_tensor *output, kibi_tensor *input,
                                   const kibi_pool_options *options);
kibi_status kibi_op_min_pool2d(const kibi_context *context, kibi_tensor *output, kibi_tensor *input,
                               const kibi_pool_options *options);

/* A pool of your own: `pool` makes one element of the `count` elements of a channel under a window, row after row, without those
 * outside of the input. Elements of any type; the output has the input's. */
kibi_status kibi_op_generic_pool2d(const kibi_context *context, kibi_tensor *output, kibi_tensor *input,
                                   const kibi_pool_options *options,
                                   void (*pool)(void *state, const void *elements, uint32_t count, void *result), void *state);

/* Two inputs of one type that broadcast: int8, or float. */
kibi_status kibi_op_add(const kibi_context *context, kibi_tensor *output, kibi_tensor *input1, kibi_tensor *input2,
                        kibi_activation activation);
kibi_status kibi_op_sub(const kibi_context *context, kibi_tensor *output, kibi_tensor *input1, kibi_tensor *input2,
                        kibi_activation activation);
kibi_status kibi_op_mul(const kibi_context *context, kibi_tensor *output, kibi_tensor *input1, kibi_tensor *input2,
                        kibi_activation activation);
kibi_status kibi_op_div(const kibi_context *context, kibi_tensor *output, kibi_tensor *input1, kibi_tensor *input2,
                        kibi_activation activation); /* float only */
kibi_status kibi_op_maximum(const kibi_context *context, kibi_tensor *output, kibi_tensor *input1, kibi_tensor *input2);
kibi_status kibi_op_minimum(const kibi_context *context, kibi_tensor *output, kibi_tensor *input1, kibi_tensor *input2);

/* A function of each element: input and output int8, or float, of one shape. */
kibi_status kibi_op_relu(const kibi_context *context, kibi_tensor *output, kibi_tensor *input);
kibi_status kibi_op_relu6(const kibi_context *context, kibi_tensor *output, kibi_tensor *input);
kibi_status kibi_op_logistic(const kibi_context *context, kibi_tensor *output, kibi_tensor *input);
kibi_status kibi_op_tanh(const kibi_context *context, kibi_tensor *output, kibi_tensor *input);

/* RSQRT, 1 / sqrt(x): int8, or float. SIN: float. */
kibi_status kibi_op_rsqrt(const kibi_context *context, kibi_tensor *output, kibi_tensor *input);
kibi_status kibi_op_sin(const kibi_context *context, kibi_tensor *output, kibi_tensor *input);

/* SOFTMAX along the last axis: int8 → int8 of scale 1/256 and zero point -128, or float. */
kibi_status kibi_op_softmax(const kibi_context *context, kibi_tensor *output, kibi_tensor *input, float beta);

/* QUANTIZE: float → int8, or int8 → int8. DEQUANTIZE: int8, uint8 or int16 → float. */
kibi_status kibi_op_quantize(const kibi_context *context, kibi_tensor *output, kibi_tensor *input);
kibi_status kibi_op_dequantize(const kibi_context *context, kibi_tensor *output, kibi_tensor *input);

/* The same elements in another shape: RESHAPE, SQUEEZE, EXPAND_DIMS. */
kibi_status kibi_op_reshape(const kibi_context *context, kibi_tensor *output, kibi_tensor *input);

/* TRANSPOSE: axis k of the output is axis axes[k] of the input. */
kibi_status kibi_op_transpose(const kibi_context *context, kibi_tensor *output, kibi_tensor *input, const uint8_t *axes);

/* STRIDED_SLICE: along axis k every strides[k]th element from begins[k] on; as many as the output has. */
kibi_status kibi_op_strided_slice(const kibi_context *context, kibi_tensor *output, kibi_tensor *input, const int32_t *begins,
                                  const int32_t *strides);

/* CONCATENATION along an axis, of tensors of one type and scale. */
kibi_status kibi_op_concatenation(const kibi_context *context, kibi_tensor *output, kibi_tensor *const *inputs, unsigned count,
                                  unsigned axis);

/* ARG_MAX and ARG_MIN along an axis: int8 or float → places of int32; the first of equals. */
kibi_status kibi_op_arg_max(const kibi_context *context, kibi_tensor *output, kibi_tensor *input, unsigned axis);
kibi_status kibi_op_arg_min(const kibi_context *context, kibi_tensor *output, kibi_tensor *input, unsigned axis);

/* SUM, MEAN, REDUCE_MAX and REDUCE_MIN over `count` axes, of which the output has none, or ones: int8, or float. An int8 of
 * REDUCE_MAX and REDUCE_MIN keeps its scale and zero point. */
kibi_status kibi_op_sum(const kibi_context *context, kibi_tensor *output, kibi_tensor *input, const uint8_t *axes, unsigned count);
kibi_status kibi_op_mean(const kibi_context *context, kibi_tensor *output, kibi_tensor *input, const uint8_t *axes, unsigned count);
kibi_status kibi_op_reduce_max(const kibi_context *context, kibi_tensor *output, kibi_tensor *input, const uint8_t *axes,
                               unsigned count);
kibi_status kibi_op_reduce_min(const kibi_context *context, kibi_tensor *output, kibi_tensor *input, const uint8_t *axes,
                               unsigned count);

/* Batch normalization of floats: (input - mean) * (gamma / sqrt(variance + epsilon)) + beta, with mean, variance, gamma and beta
 * [C] for the last axis; gamma NULL: ones; beta NULL: zeros. */
kibi_status kibi_op_batch_norm(const kibi_context *context, kibi_tensor *output, kibi_tensor *input, kibi_tensor *mean,
                               kibi_tensor *variance, kibi_tensor *gamma, kibi_tensor *beta, float epsilon);

/* Earlier operators of asymmetric uint8, whose filters have one scale and one zero point; DEQUANTIZE takes uint8, too. */
kibi_status kibi_op_add_u8(const kibi_context *context, kibi_tensor *output, kibi_tensor *input1, kibi_tensor *input2,
                           kibi_activation activation); /* of one shape */
kibi_status kibi_op_depthwise_conv2d_u8(const kibi_context *context, kibi_tensor *output, kibi_tensor *input,
                                        kibi_tensor *filter, kibi_tensor *bias, const kibi_window_options *options);
kibi_status kibi_op_fully_connected_u8(const kibi_context *context, kibi_tensor *output, kibi_tensor *input,
                                       kibi_tensor *filter, kibi_tensor *bias, kibi_activation activation);
kibi_status kibi_op_max_pool2d_u8(const kibi_context *context, kibi_tensor *output, kibi_tensor *input,
                                  const kibi_pool_options *options);
kibi_status kibi_op_quantize_u8(const kibi_context *context, kibi_tensor *output, kibi_tensor *input); /* from float */
kibi_status kibi_op_arg_max_u8(const kibi_context *context, kibi_tensor *output, kibi_tensor *input, unsigned axis);

#ifdef __cplusplus
}
#endif

#endif
