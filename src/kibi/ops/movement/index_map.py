"""Operators that only move elements: a map of indices, known ahead of time, becomes steps by the row and a table of runs."""

from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache, reduce
from math import gcd
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from kibi.dtypes import Array, DType
from kibi.ir import KernelCall, NodeView, Operator, RowAccess, Rows, TensorType
from kibi.kernels.params import PARAMS
from kibi.kernels.params.movement import GatherRunsBytesParams
from kibi.ops.overlap import least_distance

Indices = NDArray[np.int64]
Numbers = tuple[tuple[int, ...], tuple[int, ...]]
"""A constant of integers: its shape, and its elements in order."""

FILLED = -1
"""In a map, what replaces an element that no element of the input gives."""
_ANY = "kibi_gather_runs_any"
"""The kernel of types that an operator names no other for."""
_NOWHERE = -(1 << 28)
"""In a table of runs, the place of a run that is filled; added to any other place it stays below 0."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """The pattern of every step: element `k` of what it makes is the element `places[k]` of the pointer `pointers[k]`.

    Attributes:
        access: the rows that a step reads.
        steps: of the node.
        pointers: `[elements]`, which of the access's rows; 0 where `places` is `FILLED`.
        places: `[elements]`, the element in that row, or `FILLED`.
    """

    access: RowAccess
    steps: int
    pointers: Indices
    places: Indices


@dataclass(frozen=True, slots=True)
class IndexMap(Operator):
    """Elements of the input at places that are known ahead of time: input s8, s16, s32 or f32 → output of the same type."""

    inputs: ClassVar[tuple[str, ...]] = ("input",)
    index_inputs: ClassVar[tuple[str, ...]] = ()
    """Constants of integers that the map depends on."""
    kernels: ClassVar[tuple[str, ...]] = ("kibi_gather_runs_s8", "kibi_gather_runs_f32")
    types: ClassVar[tuple[DType, ...]] = (DType.S8, DType.F32)
    most_elements: ClassVar[int] = 1 << 21

    @abstractmethod
    def indices(self, source: tuple[int, ...], output: tuple[int, ...], constants: tuple[Numbers, ...]) -> Indices:
        """Returns for each element of the output the flat index of the input's element that it is, or `FILLED`.

        Args:
            source: the input's shape.
            output: the output's shape, which `infer` has found right.
            constants: those of `index_inputs`.

        Returns:
            Of the output's shape.
        """

    def fill(self, view: NodeView) -> Array:
        """The one element that stands where none of the input does."""
        return np.zeros(1, view.output.type.dtype.numpy)

    def pattern(self, view: NodeView) -> Pattern:
        """The steps, and what each does."""
        constants = tuple(_numbers(view.constant(name)) for name in self.index_inputs)
        return _pattern(self, _plain(view.row_tensors[0].type), _plain(view.output.type), constants)

    def steps(self, view: NodeView) -> int:
        """Returns as many steps as have the same map, shifted by rows of the input."""
        return self.pattern(view).steps

    def accesses(self, view: NodeView) -> tuple[RowAccess, ...]:
        """The rows that hold a step's elements; a null pointer for those outside, which are filled."""
        return (self.pattern(view).access,)

    def reference(self, view: NodeView) -> Callable[[Rows], Array]:
        """The elements, picked."""
        pattern, fill = self.pattern(view), self.fill(view)
        size = view.row_tensors[0].type.row_elements
        is_filled = pattern.places == FILLED

        def row(rows: Rows) -> Array:
            pieces = [np.broadcast_to(fill, size) if piece is None else np.asarray(piece) for piece in rows[0]]
            stacked = np.stack([piece.reshape(size) for piece in pieces])
            picked: Array = np.where(is_filled, fill, stacked[pattern.pointers, pattern.places])
            return picked

        return row

    def kernel_call(self, view: NodeView) -> KernelCall:
        """One kernel for each type, or that for any, with two tables: runs of elements are at the sums of their entries."""
        dtype = view.output.type.dtype
        kernel, runs, filler = f"kibi_gather_runs_{dtype}", runs_of(self.pattern(view)), self.fill(view)
        tables: dict[str, Any] = {
            "outer": runs.outer.astype(np.int32),
            "outer_count": len(runs.outer),
            "inner": runs.inner.astype(np.int32),
            "inner_count": len(runs.inner),
            "elements": runs.elements,
        }
        distance = least_distance((place, k * runs.elements) for k, place in runs.places() if place >= 0)
        inplace_distance_bytes = (distance * dtype.size_bytes,)
        if kernel in self.kernels:
            return KernelCall(
                kernel, PARAMS[kernel](filler=filler, **tables), inplace_distance_bytes=inplace_distance_bytes
            )
        params = GatherRunsBytesParams(bytes=dtype.size_bytes, filler=filler.view(np.int8), **tables)
        return KernelCall(_ANY, params, is_untyped=True, inplace_distance_bytes=inplace_distance_bytes)


@dataclass(frozen=True, slots=True)
class Runs:
    """Runs of neighbouring elements: run `o * len(inner) + i` is at `outer[o] + inner[i]`.

    Attributes:
        outer, inner: `[entries, 2]`: pointer, and place in its row; below 0 where the run is filled.
        elements: of each run.
    """

    outer: Indices
    inner: Indices
    elements: int

    def places(self) -> Iterator[tuple[int, int]]:
        """The number and the place of each run."""
        return enumerate((self.outer[:, None, 1] + self.inner[None, :, 1]).reshape(-1).tolist())


