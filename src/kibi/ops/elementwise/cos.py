"""COS."""

from dataclasses import dataclass
from typing import ClassVar

from kibi.ops.elementwise.unary import Real, RealUnary
from kibi.ops.registry import register
from kibi.quant import cos_f32


@dataclass(frozen=True, slots=True)
class Cos(RealUnary):
    """The cosine: input f32 → output f32; TFLM has no other type.

    Source: TFLM `micro/kernels/elementwise.cc`.
    """

    name: ClassVar[str] = "COS"
    kernels: ClassVar[tuple[str, ...]] = ("kibi_cos_f32",)
    ulps: ClassVar[int] = 1

    def real(self, values: Real) -> Real:
        """Rule N31."""
        return cos_f32(values)


register(Cos)
