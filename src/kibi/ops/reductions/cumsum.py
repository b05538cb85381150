"""CUMSUM."""

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import ClassVar

import numpy as np

from kibi.dtypes import Array, DType
from kibi.ir import KernelCall, NodeView, Operator, RowAccess, Rows
from kibi.kernels.params.reductions import CumsumParams, CumsumS8Params
from kibi.ops import checks
from kibi.ops.movement.strided_copy import axis_of, scalar
from kibi.ops.reductions.running_sum import RunningSum
from kibi.ops.registry import register


@dataclass(frozen=True, slots=True)
class Cumsum(Operator):
    """Sums of all elements up to each along an axis: input s8 or f32 → output of that type and shape; axis s32 constant.

    Sums of s8 wrap in 32 bits, of which 19 are added on the right; TFLM is undefined there.

    Source: TFLM `micro/kernels/cumsum.cc` and `kernels/internal/reference/cumsum.h`.
    """

    name: ClassVar[str] = "CUMSUM"
    inputs: ClassVar[tuple[str, ...]] = ("input", "axis")
    kernels: ClassVar[tuple[str, ...]] = ("kibi_cumsum_s8", "kibi_cumsum_f32")
    types: ClassVar[tuple[DType, ...]] = (DType.S8, DType.F32)

    exclusive: bool = False
    reverse: bool = False

    def infer(self, view: NodeView) -> tuple[tuple[int, ...], DType]:
        """The input's shape and type."""
        dtype = checks.dtype(view, "input", *self.types)
        axis_of(view, scalar(view, "axis"))
        if dtype is DType.S8:
            RunningSum.of(view, "input")
        return view["input"].type.shape, dtype

    def steps(self, view: NodeView) -> int:
        """Row by row where the axis is within the rows; else one."""
        source = view["input"].type
        goes_by_row = source.row_axis is not None and _axis(view) > source.row_axis
        return source.rows if goes_by_row else 1

    def accesses(self, view: NodeView) -> tuple[RowAccess, ...]:
        """The row at the same place, or all."""
        rows, steps = view["input"].type.rows, view.steps
        return (RowAccess.same(rows) if steps == rows else RowAccess.every(rows, 1),)

    def reference(self, view: NodeView) -> Callable[[Rows], Array]:
        """Rule N24 for floats: one element after another; N34 for s8."""
        loops = _loops(view)
        running = RunningSum.of(view, "input") if view.output.type.dtype is DType.S8 else None

        def step(rows: Rows) -> Array:
            data = np.concatenate([np.asarray(row).reshape(-1) for row in rows[0]]).reshape(loops)
            values = data if running is None else data.astype(np.int64) - running.zero_point
            sums = self.sums(values, 0 if running is None else -running.zero_point)
            return sums if running is None else running.result(sums)

        return step

    def sums(self, values: Array, start: int) -> Array:
        """Running sums along axis 1, from that on."""
        ordered = values[:, ::-1] if self.reverse else values
        first = np.full_like(ordered[:, :1], start)
        sums = np.add.accumulate(np.concatenate([first, ordered], axis=1), axis=1, dtype=values.dtype)
        counted = sums[:, :-1] if self.exclusive else sums[:, 1:]
        return counted[:, ::-1] if self.reverse else counted

    def kernel_call(self, view: NodeView) -> KernelCall:
        """One kernel for each type; its output is apart from the input."""
        outer, size, inner = _loops(view)
        dtype = view.output.type.dtype
        params = CumsumParams(
            outer=outer,
            size=size,
            inner=inner,
            row_elements=view["input"].type.row_elements,
            is_exclusive=int(self.exclusive),
            is_reversed=int(self.reverse),
        )
        if dtype is DType.S8:
            params = CumsumS8Params(**params.scalars, **RunningSum.of(view, "input").params())
        return KernelCall(f"kibi_cumsum_{dtype}", params)


def _axis(view: NodeView) -> int:
    return axis_of(view, scalar(view, "axis"))


def _loops(view: NodeView) -> tuple[int, int, int]:
    """Elements before the axis in one step, along it, and after it."""
    shape, axis = view["input"].type.shape, _axis(view)
    return prod(shape[:axis]) // view.steps, shape[axis], prod(shape[axis + 1 :])


register(Cumsum)
