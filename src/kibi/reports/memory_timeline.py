"""The shared parts of both pictures of a memory plan: stretches of time, a letter and a colour for each tensor, the peak."""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from string import ascii_letters, digits

import numpy as np

from kibi.ir import Graph
from kibi.planner import Buffer, Plan
from kibi.printable import printable
from kibi.reports.memory_colors import SCRATCH_COLOR, input_color, layer_color

LETTERS = ascii_letters + digits
SCRATCH_LETTER = "#"
_SHOWN_HOLDERS = 4


@dataclass(frozen=True, slots=True)
class Stretch:
    """Row steps of one run during which the same buffers live.

    Attributes:
        node: index in the graph's nodes.
        first_row, rows: the output rows that are computed.
        start, end: the steps, half-open.
        live_bytes: bytes that live; those of an output that takes over its input's place count once.
        plan: the plan of the stretch.
    """

    node: int
    first_row: int
    rows: int
    start: int
    end: int
    live_bytes: int
    plan: Plan = field(compare=False, repr=False)

    @property
    def live(self) -> tuple[Buffer, ...]:
        """The live buffers of the stretch."""
        return tuple(buffer for buffer in self.plan.buffers if buffer.start <= self.start < buffer.end)

    @property
    def shared_bytes(self) -> int:
        """Bytes that the sum of the buffers counts twice."""
        return sum(buffer.size_bytes for buffer in self.live) - self.live_bytes


@dataclass(frozen=True, slots=True)
class Entry:
    """A line of the legend: one tensor, or all scratch.

    Attributes:
        tensor: index of the tensor; None for scratch.
        letter: its sign in text; used again where there are more tensors than letters.
        tag: its sign where there is room: the number of the operator that makes it, `in` for an input.
        color: its fill, as `#rrggbb`; its own.
        name: its printable name; of names that the converter joined by `;` for fused layers, the first.
        form: shape and type; empty for scratch.
        size_bytes: bytes of all its rows; of the largest scratch.
        place: its place, in words.
    """

    tensor: int | None
    letter: str
    tag: str
    color: str
    name: str
    form: str
    size_bytes: int
    place: str


def stretches(plan: Plan) -> Iterator[Stretch]:
    """The time of a plan: each run in as few stretches as the lives of buffers allow."""
    born, gone = _events(plan)
    covered = _Covered(plan)
    step, live_bytes = 0, 0
    for run in plan.runs:
        edges = [step, *(each for each in range(step + 1, step + run.steps) if each in born or each in gone)]
        for start, end in pairwise([*edges, step + run.steps]):
            live_bytes += covered.change(gone.get(start, ()), -1) + covered.change(born.get(start, ()), 1)
            yield Stretch(run.node, run.first_step + start - step, end - start, start, end, live_bytes, plan)
        step += run.steps


def _events(plan: Plan) -> tuple[dict[int, list[Buffer]], dict[int, list[Buffer]]]:
    """The buffers whose lives begin, and end, at each step."""
    born: dict[int, list[Buffer]] = {}
    gone: dict[int, list[Buffer]] = {}
    for buffer in plan.buffers:
        if buffer.start < buffer.end:
            born.setdefault(buffer.start, []).append(buffer)
            gone.setdefault(buffer.end, []).append(buffer)
    return born, gone


class _Covered:
    """Counts how many buffers hold each piece of the arena between two edges of buffers."""

    def __init__(self, plan: Plan) -> None:
        ends = {end for buffer in plan.buffers for end in (buffer.offset, buffer.offset + buffer.size_bytes)}
        edges = sorted(ends)
        self._place = {edge: number for number, edge in enumerate(edges)}
        self._widths = np.diff(np.array(edges, np.int64))
        self._holders = np.zeros(max(len(edges) - 1, 0), np.int64)

    def change(self, buffers: Iterable[Buffer], by: int) -> int:
        """Starts or ends the lives of buffers, and returns how many more bytes are held."""
        more = 0
        for buffer in buffers:
            part = slice(self._place[buffer.offset], self._place[buffer.offset + buffer.size_bytes])
            alone = self._holders[part] == (0 if by > 0 else 1)
            more += by * int(self._widths[part][alone].sum())
            self._holders[part] += by
        return more


def step_edges(graph: Graph, plan: Plan) -> tuple[float, ...]:
    """The start of each step, and the end of the last, as shares of all time.

    Every operator is equally long, and its row steps share its time equally, in the order in which they run. By row
    steps alone the first layers, which have most rows, would leave no room for the rest; this way an operator that runs
    to completion is one column, and rows that interleave are narrow steps whose time together is the same for each.
    """
    count = max(len(graph.nodes), 1)
    lengths = (1 / count / graph.views[node].steps for node, _ in plan.steps)
    return tuple(min(edge, 1.0) for edge in accumulate(lengths, initial=0.0))


