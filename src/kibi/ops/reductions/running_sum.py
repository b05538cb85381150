"""The shared parts of ADD_N and CUMSUM of s8: sums of many elements of one scale."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kibi.ir import NodeView, OperatorError
from kibi.ops import checks
from kibi.quant import Multiplier, quantize_multiplier, requantize, wrap_s32

_LEFT_SHIFT = 20


@dataclass(frozen=True, slots=True)
class RunningSum:
    """Rule N34: sums begin at the negated zero point of the inputs; shifted left, they are brought to the output's scale.

    Attributes:
        zero_point: of the inputs.
        factor: of twice the input scale, by 2**20 and the output's scale.
        output_zero_point: of the output.
    """

    zero_point: int
    factor: Multiplier
    output_zero_point: int

    @staticmethod
    def of(view: NodeView, operand: str) -> "RunningSum":
        """The sums of elements of that operand.

        Raises:
            OperatorError: the output's scale is so small that the factor is not below 1, which TFLM does not survive.
        """
        source, output = checks.per_tensor(view, operand), checks.per_tensor(view, "output")
        factor = quantize_multiplier(2 * source.scale / ((1 << _LEFT_SHIFT) * output.scale))
        if factor.shift > 0:
            what = f"output scale {output.scale:.9g} is out of proportion to the input's scale {source.scale:.9g}"
            raise OperatorError(what, "Quantize the model again with representative data", "output")
        return RunningSum(source.zero_point, factor, output.zero_point)

    def result(self, sums: ArrayLike) -> NDArray[np.int8]:
        """Outputs from sums of centred elements, which begin at `-zero_point`; the shifted sums wrap in 32 bits."""
        shifted = wrap_s32(np.asarray(sums, np.int64) << (_LEFT_SHIFT - 1))
        scaled = requantize(shifted, self.factor.value, self.factor.shift) + self.output_zero_point
        return np.clip(wrap_s32(scaled), -128, 127).astype(np.int8)

    def params(self) -> dict[str, int]:
        """The kernels' struct fields."""
        return {
            "zero_point": self.zero_point,
            "output_multiplier": self.factor.value,
            "output_shift": self.factor.shift,
            "output_zero_point": self.output_zero_point,
        }
