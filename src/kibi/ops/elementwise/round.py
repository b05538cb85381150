"""ROUND."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kibi.ops.elementwise.unary import Real, RealUnary
from kibi.ops.registry import register


@dataclass(frozen=True, slots=True)
class Round(RealUnary):
    """The nearest integer, halves to the even one: input f32 → output f32; what rounds up to zero is +0.

    Source: TFLM `kernels/internal/reference/round.h`, `RoundToNearest`.
    """

    name: ClassVar[str] = "ROUND"
    kernels: ClassVar[tuple[str, ...]] = ("kibi_round_f32",)

    def real(self, values: Real) -> Real:
        """The integer below, or the next one."""
        below = np.floor(values)
        rest = values - below
        is_below = (rest < 0.5) | ((rest == 0.5) & (below % 2 == 0))
        return np.where(is_below, below, below + np.float32(1))


register(Round)
