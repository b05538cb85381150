"""SPLIT, SPLIT_V and UNPACK."""

from dataclasses import dataclass
from typing import ClassVar

from kibi.dtypes import DType
from kibi.ir import NodeView, OperatorError
from kibi.ops import checks
from kibi.ops.movement.strided_copy import Selection, StridedCopy, axis_of, scalar, stretch
from kibi.ops.registry import register


@dataclass(frozen=True, slots=True)
class Split(StridedCopy):
    """One of several equal parts along an axis: input s8, s16, s32 or f32, axis s32 constant → output of the input's type.

    A model's operator of several outputs is as many nodes, one for each output that is read.

    Source: TFLM `micro/kernels/split.cc`.
    """

    name: ClassVar[str] = "SPLIT"
    inputs: ClassVar[tuple[str, ...]] = ("input", "axis")
    types: ClassVar[tuple[DType, ...]] = (DType.S8, DType.S16, DType.S32, DType.F32)

    part: int = 0
    parts: int = 1

    def selection(self, view: NodeView) -> Selection:
        """The part."""
        shape, axis = view["input"].type.shape, axis_of(view, scalar(view, "axis"))
        if not 0 <= self.part < self.parts or shape[axis] % self.parts:
            what = f"axis {axis} of shape {list(shape)} cannot be split into {self.parts} equal parts"
            raise OperatorError(what, "Export the model again; the file is damaged", "input")
        size = shape[axis] // self.parts
        return stretch(shape, axis, self.part * size, size)


register(Split)


@dataclass(frozen=True, slots=True)
class SplitV(StridedCopy):
    """One of several parts along an axis: input s8, s16, s32 or f32, sizes [parts] s32 or s64, axis s32 → output of its type.

    Sizes and axis are constants; a size of -1 is what the others leave. TFLM takes the sizes from the outputs' shapes, which
    must be the same. A model's operator of several outputs is as many nodes, one for each output that is read.

    Source: TFLM `micro/kernels/split_v.cc`.
    """

    name: ClassVar[str] = "SPLIT_V"
    inputs: ClassVar[tuple[str, ...]] = ("input", "sizes", "axis")
    types: ClassVar[tuple[DType, ...]] = (DType.S8, DType.S16, DType.S32, DType.F32)

    part: int = 0
    parts: int = 1

    def selection(self, view: NodeView) -> Selection:
        """The part."""
        shape, axis = view["input"].type.shape, axis_of(view, scalar(view, "axis"))
        checks.dtype(view, "sizes", DType.S32, DType.S64)
        given = [int(size) for size in view.constant("sizes").reshape(-1)]
        rest = shape[axis] - sum(size for size in given if size != -1)
        sizes = [rest if size == -1 else size for size in given]
        if len(sizes) != self.parts or min(sizes) < 1 or sum(sizes) != shape[axis] or not 0 <= self.part < self.parts:
            what = f"axis {axis} of shape {list(shape)} cannot be split into {self.parts} parts of sizes {given}"
            raise OperatorError(what, "Export the model again; the file is damaged", "sizes")
        return stretch(shape, axis, sum(sizes[: self.part]), sizes[self.part])


register(SplitV)


@dataclass(frozen=True, slots=True)
class Unpack(StridedCopy):
    """One index of an axis, which is left out: input s8, s16, s32 or f32 → output of that type.

    A model's operator of several outputs is as many nodes, one for each output that is read.

    Source: TFLM `micro/kernels/unpack.cc`.
    """

    name: ClassVar[str] = "UNPACK"
    types: ClassVar[tuple[DType, ...]] = (DType.S8, DType.S16, DType.S32, DType.F32)

    axis: int = 0
    part: int = 0
    parts: int = 1

    def selection(self, view: NodeView) -> Selection:
        """The index."""
        shape, axis = view["input"].type.shape, axis_of(view, self.axis)
        if shape[axis] != self.parts or not 0 <= self.part < self.parts:
            what = f"axis {axis} of shape {list(shape)} cannot be taken apart into {self.parts} outputs"
            raise OperatorError(what, "Export the model again; the file is damaged", "input")
        whole = stretch(shape, axis, self.part, 1)
        return Selection(whole.first, (*whole.axes[:axis], *whole.axes[axis + 1 :]))


register(Unpack)
