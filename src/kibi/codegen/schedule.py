"""Chooses the form of an order in C: code if that takes little more flash than a table, else a table."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from kibi.codegen.c_text import integer_bits
from kibi.codegen.order_lines import Line, line_bytes, order_lines
from kibi.codegen.schedule_folding import Entry, Group, fold
from kibi.ir import Graph
from kibi.planner import Plan, Run

MOST_EXTRA_BYTES = 64
"""Bytes of flash that code may take beyond a table, because it is easier to read, to debug and to bound in time."""
_RUNS_DRIVER_BYTES = 100
_STEPS_DRIVER_BYTES = 80
_RANGE_BYTES = 16
_LINES_DRIVER_BYTES = 210
_POINTER_BYTES = 4
"""Estimated bytes that tables need besides their entries: drivers for runs, steps and lines; in each function the loop over several
steps; a pointer for each node."""
_CALL_BYTES, _ARGUMENT_BYTES, _LOOP_BYTES, _GUARD_BYTES = 6, 2, 12, 5
"""Estimated bytes of code: a call, each of its arguments, a loop, a condition around calls. Fitted to nine networks, each
compiled in both forms for a Cortex-M0+ and a Cortex-M4 by zig at -Os."""


class Form(Enum):
    """The form in which an order is written."""

    CODE = "calls one after another, and loops"
    LINES = "a table of lines, some of which repeat others"
    RUNS = "a table with an entry for each run"
    STEPS = "a table with an entry for each step, where most runs have one"


class Takes(Enum):
    """The parameters of a node's function besides the memory.

    Attributes:
        NOTHING: the node has one step.
        STEP: the number of the step.
        STEPS: the first step and the one after the last.
    """

    NOTHING = 0
    STEP = 1
    STEPS = 2


@dataclass(frozen=True, slots=True)
class Block:
    """Neighbouring entries of a group that run in the same of its iterations.

    Attributes:
        entries: what runs.
        first, end: the iterations, half-open.
    """

    entries: tuple[Entry, ...]
    first: int
    end: int


@dataclass(frozen=True, slots=True)
class Schedule:
    """An order, and how it is written.

    Attributes:
        form: how.
        groups: the folded order.
        lines: the same as lines of a table.
        takes: for each node, what its function takes.
        flash_bytes: estimated bytes of flash of the order.
    """

    form: Form
    groups: tuple[Group, ...]
    lines: tuple[Line, ...]
    takes: tuple[Takes, ...]
    flash_bytes: int


def schedule_of(graph: Graph, plan: Plan, *, keeps_place: bool, by_step: bool = True) -> Schedule:
    """Chooses the form.

    Args:
        graph: what runs.
        plan: in which order.
        keeps_place: True if an inference may pause in the middle and go on later: then it keeps its place in a table.
        by_step: True if each step may be a call of its own: no operator ends an inference, makes all its rows in one call,
            or copies its constants before.
    """
    steps = [view.steps for view in graph.views]
    groups = fold(plan.runs, steps)
    lines = tuple(order_lines(groups, steps))
    takes = _takes(groups, steps)
    sizes = {
        Form.LINES: _LINES_DRIVER_BYTES + line_bytes(lines) * len(lines) + integer_bits(steps) // 8 * len(steps),
        Form.RUNS: _RUNS_DRIVER_BYTES + 3 * integer_bits(run_numbers(plan.runs)) // 8 * len(plan.runs),
    }
    sizes = {form: size + _RANGE_BYTES * len(steps) for form, size in sizes.items()}
    if by_step and not keeps_place:
        entry_bytes = 2 * integer_bits([max(len(steps), *steps)]) // 8
        sizes[Form.STEPS] = _STEPS_DRIVER_BYTES + entry_bytes * len(plan.steps)
    table = min(sizes, key=lambda form: sizes[form])
    table_bytes = sizes[table] + _POINTER_BYTES * len(steps)
    if not keeps_place and (own := code_bytes(groups, steps, takes)) <= table_bytes + MOST_EXTRA_BYTES:
        return Schedule(Form.CODE, groups, lines, takes, own)
    takes = (Takes.STEP if table is Form.STEPS else Takes.STEPS,) * len(steps)
    return Schedule(table, groups, lines, takes, table_bytes)


def run_numbers(runs: Sequence[Run]) -> list[int]:
    """The largest number that each run needs in a table."""
    return [max(run.node, run.first_step + run.steps) for run in runs]


def blocks(group: Group, steps: Sequence[int]) -> tuple[Block, ...]:
    """A group's entries with the iterations in which they have steps; neighbours with the same ones together."""
    found: list[Block] = []
    for entry in group.entries:
        active = [
            turn
            for turn in range(group.turns)
            if entry.first + turn * entry.further + entry.steps > 0
            and entry.first + turn * entry.further < steps[entry.node]
        ]
        first, end = active[0], active[-1] + 1
        if found and (found[-1].first, found[-1].end) == (first, end):
            found[-1] = Block((*found[-1].entries, entry), first, end)
        else:
            found.append(Block((entry,), first, end))
    return tuple(found)


def _takes(groups: Sequence[Group], steps: Sequence[int]) -> tuple[Takes, ...]:
    longest = [0] * len(steps)
    for group in groups:
        for entry in group.entries:
            longest[entry.node] = max(longest[entry.node], min(entry.steps, steps[entry.node]))
    return tuple(
        Takes.NOTHING if count == 1 else Takes.STEP if most == 1 else Takes.STEPS
        for count, most in zip(steps, longest, strict=True)
    )


def code_bytes(groups: Sequence[Group], steps: Sequence[int], takes: Sequence[Takes]) -> int:
    """Returns the estimated bytes of flash of the order as code."""
    total = 0
    for group in groups:
        total += _LOOP_BYTES * (group.turns > 1)
        total += sum(_CALL_BYTES + _ARGUMENT_BYTES * takes[entry.node].value for entry in group.entries)
        total += sum(_GUARD_BYTES * ((block.first > 0) + (block.end < group.turns)) for block in blocks(group, steps))
    return total
