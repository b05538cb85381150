"""CAST."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kibi.dtypes import Array, DType
from kibi.ir import KernelCall, NodeView, Operator, RowAccess, Rows
from kibi.kernels.params.movement import CopyBytesParams
from kibi.kernels.params.unary import CastAnyBoolParams, ElementsParams
from kibi.ops import checks
from kibi.ops.registry import register

_FROM = (DType.S8, DType.U8, DType.S16, DType.S32, DType.U32, DType.F32, DType.BOOL)
_NUMBERS = (DType.S8, DType.S16, DType.S32, DType.U32, DType.F32)
_TO = (*_NUMBERS, DType.BOOL)


@dataclass(frozen=True, slots=True)
class Cast(Operator):
    """Stored numbers in another type: input s8, u8, s16, s32, u32, f32 or bool of any shape → output of one but u8.

    Quantization does not matter. Integers wrap. Floats lose what is after the point and saturate, and NaN becomes 0, as
    TFLM's Python build has it; its published source leaves both undefined. A bool says whether a number is not 0; NaN is not.
    TFLM refuses u8, whose numbers are here what they are in TensorFlow Lite. Source: TFLM `micro/kernels/cast.cc`.
    """

    name: ClassVar[str] = "CAST"
    inputs: ClassVar[tuple[str, ...]] = ("input",)
    kernels: ClassVar[tuple[str, ...]] = (
        *(f"kibi_cast_{a}_{b}" for a in _FROM if a is not DType.BOOL for b in _NUMBERS if a is not b),
        "kibi_cast_any_bool",
        "kibi_copy_any",
    )
    types: ClassVar[tuple[DType, ...]] = _FROM

    def infer(self, view: NodeView) -> tuple[tuple[int, ...], DType]:
        """The input's shape, or another of the same rows, the output's type."""
        return checks.same_rows(view), checks.dtype(view, "output", *_TO)

    def accesses(self, view: NodeView) -> tuple[RowAccess, ...]:
        """Row by row."""
        return (RowAccess.same(view.output.type.rows),)

    def reference(self, view: NodeView) -> Callable[[Rows], Array]:
        """Saturated where it is a float, else cut to the output's bits."""
        target = view.output.type.dtype

        def row(rows: Rows) -> Array:
            data = np.asarray(rows[0][0])
            if view["input"].type.dtype is DType.F32 and target.is_integer:
                low, high = target.limits
                data = np.clip(np.nan_to_num(data.astype(np.float64), posinf=high, neginf=low), low, high)
            return data.astype(target.numpy)

        return row

    def kernel_call(self, view: NodeView) -> KernelCall:
        """One kernel for each pair of types of numbers, where bool is as u8; one for all that becomes bool; one for copies."""
        source, output = view["input"].type.dtype, view.output.type.dtype
        elements = view.output.type.row_elements
        # The last element is read when all outputs but one have been written.
        distance = max(0, output.size_bytes - source.size_bytes) * (elements - 1)
        if output is DType.BOOL:
            is_float = int(source is DType.F32)
            params = CastAnyBoolParams(elements=elements, bytes=source.size_bytes, is_float=is_float)
            return KernelCall("kibi_cast_any_bool", params, is_untyped=True, inplace_distance_bytes=(distance,))
        if output is source:
            copied = CopyBytesParams(pieces=1, bytes=elements * output.size_bytes)
            return KernelCall("kibi_copy_any", copied, is_untyped=True, inplace_distance_bytes=(0,))
        stored = DType.U8 if source is DType.BOOL else source
        kernel = f"kibi_cast_{stored}_{output}"
        return KernelCall(kernel, ElementsParams(elements=elements), inplace_distance_bytes=(distance,))


register(Cast)
