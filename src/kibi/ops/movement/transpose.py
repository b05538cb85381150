"""TRANSPOSE."""

from dataclasses import dataclass
from typing import ClassVar

from kibi.dtypes import DType
from kibi.ir import NodeView, OperatorError
from kibi.ops.movement.strided_copy import Axis, Selection, StridedCopy, vector
from kibi.ops.registry import register


@dataclass(frozen=True, slots=True)
class Transpose(StridedCopy):
    """Axes in another order: input s8, s16, f32 or bool of rank 1 to 5, perm [rank] s32 constant → output of the input's type.

    TFLM refuses bool. Source: TFLM `micro/kernels/transpose_common.cc`.
    """

    name: ClassVar[str] = "TRANSPOSE"
    inputs: ClassVar[tuple[str, ...]] = ("input", "perm")
    types: ClassVar[tuple[DType, ...]] = (DType.S8, DType.S16, DType.F32, DType.BOOL)

    def selection(self, view: NodeView) -> Selection:
        """The input's axes in the order of `perm`."""
        shape = view["input"].type.shape
        if not 1 <= len(shape) <= 5:
            raise OperatorError(f"input has shape {list(shape)}, but rank 1 to 5 is required", operand="input")
        order = vector(view, "perm", DType.S32)
        if sorted(order) != list(range(len(shape))):
            raise OperatorError(f"perm {list(order)} is no permutation of the input's {len(shape)} axes", "", "perm")
        return Selection((0,) * len(shape), tuple(Axis(axis, 1, shape[axis]) for axis in order))


register(Transpose)
