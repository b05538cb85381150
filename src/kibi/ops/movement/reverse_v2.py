"""REVERSE_V2."""

from dataclasses import dataclass
from typing import ClassVar

from kibi.dtypes import DType
from kibi.ir import NodeView, OperatorError
from kibi.ops import checks
from kibi.ops.movement.strided_copy import Axis, Selection, StridedCopy
from kibi.ops.registry import register

_MOST_AXES = 6
"""TFLM `kernels/internal/runtime_shape.h`."""


@dataclass(frozen=True, slots=True)
class ReverseV2(StridedCopy):
    """Axes from their end to their begin: input s8, u8, s16, s32, s64, f32 or bool of rank 1 to 6 → output of that type.

    The axes [1 or more] s32 are a constant; sorted, they follow one another, as TFLM asks. Source: TFLM `micro/kernels/reverse.cc`
    and `kernels/internal/reference/reverse.h`.
    """

    name: ClassVar[str] = "REVERSE_V2"
    inputs: ClassVar[tuple[str, ...]] = ("input", "axes")
    types: ClassVar[tuple[DType, ...]] = (
        DType.S8,
        DType.U8,
        DType.S16,
        DType.S32,
        DType.S64,
        DType.F32,
        DType.BOOL,
    )

    def selection(self, view: NodeView) -> Selection:
        """From the last index of each of the axes on."""
        shape = checks.rank(view, "input", *range(1, _MOST_AXES + 1))
        checks.rank(view, "axes", 1)
        checks.dtype(view, "axes", DType.S32)
        given = [int(axis) for axis in view.constant("axes")]
        axes = sorted(axis + len(shape) if axis < 0 else axis for axis in given)
        if not axes or axes != list(range(axes[0], axes[0] + len(axes))) or axes[0] < 0 or axes[-1] >= len(shape):
            what = f"axes {given} are not neighbouring axes of {list(shape)}, each named once"
            raise OperatorError(what, "Use one operator for each group of neighbouring axes", "axes")
        first = tuple(size - 1 if axis in axes else 0 for axis, size in enumerate(shape))
        kept = (Axis(axis, -1 if axis in axes else 1, size) for axis, size in enumerate(shape))
        return Selection(first, tuple(kept))


register(ReverseV2)
