"""Lifetimes: which buffers an order of row steps needs, and from which step to which each of them lives.

The rule: a tensor that is made whole before anything reads it, a model input and a model output are one buffer each,
with rows in order. A tensor whose making and reading interleave has a buffer for each row, so that its first rows can
die while its last ones are not made yet.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from kibi.errors import PlanError
from kibi.ir import Graph, KernelCall, NodeView, RowAccess, Tensor, overwrites
from kibi.planner.limits import check_limits
from kibi.planner.plan import Buffer, Run

_Ints: TypeAlias = NDArray[np.int64]
_INPUT_STEP = -1
"""Model inputs are made before step 0."""


def lifetimes(
    graph: Graph,
    runs: Sequence[Run],
    *,
    scratch: bool = True,
    split: Collection[int] = (),
    by_run: Collection[int] = (),
) -> tuple[Buffer, ...]:
    """The buffers of an order of row steps, not placed yet: all offsets are 0, but those of a split model input.

    Args:
        graph: a verified graph.
        runs: the order; each node computes each row of its output once, ascending.
        scratch: true to include the scratch of the nodes that need some.
        split: tensors that are held row by row, though the rule would make them one buffer. The rows of a model input are
            in order from the start of the arena, one input after the other, and die one by one; model outputs stay whole.
        by_run: nodes whose scratch leaves its bytes to others between the node's runs; accumulators never do.

    Returns:
        Tensors ascending by index, the rows of each ascending, then scratch. Each is aligned to the size of its elements, as C
        asks. The scratch of a node `by_run` is a buffer for each of its runs, all to be placed at one offset. All other scratch
        lives from the first to the last step of its node, and through what other nodes do in between.

    Raises:
        PlanError: the order names a node that does not exist, computes a row twice, out of order or never, reads a row that
            is not made yet, or overwrites one of a variable that is still to be read.
    """
    return Followed.of(graph, runs).buffers(scratch=scratch, split=split, by_run=by_run)


@dataclass(frozen=True, slots=True)
class Followed:
    """The events of an order of row steps: enough to list its buffers in several ways.

    Attributes:
        graph: the graph.
        steps: how many steps the order has.
        histories: of each tensor in the arena.
        places: for each node, the places of its steps.
    """

    graph: Graph
    steps: int
    histories: "dict[int, _History]"
    places: Sequence[_Ints]
    _made: dict[tuple[int, bool], tuple[Buffer, ...]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    @staticmethod
    def of(graph: Graph, runs: Sequence[Run]) -> "Followed":
        """An order, step by step; arguments and errors as of `lifetimes`."""
        check_limits(graph)
        histories, places = _follow(graph, runs)
        return Followed(graph, sum(run.steps for run in runs), histories, places)

    def buffers(
        self, *, scratch: bool = True, split: Collection[int] = (), by_run: Collection[int] = ()
    ) -> tuple[Buffer, ...]:
        """Its buffers; arguments and result as of `lifetimes`."""
        graph, buffers, pinned_bytes = self.graph, list[Buffer](), 0
        stored, kept = frozenset(graph.stored_inputs), frozenset(graph.outputs)
        for index in sorted(self.histories):
            tensor, history = graph.tensors[index], self.histories[index]
            if not tensor.is_planned:
                continue
            alignment = tensor.type.dtype.size_bytes
            if index in stored and index in split and index not in kept:
                pinned_bytes += -pinned_bytes % alignment
                buffers.extend(_pinned(tensor, history, alignment, pinned_bytes))
                pinned_bytes += tensor.type.size_bytes
            # The caller sees a stored input or an output of the model as one array.
            elif index in stored or index in kept or (history.is_whole and index not in split):
                buffers.extend(self._of(tensor, is_whole=True))
            else:
                buffers.extend(self._of(tensor, is_whole=False))
        if scratch:
            buffers.extend(self.scratch(by_run))
        return tuple(buffers)

    def scratch(self, by_run: Collection[int] = ()) -> tuple[Buffer, ...]:
        """The scratch of its nodes; argument and result as of `lifetimes`."""
        made, held = list[Buffer](), list[tuple[int, int, int]]()
        for node, (its, call) in enumerate(zip(self.places, self.graph.calls, strict=True)):
            if not call.scratch_bytes:
                continue
            first, end = int(its[0]), int(its[-1]) + 1
            if self.graph.views[node].accumulates:
                # An accumulator must outlive its node's steps, so that it is never shared.
                made.append(_scratch(call, node, first, end))
            elif node in by_run:
                made += [_scratch(call, node, *run) for run in _stretches(its)]
            else:
                held.append((first, end, node))
        return (*made, *_shared(self.graph, held))

    def _of(self, tensor: Tensor, *, is_whole: bool) -> tuple[Buffer, ...]:
        """A tensor's buffers, one or one for each step that makes rows; each is made once, in however many lists it stands."""
        key = tensor.index, is_whole
        if key not in self._made:
            history, alignment = self.histories[tensor.index], tensor.type.dtype.size_bytes
            if is_whole:
                end = self.steps if tensor.index in self.graph.outputs else 0
                self._made[key] = (_whole(tensor, history, alignment, end),)
            else:
                self._made[key] = tuple(_by_row(tensor, history, alignment))
        return self._made[key]


