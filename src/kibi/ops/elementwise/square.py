"""SQUARE."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kibi.ops.elementwise.unary import Real, RealUnary
from kibi.ops.registry import register


@dataclass(frozen=True, slots=True)
class Square(RealUnary):
    """x * x: input f32 → output f32; TFLM has no other type.

    Source: TFLM `micro/kernels/elementwise.cc`.
    """

    name: ClassVar[str] = "SQUARE"
    kernels: ClassVar[tuple[str, ...]] = ("kibi_square_f32",)

    def real(self, values: Real) -> Real:
        """Element by element."""
        return np.square(values)


register(Square)
