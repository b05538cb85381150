"""QUANTIZE."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from kibi.dtypes import Array, DType
from kibi.ir import ColumnReach, KernelCall, NodeView, Operator, RowAccess, Rows
from kibi.kernels.params.unary import QuantizeF32Params, RequantizeParams
from kibi.ops import checks
from kibi.ops.elementwise.columns import same_columns
from kibi.ops.elementwise.table import ALL_S8, table_call, table_rows
from kibi.ops.registry import register
from kibi.quant import requantize, round_half_away, wrap_s32

_TARGETS: Mapping[DType, tuple[DType, ...]] = {
    DType.F32: (DType.S8, DType.S16),
    DType.S8: (DType.S8, DType.U8, DType.S16, DType.S32),
    DType.U8: (DType.S8,),
    DType.S16: (DType.S8, DType.S16, DType.S32),
    DType.S32: (DType.S8, DType.S16),
}
"""For each type of the input those of the output that TFLM has."""
_KERNELS: Mapping[tuple[DType, DType], str] = {
    (source, target): f"kibi_quantize_{source}_{target}"
    for source, targets in _TARGETS.items()
    for target in targets
    if (source, target) != (DType.S8, DType.S8)
}


@dataclass(frozen=True, slots=True)
class Quantize(Operator):
    """Into a scale, or from one to another: input f32, s8, u8, s16 or s32 of any shape → output of the same shape.

    f32 becomes s8 or s16; s8 becomes s8, u8, s16 or s32; u8 becomes s8; s16 becomes s8, s16 or s32; s32 becomes s8 or s16. Of
    scales per channel of the input the first one counts, as in TFLM. Source: TFLM `micro/kernels/quantize_common.cc`;
    `kernels/internal/reference/quantize.h`, `AffineQuantize`, and `requantize.h`, `Requantize`.
    """

    name: ClassVar[str] = "QUANTIZE"
    inputs: ClassVar[tuple[str, ...]] = ("input",)
    kernels: ClassVar[tuple[str, ...]] = ("kibi_table_s8", *_KERNELS.values())
    types: ClassVar[tuple[DType, ...]] = tuple(_TARGETS)

    def infer(self, view: NodeView) -> tuple[tuple[int, ...], DType]:
        """The input's shape, or another of the same rows, the output's type."""
        source = view["input"].type.dtype
        target = checks.dtype(view, "output", *_TARGETS[source])
        checks.per_tensor(view, "output")
        if source is not DType.F32:
            checks.first_scale(view, "input")
            self._factors(view)
        return checks.same_rows(view), target

    def accesses(self, view: NodeView) -> tuple[RowAccess, ...]:
        """Row by row."""
        return (RowAccess.same(view.output.type.rows),)

    def columns(self, view: NodeView) -> ColumnReach | None:
        """Column by column."""
        return same_columns(view)

    def reference(self, view: NodeView) -> Callable[[Rows], Array]:
        """Rule N16 from floats, rule N17 from integers."""
        if view["input"].type.dtype is DType.F32:
            return _float_rows(view)
        if _is_table(view):
            return table_rows(self.table(view))

        def row(rows: Rows) -> Array:
            return self._scaled(view, np.asarray(rows[0][0]).astype(np.int64))

        return row

    def kernel_call(self, view: NodeView) -> KernelCall:
        """A look-up from s8 to s8; arithmetic from and to others."""
        if _is_table(view):
            return table_call(self.table(view), view)
        source, target = view["input"].type.dtype, view.output.type.dtype
        elements, output = view.output.type.row_elements, view.output.quantization
        if source is DType.F32:
            params: QuantizeF32Params | RequantizeParams = QuantizeF32Params(
                elements=elements, scale=output.scale, zero_point=output.zero_point
            )
        else:
            multiplier, shift = self._factors(view)
            params = RequantizeParams(
                elements=elements,
                zero_point=view["input"].quantization.zero_point,
                output_zero_point=output.zero_point,
                multiplier=multiplier,
                shift=shift,
            )
        # The last element is read when all outputs but one have been written.
        distance = max(0, target.size_bytes - source.size_bytes) * (elements - 1)
        return KernelCall(_KERNELS[source, target], params, inplace_distance_bytes=(distance,))

    def _factors(self, view: NodeView) -> tuple[int, int]:
        """Rule N17: the double-precision quotient of the scales as multiplier and shift."""
        factor = checks.factor(view["input"].quantization.scale / view.output.quantization.scale)
        return factor.value, factor.shift

    def table(self, view: NodeView) -> NDArray[np.int8]:
        """Returns the outputs for inputs -128 … 127, from s8 to s8."""
        return self._scaled(view, ALL_S8).astype(np.int8)

    def _scaled(self, view: NodeView, elements: Array) -> Array:
        """Rule N17: elements of s64, scaled."""
        source, output = view["input"].quantization, view.output.quantization
        dtype = view.output.type.dtype
        scaled = requantize(wrap_s32(elements.astype(np.int64) - source.zero_point), *self._factors(view))
        return np.clip(wrap_s32(scaled + output.zero_point), *dtype.limits).astype(dtype.numpy)


def _is_table(view: NodeView) -> bool:
    return view["input"].type.dtype is view.output.type.dtype is DType.S8


def _float_rows(view: NodeView) -> Callable[[Rows], Array]:
    """Rule N16: float32 division, rounded half away from zero, plus the zero point, clamped."""
    output, dtype = view.output.quantization, view.output.type.dtype
    bound = 4 * (dtype.limits[1] + 1)

    def row(rows: Rows) -> Array:
        real = np.asarray(rows[0][0], dtype=np.float32)
        with np.errstate(over="ignore", invalid="ignore"):
            # Beyond these bounds every value clamps; inside them the integer conversion is defined. NaN becomes 0.
            quotient = np.clip(np.nan_to_num(real / np.float32(output.scale), nan=0.0), -bound, bound)
        whole = round_half_away(quotient).astype(np.int64) + output.zero_point
        return np.clip(whole, *dtype.limits).astype(dtype.numpy)

    return row


register(Quantize)
