"""LOG."""

from dataclasses import dataclass
from typing import ClassVar

from kibi.ops.elementwise.unary import Real, RealUnary
from kibi.ops.registry import register
from kibi.quant import log_f32


@dataclass(frozen=True, slots=True)
class Log(RealUnary):
    """The natural logarithm; of what is negative it is no number: input f32 → output f32; TFLM has no other type.

    Source: TFLM `micro/kernels/elementwise.cc`.
    """

    name: ClassVar[str] = "LOG"
    kernels: ClassVar[tuple[str, ...]] = ("kibi_log_f32",)
    ulps: ClassVar[int] = 1

    def real(self, values: Real) -> Real:
        """Rule N30."""
        return log_f32(values)


register(Log)
