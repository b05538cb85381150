"""CEIL."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kibi.ops.elementwise.unary import Real, RealUnary
from kibi.ops.registry import register


@dataclass(frozen=True, slots=True)
class Ceil(RealUnary):
    """The least integer that is not below x: input f32 → output f32.

    Source: TFLM `kernels/internal/reference/ceil.h`.
    """

    name: ClassVar[str] = "CEIL"
    kernels: ClassVar[tuple[str, ...]] = ("kibi_ceil_f32",)

    def real(self, values: Real) -> Real:
        """Element by element."""
        return np.ceil(values)


register(Ceil)
