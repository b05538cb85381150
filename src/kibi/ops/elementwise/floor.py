"""FLOOR."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kibi.ops.elementwise.unary import Real, RealUnary
from kibi.ops.registry import register


@dataclass(frozen=True, slots=True)
class Floor(RealUnary):
    """The largest integer that is not above x: input f32 → output f32.

    Source: TFLM `kernels/internal/reference/floor.h`.
    """

    name: ClassVar[str] = "FLOOR"
    kernels: ClassVar[tuple[str, ...]] = ("kibi_floor_f32",)

    def real(self, values: Real) -> Real:
        """Element by element."""
        return np.floor(values)


register(Floor)
