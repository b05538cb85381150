"""The shared parts of reductions over axes: the rule on shapes, and rows that are added up one after another."""

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from kibi.dtypes import Array, DType
from kibi.ir import Accumulation, NodeView, Operator, OperatorError, RowAccess, Rows
from kibi.ops import checks


@dataclass(frozen=True, slots=True)
class Reduction(Operator):
    """Over axes: input s8 or f32 of rank 1 to 4, axes s32 constant → output without those axes, or with ones for them."""

    inputs: ClassVar[tuple[str, ...]] = ("input", "axes")
    types: ClassVar[tuple[DType, ...]] = (DType.S8, DType.F32)

    keep_dims: bool = False

    def reduced_shape(self, view: NodeView) -> tuple[int, ...]:
        """The input's shape with the axes dropped or set to 1.

        Raises:
            OperatorError: ranks, types or axes are not as they must be.
        """
        shape = checks.rank(view, "input", 1, 2, 3, 4)
        checks.dtype(view, "axes", DType.S32)
        raw = view.constant("axes").reshape(-1)
        if any(not -len(shape) <= int(axis) < len(shape) for axis in raw):
            raise OperatorError(f"axes {raw.tolist()} leave a tensor of rank {len(shape)}", operand="axes")
        axes = axes_of(view)
        if self.keep_dims:
            return tuple(1 if axis in axes else size for axis, size in enumerate(shape))
        return tuple(size for axis, size in enumerate(shape) if axis not in axes)

    def steps(self, view: NodeView) -> int:
        """One for each row of the input."""
        return view["input"].type.rows

    def accumulates(self, view: NodeView) -> bool:
        """True if the input has several rows: all output elements grow together."""
        return view["input"].type.rows > 1

    def accesses(self, view: NodeView) -> tuple[RowAccess, ...]:
        """Row after row."""
        return (RowAccess.same(view["input"].type.rows),)

    def reference(self, view: NodeView) -> Callable[[Rows], Array]:
        """The reduction of an input of one row."""
        whole = self.accumulation(view)

        def row(rows: Rows) -> Array:
            grown = whole.start.copy()
            whole.add(grown, rows, 0)
            return np.asarray(whole.finish(grown))

        return row


def axes_of(view: NodeView) -> frozenset[int]:
    """The axes, counted from the front."""
    rank = len(view["input"].type.shape)
    return frozenset(int(axis) % rank for axis in view.constant("axes").reshape(-1))


def places_of(view: NodeView) -> NDArray[np.int64]:
    """Returns for each element of each row of the input, `[rows, elements]`, the output's element that it goes into."""
    source, axes = view["input"].type, axes_of(view)
    kept = tuple(1 if axis in axes else size for axis, size in enumerate(source.shape))
    numbers = np.arange(prod(kept), dtype=np.int64).reshape(kept)
    return np.broadcast_to(numbers, source.shape).reshape(source.rows, -1)


def loop_params(view: NodeView) -> dict[str, int]:
    """The struct fields of `ReductionParams`, which lead through the input."""
    source, axes = view["input"].type, axes_of(view)
    kept = [1 if axis in axes else size for axis, size in enumerate(source.shape)]
    strides = [0 if axis in axes else prod(kept[axis + 1 :]) for axis in range(len(kept))]
    front = 0 if source.row_axis is None else source.row_axis + 1
    axes_in_front = list(zip(source.shape[:front], strides[:front], strict=True))
    loops = (*_two_loops(axes_in_front), *_two_loops(list(zip(source.shape[front:], strides[front:], strict=True))))
    return {
        **{f"size{level}": size for level, (size, _) in enumerate(loops) if level},
        **{f"step{level}": step for level, (_, step) in enumerate(loops)},
        "steps": source.rows,
        "output_elements": view.output.type.elements,
    }


def _two_loops(axes: list[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """Axes as two nested loops of (size, step); of all axes before or after the row axis, at most two exceed 1."""
    loops = [(size, step) for size, step in axes if size > 1]
    return (*[(1, 0)] * (2 - len(loops)), *loops)


def accumulation(
    view: NodeView,
    start: Array,
    combine: Callable[[Array, NDArray[np.int64], Array], None],
    finish: Callable[[Array], Array],
) -> Accumulation:
    """Row after row: `combine` brings the elements of a row into what has grown, at their places, in order."""
    places = places_of(view)

    def add(grown: Array, rows: Rows, step: int) -> None:
        combine(grown, places[step], np.asarray(rows[0][0]).reshape(-1))

    return Accumulation(start, add, finish)
