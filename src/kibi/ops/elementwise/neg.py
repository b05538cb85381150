"""NEG."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kibi.ops.elementwise.unary import Real, RealUnary
from kibi.ops.registry import register


@dataclass(frozen=True, slots=True)
class Neg(RealUnary):
    """-x: input f32 → output f32; TFLM has no other type.

    Source: TFLM `kernels/internal/reference/neg.h`.
    """

    name: ClassVar[str] = "NEG"
    kernels: ClassVar[tuple[str, ...]] = ("kibi_neg_f32",)

    def real(self, values: Real) -> Real:
        """Element by element."""
        return np.negative(values)


register(Neg)
