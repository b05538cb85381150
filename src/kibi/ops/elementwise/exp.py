"""EXP."""

from dataclasses import dataclass
from typing import ClassVar

from kibi.ir import KernelCall, NodeView
from kibi.ops.elementwise.unary import Real, RealUnary, elements_params
from kibi.ops.registry import register
from kibi.quant import exp_f32


@dataclass(frozen=True, slots=True)
class Exp(RealUnary):
    """The exponential function: input f32 → output f32; TFLM has no other type.

    Source: TFLM `kernels/internal/reference/exp.h`.
    """

    name: ClassVar[str] = "EXP"
    kernels: ClassVar[tuple[str, ...]] = ("kibi_exp_f32_each",)
    ulps: ClassVar[int] = 1

    def real(self, values: Real) -> Real:
        """Rule N23."""
        return exp_f32(values)

    def kernel_call(self, view: NodeView) -> KernelCall:
        """The one kernel."""
        return KernelCall("kibi_exp_f32_each", elements_params(view), inplace_distance_bytes=(0,))


register(Exp)
