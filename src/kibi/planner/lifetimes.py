"""Lifetimes: which buffers an order of row steps needs, and from which step to which each of them lives.

The rule: a tensor that is made whole before anything reads it, a model input and a model output are one buffer each,
with rows in order. A tensor whose making and reading interleave has a buffer for each row, so that its first rows can
die while its last ones are not made yet.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from kibi.errors import PlanError
from kibi.ir import Graph, NodeView, RowAccess, Tensor, overwrites
from kibi.planner.limits import check_limits
from kibi.planner.plan import Buffer, Run

_INPUT_STEP = -1
"""Model inputs are made before step 0."""


def lifetimes(
    graph: Graph, runs: Sequence[Run], *, scratch: bool = True, split: Collection[int] = ()
) -> tuple[Buffer, ...]:
    """The buffers of an order of row steps, not placed yet: all offsets are 0, but those of a split model input.

    Args:
        graph: a verified graph.
        runs: the order; each node computes each row of its output once, ascending.
        scratch: whether to include the scratch of the nodes that need some.
        split: tensors that are held row by row, though the rule would make them one buffer. The rows of a model input lie
            in order from the start of the arena, one input after the other, and die one by one; model outputs stay whole.

    Returns:
        Tensors ascending by index, the rows of each ascending, then scratch ascending by node. Each is aligned to the size
        of its elements, as C asks. Scratch lives from the first to the last step of its node, and through what other nodes
        do in between.

    Raises:
        PlanError: the order names a node that does not exist, computes a row twice, out of order or never, reads a row that
            is not made yet, or overwrites one of a variable that is still to be read.
    """
    return Followed.of(graph, runs).buffers(scratch=scratch, split=split)


@dataclass(frozen=True, slots=True)
class Followed:
    """What happens in an order of row steps: enough to list its buffers in several ways.

    Attributes:
        graph: the graph.
        steps: how many steps the order has.
        histories: of each tensor in the arena.
        spans: the first and last step of each node.
    """

    graph: Graph
    steps: int
    histories: "dict[int, _History]"
    spans: dict[int, tuple[int, int]]
    _made: dict[tuple[int, bool], tuple[Buffer, ...]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    @staticmethod
    def of(graph: Graph, runs: Sequence[Run]) -> "Followed":
        """An order, step by step; arguments and errors as of `lifetimes`."""
        check_limits(graph)
        histories, spans = _follow(graph, runs)
        return Followed(graph, sum(run.steps for run in runs), histories, spans)

    def buffers(self, *, scratch: bool = True, split: Collection[int] = ()) -> tuple[Buffer, ...]:
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
            buffers.extend(_scratch(graph, self.spans))
        return tuple(buffers)

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


@dataclass(slots=True)
class _History:
    """What happens to a tensor, filled in while the order is followed.

    Attributes:
        made: for each row, the step that makes it.
        last_used: for each row, the last step that reads it, or that makes it where none does.
        first_read: the first step that reads any row, or None.
    """

    made: list[int] = field(default_factory=list)
    last_used: list[int] = field(default_factory=list)
    first_read: int | None = None

    def make_row(self, step: int) -> None:
        self.made.append(step)
        self.last_used.append(step)

    def read_row(self, row: int, step: int) -> None:
        self.last_used[row] = step
        if self.first_read is None:
            self.first_read = step

    @property
    def is_whole(self) -> bool:
        """Whether all rows are made before any is read."""
        return self.first_read is None or self.made[-1] < self.first_read


def _follow(graph: Graph, runs: Sequence[Run]) -> tuple[dict[int, _History], dict[int, tuple[int, int]]]:
    """The history of each tensor in the arena, and the first and last step of each node."""
    computed = (*graph.given, *(out for node in graph.nodes for out in node.outputs))
    histories = {index: _History() for index in computed}
    for index in graph.given:
        for _ in range(graph.tensors[index].type.rows):
            histories[index].make_row(_INPUT_STEP)
    spans: dict[int, tuple[int, int]] = {}
    reads = [tuple(_reads(view)) for view in graph.views]
    overwritten, done = overwrites(graph), [0] * len(graph.nodes)
    for step, (node, row) in enumerate(_steps(graph, runs)):
        for other, wanted in overwritten[node]:
            if done[other] < wanted[row]:
                where = f"step {step}, row {row} of {graph.nodes[node].label},"
                what = f"overwrites a variable that {graph.nodes[other].label} still uses"
                raise PlanError(f"{where} {what}. Let that run further before.")
        done[node] += 1
        for tensor, access in reads[node]:
            history = histories[tensor.index]
            for needed in access.needs(row):
                if needed >= len(history.made):
                    where = f"step {step}, row {row} of {graph.nodes[node].label},"
                    what = f"reads row {needed} of tensor {tensor.name!r}, which is not made yet"
                    raise PlanError(f"{where} {what}. Let the operator that makes it run further before.")
                history.read_row(needed, step)
        for output, index in enumerate(graph.nodes[node].outputs):
            for _ in graph.views[node].made_rows(row, output):
                histories[index].make_row(step)
        spans[node] = (spans.get(node, (step, step))[0], step)
    return histories, spans


def _reads(view: NodeView) -> Iterator[tuple[Tensor, RowAccess]]:
    """The tensors in the arena that a node reads, and how."""
    for tensor, access in zip(view.row_tensors, view.accesses, strict=True):
        if not tensor.is_constant:
            yield tensor, access


def _steps(graph: Graph, runs: Sequence[Run]) -> Iterator[tuple[int, int]]:
    """Every step as (node, its number there), checked: each node's row steps once, ascending, all of them."""
    totals = [view.steps for view in graph.views]
    done = [0] * len(graph.nodes)
    if not graph.nodes:
        raise PlanError(
            f"model {graph.name!r} has no operator, so there is nothing to plan. Give a model that computes."
        )
    for place, run in enumerate(runs):
        if not 0 <= run.node < len(graph.nodes):
            raise PlanError(f"run {place} names node {run.node}, but there are {len(graph.nodes)}. Remove the run.")
        where = (
            f"run {place} computes {run.steps} row steps from step {run.first_step} of {graph.nodes[run.node].label}"
        )
        if run.steps < 1 or run.first_step + run.steps > totals[run.node]:
            raise PlanError(f"{where}, which has {totals[run.node]}. Let runs have at least one each.")
        if run.first_step != done[run.node]:
            what = "a second time" if run.first_step < done[run.node] else "before those above it"
            raise PlanError(f"{where} {what}. Continue with step {done[run.node]}: each runs once, in order.")
        yield from ((run.node, run.first_step + k) for k in range(run.steps))
        done[run.node] += run.steps
    for node, total, count in zip(graph.nodes, totals, done, strict=True):
        if count < total:
            raise PlanError(f"row steps {count} to {total - 1} of {node.label} are never computed. Add runs for them.")


