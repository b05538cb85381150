"""Graphs computed by their operators' references, with no plan: for constants, and for graphs inside of operators."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

import numpy as np

from kibi.dtypes import Array
from kibi.ir.graph import Graph, Site
from kibi.ir.operator import Rows
from kibi.ir.rows import RowAccess
from kibi.ir.tensor import TensorType

Evaluation = Callable[[Mapping[int, Array]], Array]
"""From the elements of the tensors that a node reads, by index, to those of its output."""
_counted: ContextVar[Counter[str] | None] = ContextVar("kibi_counted_graphs", default=None)


@contextmanager
def counted_graphs() -> Iterator[Counter[str]]:
    """For a with-block, how often each graph inside of an operator runs, by its `source`; in this thread or task."""
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
    steps: list[tuple[int, Evaluation]] = []
    constants = {tensor.index: tensor.data for tensor in graph.tensors if tensor.data is not None}

    def run(inputs: Sequence[Array]) -> list[Array]:
        counts = _counted.get()
        if counts is not None:
            counts[graph.source] += 1
        if not steps:
            steps.extend((site.output.index, evaluation(site)) for site in graph.sites)
        known = {**constants, **dict(zip(graph.inputs, inputs, strict=True))}
        for index, compute in steps:
            known[index] = compute(known)
        return [known[index] for index in graph.outputs]

    return run


def evaluation(site: Site) -> Evaluation:
    """How a node's output follows from what it reads."""
    accesses = site.op.accesses(site)
    operands = [(t.index, t.type, access) for t, access in zip(site.row_tensors, accesses, strict=True)]
    compute = _accumulated(site) if site.op.accumulates(site) else _stepwise(site)

    def run(known: Mapping[int, Array]) -> Array:
        def rows(step: int) -> Rows:
            return [_rows(known[index], kind, access, step) for index, kind, access in operands]

        with np.errstate(all="ignore"):  # what overflows, or is no number, has the bits that the operator says
            return compute(rows).reshape(site.output.type.shape)

    return run


def _stepwise(site: Site) -> Callable[[Callable[[int], Rows]], Array]:
    """Step after step, whose rows lie in order."""
    function, kind = site.op.reference(site), site.output.type.dtype.numpy

    def run(rows: Callable[[int], Rows]) -> Array:
        made = [np.asarray(function(rows(step)), kind).reshape(-1) for step in range(site.steps)]
        return np.concatenate(made)

    return run


def _accumulated(site: Site) -> Callable[[Callable[[int], Rows]], Array]:
    """All that the steps add up."""
    accumulation = site.op.accumulation(site)

    def run(rows: Callable[[int], Rows]) -> Array:
        place = accumulation.start.copy()
        for step in range(site.steps):
            accumulation.add(place, rows(step), step)
        return np.asarray(accumulation.finish(place))

    return run


def _rows(data: Array, kind: TensorType, access: RowAccess, step: int) -> list[Array | None]:
    """The rows, or parts of rows, that a step reads."""
    parts = data.reshape(kind.rows * access.parts, -1)
    outside = None if access.fill is None else np.full(parts.shape[1], access.fill, parts.dtype)
    return [outside if position is None else parts[position] for position in access.positions(step)]
