/* Layers of int8: what convolutions and matrix products by hand share. */
#ifndef KIBI_LAYER_H
#define KIBI_LAYER_H

#include "kibi_operators.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How sums of products become outputs. */
typedef struct {
    const int8_t *filter;
    int32_t *bias;       /* [channels], with the input's zero point folded in */
    int32_t *multiplier; /* [channels] */
    int8_t *shift;       /* [channels] */
    int32_t output_zero_point;
    int32_t low;
    int32_t high;
} kibi_layer;

/* Whether input, filter, bias (or NULL) and output are of one kind of layer, int8 or float, with so many output channels, along an
 * axis of the filter. */
int kibi_is_layer(const kibi_tensor *output, const kibi_tensor *input, const kibi_tensor *filter, const kibi_tensor *bias,
                  uint32_t channels, unsigned axis);

/* Bytes of metadata that kibi_prepare takes. */
uint32_t kibi_layer_bytes(const kibi_tensor *filter, const kibi_tensor *bias, uint32_t channels);

/* Prepares a layer of int8. channel_step, tap_step: elements of the filter from channel to channel, and from one weight of a channel to
 * the next; taps: weights of a channel. The filter is held until kibi_done_with. */
void kibi_prepare(kibi_work *work, kibi_layer *layer, kibi_tensor *output, kibi_tensor *input, kibi_tensor *filter,
                  kibi_tensor *bias, kibi_activation activation, uint32_t channels, uint32_t channel_step, uint32_t taps,
                  uint32_t tap_step);

/* All bytes of a constant: where they are, or copied; what kibi_constant takes of metadata; and the end of it. */
const void *kibi_constant(kibi_work *work, kibi_tensor *tensor);
uint32_t kibi_constant_bytes(const kibi_tensor *tensor);
void kibi_done_with(kibi_work *work, kibi_tensor *tensor, const void *data);

/* The bias of a layer of floats; zeros without one. */
const float *kibi_float_bias(kibi_work *work, kibi_tensor *bias, uint32_t channels);

#ifdef __cplusplus
}
#endif

#endif