def legend(graph: Graph, plan: Plan) -> tuple[Entry, ...]:
    """The tensors in the arena in the order of their first steps, then scratch if there is any."""
    born = {buffer.tensor: buffer for buffer in reversed(plan.buffers) if buffer.tensor is not None}
    order = sorted(born, key=lambda tensor: (min(each.start for each in plan.buffers_of(tensor)), tensor))
    makers = {tensor: node.source for node in graph.nodes for tensor in node.outputs}
    inputs = [tensor for tensor in graph.inputs if tensor in born]
    made = sorted((tensor for tensor in born if tensor not in inputs), key=lambda tensor: (makers[tensor], tensor))
    colors = {tensor: layer_color(position, len(made)) for position, tensor in enumerate(made)}
    colors |= {tensor: input_color(position) for position, tensor in enumerate(inputs)}
    tags = {tensor: str(makers[tensor]) for tensor in made}
    tags |= {tensor: "in" if len(inputs) == 1 else f"in {position}" for position, tensor in enumerate(inputs)}
    entries = [
        _entry(graph, plan, tensor, LETTERS[position % len(LETTERS)], tags[tensor], colors[tensor])
        for position, tensor in enumerate(order)
    ]
    scratch = list({buffer.nodes: buffer for buffer in plan.buffers if buffer.tensor is None}.values())
    if scratch:
        name = f"scratch of {len(scratch)} operator{'s' if len(scratch) > 1 else ''}, the largest"
        largest = max(buffer.size_bytes for buffer in scratch)
        place = f"at {scratch[0].offset:,}" if len(scratch) == 1 else "each at its own"
        entries.append(Entry(None, SCRATCH_LETTER, "", SCRATCH_COLOR, name, "", largest, place))
    return tuple(entries)


def headline(plan: Plan) -> tuple[str, str]:
    """A line with the plan's model and its bytes."""
    return f"{printable(plan.model)} on {plan.target}", f"arena {plan.arena_bytes:,} bytes: {proof_words(plan)}"


def proof_words(plan: Plan) -> str:
    """How far the arena is from the least that its order of steps allows."""
    if plan.proven_optimal:
        return "proven to be the least that this order of steps allows"
    gap = percent_at_most(plan.arena_bytes / max(plan.lower_bound_bytes, 1) - 1)
    return f"within {gap} of the least that this order of steps allows ({plan.lower_bound_bytes:,} or more)"


def percent_at_most(share: float) -> str:
    """A share as percents, rounded up: a promise must not be too good."""
    return f"{math.ceil(share * 1000) / 10:g}%"


def order_line(plan: Plan) -> str:
    """A line with the bytes that any order of steps needs; empty if the order was given."""
    if not plan.order_bound_bytes:
        return ""
    here = ", as here" if plan.arena_bytes < plan.order_bound_bytes else ""
    return f"any order needs {plan.order_bound_bytes:,} bytes or more, unless outputs take the place of inputs{here}"


def effort_line(plan: Plan) -> str:
    """A line that says what more effort might still save; empty if it saves nothing, or if the plan states no bound."""
    if plan.limited:
        return f"More might be searched with `--effort {2 * plan.effort}`."
    if not (plan.gain_bytes and plan.least_bytes) or plan.regions:
        return ""
    share = percent_at_most(plan.gain_bytes / plan.arena_bytes)
    return f"More effort might still save up to {plan.gain_bytes:,} bytes ({share}): `--effort {4 * plan.effort}`."


def is_by_row(plan: Plan) -> bool:
    """True if rows of some tensor have places of their own."""
    return any(len(plan.buffers_of(tensor)) > 1 for tensor in {b.tensor for b in plan.buffers if b.tensor is not None})


def manner(plan: Plan) -> str:
    """Returns the plan's granularity in words, and how inputs and outputs are handed over if not in the arena."""
    words = ["by the row" if is_by_row(plan) else "by the tensor"]
    words += [f"{side} {way}" for side, way in (("input", plan.input), ("output", plan.output)) if way != "stored"]
    return ", ".join(words)


def highest_stretch(plan: Plan) -> Stretch | None:
    """The first stretch at which the most bytes live; None for a plan without steps. Regions must be stacked."""
    return max(stretches(plan), key=lambda each: each.live_bytes, default=None)


def holders(stretch: Stretch) -> tuple[tuple[int | None, int], ...]:
    """The tensors that hold bytes during a stretch, None for scratch, with their bytes; the largest first."""
    held: dict[int | None, int] = {}
    for buffer in stretch.live:
        held[buffer.tensor] = held.get(buffer.tensor, 0) + buffer.size_bytes
    return tuple(sorted(held.items(), key=lambda item: -item[1]))


def peak_words(graph: Graph, highest: Stretch, entries: tuple[Entry, ...]) -> str:
    """The highest stretch in words: bytes, operator, and the largest tensors."""
    letters = {entry.tensor: entry.letter for entry in entries}
    parts = holders(highest)
    words = [f"{'scratch' if tensor is None else letters[tensor]} {size:,}" for tensor, size in parts[:_SHOWN_HOLDERS]]
    if parts[_SHOWN_HOLDERS:]:
        words.append(f"others {sum(size for _, size in parts[_SHOWN_HOLDERS:]):,}")
    shared = f" - {highest.shared_bytes:,} in place" if highest.shared_bytes else ""
    return f"peak {highest.live_bytes:,} bytes at {operator(graph, highest.node)}: {' + '.join(words)}{shared}"


def operator(graph: Graph, node: int) -> str:
    """An operator's number in the model file and its name; for a node that is in no file, its task."""
    source, name = graph.nodes[node].source, graph.nodes[node].op.name
    return f"{source} {name}" if source >= 0 else f"in {name}"


def _entry(graph: Graph, plan: Plan, tensor: int, letter: str, tag: str, color: str) -> Entry:
    buffers = plan.buffers_of(tensor)
    return Entry(
        tensor=tensor,
        letter=letter,
        tag=tag,
        color=color,
        name=printable(graph.tensors[tensor].name).split(";")[0],
        form=str(graph.tensors[tensor].type),
        size_bytes=sum(buffer.size_bytes for buffer in buffers),
        place=f"at {buffers[0].offset:,}" if len(buffers) == 1 else "row by row",
    )
