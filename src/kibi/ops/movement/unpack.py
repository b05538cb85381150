"""UNPACK."""

from dataclasses import dataclass
from typing import ClassVar

from kibi.dtypes import DType
from kibi.ir import NodeView, OperatorError
from kibi.ops.movement.strided_copy import Selection, StridedCopy, axis_of, stretch
from kibi.ops.registry import register


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
