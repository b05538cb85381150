"""SQRT."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kibi.ops.elementwise.unary import Real, RealUnary
from kibi.ops.registry import register


@dataclass(frozen=True, slots=True)
class Sqrt(RealUnary):
    """The square root: input f32 → output f32; TFLM has no other type.

    Source: TFLM `micro/kernels/elementwise.cc`.
    """

    name: ClassVar[str] = "SQRT"
    kernels: ClassVar[tuple[str, ...]] = ("kibi_sqrt_f32",)

    def real(self, values: Real) -> Real:
        """Rounded to nearest, as IEEE 754 has it."""
        return np.sqrt(values)


register(Sqrt)
