"""Constants with which kernels for cores with vectors round outputs once."""

import numpy as np
from numpy.typing import NDArray

from kibi.kernels.params.conv2d import Conv2DS8Params
from kibi.kernels.params.depthwise_conv2d import DepthwiseS8Params
from kibi.quant import wrap_s32
from kibi.selection.single_rounding import SingleRounding, single_rounding
from kibi.selection.sums import SimpleSums

_FRACTION_BITS = 11
"""Of outputs that are rounded once."""
_ENDS = (-128, -128, 127)
"""The zero point and the bounds of outputs that are rounded once."""


def rounded_once(
    layer: DepthwiseS8Params | Conv2DS8Params, weights: NDArray[np.int8], sums: SimpleSums
) -> SingleRounding | None:
    """Returns constants with which vectors round once, where addends hold the bias; None if there are none.

    Args:
        layer: whose outputs are cut at both ends of int8 alone.
        weights: `[O, K]`.
        sums: of the channels.
    """
    ends = layer.output_zero_point, layer.activation_min, layer.activation_max
    if ends != _ENDS:
        return None
    found = single_rounding(weights, sums, *ends, bits=_FRACTION_BITS, to_nearest=True)
    if found is None:
        return None
    return SingleRounding(wrap_s32((sums.bias.astype(np.int64) << 8) + found.addend).astype(np.int32), found.factor)
