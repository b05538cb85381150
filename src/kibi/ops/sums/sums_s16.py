"""Layers of int16 elements and int8 weights: sums of products in 64 bits or in 32, as TFLM has them.

CONV_2D, DEPTHWISE_CONV_2D, FULLY_CONNECTED and TRANSPOSE_CONV share it. Which width a sum has decides how it is rounded, and
follows from the type of the bias.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibi.dtypes import Array, DType
from kibi.ir import NodeView, OperatorError
from kibi.ops import checks
from kibi.ops.attributes import Activation
from kibi.ops.sums.accumulator import layer_factors
from kibi.quant import requantize, requantize_wide, wrap_s32

Int32 = NDArray[np.int32]
Int64 = NDArray[np.int64]

_MOST_BITS = {True: 7, False: 30}
"""Shifts to the left that TFLM defines, of wide sums and of others."""
_WIDE_SUM = 1 << 47
"""Sums of 64 bits must stay below it in magnitude, so that their products with a multiplier fit 64 bits."""


@dataclass(frozen=True, slots=True, eq=False)
class ScalingS16:
    """The scaling that makes outputs of s16 of the sums of each output channel.

    Attributes:
        bias: `[O]` s64, zeros where the node has none.
        multiplier, shift: `[O]` s32 each.
        zero_point: added after scaling; 0 but of FULLY_CONNECTED.
        low, high: the closed range that outputs are clamped to.
        is_wide: true if sums have 64 bits (rule N26); else they wrap in 32 (rule N4).
    """

    bias: Int64
    multiplier: Int32
    shift: Int32
    zero_point: int
    low: int
    high: int
    is_wide: bool

    @staticmethod
    def of(
        view: NodeView, activation: Activation, *, narrow_sums: bool = False, always_wide: bool = False
    ) -> "ScalingS16":
        """Rules N7 and N27; arguments as in `check_layer`."""
        channels = view.output.type.shape[-1]
        wide = always_wide or is_wide(view, narrow_sums=narrow_sums)
        factors = layer_factors(view, _MOST_BITS[wide])
        factors *= channels if len(factors) == 1 else 1
        return ScalingS16(
            _bias(view, channels),
            np.array([factor.value for factor in factors], np.int32),
            np.array([factor.shift for factor in factors], np.int32),
            view.output.quantization.zero_point,
            *activation.limits(DType.S16, view.output.quantization),
            wide,
        )

    def apply(self, sums: Array) -> NDArray[np.int16]:
        """Outputs from sums `[…, O]` of products, without bias."""
        acc = sums.astype(np.int64) + self.bias
        if self.is_wide:
            scaled = requantize_wide(acc, self.multiplier, self.shift)
        else:
            scaled = requantize(wrap_s32(acc), self.multiplier, self.shift)
        moved = wrap_s32(scaled + self.zero_point)
        return np.minimum(np.maximum(moved, self.low), self.high).astype(np.int16)

    def params(self) -> dict[str, Any]:
        """The struct fields that all kernels of this family share; that of TRANSPOSE_CONV has no `is_wide`."""
        return {
            "multiplier": self.multiplier,
            "shift": self.shift.astype(np.int8),
            "activation_min": self.low,
            "activation_max": self.high,
        }


def is_s16(view: NodeView) -> bool:
    """True if a layer is one of s16 elements, by its input."""
    return view["input"].type.dtype is DType.S16


def is_wide(view: NodeView, *, narrow_sums: bool) -> bool:
    """Rule N27: whether sums have 64 bits: all but those with a bias of s32, or with none where `narrow_sums`.

    Source: TFLM `micro/kernels/conv.cc` and `fully_connected.cc`, `requires_int32_accum`.
    """
    bias = view.find("bias")
    return not narrow_sums if bias is None else bias.type.dtype is not DType.S32


def check_layer(
    view: NodeView,
    channels: int,
    axis: int,
    activation: Activation,
    biases: tuple[DType, ...],
    *,
    narrow_sums: bool = False,
    always_wide: bool = False,
) -> None:
    """The types and scales of a layer with `channels` output channels, which are along an axis of the filter.

    Args:
        view: the node.
        channels: of the output.
        axis: of the filter.
        activation: the fused activation.
        biases: the types that a bias may have.
        narrow_sums: as in `is_wide`.
        always_wide: true if sums have 64 bits, whatever the type of the bias.

    Raises:
        OperatorError: one is not as it must be.
    """
    checks.dtype(view, "filter", DType.S8)
    checks.symmetric_weights(view, "filter", channels, axis=axis)
    bias = view.find("bias")
    if bias is not None and bias.type.dtype is DType.S32 and DType.S32 not in biases:
        read, held = 8 * bias.type.elements, bias.type.size_bytes
        what = (
            f"bias has type s32, which TFLM reads as s64 in a {view.op.name} of s16: {read} bytes of the {held} that are there. "
            "The memory after them decides its outputs, so they are undefined"
        )
        raise OperatorError(what, "Quantize the model with a bias of 64 bits", "bias")
    checks.bias(view, channels, *biases)
    wide = always_wide or is_wide(view, narrow_sums=narrow_sums)
    layer_factors(view, _MOST_BITS[wide])
    activation.limits(DType.S16, view.output.quantization)
    if wide and np.abs(_bias(view, channels).astype(np.float64)).max() >= _WIDE_SUM / 2:
        raise OperatorError("bias has elements of 2**46 or more, and sums must stay below 2**47", operand="bias")


def check_symmetric(view: NodeView) -> None:
    """TFLM's convolutions of s16 take no notice of zero points: they must be 0.

    Raises:
        OperatorError: one is not.
    """
    checks.symmetric(view, "input")
    checks.symmetric(view, "output")


def _bias(view: NodeView, channels: int) -> Int64:
    tensor = view.find("bias")
    data = np.zeros(channels) if tensor is None or tensor.data is None else tensor.data.reshape(-1)
    return data.astype(np.int64)
