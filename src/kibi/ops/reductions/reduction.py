"""What reductions over axes share: the rule on shapes, and rows that are added up one after another."""

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from kibi.dtypes import Array, DType
from kibi.ir import Accumulation, Operator, OperatorError, RowAccess, Rows, Site
from kibi.ops import checks


@dataclass(frozen=True, slots=True)
class Reduction(Operator):
    """Over axes: input s8 or f32 of rank 1 to 4, axes s32 constant → output without those axes, or with ones for them."""

    inputs: ClassVar[tuple[str, ...]] = ("input", "axes")
    types: ClassVar[tuple[DType, ...]] = (DType.S8, DType.F32)

    keep_dims: bool = False

    def reduced_shape(self, site: Site) -> tuple[int, ...]:
        """The input's shape with the axes dropped or set to 1.

        Raises:
            OperatorError: ranks, types or axes are not as they must be.
        """
        shape = checks.rank(site, "input", 1, 2, 3, 4)
        checks.dtype(site, "axes", DType.S32)
        raw = site.constant("axes").reshape(-1)
        if any(not -len(shape) <= int(axis) < len(shape) for axis in raw):
            raise OperatorError(f"axes {raw.tolist()} leave a tensor of rank {len(shape)}", operand="axes")
        axes = axes_of(site)
        if self.keep_dims:
            return tuple(1 if axis in axes else size for axis, size in enumerate(shape))
        return tuple(size for axis, size in enumerate(shape) if axis not in axes)

    def steps(self, site: Site) -> int:
        """One for each row of the input."""
        return site["input"].type.rows

    def accumulates(self, site: Site) -> bool:
        """Where the input has several rows: all output elements grow together."""
        return site["input"].type.rows > 1

    def accesses(self, site: Site) -> tuple[RowAccess, ...]:
        """Row after row."""
        return (RowAccess.same(site["input"].type.rows),)

    def reference(self, site: Site) -> Callable[[Rows], Array]:
        """The reduction of an input of one row."""
        whole = self.accumulation(site)

        def row(rows: Rows) -> Array:
            grown = whole.start.copy()
            whole.add(grown, rows, 0)
            return np.asarray(whole.finish(grown))

        return row


def axes_of(site: Site) -> frozenset[int]:
    """The axes, counted from the front."""
    rank = len(site["input"].type.shape)
    return frozenset(int(axis) % rank for axis in site.constant("axes").reshape(-1))


def places_of(site: Site) -> NDArray[np.int64]:
    """For each element of each row of the input, `[rows, elements]`, the output's element that it goes into."""
    source, axes = site["input"].type, axes_of(site)
    kept = tuple(1 if axis in axes else size for axis, size in enumerate(source.shape))
    numbers = np.arange(prod(kept), dtype=np.int64).reshape(kept)
    return np.broadcast_to(numbers, source.shape).reshape(source.rows, -1)


def loop_params(site: Site) -> dict[str, int]:
    """The struct fields of `ReductionParams`, which lead through the input."""
    source, axes = site["input"].type, axes_of(site)
    kept = [1 if axis in axes else size for axis, size in enumerate(source.shape)]
    strides = [0 if axis in axes else prod(kept[axis + 1 :]) for axis in range(len(kept))]
    front = 0 if source.row_axis is None else source.row_axis + 1
    axes_in_front = list(zip(source.shape[:front], strides[:front], strict=True))
    loops = (*_two_loops(axes_in_front), *_two_loops(list(zip(source.shape[front:], strides[front:], strict=True))))
    return {
        **{f"size{level}": size for level, (size, _) in enumerate(loops) if level},
        **{f"step{level}": step for level, (_, step) in enumerate(loops)},
        "steps": source.rows,
        "output_elements": site.output.type.elements,
    }


def _two_loops(axes: list[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """Axes as two nested loops of (size, step); of all axes in front of or behind the row axis, at most two exceed 1."""
    loops = [(size, step) for size, step in axes if size > 1]
    return (*[(1, 0)] * (2 - len(loops)), *loops)


def accumulation(
    site: Site,
    start: Array,
    combine: Callable[[Array, NDArray[np.int64], Array], None],
    finish: Callable[[Array], Array],
) -> Accumulation:
    """Row after row: `combine` brings the elements of a row into what has grown, at their places, in order."""
    places = places_of(site)

    def add(grown: Array, rows: Rows, step: int) -> None:
        combine(grown, places[step], np.asarray(rows[0][0]).reshape(-1))

    return Accumulation(start, add, finish)
