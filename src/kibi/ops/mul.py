"""MUL."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kibi.dtypes import Array, DType
from kibi.ir import KernelCall, Param, Rows, Site
from kibi.ops import checks
from kibi.ops.broadcast import Elementwise2
from kibi.ops.registry import register
from kibi.quant import Multiplier, requantize, wrap_s32


@dataclass(frozen=True, slots=True)
class Mul(Elementwise2):
    """Product of two inputs s8 that broadcast → output s8.

    Source: TFLM `micro/kernels/mul_common.cc` and `kernels/internal/reference/integer_ops/mul.h`.
    """

    name: ClassVar[str] = "MUL"
    kernels: ClassVar[tuple[str, ...]] = ("kibi_mul_s8",)

    def infer(self, site: Site) -> tuple[tuple[int, ...], DType]:
        """The broadcast shape, type s8."""
        shape, dtype = Elementwise2.infer(self, site)
        _multiplier(site)
        return shape, dtype

    def reference(self, site: Site) -> Callable[[Rows], Array]:
        """Product of the centred inputs, requantized and clamped."""
        factor = _multiplier(site)
        zero1, zero2, zero_point = (site[name].quantization.zero_point for name in ("input1", "input2", "output"))
        low, high = self.activation.limits(DType.S8, site.output.quantization)

        def row(rows: Rows) -> Array:
            a, b = self.planes(site, rows)
            product = wrap_s32(requantize((a - zero1) * (b - zero2), factor.value, factor.shift) + zero_point)
            return np.minimum(np.maximum(product, low), high).astype(np.int8)

        return row

    def kernel_call(self, site: Site) -> KernelCall:
        """The one kernel, without scratch."""
        factor = _multiplier(site)
        params = (
            *self.broadcast_params(site),
            Param("zero_point1", site["input1"].quantization.zero_point),
            Param("zero_point2", site["input2"].quantization.zero_point),
            Param("output_zero_point", site.output.quantization.zero_point),
            Param("output_multiplier", factor.value),
            Param("output_shift", factor.shift),
        )
        return KernelCall("kibi_mul_s8", params, overlap_bytes=self.overlaps(site))


def _multiplier(site: Site) -> Multiplier:
    """Rule N10: the product of the inputs' scales over the output's."""
    scale1, scale2, scale = (site[name].quantization.scale for name in ("input1", "input2", "output"))
    return checks.factor(scale1 * scale2 / scale)


register(Mul)