@dataclass(frozen=True, slots=True)
class _History:
    """The events of a tensor.

    Attributes:
        made: for each row, the step that makes it.
        last_used: for each row, the last step that reads it, or that makes it where none does.
        first_read: the first step that reads any row, or None.
    """

    made: _Ints
    last_used: _Ints
    first_read: int | None

    @property
    def is_whole(self) -> bool:
        """True if all rows are made before any is read."""
        return self.first_read is None or bool(self.made[-1] < self.first_read)


def places_of(graph: Graph, runs: Sequence[Run]) -> list[_Ints]:
    """Returns for each node the places of its steps in an order of all row steps."""
    nodes = np.repeat(np.array([run.node for run in runs], np.int64), np.array([run.steps for run in runs], np.int64))
    places = np.argsort(nodes, kind="stable")
    return [places[begin:end] for begin, end in pairwise([0, *accumulate(view.steps for view in graph.views)])]


def _follow(graph: Graph, runs: Sequence[Run]) -> tuple[dict[int, _History], list[_Ints]]:
    """The history of each tensor in the arena, and the places of each node's steps."""
    _check_runs(graph, runs)
    places = places_of(graph, runs)
    made = {index: np.full(graph.tensors[index].type.rows, _INPUT_STEP, np.int64) for index in graph.given}
    for node, view, its_places in zip(graph.nodes, graph.views, places, strict=True):
        made |= {index: its_places[view.made_by(output)] for output, index in enumerate(node.outputs)}
    last_used = {index: rows.copy() for index, rows in made.items()}
    first_read: dict[int, int] = {}
    problems = list(_overwritten_too_early(graph, places))
    for number, view in enumerate(graph.views):
        for tensor, access in _reads(view):
            index, wanted = tensor.index, access.last_rows(view.steps)
            reading = np.flatnonzero(wanted >= 0)
            if not len(reading):
                continue
            is_early = made[index][wanted[reading]] >= places[number][reading]
            if is_early.any():
                problems.append(_read_too_early(graph, number, int(reading[is_early.argmax()]), places, made))
                continue
            used = access.last_steps(len(made[index]), view.steps)
            is_used = used >= 0
            last_used[index][is_used] = np.maximum(last_used[index][is_used], places[number][used[is_used]])
            first = int(places[number][reading[0]])
            first_read[index] = min(first_read.get(index, first), first)
    if problems:
        raise PlanError(min(problems)[1])
    return {index: _History(rows, last_used[index], first_read.get(index)) for index, rows in made.items()}, places


def _overwritten_too_early(graph: Graph, places: Sequence[_Ints]) -> Iterator[tuple[int, str]]:
    """Yields, for nodes that overwrite what is still used, the first step that does, and the problem."""
    for number, others in enumerate(overwrites(graph)):
        for other, wanted in others:
            done = np.searchsorted(places[other], places[number])
            rows = np.flatnonzero(done < np.array(wanted, np.int64))
            if len(rows):
                step, row = int(places[number][rows[0]]), int(rows[0])
                where = f"step {step}, row {row} of {graph.nodes[number].label},"
                what = f"overwrites a variable that {graph.nodes[other].label} still uses"
                yield step, f"{where} {what}. Let that run further before."


def _read_too_early(
    graph: Graph, number: int, row: int, places: Sequence[_Ints], made: Mapping[int, _Ints]
) -> tuple[int, str]:
    """A step that reads what is not made yet, and what is wrong."""
    step = int(places[number][row])
    tensor, needed = next(
        (tensor, needed)
        for tensor, access in _reads(graph.views[number])
        for needed in access.needs(row)
        if made[tensor.index][needed] >= step
    )
    where = f"step {step}, row {row} of {graph.nodes[number].label},"
    what = f"reads row {needed} of tensor {tensor.name!r}, which is not made yet"
    return step, f"{where} {what}. Let the operator that makes it run further before."


def _reads(view: NodeView) -> Iterator[tuple[Tensor, RowAccess]]:
    """The tensors in the arena that a node reads, and how."""
    for tensor, access in zip(view.row_tensors, view.accesses, strict=True):
        if not tensor.is_constant:
            yield tensor, access