def runs_of(pattern: Pattern) -> Runs:
    """The longest runs, in the smallest two tables."""
    pointers, places = pattern.pointers, pattern.places
    follows = (places[1:] == places[:-1] + 1) & (pointers[1:] == pointers[:-1]) & (places[:-1] != FILLED)
    follows |= (places[1:] == FILLED) & (places[:-1] == FILLED)
    breaks = np.flatnonzero(~follows) + 1
    elements = reduce(gcd, breaks.tolist(), len(places))
    table = np.stack([pointers[::elements], places[::elements]], axis=1)
    sizes = [size for size in range(1, len(table) + 1) if len(table) % size == 0]
    for size in sorted(sizes, key=lambda size: size + len(table) // size):
        found = _sums(table.reshape(-1, size, 2))
        if found is not None:
            return Runs(*found, elements)
    outer, inner = table, np.zeros((1, 2), np.int64)
    return Runs(outer, inner, elements)


def _sums(table: Indices) -> tuple[Indices, Indices] | None:
    """Two tables whose sums are this one, `[outer, inner, 2]`; None where there are none."""
    filled = table[..., 1] == FILLED
    no_outer, no_inner = filled.all(axis=1), filled.all(axis=0)
    if not (filled == (no_outer[:, None] | no_inner[None, :])).all():
        return None
    outer, inner = np.zeros((len(table), 2), np.int64), np.zeros((table.shape[1], 2), np.int64)
    if not filled.all():
        first, second = int(np.argmin(no_outer)), int(np.argmin(no_inner))
        outer[:] = table[:, second]
        inner[:] = table[first] - table[first, second]
        sums = outer[:, None] + inner[None]
        if not (filled | (sums == table).all(axis=2)).all():
            return None
    outer[no_outer] = inner[no_inner] = (0, _NOWHERE)
    return outer, inner


def _numbers(data: Array) -> Numbers:
    return data.shape, tuple(int(value) for value in data.reshape(-1).tolist())


def _plain(kind: TensorType) -> TensorType:
    """Without what does not matter here, so that results are found again."""
    return TensorType(kind.shape, DType.S8)


@lru_cache(maxsize=256)
def _pattern(op: IndexMap, source: TensorType, output: TensorType, constants: tuple[Numbers, ...]) -> Pattern:
    """The pattern of the shortest steps that all have the same."""
    indices = op.indices(source.shape, output.shape, constants).reshape(-1)
    rows = np.where(indices == FILLED, FILLED, indices // source.row_elements)
    places = np.where(indices == FILLED, FILLED, indices % source.row_elements)
    for batches in sorted({_batches(source, output), 1}, reverse=True):
        for steps in _step_counts(output, batches):
            found = _shifted(
                rows.reshape(batches, steps // batches, -1), places.reshape(steps, -1), source.rows // batches
            )
            if found is not None:
                return Pattern(found[0], steps, *found[1:])
    raise AssertionError("a single step always has a pattern")


def _batches(source: TensorType, output: TensorType) -> int:
    """Parts of the batch that both tensors have; 1 where they differ, or where rows do not end with them."""
    count = output.shape[0] if len(output.shape) > 2 else 1
    same = source.shape[:1] == output.shape[:1] and source.rows % count == output.rows % count == 0
    return count if same else 1


def _step_counts(output: TensorType, batches: int) -> list[int]:
    """Numbers of steps, the most first; each step makes as many rows of one batch."""
    rows = output.rows // batches
    return [batches * (rows // made) for made in range(1, rows + 1) if rows % made == 0]


def _shifted(rows: Indices, places: Indices, source_rows: int) -> tuple[RowAccess, Indices, Indices] | None:
    """The access, pointers and places, where all steps have the same map but for a shift by rows; else None.

    Args:
        rows: `[batches, steps of a batch, elements]`, the row of the input; `FILLED` for a filled element.
        places: `[steps, elements]`, the place in the row.
        source_rows: of one batch.
    """
    batches, steps, elements = rows.shape
    inner = np.where(rows == FILLED, FILLED, rows - np.arange(batches)[:, None, None] * source_rows)
    if ((inner != FILLED) & ((inner < 0) | (inner >= source_rows))).any() or (inner != inner[:1]).any():
        return None
    first, is_there = inner[0], inner[0] != FILLED
    place = places.max(axis=0)
    if ((places != FILLED) & (places != place)).any():
        return None
    pairs = is_there[1:] & is_there[:-1]
    stride = int((first[1:] - first[:-1])[pairs][0]) if pairs.any() else 0
    shifts = np.arange(steps)[:, None] * stride
    low = np.where(is_there, first - shifts, np.iinfo(np.int64).max).min(axis=0)
    high = np.where(is_there, first - shifts, np.iinfo(np.int64).min).max(axis=0)
    used = place != FILLED
    predicted = shifts + np.where(used, low, 0)
    is_inside = (predicted >= 0) & (predicted < source_rows) & used
    if (low[used] != high[used]).any() or (is_inside != is_there).any() or stride < 0:
        return None
    return _access(np.where(used, low, 0), used, stride, steps, source_rows, place, elements)


def _access(
    low: Indices, used: Indices, stride: int, steps: int, source_rows: int, place: Indices, elements: int
) -> tuple[RowAccess, Indices, Indices]:
    """Returns the access for the rows that step 0 reads; for each element the number of its pointer; and its place."""
    if not used.any():
        access = RowAccess(source_rows, steps, stride=0)
        return access, np.zeros(elements, np.int64), place
    needed = np.unique(low[used])
    dilation = int(np.gcd.reduce(np.diff(needed))) if len(needed) > 1 else 1
    start = int(needed[0])
    count = int(needed[-1] - start) // dilation + 1
    access = RowAccess(source_rows, steps, count, stride, start, dilation)
    return access, np.where(used, (low - start) // dilation, 0), place