def _whole(tensor: Tensor, history: _History, alignment: int, end: int) -> Buffer:
    start = max(0, min(history.made, default=0))
    end = max(end, start + 1, max(history.last_used, default=0) + 1)
    return Buffer(tensor.index, None, 0, tensor.type.rows, 0, tensor.type.size_bytes, alignment, start, end)


def _by_row(tensor: Tensor, history: _History, alignment: int) -> Iterator[Buffer]:
    """A buffer for each step that makes rows: mostly one row."""
    row = 0
    for made, group in groupby(history.made):
        rows = sum(1 for _ in group)
        end = max(history.last_used[row : row + rows]) + 1
        yield Buffer(tensor.index, None, row, rows, 0, rows * tensor.type.row_bytes, alignment, made, end)
        row += rows


def _pinned(tensor: Tensor, history: _History, alignment: int, offset: int) -> Iterator[Buffer]:
    """The rows of a model input, in order from an offset; neighbours that die together are one buffer."""
    row = 0
    for last_used, group in groupby(history.last_used):
        rows = sum(1 for _ in group)
        size_bytes, end = rows * tensor.type.row_bytes, max(last_used, 0) + 1
        place = offset + row * tensor.type.row_bytes
        yield Buffer(tensor.index, None, row, rows, place, size_bytes, alignment, 0, end, is_pinned=True)
        row += rows


def _scratch(graph: Graph, spans: dict[int, tuple[int, int]]) -> Iterator[Buffer]:
    """A buffer for each group of nodes whose steps interleave, as large as the largest scratch among them.

    An accumulator must outlive its node's steps, so that it is never shared.
    """
    groups: list[tuple[int, int, int, int, list[int]]] = []  # first step, end, bytes, alignment, nodes
    for node, (first, last) in sorted(spans.items(), key=lambda entry: entry[1]):
        view = graph.views[node]
        call = graph.calls[node]
        size_bytes, alignment = call.scratch_bytes, call.scratch_alignment
        if size_bytes and view.accumulates:
            yield Buffer(None, node, 0, 0, 0, size_bytes, alignment, first, last + 1)
        elif size_bytes and groups and first < groups[-1][1]:
            begin, end, largest, most, nodes = groups[-1]
            groups[-1] = (begin, max(end, last + 1), max(largest, size_bytes), max(most, alignment), [*nodes, node])
        elif size_bytes:
            groups.append((first, last + 1, size_bytes, alignment, [node]))
    for begin, end, size_bytes, alignment, (node, *others) in groups:
        yield Buffer(None, node, 0, 0, 0, size_bytes, alignment, begin, end, shared_by=tuple(others))
