"""SLICE."""

from dataclasses import dataclass
from typing import ClassVar

from kibi.dtypes import DType
from kibi.ir import NodeView, OperatorError
from kibi.ops.movement.strided_copy import Axis, Selection, StridedCopy, vector
from kibi.ops.registry import register


@dataclass(frozen=True, slots=True)
class Slice(StridedCopy):
    """A stretch of each axis: input s8, s16, s32, f32 or bool of rank 1 to 5 → output of that type.

    Begin and size [rank] are constants s32 or s64; a size of -1 goes to the end of the axis.

    Source: TFLM `micro/kernels/slice.cc` and `kernels/internal/reference/slice.h`.
    """

    name: ClassVar[str] = "SLICE"
    inputs: ClassVar[tuple[str, ...]] = ("input", "begin", "size")
    types: ClassVar[tuple[DType, ...]] = (DType.S8, DType.S16, DType.S32, DType.F32, DType.BOOL)

    def selection(self, view: NodeView) -> Selection:
        """From begin on, as many as size says."""
        shape = view["input"].type.shape
        if not 1 <= len(shape) <= 5:
            raise OperatorError(f"input has shape {list(shape)}, but rank 1 to 5 is required", operand="input")
        begins, sizes = (vector(view, name, DType.S32, DType.S64) for name in ("begin", "size"))
        if view["begin"].type.dtype is not view["size"].type.dtype:
            raise OperatorError("begin and size must be of one type", operand="size")
        axes = []
        for axis, (length, begin, given) in enumerate(zip(shape, begins, sizes, strict=True)):
            size = length - begin if given == -1 else given
            if begin < 0 or size < 1 or begin + size > length:
                what = f"axis {axis} of shape {list(shape)} has no {given} elements from {begin} on"
                raise OperatorError(what, "Export the model again; the file is damaged", "size")
            axes.append(Axis(axis, 1, size))
        return Selection(begins, tuple(axes))


register(Slice)
