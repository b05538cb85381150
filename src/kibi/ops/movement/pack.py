"""PACK."""

from dataclasses import dataclass
from typing import ClassVar

from kibi.dtypes import DType
from kibi.ir import NodeView, OperatorError
from kibi.ops.movement.concat_like import ConcatLike, given_inputs
from kibi.ops.registry import register


@dataclass(frozen=True, slots=True)
class Pack(ConcatLike):
    """Inputs of one shape side by side along a new axis: up to 64 s8, s16, s32, s64 or f32 → output of that type.

    Elements are copied as they are, whatever the scales.

    Source: TFLM `micro/kernels/pack.cc`.
    """

    name: ClassVar[str] = "PACK"
    types: ClassVar[tuple[DType, ...]] = (DType.S8, DType.S16, DType.S32, DType.S64, DType.F32)

    def infer(self, view: NodeView) -> tuple[tuple[int, ...], DType]:
        """The inputs' shape with the new axis."""
        tensors = given_inputs(view)
        shape = tensors[0].type.shape
        rank = len(shape) + 1
        if not -rank <= self.axis < rank:
            raise OperatorError(f"axis {self.axis} is none of the output's {rank} axes", operand="output")
        axis = self.axis % rank
        for name, tensor in zip(view.row_names, tensors, strict=True):
            if tensor.type.shape != shape:
                raise OperatorError(
                    f"{name} has shape {list(tensor.type.shape)}, but input0 has {list(shape)}", "", name
                )
        return (*shape[:axis], len(tensors), *shape[axis:]), tensors[0].type.dtype

    def sizes(self, view: NodeView) -> tuple[int, ...]:
        """One each."""
        return (1,) * len(view.row_tensors)


register(Pack)
