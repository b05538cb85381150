"""CONV_2D with windows of three by three on one input channel: first layers, and depthwise convolutions of one channel."""

import numpy as np

from kibi.ir import KernelCall, Param
from kibi.ops.overlap import least_distance
from kibi.variants.normalized_sums import doubled, normalized_sums, side_by_side
from kibi.variants.variant import Goal, Variant

_KEPT = (
    "input_width", "output_width", "output_channels", "output_zero_point", "activation_min", "activation_max", "stride",
    "pad",
)  # fmt: skip
_SHAPE = {"kernel_rows": 3, "kernel_width": 3, "input_channels": 1, "groups": 1, "dilation": 1}


def pack(call: KernelCall) -> KernelCall | None:
    """Constants channel by channel; None for other windows, sums that are not simple, or an output too near its input."""
    size = {param.name: int(param.value) for param in call.params if isinstance(param.value, int)}
    array = {param.name: param.value for param in call.params if isinstance(param.value, np.ndarray)}
    if any(size[name] != value for name, value in _SHAPE.items()) or not _may_overlap(call, size):
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
    return KernelCall("kibi_conv2d_s8_3x3x1", params, overlap_bytes=call.overlap_bytes)


def _may_overlap(call: KernelCall, size: dict[str, int]) -> bool:
    """Whether a pixel may be written before the next one's window is read, at the distance that plans are made with."""
    starts = (x * size["stride"] - size["pad"] for x in range(size["output_width"]))
    need = least_distance((max(start, 0), x * size["output_channels"]) for x, start in enumerate(starts))
    return all(distance is None or need <= distance for distance in call.overlap_bytes)


CONV2D_3X3X1 = Variant(
    "kibi_conv2d_s8_3x3x1", "kibi_conv2d_s8", "armv7em", frozenset({Goal.SPEED, Goal.BALANCED}), pack
)
