"""From 32-bit sums of products to 8-bit outputs: what convolutions and fully connected layers share."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibi.dtypes import Array, DType
from kibi.ir import NodeView
from kibi.ops import checks
from kibi.ops.attributes import Activation
from kibi.quant import Multiplier, requantize, wrap_s32

Int32 = NDArray[np.int32]


@dataclass(frozen=True, slots=True, eq=False)
class Requantization:
    """The scaling that makes outputs of the sums of each output channel.

    Attributes:
        bias: `[O]` s32, zeros where the node has none.
        multiplier, shift: `[O]` s32 each; rule N4.
        zero_point: added after scaling.
        low, high: the closed range that outputs are clamped to.
    """

    bias: Int32
    multiplier: Int32
    shift: Int32
    zero_point: int
    low: int
    high: int

    @staticmethod
    def of(view: NodeView, activation: Activation) -> "Requantization":
        """Rule N7: the factor of a channel is input scale * filter scale / output scale, in double precision.

        Args:
            view: a node with operands `input`, `filter`, `bias?`, `output`.
            activation: the fused activation.
        """
        output = view.output.quantization
        channels = view.output.type.shape[-1]
        factors = layer_factors(view)
        factors *= channels if len(factors) == 1 else 1
        bias = view.find("bias")
        data = np.zeros(channels) if bias is None or bias.data is None else bias.data.reshape(-1)
        low, high = activation.limits(DType.S8, output)
        return Requantization(
            data.astype(np.int32),
            np.array([factor.value for factor in factors], np.int32),
            np.array([factor.shift for factor in factors], np.int32),
            output.zero_point,
            low,
            high,
        )

    def apply(self, sums: Array) -> NDArray[np.int8]:
        """Outputs from sums `[…, O]` of products, without bias."""
        acc = wrap_s32(sums.astype(np.int64) + self.bias)
        scaled = wrap_s32(requantize(acc, self.multiplier, self.shift) + self.zero_point)
        # The upper bound wins where an activation leaves an empty range, as std::max then std::min do.
        return np.minimum(np.maximum(scaled, self.low), self.high).astype(np.int8)

    def params(self) -> dict[str, Any]:
        """The struct fields that all kernels of this family share."""
        return {
            "multiplier": self.multiplier,
            "shift": self.shift.astype(np.int8),
            "output_zero_point": self.zero_point,
            "activation_min": self.low,
            "activation_max": self.high,
        }


def layer_factors(view: NodeView, most_bits: int = 30) -> list[Multiplier]:
    """Rule N7: one factor, or one for each output channel; each is below 2**most_bits.

    Raises:
        OperatorError: one is not.
    """
    scales = view["filter"].quantization.scales
    input_scale, output_scale = view["input"].quantization.scale, view.output.quantization.scale
    products = [input_scale * scale for scale in scales]
    return [checks.factor(product / output_scale, most_bits) for product in products]


def check_scaling(view: NodeView, activation: Activation) -> None:
    """Check what `Requantization.of` computes from the scales; arguments as there.

    Raises:
        OperatorError: a factor or a bound of the activation does not fit 32 bits.
    """
    layer_factors(view)
    activation.limits(DType.S8, view.output.quantization)


def folded_bias(bias: Int32, weights: Array, zero_point: int) -> Int32:
    """Rule N8: the bias with the input's zero point folded in: bias - zero point * sum of the channel's weights.

    Args:
        bias: `[O]` s32.
        weights: `[O, K]` s8.
        zero_point: of the input.
    """
    sums = weights.astype(np.int64).sum(axis=1)
    return wrap_s32(bias.astype(np.int64) - zero_point * sums).astype(np.int32)


def integer_matmul(a: Array, b: Array) -> NDArray[np.int64]:
    """An exact matrix product of small integers: float64 holds every partial sum below 2**53, and is far faster."""
    product: NDArray[np.int64] = (a.astype(np.float64) @ b.astype(np.float64)).astype(np.int64)
    return product
