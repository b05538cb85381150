"""What both pictures of a memory plan show: stretches of time, a letter and a colour for each tensor, the peak."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from string import ascii_letters, digits

from kibi.ir import Graph
from kibi.planner import Buffer, Plan, peak_steps

LETTERS = ascii_letters + digits
SCRATCH_LETTER = "#"
PALETTE = ("#77aadd", "#ee8866", "#eedd88", "#ffaabb", "#44bb99", "#99ddff", "#bbcc33", "#aaaa00")
"""Fills that stay apart for colour-blind readers, and on which black text reads: Paul Tol's "light" scheme."""
SCRATCH_COLOR = "#bbbbbb"
_SHOWN_HOLDERS = 4


@dataclass(frozen=True, slots=True)
class Stretch:
    """Row steps of one run during which the same buffers live.

    Attributes:
        node: index in the graph's nodes.
        first_row, rows: the output rows that are computed.
        start, end: the steps, half-open.
        live: the buffers that live.
    """

    node: int
    first_row: int
    rows: int
    start: int
    end: int
    live: tuple[Buffer, ...]

    @property
    def live_bytes(self) -> int:
        """Bytes that live."""
        return sum(buffer.size_bytes for buffer in self.live)


@dataclass(frozen=True, slots=True)
class Entry:
    """A line of the legend: one tensor, or all scratch.

    Attributes:
        tensor: index of the tensor; None for scratch.
        letter: stands for it in pictures; used again where there are more tensors than letters.
        color: its fill, as `#rrggbb`.
        name: as people may see it: printable; the first one where the converter joined fused layers' names by `;`.
        form: shape and type; empty for scratch.
        size_bytes: bytes of all its rows; of the largest scratch.
        place: where it lies, in words.
    """

    tensor: int | None
    letter: str
    color: str
    name: str
    form: str
    size_bytes: int
    place: str


def stretches(plan: Plan) -> Iterator[Stretch]:
    """The time of a plan: each run in as few stretches as the lives of buffers allow."""
    changes = {step for buffer in plan.buffers for step in (buffer.start, buffer.end)}
    step = 0
    for run in plan.runs:
        edges = [step, *(each for each in range(step + 1, step + run.rows) if each in changes), step + run.rows]
        for start, end in pairwise(edges):
            live = tuple(buffer for buffer in plan.buffers if buffer.start <= start < buffer.end)
            yield Stretch(run.node, run.first_row + start - step, end - start, start, end, live)
        step += run.rows


def legend(graph: Graph, plan: Plan) -> tuple[Entry, ...]:
    """The tensors in the arena in the order in which they come to life, then scratch where there is any."""
    born = {buffer.tensor: buffer for buffer in reversed(plan.buffers) if buffer.tensor is not None}
    order = sorted(born, key=lambda tensor: (min(each.start for each in plan.buffers_of(tensor)), tensor))
    entries = [_entry(graph, plan, position, tensor) for position, tensor in enumerate(order)]
    scratch = [buffer for buffer in plan.buffers if buffer.tensor is None]
    if scratch:
        name = f"scratch of {len(scratch)} operator{'s' if len(scratch) > 1 else ''}, the largest"
        largest = max(buffer.size_bytes for buffer in scratch)
        place = f"at {scratch[0].offset:,}" if len(scratch) == 1 else "each at its own"
        entries.append(Entry(None, SCRATCH_LETTER, SCRATCH_COLOR, name, "", largest, place))
    return tuple(entries)


def headline(plan: Plan) -> tuple[str, str]:
    """Whose plan it is, and what it needs."""
    bound = f"lower bound {plan.lower_bound_bytes:,} bytes"
    proof = "proven optimal for this order" if plan.proven_optimal else "not proven optimal"
    return f"{printable(plan.model)} on {plan.target}", f"arena {plan.arena_bytes:,} bytes, {bound}, {proof}"


def peak(graph: Graph, plan: Plan) -> tuple[Stretch, str] | None:
    """The first stretch at which the most bytes live, and who holds them, in words; None for a plan without steps."""
    step = next(peak_steps(plan), None)
    if step is None:
        return None
    stretch = next(each for each in stretches(plan) if each.start <= step < each.end)
    held: dict[int | None, int] = {}
    for buffer in stretch.live:
        held[buffer.tensor] = held.get(buffer.tensor, 0) + buffer.size_bytes
    letters = {entry.tensor: entry.letter for entry in legend(graph, plan)}
    parts = sorted(held.items(), key=lambda item: -item[1])
    holders = [
        f"{'scratch' if tensor is None else letters[tensor]} {size:,}" for tensor, size in parts[:_SHOWN_HOLDERS]
    ]
    if parts[_SHOWN_HOLDERS:]:
        holders.append(f"others {sum(size for _, size in parts[_SHOWN_HOLDERS:]):,}")
    return stretch, f"peak {stretch.live_bytes:,} bytes at {operator(graph, stretch.node)}: {' + '.join(holders)}"


def operator(graph: Graph, node: int) -> str:
    """An operator's number in the model file and its name."""
    return f"{graph.nodes[node].source} {graph.nodes[node].op.name}"


def printable(text: str) -> str:
    """The text without characters that would steer a terminal or break XML; models may hold any name."""
    return "".join(each if each.isprintable() else "?" for each in text)


def shortened(text: str, length: int) -> str:
    """The text in at most `length` characters; what is left out is in the middle, since names differ at their ends."""
    if len(text) <= length:
        return text
    if length < 4:
        return text[: max(length, 0)]
    tail = (length - 1) // 2
    return f"{text[: length - 1 - tail]}…{text[len(text) - tail :]}"


def _entry(graph: Graph, plan: Plan, position: int, tensor: int) -> Entry:
    buffers = plan.buffers_of(tensor)
    return Entry(
        tensor=tensor,
        letter=LETTERS[position % len(LETTERS)],
        color=PALETTE[position % len(PALETTE)],
        name=printable(graph.tensors[tensor].name).split(";")[0],
        form=str(graph.tensors[tensor].type),
        size_bytes=sum(buffer.size_bytes for buffer in buffers),
        place=f"at {buffers[0].offset:,}" if len(buffers) == 1 else "row by row",
    )
