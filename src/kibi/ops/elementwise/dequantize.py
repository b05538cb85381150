"""DEQUANTIZE."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kibi.dtypes import Array, DType
from kibi.ir import ColumnReach, KernelCall, NodeView, Operator, RowAccess, Rows
from kibi.kernels.params.unary import QuantizeF32Params
from kibi.ops import checks
from kibi.ops.elementwise.columns import same_columns
from kibi.ops.registry import register


@dataclass(frozen=True, slots=True)
class Dequantize(Operator):
    """Out of a scale: input s8, u8 or s16 of any shape → output f32 of the same shape.

    TFLM multiplies in double precision and rounds to float32; a difference of 17 bits times a scale of 24 is exact in double
    precision, so one rounded float32 multiplication gives the same bits. Of scales per channel the first one counts, as in
    TFLM. Source: TFLM `micro/kernels/dequantize_common.cc`; `kernels/internal/reference/dequantize.h`, `Dequantize`.
    """

    name: ClassVar[str] = "DEQUANTIZE"
    inputs: ClassVar[tuple[str, ...]] = ("input",)
    kernels: ClassVar[tuple[str, ...]] = (
        "kibi_dequantize_s8_f32", "kibi_dequantize_u8_f32", "kibi_dequantize_s16_f32",
    )  # fmt: skip
    types: ClassVar[tuple[DType, ...]] = (DType.S8, DType.U8, DType.S16)

    def infer(self, view: NodeView) -> tuple[tuple[int, ...], DType]:
        """The input's shape, or another of the same rows, type f32."""
        checks.first_scale(view, "input")
        return checks.same_rows(view), DType.F32

    def accesses(self, view: NodeView) -> tuple[RowAccess, ...]:
        """Row by row."""
        return (RowAccess.same(view.output.type.rows),)

    def columns(self, view: NodeView) -> ColumnReach | None:
        """Column by column."""
        return same_columns(view)

    def reference(self, view: NodeView) -> Callable[[Rows], Array]:
        """Rule N18: scale * (input - zero point)."""
        source = view["input"].quantization

        def row(rows: Rows) -> Array:
            centred = np.asarray(rows[0][0]).astype(np.int32) - source.zero_point
            with np.errstate(over="ignore"):  # a huge scale gives infinities, here as in C
                return (np.float64(np.float32(source.scale)) * centred).astype(np.float32)

        return row

    def kernel_call(self, view: NodeView) -> KernelCall:
        """One kernel for each type."""
        source, dtype = view["input"].quantization, view["input"].type.dtype
        elements = view.output.type.row_elements
        params = QuantizeF32Params(elements=elements, scale=source.scale, zero_point=source.zero_point)
        # The last element is read when all outputs but one, which are larger, have been written.
        distance = (DType.F32.size_bytes - dtype.size_bytes) * (elements - 1)
        return KernelCall(f"kibi_dequantize_{dtype}_f32", params, inplace_distance_bytes=(distance,))


register(Dequantize)
