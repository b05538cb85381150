"""CONV_2D with windows of three by three on one input channel: first layers, and depthwise convolutions of one channel."""

import numpy as np

from kibi.ir import KernelCall, Param
from kibi.selection.convolution_call import blocks_distance
from kibi.selection.normalized_sums import doubled, normalized_sums, side_by_side
from kibi.selection.variant import Goal, Variant

_KEPT = (
    "input_width", "output_width", "output_channels", "output_zero_point", "activation_min", "activation_max", "stride",
    "pad",
)  # fmt: skip
_SHAPE = {"kernel_rows": 3, "kernel_width": 3, "input_channels": 1, "groups": 1, "dilation": 1}


def pack(call: KernelCall) -> KernelCall | None:
    """Constants channel by channel; None for other windows, or sums that are not simple."""
    size = {param.name: int(param.value) for param in call.params if isinstance(param.value, int)}
    array = {param.name: param.value for param in call.params if isinstance(param.value, np.ndarray)}
    if any(size[name] != value for name, value in _SHAPE.items()):
        return None
    taps = array["filter"].reshape(size["output_channels"], 9).astype(np.int8)
    found = normalized_sums(taps, array["bias"], array["multiplier"], array["shift"])
    if found is None:
        return None
    weights, sums = found
    pairs = np.pad(weights, ((0, 0), (0, 1))).reshape(-1, 5, 2)
    columns = (sums.bias, side_by_side(pairs[..., 0], pairs[..., 1]), doubled(sums), ~sums.shift.astype(np.int32))
    params = (
        Param("channels", np.column_stack(columns).astype(np.int32).reshape(-1)),
        Param("input_zero_point", int(array["padding"].reshape(-1)[0]) if array["padding"].size else 0),
        *(Param(name, size[name]) for name in _KEPT),
    )
    # A pixel is written before the next one's window is read.
    distance = blocks_distance(call, [1] * size["output_width"])
    return KernelCall("kibi_conv2d_s8_3x3x1", params, overlap_bytes=(distance,))


CONV2D_3X3X1 = Variant(
    "kibi_conv2d_s8_3x3x1", "kibi_conv2d_s8", "armv7em", frozenset({Goal.SPEED, Goal.BALANCED}), pack
)
