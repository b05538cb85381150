"""ADD."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kibi.dtypes import Array, DType
from kibi.ir import KernelCall, OperatorError, Param, Rows, Site
from kibi.ops.broadcast import Elementwise2
from kibi.ops.registry import register
from kibi.quant import Multiplier, quantize_multiplier, requantize

_LEFT_SHIFT = 20


@dataclass(frozen=True, slots=True)
class Add(Elementwise2):
    """Sum of two inputs s8 that broadcast → output s8.

    Both inputs are shifted left by 20 bits and brought to twice the larger of their scales before they are added.
    Source: TFLM `micro/kernels/add_common.cc` and `kernels/internal/reference/integer_ops/add.h`.
    """

    name: ClassVar[str] = "ADD"
    kernels: ClassVar[tuple[str, ...]] = ("kibi_add_s8",)

    def infer(self, site: Site) -> tuple[tuple[int, ...], DType]:
        """The broadcast shape, type s8."""
        shape, dtype = Elementwise2.infer(self, site)
        if any(multiplier.shift > 0 for multiplier in _multipliers(site)):
            what = f"output scale {site.output.quantization.scale} is out of proportion to the inputs' scales"
            raise OperatorError(what, "Quantize the model again with representative data", "output")
        return shape, dtype

    def reference(self, site: Site) -> Callable[[Rows], Array]:
        """Scaled sum, requantized and clamped."""
        first, second, result = _multipliers(site)
        zero_points = [site[name].quantization.zero_point for name in ("input1", "input2", "output")]
        low, high = self.activation.limits(DType.S8, site.output.quantization)

        def row(rows: Rows) -> Array:
            a, b = self.planes(site, rows)
            scaled_a = requantize((a - zero_points[0]) << _LEFT_SHIFT, first.value, first.shift)
            scaled_b = requantize((b - zero_points[1]) << _LEFT_SHIFT, second.value, second.shift)
            total = requantize(scaled_a + scaled_b, result.value, result.shift) + zero_points[2]
            return np.minimum(np.maximum(total, low), high).astype(np.int8)

        return row

    def kernel_call(self, site: Site) -> KernelCall:
        """The one kernel, without scratch."""
        first, second, result = _multipliers(site)
        params = (
            *self.broadcast_params(site),
            Param("zero_point1", site["input1"].quantization.zero_point),
            Param("multiplier1", first.value),
            Param("shift1", first.shift),
            Param("zero_point2", site["input2"].quantization.zero_point),
            Param("multiplier2", second.value),
            Param("shift2", second.shift),
            Param("output_zero_point", site.output.quantization.zero_point),
            Param("output_multiplier", result.value),
            Param("output_shift", result.shift),
        )
        return KernelCall("kibi_add_s8", params, overlap_bytes=self.overlaps(site))


def _multipliers(site: Site) -> tuple[Multiplier, Multiplier, Multiplier]:
    """Rule N9: factors of the two inputs and of the sum."""
    scale1, scale2 = site["input1"].quantization.scale, site["input2"].quantization.scale
    twice = 2 * max(scale1, scale2)
    result = twice / ((1 << _LEFT_SHIFT) * site.output.quantization.scale)
    return quantize_multiplier(scale1 / twice), quantize_multiplier(scale2 / twice), quantize_multiplier(result)


register(Add)
