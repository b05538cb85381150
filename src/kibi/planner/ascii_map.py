"""A memory plan in the form in which TFLM prints its own: a line for each step, a column for each range of bytes.

What is shown follows TFLM's `memory_planner/greedy_memory_planner.cc`, `PrintMemoryPlan`.
"""

import string
import sys
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TextIO

from kibi.ir import Graph
from kibi.planner.placement.stacking import stacked
from kibi.planner.plan import Buffer, Plan, buffer_name
from kibi.planner.planned_model import PlannedModel
from kibi.planner.tensor_names import shortened
from kibi.printable import printable

_LETTERS = string.digits + string.ascii_lowercase + string.ascii_uppercase
_FREE, _SCRATCH, _SHARED = ".", "*", "!"
_KIB = 1024
_NAME_LENGTH = 48


def memory_ascii(planned: PlannedModel, *, columns: int = 80) -> str:
    """Draw a plan.

    First who is who: a line for each tensor with its letter, bytes, lowest offset, first and last step. Then a line for each
    step; neighbouring steps during which the same buffers live share one. A column represents as many bytes as the arena
    divided by `columns`, for one byte of a small arena. It shows the letter of its tensor, `*` for scratch, `!` where two
    share bytes because one is made in the place of the other, `.` where nobody is. What is too small for a column of its
    own has one where nobody is. Behind each line stand the KiB that live, rounded up. Letters come again after 62 tensors.

    Args:
        planned: the model with a valid plan.
        columns: characters of a line that represent bytes, at least 1.

    Returns:
        Lines, each with its newline; of fused layers' names the first.
    """
    graph, plan = planned.graph, stacked(planned.plan)
    letters = _letters(plan)
    lines = [*_legend(graph, plan, letters), *_steps(plan, letters, max(columns, 1))]
    return "".join(f"{line}\n" for line in lines)


def print_memory_plan(planned: PlannedModel, *, columns: int = 80, stream: TextIO | None = None) -> None:
    """Print what `memory_ascii` draws.

    Args:
        planned: the model with a valid plan.
        columns: characters of a line that represent bytes.
        stream: where to print; None: standard output.
    """
    (stream or sys.stdout).write(memory_ascii(planned, columns=columns))


def _letters(plan: Plan) -> dict[int | None, str]:
    """A letter for each tensor, in the order of their indices; scratch has one of its own."""
    tensors = dict.fromkeys(buffer.tensor for buffer in plan.buffers if buffer.tensor is not None)
    letters: dict[int | None, str] = {
        tensor: _LETTERS[number % len(_LETTERS)] for number, tensor in enumerate(sorted(tensors))
    }
    return letters | {None: _SCRATCH}


def _legend(graph: Graph, plan: Plan, letters: dict[int | None, str]) -> Iterator[str]:
    groups: dict[tuple[int | None, int | None], list[Buffer]] = {}
    for buffer in plan.buffers:
        groups.setdefault((buffer.tensor, buffer.node), []).append(buffer)
    for (tensor, _), parts in groups.items():
        start, end = min(part.start for part in parts), max(part.end for part in parts)
        size, offset = sum(part.size_bytes for part in parts), min(part.offset for part in parts)
        name = shortened(printable(buffer_name(graph, parts[0])).split(";")[0], _NAME_LENGTH)
        pieces = f" in {len(parts)} pieces" if len(parts) > 1 else ""
        yield f"{letters[tensor]} {name}: size={size}{pieces}, offset={offset}, first_used={start} last_used={end - 1}"


def _steps(plan: Plan, letters: dict[int | None, str], columns: int) -> Iterator[str]:
    """A line for each stretch of steps during which the same buffers live."""
    edges = sorted({0, len(plan.steps), *(each for buffer in plan.buffers for each in (buffer.start, buffer.end))})
    top = max((buffer.offset + buffer.size_bytes for buffer in plan.buffers), default=0)
    scale = max(top, plan.arena_bytes, columns)
    levels = plan.live_bytes()
    labels = [f"{since}" if until - since == 1 else f"{since}-{until - 1}" for since, until in pairwise(edges)]
    margin = max((4, *map(len, labels)))
    for label, (since, _) in zip(labels, pairwise(edges), strict=True):
        live = [buffer for buffer in plan.buffers if buffer.start <= since < buffer.end]
        yield f"{label:>{margin}}: {_line(live, letters, columns, scale)} ({-(-levels[since] // _KIB)}k)"


def _line(live: Sequence[Buffer], letters: dict[int | None, str], columns: int, scale: int) -> str:
    """Who holds which bytes."""
    cells = [_FREE] * columns
    small = []
    for buffer in live:
        first, last = buffer.offset * columns // scale, (buffer.offset + buffer.size_bytes) * columns // scale
        for column in range(first, last):
            cells[column] = letters[buffer.tensor] if cells[column] == _FREE else _SHARED
        if first == last and buffer.size_bytes:
            small.append((first, letters[buffer.tensor]))
    for column, letter in small:
        if cells[column] == _FREE:
            cells[column] = letter
    return "".join(cells)
