"""Graphs computed by their operators' references, with no plan: for constants, and for graphs inside of operators."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

import numpy as np

from kibi.dtypes import Array
from kibi.ir.graph import Graph, NodeView
from kibi.ir.operator import Rows
from kibi.ir.rows import RowAccess
from kibi.ir.tensor import Tensor

Evaluation = Callable[[Mapping[int, Array]], list[Array]]
"""A function from the elements of the tensors that a node reads, by index, to the elements of each of its outputs."""
_counted: ContextVar[Counter[str] | None] = ContextVar("kibi_counted_graphs", default=None)


@dataclass(slots=True)
class StepCount:
    """The number of row steps that the graphs inside of operators have taken.

    Attributes:
        steps: the number so far.
    """

    steps: int = 0


_taken: ContextVar[StepCount | None] = ContextVar("kibi_steps_taken", default=None)


@contextmanager
def counted_steps() -> Iterator[StepCount]:
    """Counts, in a with-block, the row steps of the graphs inside of operators; an inner block continues the outer one's count."""
    before = _taken.get()
    count = StepCount() if before is None else before
    _taken.set(count)
    try:
        yield count
    finally:
        _taken.set(before)


@contextmanager
def counted_graphs() -> Iterator[Counter[str]]:
    """Counts, in a with-block, the runs of each graph inside of an operator, by its `source`; in this thread or task."""
    counts: Counter[str] = Counter()
    before = _counted.set(counts)
    try:
        yield counts
    finally:
        _counted.reset(before)


def evaluator(graph: Graph) -> Callable[[Sequence[Array]], list[Array]]:
    """A function from a graph's inputs to its outputs, each of its type and shape.

    Args:
        graph: a verified graph without variables; what can be prepared once is, when it runs for the first time.
    """
    steps: list[tuple[tuple[int, ...], Evaluation]] = []
    constants = {tensor.index: tensor.data for tensor in graph.tensors if tensor.data is not None}
    steps_in_all = sum(view.steps for view in graph.views)

    def run(inputs: Sequence[Array]) -> list[Array]:
        counts = _counted.get()
        if counts is not None:
            counts[graph.source] += 1
        taken = _taken.get()
        if taken is not None:
            taken.steps += steps_in_all
        if not steps:
            steps.extend((view.node.outputs, evaluation(view)) for view in graph.views)
        known = {**constants, **dict(zip(graph.inputs, inputs, strict=True))}
        with np.errstate(all="ignore"):  # what overflows, or is no number, has the bits that the operator says
            for indices, compute in steps:
                known.update(zip(indices, compute(known), strict=True))
        return [known[index] for index in graph.outputs]

    return run


def evaluation(view: NodeView) -> Evaluation:
    """Returns a function that computes a node's outputs; the parts that never change are computed once, here.

    The caller must silence NumPy's warnings about overflow and NaN: the operator defines the bits of these results.
    """
    readers = [_Reader.of(t, access) for t, access in zip(view.row_tensors, view.accesses, strict=True)]
    compute = _accumulated(view) if view.accumulates else _stepwise(view)
    shapes = [tensor.type.shape for tensor in view.outputs]

    def run(known: Mapping[int, Array]) -> list[Array]:
        tables = [(reader, known[reader.tensor].reshape(reader.shape)) for reader in readers]
        made = compute(lambda step: [reader.rows(table, step) for reader, table in tables])
        return [each.reshape(shape) for each, shape in zip(made, shapes, strict=True)]

    return run


def _stepwise(view: NodeView) -> Callable[[Callable[[int], Rows]], list[Array]]:
    """Returns an evaluation by steps, which make the output's rows in order."""
    function, steps = view.op.reference(view), view.steps
    each_made, kinds = view.op.each_made, [tensor.type.dtype.numpy for tensor in view.outputs]

    def run(rows: Callable[[int], Rows]) -> list[Array]:
        made = zip(*(each_made(function(rows(step))) for step in range(steps)), strict=True)
        return [
            np.asarray(pieces[0], kind)
            if steps == 1
            else np.concatenate([np.asarray(piece, kind).reshape(-1) for piece in pieces])
            for pieces, kind in zip(made, kinds, strict=True)
        ]

    return run


def _accumulated(view: NodeView) -> Callable[[Callable[[int], Rows]], list[Array]]:
    """Returns an evaluation that accumulates over all steps."""
    accumulation, steps = view.op.accumulation(view), view.steps

    def run(rows: Callable[[int], Rows]) -> list[Array]:
        place = accumulation.start.copy()
        for step in range(steps):
            accumulation.add(place, rows(step), step)
        return list(view.op.each_made(accumulation.finish(place)))

    return run


@dataclass(frozen=True, slots=True)
class _Reader:
    """The way in which a node reads one tensor.

    Attributes:
        tensor: its index.
        shape: its elements as `[rows or parts of rows, elements]`.
        columns: which of these elements a step gets.
        access: the rows (or parts) that a step reads.
        first: those of step 0: often there is no other.
        outside: replaces those outside the tensor.
    """

    tensor: int
    shape: tuple[int, int]
    columns: slice
    access: RowAccess
    first: tuple[int | None, ...]
    outside: Array | None

    @staticmethod
    def of(tensor: Tensor, access: RowAccess) -> "_Reader":
        kind, parts = tensor.type, tensor.type.rows * access.parts
        first, size = access.taken(kind.row_elements)
        outside = None if access.fill is None else np.full(size, access.fill, kind.dtype.numpy)
        columns = slice(first, first + size)
        return _Reader(tensor.index, (parts, kind.elements // parts), columns, access, access.positions(0), outside)

    def rows(self, table: Array, step: int) -> list[Array | None]:
        """Returns the rows (or parts) that a step reads, from the elements in `shape`."""
        positions = self.access.positions(step) if step else self.first
        return [self.outside if position is None else table[position, self.columns] for position in positions]