def _check_runs(graph: Graph, runs: Sequence[Run]) -> None:
    """Raise an error where not each node's row steps run once, ascending, all of them."""
    totals = [view.steps for view in graph.views]
    done = [0] * len(graph.nodes)
    if not graph.nodes:
        raise PlanError(
            f"model {graph.name!r} has no operator, so there is nothing to plan. Give a model that computes."
        )
    for place, run in enumerate(runs):
        if not 0 <= run.node < len(graph.nodes):
            raise PlanError(f"run {place} names node {run.node}, but there are {len(graph.nodes)}. Remove the run.")
        is_outside = run.steps < 1 or run.first_step + run.steps > totals[run.node]
        if is_outside or run.first_step != done[run.node]:
            label = graph.nodes[run.node].label
            where = f"run {place} computes {run.steps} row steps from step {run.first_step} of {label}"
            if is_outside:
                raise PlanError(f"{where}, which has {totals[run.node]}. Let runs have at least one each.")
            what = "a second time" if run.first_step < done[run.node] else "before those above it"
            raise PlanError(f"{where} {what}. Continue with step {done[run.node]}: each runs once, in order.")
        done[run.node] += run.steps
    for node, total, count in zip(graph.nodes, totals, done, strict=True):
        if count < total:
            raise PlanError(f"row steps {count} to {total - 1} of {node.label} are never computed. Add runs for them.")


def _whole(tensor: Tensor, history: _History, alignment: int, end: int) -> Buffer:
    start = int(history.made.min()) if len(history.made) else 0
    end = max(end, max(0, start) + 1, int(history.last_used.max(initial=0)) + 1)
    return Buffer(tensor.index, None, 0, tensor.type.rows, 0, tensor.type.size_bytes, alignment, max(0, start), end)


def _by_row(tensor: Tensor, history: _History, alignment: int) -> Iterator[Buffer]:
    """A buffer for each step that makes rows: mostly one row."""
    made, last_used = history.made.tolist(), history.last_used.tolist()
    for row, after in _alike(history.made):
        size_bytes, end = (after - row) * tensor.type.row_bytes, max(last_used[row:after]) + 1
        yield Buffer(tensor.index, None, row, after - row, 0, size_bytes, alignment, made[row], end)


def _pinned(tensor: Tensor, history: _History, alignment: int, offset: int) -> Iterator[Buffer]:
    """The rows of a model input, in order from an offset; neighbours that die together are one buffer."""
    last_used = history.last_used.tolist()
    for row, after in _alike(history.last_used):
        size_bytes, end = (after - row) * tensor.type.row_bytes, max(last_used[row], 0) + 1
        place = offset + row * tensor.type.row_bytes
        yield Buffer(tensor.index, None, row, after - row, place, size_bytes, alignment, 0, end, is_pinned=True)


def _alike(rows: _Ints) -> Iterator[tuple[int, int]]:
    """From which to before which row neighbours have the same number."""
    return pairwise([0, *(np.flatnonzero(np.diff(rows)) + 1).tolist(), len(rows)]) if len(rows) else iter(())


def _scratch(call: KernelCall, node: int, start: int, end: int) -> Buffer:
    return Buffer(None, node, 0, 0, 0, call.scratch_bytes, call.scratch_alignment, start, end)


def _stretches(places: _Ints) -> Iterator[tuple[int, int]]:
    """The half-open ranges of neighbouring places."""
    cuts = [0, *(np.flatnonzero(np.diff(places) > 1) + 1).tolist(), len(places)]
    return ((int(places[first]), int(places[end - 1]) + 1) for first, end in pairwise(cuts))


def _shared(graph: Graph, held: Sequence[tuple[int, int, int]]) -> Iterator[Buffer]:
    """A buffer for each group of nodes whose steps interleave, as large as the largest scratch among them.

    Args:
        graph: the graph.
        held: the first step of each node, the one after its last, and the node.
    """
    groups: list[tuple[int, int, list[int]]] = []
    for start, end, node in sorted(held):
        if groups and start < groups[-1][1]:
            begin, until, nodes = groups[-1]
            groups[-1] = begin, max(until, end), [*nodes, node]
        else:
            groups.append((start, end, [node]))
    for start, end, nodes in groups:
        size_bytes = max(graph.calls[node].scratch_bytes for node in nodes)
        alignment = max(graph.calls[node].scratch_alignment for node in nodes)
        yield Buffer(None, nodes[0], 0, 0, 0, size_bytes, alignment, start, end, shared_by=tuple(nodes[1:]))
