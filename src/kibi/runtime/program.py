"""A plan's steps, ready to run: each with its function, its input rows and the place of its output."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import repeat

import numpy as np
from numpy.typing import NDArray

from kibi.dtypes import Array
from kibi.errors import InternalError
from kibi.ir import Accumulation, Graph, RowAccess, Rows, Site, TensorType
from kibi.planner import Plan
from kibi.runtime.arena import Arena
from kibi.runtime.tensors import RowTensor
from kibi.runtime.tensors.interface import TensorInterface


@dataclass(frozen=True, slots=True)
class _TensorRows:
    """A tensor's rows and the bytes that they are in.

    Which array a view was made from is NumPy's affair: its `base` may be a larger array of the caller's, of which the tensor
    is a part. So the bytes are kept beside the rows, and nothing else is written.

    Attributes:
        memory: bytes, of which the rows are parts.
        offsets: where each row begins.
        kind: the tensor's type.
        each: the rows, one by one.
    """

    memory: NDArray[np.uint8]
    offsets: Sequence[int]
    kind: TensorType
    each: Sequence[NDArray[np.generic]]

    @staticmethod
    def of(memory: NDArray[np.uint8], offsets: Sequence[int], kind: TensorType) -> "_TensorRows":
        """The rows at these offsets."""
        size_bytes, element = kind.row_bytes, kind.dtype.numpy
        return _TensorRows(memory, offsets, kind, [memory[at : at + size_bytes].view(element) for at in offsets])

    def together(self, rows: range) -> NDArray[np.generic]:
        """Neighbouring rows, which are stored one after another; no elements where there are no rows."""
        start = self.offsets[rows.start] if rows else 0
        return self.memory[start : start + len(rows) * self.kind.row_bytes].view(self.kind.dtype.numpy)


@dataclass(frozen=True, slots=True)
class Step:
    """One row step.

    Attributes:
        compute: from the input rows to the elements of the output; None for a row that arrives.
        rows: the rows, or parts of rows, that it reads, input after input.
        output: where the elements go, in one piece.
        reads, writes: the rows of tensors in the arena that this touches, as (tensor, row).
        remaining: a number that ends the inference here where it is not 0 when the step has run; None: it never ends here.
    """

    compute: Callable[[Rows], Array] | None
    rows: Rows
    output: NDArray[np.generic]
    reads: tuple[tuple[RowTensor, int], ...]
    writes: tuple[tuple[RowTensor, int], ...]
    remaining: Array | None = None

    @property
    def is_arrival(self) -> bool:
        """Whether the caller brings its row."""
        return self.compute is None

    @property
    def ends(self) -> bool:
        """Whether the inference ends behind it, now that it has run."""
        return self.remaining is not None and bool(self.remaining.any())

    def run(self) -> None:
        """Compute.

        Raises:
            EventError: a row that it reads is not there any more.
        """
        if self.compute is None:
            raise InternalError("a row that arrives is not computed")
        for tensor, row in self.reads:
            tensor.touch(row, writing=False)
        with np.errstate(all="ignore"):  # what overflows, or is no number, has the bits that the operator says
            values = np.asarray(self.compute(self.rows)).reshape(-1)
        self._store(values)

    def receive(self, row: Array) -> None:
        """Take the row that the caller brings."""
        self._store(row)

    def _store(self, values: Array) -> None:
        for tensor, made in self.writes:
            tensor.touch(made, writing=True)
        self.output[:] = values


class Program:
    """The steps of a plan over tensors.

    Args:
        graph: the graph that the plan is for.
        plan: with one arena.
        arena: its bytes.
        tensors: those that steps read or make, by index.
    """

    def __init__(self, graph: Graph, plan: Plan, arena: Arena, tensors: Mapping[int, TensorInterface]) -> None:
        self.graph = graph
        self.plan = plan
        self.arena = arena
        self.tensors = tensors
        self._rows = {index: _rows(graph, plan, arena, index, tensor) for index, tensor in tensors.items()}
        prepared = {run.node: self._prepare(run.node) for run in plan.runs}
        self.steps = [prepared[node][step] for node, step in plan.steps]

    def begin(self) -> None:
        """Before the first step: no row is there."""
        self.arena.start()
        for tensor in self.tensors.values():
            if isinstance(tensor, RowTensor):
                tensor.restart()

    def next_arrival(self, position: int) -> int:
        """The first step from a position on at which a row arrives; the number of steps where none does."""
        while position < len(self.steps) and not self.steps[position].is_arrival:
            position += 1
        return position

    def _prepare(self, node: int) -> list[Step]:
        """The steps of a node."""
        site = self.graph.sites[node]
        accesses = site.op.accesses(site)
        steps: list[Step] = []
        for step, function in zip(range(site.steps), self._functions(node), strict=False):
            operands = list(zip(site.row_tensors, accesses, strict=True))
            rows = tuple(_pieces(self._rows[tensor.index], access, step) for tensor, access in operands)
            reads = [(tensor.index, row) for tensor, access in operands for row in access.needs(step)]
            writes = [(site.output.index, row) for row in site.made_rows(step)]
            touched = (self._in_arena(reads), self._in_arena(writes))
            is_end = step == site.steps - 1 and site.op.may_stop(site)
            remaining = self._states(site)[0] if is_end else None
            steps.append(Step(function, rows, self._output(site, step), *touched, remaining))
        return steps

    def _in_arena(self, rows: Sequence[tuple[int, int]]) -> tuple[tuple[RowTensor, int], ...]:
        """Those of the rows that lie in the arena."""
        found = ((self.tensors[index], row) for index, row in rows)
        return tuple((tensor, row) for tensor, row in found if isinstance(tensor, RowTensor))

    def _functions(self, node: int) -> Iterator[Callable[[Rows], Array] | None]:
        """The function of each step of a node; a row that arrives needs none."""
        site = self.graph.sites[node]
        if site.op.receives:
            return repeat(None)
        if site.op.states:
            return repeat(partial(_remember, site.op.stateful_reference(site), self._states(site)))
        return self._accumulating(node) if site.op.accumulates(site) else repeat(site.op.reference(site))

    def _states(self, site: Site) -> tuple[Array, ...]:
        """The elements of the variables that a node changes, over their own bytes."""
        arrays = []
        for name in site.op.states:
            with self.tensors[site[name].index].direct(_FAST) as array:
                arrays.append(array)
        return tuple(arrays)

    def _output(self, site: Site, step: int) -> NDArray[np.generic]:
        """The bytes of the rows that one step makes, which lie in order; none where it only accumulates."""
        return self._rows[site.output.index].together(site.made_rows(step))

    def _accumulating(self, node: int) -> Iterator[Callable[[Rows], Array]]:
        """The function of each step of a node that accumulates in its scratch."""
        site = self.graph.sites[node]
        accumulation, scratch = site.op.accumulation(site), self.plan.scratch_of(node)
        if scratch is None:
            raise InternalError(f"{site.node.label} has no scratch to accumulate in")
        size_bytes = accumulation.start.nbytes
        place = self.arena.bytes[scratch.offset : scratch.offset + size_bytes].view(accumulation.start.dtype)
        return (partial(_accumulate, site, accumulation, place, step) for step in range(site.steps))


def _rows(graph: Graph, plan: Plan, arena: Arena, index: int, tensor: TensorInterface) -> _TensorRows:
    """The rows of a tensor over its bytes: planned, constant, or the caller's."""
    kind = graph.tensors[index].type
    if isinstance(tensor, RowTensor):
        return _TensorRows.of(arena.bytes, plan.row_offsets(graph, index), kind)
    with tensor.direct(_FAST) as array:
        return _TensorRows.of(array.reshape(-1).view(np.uint8), range(0, kind.size_bytes, kind.row_bytes), kind)


class _Fast:
    """Asks for bytes on behalf of the steps, which know what they do."""

    is_fast = True


_FAST = _Fast()


def _remember(function: Callable[[Rows, Sequence[Array]], Array], states: Sequence[Array], rows: Rows) -> Array:
    """One step of a node that has states."""
    return function(rows, states)


def _accumulate(site: Site, accumulation: Accumulation, place: Array, step: int, rows: Rows) -> Array:
    """One step of a node that accumulates: the elements that it makes, which are none before the last."""
    if step == 0:
        place[:] = accumulation.start
    accumulation.add(place, rows, step)
    return accumulation.finish(place) if step == site.steps - 1 else place[:0]


def _pieces(rows: _TensorRows, access: RowAccess, step: int) -> tuple[NDArray[np.generic] | None, ...]:
    """The rows, or parts of rows, that an access names."""
    kind = rows.kind
    size = kind.row_elements // access.parts
    fill = None if access.fill is None else np.full(size, access.fill, kind.dtype.numpy)

    def piece(position: int | None) -> NDArray[np.generic] | None:
        if position is None:
            return fill
        row, part = divmod(position, access.parts)
        return rows.each[row][part * size : (part + 1) * size]

    return tuple(piece(position) for position in access.positions(step))
