"""A plan's steps, ready to run: each with its function, its input rows and the place of its output."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import repeat

import numpy as np
from numpy.typing import NDArray

from kibi.dtypes import Array
from kibi.eager.tensors import RowTensor
from kibi.eager.tensors.interface import TensorInterface
from kibi.errors import InternalError
from kibi.ir import Accumulation, Graph, Made, NodeView, RowAccess, Rows, TensorType
from kibi.ops.control.fetch_weights import FetchWeights, StartWeights, WaitWeights
from kibi.planner import Plan
from kibi.runtime.arena import Arena


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
class _Reader:
    """The way in which a node reads one tensor.

    Attributes:
        each: the rows, or parts of rows, one by one.
        access: the rows (or parts) that a step reads.
        outside: the row (or part) that replaces those outside the tensor.
    """

    each: Sequence[NDArray[np.generic]]
    access: RowAccess
    outside: NDArray[np.generic] | None

    @staticmethod
    def of(rows: _TensorRows, access: RowAccess) -> "_Reader":
        """The reader of a tensor's rows."""
        parts = access.parts
        whole, (first, size) = rows.kind.row_elements // parts, access.taken(rows.kind.row_elements)
        each = rows.each if parts == 1 else [part for row in rows.each for part in row.reshape(parts, whole)]
        if size < whole:
            each = [row[first : first + size] for row in each]
        fill = None if access.fill is None else np.full(size, access.fill, rows.kind.dtype.numpy)
        return _Reader(each, access, fill)

    def pieces(self, step: int) -> tuple[NDArray[np.generic] | None, ...]:
        """Returns the rows (or parts) that a step reads."""
        each, outside = self.each, self.outside
        return tuple([outside if place is None else each[place] for place in self.access.positions(step)])


@dataclass(frozen=True, slots=True)
class Step:
    """One row step.

    Attributes:
        compute: from the input rows to the elements of each output; None for a row that arrives.
        rows: the rows, or parts of rows, that it reads, input after input.
        outputs: the destination of the elements of each, in one piece.
        reads, writes: the rows of tensors in the arena that this touches, as (tensor, row).
        remaining: a number that ends the inference here where it is not 0 when the step has run; None: it never ends here.
    """

    compute: Callable[[Rows], Sequence[Array]] | None
    rows: Rows
    outputs: tuple[NDArray[np.generic], ...]
    reads: tuple[tuple[RowTensor, int], ...]
    writes: tuple[tuple[RowTensor, int], ...]
    remaining: Array | None = None

    @property
    def is_arrival(self) -> bool:
        """True if the caller pushes its row."""
        return self.compute is None

    @property
    def ends(self) -> bool:
        """True if the inference ends after this step, which has run."""
        return self.remaining is not None and bool(self.remaining.any())

    def run(self) -> None:
        """Computes the step.

        Raises:
            EventError: a row that it reads is not there any more.
        """
        if self.compute is None:
            raise InternalError("a row that arrives is not computed")
        for tensor, row in self.reads:
            tensor.touch(row, writing=False)
        with np.errstate(all="ignore"):  # what overflows, or is no number, has the bits that the operator says
            made = self.compute(self.rows)
        self._store(made)

    def receive(self, row: Array) -> None:
        """Takes the row that the caller pushed."""
        self._store((row,))

    def _store(self, made: Sequence[Array]) -> None:
        for tensor, row in self.writes:
            tensor.touch(row, writing=True)
        for output, values in zip(self.outputs, made, strict=True):
            output[:] = values.reshape(-1)


