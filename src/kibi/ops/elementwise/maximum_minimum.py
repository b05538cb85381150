"""MAXIMUM and MINIMUM."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kibi.dtypes import Array, DType
from kibi.ir import KernelCall, NodeView, Rows
from kibi.kernels.params.binary import PairParams
from kibi.ops.elementwise.broadcast import Broadcast2
from kibi.ops.registry import register


@dataclass(frozen=True, slots=True)
class Maximum(Broadcast2):
    """The larger of two inputs s8, s16, s32, s64 or f32 that broadcast → output of that type.

    Elements are compared as they stand: scales and zero points do not count. The second where neither is larger, as with a
    NaN. Source: TFLM `micro/kernels/maximum_minimum.h`, `MaximumOp`.
    """

    name: ClassVar[str] = "MAXIMUM"
    kernels: ClassVar[tuple[str, ...]] = (
        "kibi_maximum_s8",
        "kibi_maximum_s16",
        "kibi_maximum_s32",
        "kibi_maximum_s64",
        "kibi_maximum_f32",
    )
    types: ClassVar[tuple[DType, ...]] = (DType.S8, DType.S16, DType.S32, DType.S64, DType.F32)

    def reference(self, view: NodeView) -> Callable[[Rows], Array]:
        """Element by element."""
        numpy = view.output.type.dtype.numpy
        planes = self.planes(view)

        def row(rows: Rows) -> Array:
            a, b = planes(rows)
            return np.where(a > b, a, b).astype(numpy)

        return row

    def kernel_call(self, view: NodeView) -> KernelCall:
        """The type's kernel, without scratch."""
        return self.call(view, PairParams)


register(Maximum)


@dataclass(frozen=True, slots=True)
class Minimum(Broadcast2):
    """The smaller of two inputs s8, s16, s32, s64 or f32 that broadcast → output of that type.

    Elements are compared as they stand: scales and zero points do not count. The second where neither is smaller, as with a
    NaN. Source: TFLM `micro/kernels/maximum_minimum.h`, `MinimumOp`.
    """

    name: ClassVar[str] = "MINIMUM"
    kernels: ClassVar[tuple[str, ...]] = (
        "kibi_minimum_s8",
        "kibi_minimum_s16",
        "kibi_minimum_s32",
        "kibi_minimum_s64",
        "kibi_minimum_f32",
    )
    types: ClassVar[tuple[DType, ...]] = (DType.S8, DType.S16, DType.S32, DType.S64, DType.F32)

    def reference(self, view: NodeView) -> Callable[[Rows], Array]:
        """Element by element."""
        numpy = view.output.type.dtype.numpy
        planes = self.planes(view)

        def row(rows: Rows) -> Array:
            a, b = planes(rows)
            return np.where(a < b, a, b).astype(numpy)

        return row

    def kernel_call(self, view: NodeView) -> KernelCall:
        """The type's kernel, without scratch."""
        return self.call(view, PairParams)


register(Minimum)
