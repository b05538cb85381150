"""CAST."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kibi.dtypes import Array, DType
from kibi.ir import KernelCall, Operator, Param, RowAccess, Rows, Site
from kibi.ops import checks
from kibi.ops.registry import register

_FROM = (DType.S8, DType.S16, DType.S32, DType.U32, DType.F32, DType.BOOL)
_TO = (DType.S8, DType.S16, DType.S32, DType.U32, DType.F32)


@dataclass(frozen=True, slots=True)
class Cast(Operator):
    """Stored numbers in another type: input s8, s16, s32, u32, f32 or bool of any shape → output of one but bool.

    Quantization does not matter. Integers wrap. Floats lose what is behind the point and saturate, and NaN becomes 0, as
    TFLM's Python build has it; its published source leaves both undefined. Source: TFLM `micro/kernels/cast.cc`.
    """

    name: ClassVar[str] = "CAST"
    inputs: ClassVar[tuple[str, ...]] = ("input",)
    kernels: ClassVar[tuple[str, ...]] = tuple(f"kibi_cast_{a}_{b}" for a in _FROM for b in _TO)
    types: ClassVar[tuple[DType, ...]] = _FROM

    def infer(self, site: Site) -> tuple[tuple[int, ...], DType]:
        """The input's shape, or another of the same rows, the output's type."""
        return checks.same_rows(site), checks.dtype(site, "output", *_TO)

    def accesses(self, site: Site) -> tuple[RowAccess, ...]:
        """Row by row."""
        return (RowAccess.same(site.output.type.rows),)

    def reference(self, site: Site) -> Callable[[Rows], Array]:
        """Saturated where it is a float, else cut to the output's bits."""
        target = site.output.type.dtype

        def row(rows: Rows) -> Array:
            data = np.asarray(rows[0][0])
            if site["input"].type.dtype is DType.F32 and target is not DType.F32:
                low, high = target.limits
                data = np.clip(np.nan_to_num(data.astype(np.float64), posinf=high, neginf=low), low, high)
            return data.astype(target.numpy)

        return row

    def kernel_call(self, site: Site) -> KernelCall:
        """One kernel for each pair of types."""
        source, output = site["input"].type.dtype, site.output.type.dtype
        elements = site.output.type.row_elements
        # The last element is read when all outputs but one have been written.
        distance = max(0, output.size_bytes - source.size_bytes) * (elements - 1)
        return KernelCall(f"kibi_cast_{source}_{output}", (Param("elements", elements),), overlap_bytes=(distance,))


register(Cast)