class Program:
    """The steps of a plan over tensors.

    Args:
        graph: the graph that the plan is for.
        plan: with one arena.
        arena: its bytes.
        tensors: those that steps read or make, by index; an arrival at a window is none of them, because it has no bytes.
    """

    def __init__(self, graph: Graph, plan: Plan, arena: Arena, tensors: Mapping[int, TensorInterface]) -> None:
        self.graph = graph
        self.plan = plan
        self.arena = arena
        self.tensors = tensors
        self._rows = {index: _rows(graph, plan, arena, index, tensor) for index, tensor in tensors.items()}
        prepared = {node: self._prepare(node) for node in dict.fromkeys(run.node for run in plan.runs)}
        self.steps = [prepared[node][step] for node, step in plan.steps]

    def begin(self) -> None:
        """Begins an inference: no row exists."""
        self.arena.start()
        for tensor in self.tensors.values():
            if isinstance(tensor, RowTensor):
                tensor.restart()

    def next_arrival(self, position: int) -> int:
        """The first step from a position on that takes a pushed row; the number of steps if none does."""
        while position < len(self.steps) and not self.steps[position].is_arrival:
            position += 1
        return position

    def _prepare(self, node: int) -> list[Step]:
        """The steps of a node."""
        view = self.graph.views[node]
        operands = [
            (self.tensors[tensor.index], access, _Reader.of(self._rows[tensor.index], access))
            for tensor, access in zip(view.row_tensors, view.accesses, strict=True)
            if tensor.index in self.tensors
        ]
        read = [(tensor, access) for tensor, access, _ in operands if isinstance(tensor, RowTensor)]
        outputs = [(self.tensors[index], self._rows[index]) for index in view.node.outputs if index in self.tensors]
        last = view.steps - 1 if view.op.may_exit_early(view) else None
        steps: list[Step] = []
        content = None if view.window is None else self._content_of(view.window.index)
        for step, own in zip(range(view.steps), self._functions(node), strict=False):
            function = own if own is None or content is None else partial(_from_window, view, own, content)
            rows = tuple(reader.pieces(step) for _, _, reader in operands)
            reads = tuple([(tensor, row) for tensor, access in read for row in access.needs(step)])
            its_rows = [view.made_rows(step, number) for number in range(len(outputs))]
            made = tuple(place.together(each) for (_, place), each in zip(outputs, its_rows, strict=True))
            writes = tuple(
                (tensor, row)
                for (tensor, _), each in zip(outputs, its_rows, strict=True)
                if isinstance(tensor, RowTensor)
                for row in each
            )
            remaining = self._states(view)[0] if step == last else None
            steps.append(Step(function, rows, made, reads, writes, remaining))
        return steps

    def _functions(self, node: int) -> Iterator[Callable[[Rows], Sequence[Array]] | None]:
        """The function of each step of a node; steps that take pushed rows need none."""
        view = self.graph.views[node]
        if view.op.receives:
            return repeat(None)
        own = view.own
        if isinstance(view.op, StartWeights):
            return repeat(partial(_begin_transfer, view))
        if isinstance(view.op, WaitWeights):
            return repeat(partial(_end_transfer, view, view.op.content))
        if view.op.states:
            return repeat(partial(_remember, own, view.op.stateful_reference(own), self._states(view)))
        return self._accumulating(node) if view.accumulates else repeat(partial(_each, own, own.reference()))

    def _content_of(self, window: int) -> bytes:
        """The bytes that a window must hold when a step reads it."""
        return next(
            node.op.content for node in self.graph.nodes if isinstance(node.op, FetchWeights) and window in node.outputs
        )

    def _states(self, view: NodeView) -> tuple[Array, ...]:
        """The elements of the variables that a node changes, over their own bytes."""
        arrays = []
        for name in view.op.states:
            with self.tensors[view[name].index].direct(_FAST) as array:
                arrays.append(array)
        return tuple(arrays)

    def _accumulating(self, node: int) -> Iterator[Callable[[Rows], Sequence[Array]]]:
        """The function of each step of a node that accumulates in its scratch."""
        view = self.graph.views[node]
        accumulation, scratch = view.op.accumulation(view.own), self.plan.scratch_of(node)
        if scratch is None:
            raise InternalError(f"{view.node.label} has no scratch to accumulate in")
        size_bytes = accumulation.start.nbytes
        place = self.arena.bytes[scratch.offset : scratch.offset + size_bytes].view(accumulation.start.dtype)
        return (partial(_accumulate, view, accumulation, place, step) for step in range(view.steps))


def _rows(graph: Graph, plan: Plan, arena: Arena, index: int, tensor: TensorInterface) -> _TensorRows:
    """The rows of a tensor over its bytes: planned, constant, or the caller's."""
    kind = graph.tensors[index].type
    if isinstance(tensor, RowTensor):
        return _TensorRows.of(arena.bytes, plan.row_offsets(graph, index), kind)
    with tensor.direct(_FAST) as array:
        return _TensorRows.of(array.reshape(-1).view(np.uint8), range(0, kind.size_bytes, kind.row_bytes), kind)


class _Fast:
    """Requests bytes for the steps, which know how many they need."""

    is_fast = True


_FAST = _Fast()


def _from_window(
    view: NodeView, function: Callable[[Rows], Sequence[Array]], content: bytes, rows: Rows
) -> Sequence[Array]:
    """One step of a node whose weights are in a window: checks that they are there.

    Raises:
        InternalError: something has overwritten them, or they were never fetched.
    """
    count = len(view.own.row_tensors)
    found = rows[count][0]
    if found is None or found.tobytes() != content:
        raise InternalError(f"the window of {view.node.label} does not hold its weights")
    return function(rows[:count])


_UNKNOWN = 0xA7
"""What the bytes of a window are made while a transfer writes them, so that a kernel that reads them gives wrong elements."""


def _begin_transfer(view: NodeView, rows: Rows) -> Sequence[Array]:
    """One step of START_WEIGHTS: nobody knows what the bytes of the window are from now on."""
    del rows
    kind = view.output.type
    return (np.full(kind.row_bytes, _UNKNOWN, np.uint8).view(kind.dtype.numpy),)


def _end_transfer(view: NodeView, content: bytes, rows: Rows) -> Sequence[Array]:
    """One step of WAIT_WEIGHTS: the weights are in the window.

    Raises:
        InternalError: a step has written to the window meanwhile.
    """
    window = rows[0][0]
    if window is None or (window.view(np.uint8) != _UNKNOWN).any():
        raise InternalError(f"{view.node.label}: a step has written to the window during its transfer")
    window[:] = np.frombuffer(content, window.dtype)
    return ()


def _each(view: NodeView, function: Callable[[Rows], Made], rows: Rows) -> Sequence[Array]:
    """One step of a node."""
    return view.op.each_made(function(rows))


def _remember(
    view: NodeView, function: Callable[[Rows, Sequence[Array]], Made], states: Sequence[Array], rows: Rows
) -> Sequence[Array]:
    """One step of a node that has states."""
    return view.op.each_made(function(rows, states))


def _accumulate(view: NodeView, accumulation: Accumulation, place: Array, step: int, rows: Rows) -> Sequence[Array]:
    """One step of a node that accumulates: the elements that it makes, which are none before the last."""
    if step == 0:
        place[:] = accumulation.start
    accumulation.add(place, rows, step)
    is_last = step == view.steps - 1
    return view.op.each_made(accumulation.finish(place)) if is_last else [place[:0]] * len(view.outputs)
