"""CONV_2D with windows of three by three on one input channel: first layers, and depthwise convolutions of one channel."""

import numpy as np

from kibi.ir import KernelCall
from kibi.kernels.params.conv2d import Conv2DS8Params
from kibi.kernels.params.conv2d_packed import Conv2D3x3x1Params
from kibi.selection.convolution_call import blocks_distance
from kibi.selection.normalized_sums import doubled, normalized_sums, side_by_side
from kibi.selection.sums import channels_of
from kibi.selection.variant import Goal, Variant


def pack(call: KernelCall) -> KernelCall | None:
    """Constants channel by channel; None for other windows, or sums that are not simple."""
    layer = call.params_as(Conv2DS8Params)
    is_single = layer.input_channels == layer.groups == layer.dilation == 1
    if not is_single or (layer.kernel_rows, layer.kernel_width) != (3, 3):
        return None
    found = normalized_sums(channels_of(layer, layer.filter.reshape(layer.output_channels, 9)))
    if found is None:
        return None
    weights, sums = found
    shift, front, last = ~sums.shift.astype(np.int16), weights[:, :8].astype(np.int16), weights[:, 8].astype(np.int16)
    halves = np.column_stack([front, shift, last]).reshape(-1, 5, 2)
    columns = (sums.bias, side_by_side(halves[..., 0], halves[..., 1]), doubled(sums))
    params = Conv2D3x3x1Params(
        channels=np.column_stack(columns).astype(np.int32).reshape(-1),
        input_zero_point=int(layer.padding.reshape(-1)[0]) if layer.padding.size else 0,
        **layer.scalars_for(Conv2D3x3x1Params),
    )
    # A pixel is written before the next one's window is read.
    distance = blocks_distance(call, [1] * layer.output_width)
    return KernelCall("kibi_conv2d_s8_3x3x1", params, inplace_distance_bytes=(distance,))


CONV2D_3X3X1 = Variant("kibi_conv2d_s8_3x3x1", "kibi_conv2d_s8", "armv7em", frozenset(Goal), pack)
