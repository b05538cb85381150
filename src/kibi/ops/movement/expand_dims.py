"""EXPAND_DIMS."""

from dataclasses import dataclass
from typing import ClassVar

from kibi.dtypes import DType
from kibi.ir import NodeView, OperatorError
from kibi.ops.movement.reshape import Reshape
from kibi.ops.movement.strided_copy import scalar
from kibi.ops.registry import register


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
