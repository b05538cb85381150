"""SLICE and STRIDED_SLICE."""

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


@dataclass(frozen=True, slots=True)
class StridedSlice(StridedCopy):
    """Each axis from begin to end by a stride: input s8, s16, s32, f32 or bool of rank 1 to 4 → output of that type.

    Begin, end and strides [rank] s32 are constants. Masks have a bit for each axis: its begin or end is ignored, or it is one
    index, and left out of the output. Negative numbers count from the end.

    Source: TFLM `micro/kernels/strided_slice_common.cc` and `kernels/internal/strided_slice_logic.h`.
    """

    name: ClassVar[str] = "STRIDED_SLICE"
    inputs: ClassVar[tuple[str, ...]] = ("input", "begin", "end", "strides")
    types: ClassVar[tuple[DType, ...]] = (DType.S8, DType.S16, DType.S32, DType.F32, DType.BOOL)

    begin_mask: int = 0
    end_mask: int = 0
    shrink_axis_mask: int = 0

    def selection(self, view: NodeView) -> Selection:
        """From the clamped begin of each axis to its clamped end."""
        shape = view["input"].type.shape
        if not 1 <= len(shape) <= 4:
            raise OperatorError(f"input has shape {list(shape)}, but rank 1 to 4 is required", operand="input")
        begins, ends, strides = (vector(view, name, DType.S32) for name in ("begin", "end", "strides"))
        first, axes = [], []
        for axis, (length, begin, end, stride) in enumerate(zip(shape, begins, ends, strides, strict=True)):
            if stride == 0:
                raise OperatorError(f"the stride of axis {axis} is 0", operand="strides")
            start = self._start(axis, length, begin, stride)
            is_left_out = bool(self.shrink_axis_mask >> axis & 1)
            size = 1 if is_left_out else -((start - self._stop(axis, length, end, stride)) // stride)
            if size < 1 or not 0 <= start < length or (is_left_out and stride < 0):
                what = f"axis {axis} of shape {list(shape)} from {begin} to {end} by {stride} selects nothing"
                raise OperatorError(what, "Export the model without empty tensors", "begin")
            first.append(start)
            if not is_left_out:
                axes.append(Axis(axis, stride, size))
        return Selection(tuple(first), tuple(axes))

    def _start(self, axis: int, length: int, begin: int, stride: int) -> int:
        if self.begin_mask >> axis & 1:
            return 0 if stride > 0 else length - 1
        begin += length if begin < 0 else 0
        return min(max(begin, 0), length) if stride > 0 else min(max(begin, -1), length - 1)

    def _stop(self, axis: int, length: int, end: int, stride: int) -> int:
        if self.end_mask >> axis & 1:
            return length if stride > 0 else -1
        end += length if end < 0 else 0
        return min(max(end, 0), length) if stride > 0 else min(max(end, -1), length - 1)


register(StridedSlice)
