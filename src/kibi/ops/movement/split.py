"""SPLIT."""

from dataclasses import dataclass
from typing import ClassVar

from kibi.dtypes import DType
from kibi.ir import NodeView, OperatorError
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
