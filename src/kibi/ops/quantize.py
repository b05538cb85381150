"""QUANTIZE."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from kibi.dtypes import Array, DType
from kibi.ir import KernelCall, Operator, Param, RowAccess, Rows, Site
from kibi.ops import checks
from kibi.ops.lookup import ALL_S8, lookup_call, lookup_rows
from kibi.ops.registry import register
from kibi.quant import requantize, round_half_away, wrap_s32


@dataclass(frozen=True, slots=True)
class Quantize(Operator):
    """Into a scale: input f32, or s8 of another scale, of any shape → output s8 of the same shape.

    Source: TFLM `kernels/internal/reference/quantize.h`, `AffineQuantize`, and `requantize.h`, `Requantize`.
    """

    name: ClassVar[str] = "QUANTIZE"
    inputs: ClassVar[tuple[str, ...]] = ("input",)
    kernels: ClassVar[tuple[str, ...]] = ("kibi_quantize_f32_s8", "kibi_lookup_s8")
    types: ClassVar[tuple[DType, ...]] = (DType.F32, DType.S8)

    def infer(self, site: Site) -> tuple[tuple[int, ...], DType]:
        """The input's shape, or another of the same rows, type s8."""
        if site["input"].type.dtype is DType.S8:
            checks.per_tensor(site, "input")
        checks.dtype(site, "output", DType.S8)
        checks.per_tensor(site, "output")
        if site["input"].type.dtype is DType.S8:
            _requantize_table(site)
        return checks.same_rows(site), DType.S8

    def accesses(self, site: Site) -> tuple[RowAccess, ...]:
        """Row by row."""
        return (RowAccess.same(site.output.type.rows),)

    def reference(self, site: Site) -> Callable[[Rows], Array]:
        """Rule N16: float32 division, rounded half away from zero, plus the zero point, clamped."""
        if site["input"].type.dtype is DType.S8:
            return lookup_rows(_requantize_table(site))
        output = site.output.quantization

        def row(rows: Rows) -> Array:
            real = np.asarray(rows[0][0], dtype=np.float32)
            with np.errstate(over="ignore", invalid="ignore"):
                # Beyond these bounds every value clamps; inside them the integer conversion is defined. NaN becomes 0.
                quotient = np.clip(np.nan_to_num(real / np.float32(output.scale), nan=0.0), -512, 512)
            return np.clip(round_half_away(quotient).astype(np.int64) + output.zero_point, -128, 127).astype(np.int8)

        return row

    def kernel_call(self, site: Site) -> KernelCall:
        """A look-up from s8; arithmetic from f32."""
        if site["input"].type.dtype is DType.S8:
            return lookup_call(_requantize_table(site), site)
        output = site.output.quantization
        params = (
            Param("elements", site.output.type.row_elements),
            Param("scale", output.scale),
            Param("zero_point", output.zero_point),
        )
        return KernelCall("kibi_quantize_f32_s8", params, overlap_bytes=(0,))


def _requantize_table(site: Site) -> NDArray[np.int8]:
    """Rule N17: the double-precision quotient of the scales as multiplier and shift."""
    source, output = site["input"].quantization, site.output.quantization
    factor = checks.factor(source.scale / output.scale)
    scaled = wrap_s32(requantize(ALL_S8 - source.zero_point, factor.value, factor.shift) + output.zero_point)
    table: NDArray[np.int8] = np.clip(scaled, -128, 127).astype(np.int8)
    return table


register(Quantize)
