"""RESHAPE, SQUEEZE and EXPAND_DIMS."""

from collections.abc import Callable
from dataclasses import dataclass
from math import gcd
from typing import ClassVar

import numpy as np

from kibi.dtypes import Array, DType
from kibi.ir import JoinedSteps, KernelCall, NodeView, Operator, OperatorError, RowAccess, Rows
from kibi.kernels.params.movement import CopyBytesParams, CopyParams
from kibi.ops.movement.strided_copy import scalar
from kibi.ops.overlap import pieces_distance
from kibi.ops.registry import register


@dataclass(frozen=True, slots=True)
class Reshape(Operator):
    """The same elements in another shape: input of any type, shape s32 (ignored: the output's type says it) → output.

    Source: TFLM `micro/kernels/reshape_common.cc`.
    """

    name: ClassVar[str] = "RESHAPE"
    inputs: ClassVar[tuple[str, ...]] = ("input", "shape?")
    kernels: ClassVar[tuple[str, ...]] = ("kibi_copy_s8", "kibi_copy_f32", "kibi_copy_any")
    types: ClassVar[tuple[DType, ...]] = tuple(DType)
    moves_elements: ClassVar[bool] = True

    def infer(self, view: NodeView) -> tuple[tuple[int, ...], DType]:
        """The declared shape, when it has as many elements."""
        source, output = view["input"].type, view.output.type
        if source.elements != output.elements:
            what = f"output {list(output.shape)} has not as many elements as input {list(source.shape)}"
            raise OperatorError(what, operand="output")
        return output.shape, source.dtype

    def accesses(self, view: NodeView) -> tuple[RowAccess, ...]:
        """The pieces of input rows that fill an output row."""
        source, output = view["input"].type, view.output.type
        piece = gcd(source.row_elements, output.row_elements)
        count = output.row_elements // piece
        pieces = source.elements // piece
        return (RowAccess(pieces, output.rows, count, stride=count, parts=source.row_elements // piece),)

    def reference(self, view: NodeView) -> Callable[[Rows], Array]:
        """The pieces one after another."""
        del view

        def row(rows: Rows) -> Array:
            return np.concatenate([np.asarray(piece).reshape(-1) for piece in rows[0]])

        return row

    def kernel_call(self, view: NodeView) -> KernelCall:
        """A copy of pieces."""
        access = self.accesses(view)[0]
        piece = view.output.type.row_elements // access.count
        dtype = view.output.type.dtype
        return _copy(dtype, access.count, piece, pieces_distance(access, view.steps, piece * dtype.size_bytes))

    def joined_steps(self, view: NodeView) -> JoinedSteps:
        """A copy of one piece."""
        output = view.output.type
        return JoinedSteps(_copy(output.dtype, 1, output.elements, 0), 1, unit_bytes=output.size_bytes)


def _copy(dtype: DType, pieces: int, elements: int, distance: int) -> KernelCall:
    """The call of the kernel that copies so many pieces of so many elements each."""
    if dtype in (DType.S8, DType.F32):
        params = CopyParams(pieces=pieces, elements=elements)
        return KernelCall(f"kibi_copy_{dtype}", params, inplace_distance_bytes=(distance,))
    untyped = CopyBytesParams(pieces=pieces, bytes=elements * dtype.size_bytes)
    return KernelCall("kibi_copy_any", untyped, is_untyped=True, inplace_distance_bytes=(distance,))


register(Reshape)


@dataclass(frozen=True, slots=True)
class Squeeze(Reshape):
    """The same elements without axes of size 1: input of any type → output of that type.

    `dims` are the axes that go, from the end where negative; none means all of size 1.

    Source: TFLM `micro/kernels/squeeze.cc`.
    """

    name: ClassVar[str] = "SQUEEZE"
    inputs: ClassVar[tuple[str, ...]] = ("input",)

    dims: tuple[int, ...] = ()

    def infer(self, view: NodeView) -> tuple[tuple[int, ...], DType]:
        """The input's shape without those axes."""
        source = view["input"].type
        rank = len(source.shape)
        gone = {axis + rank if axis < 0 else axis for axis in self.dims}
        if any(not 0 <= axis < rank or source.shape[axis] != 1 for axis in gone):
            what = f"axes {list(self.dims)} of shape {list(source.shape)} are not all of size 1"
            raise OperatorError(what, "Export the model again; the file is damaged", "input")
        if not self.dims:
            gone = {axis for axis, size in enumerate(source.shape) if size == 1}
        return tuple(size for axis, size in enumerate(source.shape) if axis not in gone), source.dtype


register(Squeeze)


@dataclass(frozen=True, slots=True)
class ExpandDims(Reshape):
    """The same elements with a new axis of size 1: input s8, s16 or f32, axis s32 constant → output of the input's type.

    Source: TFLM `micro/kernels/expand_dims.cc`.
    """

    name: ClassVar[str] = "EXPAND_DIMS"
    inputs: ClassVar[tuple[str, ...]] = ("input", "axis")
    types: ClassVar[tuple[DType, ...]] = (DType.S8, DType.S16, DType.F32)

    def infer(self, view: NodeView) -> tuple[tuple[int, ...], DType]:
        """The input's shape with a 1 at the axis."""
        source, axis = view["input"].type, scalar(view, "axis")
        rank = len(source.shape) + 1
        if not -rank <= axis < rank:
            raise OperatorError(f"axis {axis} is none of the output's {rank} axes", operand="axis")
        axis %= rank
        return (*source.shape[:axis], 1, *source.shape[axis:]), source.dtype


register(ExpandDims)
