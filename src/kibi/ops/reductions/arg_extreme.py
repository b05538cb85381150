"""ARG_MAX and ARG_MIN."""

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import ClassVar

import numpy as np

from kibi.dtypes import Array, DType
from kibi.ir import KernelCall, NodeView, Operator, OperatorError, RowAccess, Rows
from kibi.kernels.params.reductions import ArgExtremeParams
from kibi.ops import checks
from kibi.ops.registry import register


@dataclass(frozen=True, slots=True)
class ArgExtreme(Operator):
    """The first place of an extreme along an axis: input s8 or f32, axis s32 constant → output s32 without that axis.

    Source of the rules: TFLM `micro/kernels/arg_min_max.cc`.
    """

    inputs: ClassVar[tuple[str, ...]] = ("input", "axis")
    kernels: ClassVar[tuple[str, ...]] = ("kibi_arg_extreme_s8", "kibi_arg_extreme_f32")
    types: ClassVar[tuple[DType, ...]] = (DType.S8, DType.F32)
    is_max: ClassVar[bool]

    def infer(self, view: NodeView) -> tuple[tuple[int, ...], DType]:
        """The input's shape without the axis, type s32."""
        shape = view["input"].type.shape
        checks.dtype(view, "axis", DType.S32)
        checks.dtype(view, "output", DType.S32)
        axis = view.constant("axis")
        if axis.size != 1 or not -len(shape) <= int(axis.reshape(-1)[0]) < len(shape):
            raise OperatorError(f"axis {axis.tolist()} must be one axis of {list(shape)}", operand="axis")
        at = _axis(view)
        return (*shape[:at], *shape[at + 1 :]), DType.S32

    def steps(self, view: NodeView) -> int:
        """Row by row where the axis is the last and both tensors fall into the same rows; else one."""
        source, output = view["input"].type, view.output.type
        goes_by_row = _axis(view) == len(source.shape) - 1 and source.rows == output.rows and source.row_axis != 0
        return source.rows if goes_by_row else 1

    def accesses(self, view: NodeView) -> tuple[RowAccess, ...]:
        """The row at the same place, or all."""
        rows, steps = view["input"].type.rows, view.steps
        return (RowAccess.same(rows) if steps == rows else RowAccess.every(rows, 1),)

    def reference(self, view: NodeView) -> Callable[[Rows], Array]:
        """NumPy's, which take the first of equals, too; but a NaN is no extreme, unless it comes first."""
        loops = _loops(view)
        find, least = (np.argmax, -np.inf) if self.is_max else (np.argmin, np.inf)

        def step(rows: Rows) -> Array:
            data = np.concatenate([np.asarray(row).reshape(-1) for row in rows[0]]).reshape(loops)
            if data.dtype != np.float32:
                return np.asarray(find(data, axis=1)).astype(np.int32)
            places = np.asarray(find(np.where(np.isnan(data), np.float32(least), data), axis=1))
            return np.where(np.isnan(data[:, 0]), 0, places).astype(np.int32)

        return step

    def kernel_call(self, view: NodeView) -> KernelCall:
        """One kernel for each type; its output is apart from the input."""
        outer, size, inner = _loops(view)
        params = ArgExtremeParams(
            outer=outer,
            size=size,
            inner=inner,
            row_elements=view["input"].type.row_elements,
            is_max=int(self.is_max),
        )
        made_bytes = view.output.type.size_bytes // view.steps
        return KernelCall(f"kibi_arg_extreme_{view['input'].type.dtype}", params, inplace_distance_bytes=(made_bytes,))


def _axis(view: NodeView) -> int:
    return int(view.constant("axis").reshape(-1)[0]) % len(view["input"].type.shape)


def _loops(view: NodeView) -> tuple[int, int, int]:
    """Elements before the axis in one step, along it, and after it."""
    shape, axis = view["input"].type.shape, _axis(view)
    return prod(shape[:axis]) // view.steps, shape[axis], prod(shape[axis + 1 :])


@dataclass(frozen=True, slots=True)
class ArgMax(ArgExtreme):
    """The place of the largest element along an axis.

    Source: TFLM `kernels/internal/reference/arg_min_max.h`.
    """

    name: ClassVar[str] = "ARG_MAX"
    is_max: ClassVar[bool] = True


register(ArgMax)


@dataclass(frozen=True, slots=True)
class ArgMin(ArgExtreme):
    """The place of the smallest element along an axis.

    Source: TFLM `kernels/internal/reference/arg_min_max.h`.
    """

    name: ClassVar[str] = "ARG_MIN"
    is_max: ClassVar[bool] = False


register(ArgMin)
