"""CONCATENATION."""

from dataclasses import dataclass, replace
from math import gcd
from typing import ClassVar

from kibi.dtypes import DType
from kibi.ir import JoinedSteps, NodeView, OperatorError, RowAccess, TensorType
from kibi.ops.movement.concat_like import ConcatLike, given_inputs
from kibi.ops.registry import register

_MOST_AXES = 6
"""TFLM `kernels/internal/runtime_shape.h`."""


@dataclass(frozen=True, slots=True)
class Concatenation(ConcatLike):
    """Inputs one after another along an axis: up to 64 of one type (s8, s16, s32, s64, f32 or bool) → output of that type.

    Model files have no `skip`; a pass sets it: so many indices of the first input along the axis are left out, the first ones.

    Nothing is rescaled: s8 inputs have the output's scale and zero point, s16 tensors the zero point 0. TFLM refuses more than ten
    inputs; here they are laid side by side as ten are.

    Source: TFLM `micro/kernels/concatenation.cc`.
    """

    name: ClassVar[str] = "CONCATENATION"
    types: ClassVar[tuple[DType, ...]] = (DType.S8, DType.S16, DType.S32, DType.S64, DType.F32, DType.BOOL)

    skip: int = 0

    def infer(self, view: NodeView) -> tuple[tuple[int, ...], DType]:
        """The inputs' shape with their sizes along the axis added up, without what is left out."""
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
        if not 0 <= self.skip < shape[axis] or (self.skip and axis != view.output.type.row_axis):
            raise OperatorError(f"{self.skip} of {shape[axis]} rows of input0 cannot be left out", operand="input0")
        total = sum(tensor.type.shape[axis] for tensor in tensors) - self.skip
        return (*shape[:axis], total, *shape[axis + 1 :]), tensors[0].type.dtype

    def sizes(self, view: NodeView) -> tuple[int, ...]:
        """The inputs' sizes along the axis, without what is left out."""
        axis = self._axis(view)
        first, *others = (tensor.type.shape[axis] for tensor in view.row_tensors)
        return (first - self.skip, *others)

    def accesses(self, view: NodeView) -> tuple[RowAccess, ...]:
        """The rows of the inputs, from the first that is not left out on."""
        first, *others = ConcatLike.accesses(self, view)
        skipped = self.skip * first.count
        return (replace(first, rows=first.rows + skipped, start=first.start + skipped), *others)

    def joined_steps(self, view: NodeView) -> JoinedSteps | None:
        """A piece of each input, of the first one from the rows on that are not left out."""
        found = ConcatLike.joined_steps(self, view)
        if found is None or not self.skip:
            return found
        row_bytes = view.output.type.row_bytes
        starts, unit_bytes = (self.skip, *(0 for _ in view.row_tensors[1:])), gcd(found.unit_bytes, row_bytes)
        is_alike = view["input0"].type.row_bytes == row_bytes
        return replace(found, starts=starts, unit_bytes=unit_bytes) if is_alike else None


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
