"""Two quantized inputs on one scale: what ADD, SUB and SQUARED_DIFFERENCE do before they differ."""

from dataclasses import dataclass
from math import isfinite
from typing import SupportsFloat

import numpy as np
from numpy.typing import NDArray

from kibi.dtypes import Array
from kibi.ir import NodeView, OperatorError
from kibi.quant import Multiplier, quantize_multiplier, requantize, wrap_s32


@dataclass(frozen=True, slots=True)
class ScaledPair:
    """Both inputs, shifted left, are brought to twice the larger of their scales.

    Attributes:
        left_shift: bits.
        zero_points: of the inputs and the output.
        factors: of the inputs, each 1/2 or less, and of what is made of them.
    """

    left_shift: int
    zero_points: tuple[int, int, int]
    factors: tuple[Multiplier, Multiplier, Multiplier]

    @staticmethod
    def of(view: NodeView, left_shift: int, factors: tuple[SupportsFloat, ...], most_shift: int = 0) -> "ScaledPair":
        """The pair of a node with `input1`, `input2` and `output`.

        Raises:
            OperatorError: a factor is not below `2**most_shift`; TFLM does not survive it, or shifts all bits out.
        """
        reals = [float(factor) for factor in factors]
        found = [quantize_multiplier(real) for real in reals if isfinite(real)]
        if len(found) < len(reals) or any(factor.shift > most_shift for factor in found):
            what = f"output scale {view.output.quantization.scale} is out of proportion to the inputs' scales"
            raise OperatorError(what, "Quantize the model again with representative data", "output")
        first, second, result = found
        zero1, zero2, zero = (view[name].quantization.zero_point for name in ("input1", "input2", "output"))
        return ScaledPair(left_shift, (zero1, zero2, zero), (first, second, result))

    def scaled(self, a: Array, b: Array) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Both inputs, s64, on the one scale."""
        first, second, _ = self.factors
        zero1, zero2, _ = self.zero_points
        return (
            requantize((a.astype(np.int64) - zero1) << self.left_shift, first.value, first.shift),
            requantize((b.astype(np.int64) - zero2) << self.left_shift, second.value, second.shift),
        )

    def result(self, value: NDArray[np.int64]) -> NDArray[np.int64]:
        """Returns the results, s32, in the output's scale, around its zero point; they wrap."""
        factor = self.factors[2]
        return wrap_s32(requantize(value, factor.value, factor.shift) + self.zero_points[2])

    def params(self) -> dict[str, int]:
        """The kernels' struct fields."""
        first, second, result = self.factors
        zero1, zero2, zero = self.zero_points
        return {
            "zero_point1": zero1,
            "multiplier1": first.value,
            "shift1": first.shift,
            "zero_point2": zero2,
            "multiplier2": second.value,
            "shift2": second.shift,
            "output_zero_point": zero,
            "output_multiplier": result.value,
            "output_shift": result.shift,
        }
