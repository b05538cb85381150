"""DYNAMIC_UPDATE_SLICE."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kibi.dtypes import Array, DType
from kibi.ir import KernelCall, NodeView, Operator, OperatorError, RowAccess, Rows
from kibi.kernels.params.movement import DynamicUpdateSliceParams
from kibi.ops import checks
from kibi.ops.registry import register

_OPERANDS = ("input", "update", "start_indices")
_MOST_AXES = 6
"""TFLM `kernels/internal/runtime_shape.h`."""


@dataclass(frozen=True, slots=True)
class DynamicUpdateSlice(Operator):
    """A tensor with a part of it replaced: input and update s8, s16, s32 or f32 of rank 1 to 6 → output like the input.

    The start indices [rank] s32 or s64 may be computed; they are moved until the update is inside. Elements are copied as they
    are, whatever the scales. Source: TFLM `micro/kernels/dynamic_update_slice.cc`.
    """

    name: ClassVar[str] = "DYNAMIC_UPDATE_SLICE"
    inputs: ClassVar[tuple[str, ...]] = _OPERANDS
    row_inputs: ClassVar[tuple[str, ...]] = _OPERANDS
    kernels: ClassVar[tuple[str, ...]] = ("kibi_dynamic_update_slice_any",)
    types: ClassVar[tuple[DType, ...]] = (DType.S8, DType.S16, DType.S32, DType.F32)

    def infer(self, view: NodeView) -> tuple[tuple[int, ...], DType]:
        """The input's shape and type."""
        shape, dtype = checks.rank(view, "input", *range(1, _MOST_AXES + 1)), view["input"].type.dtype
        checks.dtype(view, "update", dtype)
        update = checks.rank(view, "update", len(shape))
        if any(part > size for part, size in zip(update, shape, strict=True)):
            what = f"update has shape {list(update)}, which is larger than the input's {list(shape)}"
            raise OperatorError(what, operand="update")
        checks.dtype(view, "start_indices", DType.S32, DType.S64)
        if view["start_indices"].type.shape != (len(shape),):
            what = f"start_indices has shape {list(view['start_indices'].type.shape)}, but [{len(shape)}] is required"
            raise OperatorError(what, operand="start_indices")
        return shape, dtype

    def steps(self, view: NodeView) -> int:
        """One: the update may begin in any row."""
        del view
        return 1

    def accesses(self, view: NodeView) -> tuple[RowAccess, ...]:
        """All rows of all."""
        return tuple(RowAccess.every(tensor.type.rows, 1) for tensor in view.row_tensors)

    def reference(self, view: NodeView) -> Callable[[Rows], Array]:
        """The input's elements, then the update's over them."""
        shape, update_shape = view["input"].type.shape, view["update"].type.shape

        def step(rows: Rows) -> Array:
            data, update, starts = (np.concatenate([np.asarray(row).reshape(-1) for row in rows[k]]) for k in range(3))
            made = data.reshape(shape)
            firsts = np.clip(starts.astype(np.int64), 0, np.subtract(shape, update_shape)).tolist()
            place = tuple(slice(first, first + size) for first, size in zip(firsts, update_shape, strict=True))
            made[place] = update.reshape(update_shape)
            return made

        return step

    def kernel_call(self, view: NodeView) -> KernelCall:
        """The one kernel, without scratch."""
        source, update = view["input"].type, view["update"].type
        params = DynamicUpdateSliceParams(
            pointers=source.rows,
            row_bytes=source.row_bytes,
            update_pointers=update.rows,
            update_row_bytes=update.row_bytes,
            axes=len(source.shape),
            sizes=np.array(source.shape, np.int32),
            update_sizes=np.array(update.shape, np.int32),
            bytes=source.dtype.size_bytes,
            index_bytes=view["start_indices"].type.dtype.size_bytes,
        )
        # Each row of the input is read from its first byte on while those before it have been written.
        distances = ((source.rows - 1) * source.row_bytes, None, None)
        return KernelCall("kibi_dynamic_update_slice_any", params, is_untyped=True, inplace_distance_bytes=distances)


register(DynamicUpdateSlice)
