"""SELECT_V2."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kibi.dtypes import Array, DType
from kibi.ir import KernelCall, NodeView, Rows
from kibi.kernels.params.movement import SelectParams
from kibi.ops import checks
from kibi.ops.elementwise.broadcast import Broadcast2
from kibi.ops.registry import register


@dataclass(frozen=True, slots=True)
class SelectV2(Broadcast2):
    """Elements of one input where a condition holds, else of another: condition bool, inputs s8, s16 or f32 → output.

    All three broadcast (ranks up to 6). Elements are copied as they are, whatever the scales. Source: TFLM
    `micro/kernels/select.cc` and `kernels/internal/reference/select.h`.
    """

    name: ClassVar[str] = "SELECT_V2"
    inputs: ClassVar[tuple[str, ...]] = ("condition", "input1", "input2")
    row_inputs: ClassVar[tuple[str, ...]] = ("condition", "input1", "input2")
    kernels: ClassVar[tuple[str, ...]] = ("kibi_select_any",)
    types: ClassVar[tuple[DType, ...]] = (DType.BOOL,)

    def infer(self, view: NodeView) -> tuple[tuple[int, ...], DType]:
        """The broadcast shape, the type of both inputs."""
        checks.dtype(view, "condition", DType.BOOL)
        dtype = checks.dtype(view, "input1", DType.S8, DType.S16, DType.F32)
        checks.dtype(view, "input2", dtype)
        return self.broadcast_shape(view), dtype

    def reference(self, view: NodeView) -> Callable[[Rows], Array]:
        """Element by element."""
        numpy = view.output.type.dtype.numpy
        planes = self.planes(view)

        def row(rows: Rows) -> Array:
            condition, a, b = planes(rows)
            return np.where(condition, a, b).astype(numpy)

        return row

    def kernel_call(self, view: NodeView) -> KernelCall:
        """The one kernel, without scratch."""
        size_bytes = view.output.type.dtype.size_bytes
        condition, *others = self.overlaps(view)
        distances = (condition if size_bytes == 1 else None, *others)
        params = SelectParams(bytes=size_bytes, **self.broadcast_params(view))
        return KernelCall("kibi_select_any", params, is_untyped=True, inplace_distance_bytes=distances)


register(SelectV2)
