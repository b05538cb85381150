"""Sums of s8 or s16 over axes, scaled once: MEAN, whose factor includes the division, and SUM."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibi.dtypes import Array
from kibi.ir import Accumulation, NodeView
from kibi.ops.reductions.reduction import accumulation
from kibi.quant import Multiplier, requantize, wrap_s32


@dataclass(frozen=True, slots=True)
class ScaledSums:
    """The steps from sums in 32 bits that wrap to outputs.

    Attributes:
        factor: of the sum less its zero points.
        count: elements of each sum.
    """

    factor: Multiplier
    count: int

    def accumulation(self, view: NodeView) -> Accumulation:
        """Rule N11: the sum without its zero points, scaled once."""
        output, dtype = view.output.quantization, view.output.type.dtype

        def finish(sums: Array) -> Array:
            scaled = requantize(sums.astype(np.int64), self.factor.value, self.factor.shift)
            return np.clip(wrap_s32(scaled + output.zero_point), *dtype.limits).astype(dtype.numpy)

        return accumulation(view, np.full(view.output.type.elements, self._start(view), np.int32), _add, finish)

    def _start(self, view: NodeView) -> int:
        """Returns the start of every sum: minus the zero points of its elements."""
        return int(wrap_s32(-self.count * view["input"].quantization.zero_point))

    def scaling_params(self, view: NodeView) -> dict[str, Any]:
        """The struct fields after those of the loops."""
        return {
            "start": self._start(view),
            "output_zero_point": view.output.quantization.zero_point,
            "multiplier": self.factor.value,
            "shift": self.factor.shift,
        }


def _add(sums: Array, places: NDArray[np.int64], row: Array) -> None:
    np.add.at(sums, places, row.astype(np.int32))
