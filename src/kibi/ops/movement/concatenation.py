"""CONCATENATION."""

from dataclasses import dataclass
from typing import ClassVar

from kibi.dtypes import DType
from kibi.ir import NodeView, OperatorError, TensorType
from kibi.ops.movement.concat_like import ConcatLike, given_inputs
from kibi.ops.registry import register

_MOST_AXES = 6
"""TFLM `kernels/internal/runtime_shape.h`."""


@dataclass(frozen=True, slots=True)
class Concatenation(ConcatLike):
    """Inputs one after another along an axis: up to 64 of one type (s8, s16, s32, s64, f32 or bool) → output of that type.

    Nothing is rescaled: s8 inputs have the output's scale and zero point, s16 tensors the zero point 0. TFLM refuses more than ten
    inputs; here they are laid side by side as ten are.

    Source: TFLM `micro/kernels/concatenation.cc`.
    """

    name: ClassVar[str] = "CONCATENATION"
    types: ClassVar[tuple[DType, ...]] = (DType.S8, DType.S16, DType.S32, DType.S64, DType.F32, DType.BOOL)

    def infer(self, view: NodeView) -> tuple[tuple[int, ...], DType]:
        """The inputs' shape with their sizes along the axis added up."""
        tensors = given_inputs(view)
        shape = tensors[0].type.shape
        if not 1 <= len(shape) <= _MOST_AXES or not -len(shape) <= self.axis < len(shape):
            what = f"axis {self.axis} is none of shape {list(shape)}, or it has not 1 to {_MOST_AXES} axes"
            raise OperatorError(what, operand="input0")
        axis = self.axis % len(shape)
        for name, tensor in zip(view.row_names, tensors, strict=True):
            other = tensor.type.shape
            if len(other) != len(shape) or (other[:axis], other[axis + 1 :]) != (shape[:axis], shape[axis + 1 :]):
                what = f"{name} has shape {list(other)}, which differs from {list(shape)} beside axis {axis}"
                raise OperatorError(what, operand=name)
            _check_scale(tensor.type, view.output.type, name)
        total = sum(tensor.type.shape[axis] for tensor in tensors)
        return (*shape[:axis], total, *shape[axis + 1 :]), tensors[0].type.dtype

    def sizes(self, view: NodeView) -> tuple[int, ...]:
        """The inputs' sizes along the axis."""
        axis = self._axis(view)
        return tuple(tensor.type.shape[axis] for tensor in view.row_tensors)


def _check_scale(source: TensorType, output: TensorType, name: str) -> None:
    """Refuses quantization that TFLM refuses; a tensor without quantization has scale 0 and zero point 0 there."""
    first, second = (
        (0.0, 0) if kind.quantization is None else (kind.quantization.scale, kind.quantization.zero_point)
        for kind in (source, output)
    )
    if source.dtype is DType.S8 and first != second:
        what = f"{name} has scale {first[0]:.9g} and zero point {first[1]}, the output {second[0]:.9g} and {second[1]}"
        raise OperatorError(f"{what}; TFLM rescales nothing", "Quantize the model again: they must be equal", name)
    if source.dtype is DType.S16 and (first[1] or second[1]):
        what = f"{name} has zero point {first[1]}, the output {second[1]}; of s16 both must be 0"
        raise OperatorError(what, "Quantize the model again", name)


register(Concatenation)
