"""A memory plan as a map in characters: time goes right, addresses go up, as in the large picture."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from rich.text import Text

from kibi.ir import Graph
from kibi.planner import Plan
from kibi.reports.memory_timeline import SCRATCH_LETTER, Entry, Stretch, step_edges, stretches

_FREE, _LIVES_ON, _PEAK = ".", "-", "^"
_LEVELS = " 123456789"
"""The fill level of the arena in ninths: plain characters, because pipes and log files may accept no others."""
_Row = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class _Cells:
    """The contents of each cell, upper line first: its entry's index or -1, and whether the buffer's life starts there."""

    holder: NDArray[np.int64]
    starts: NDArray[np.bool_]


def memory_map(
    graph: Graph, plan: Plan, entries: tuple[Entry, ...], highest: Stretch | None, *, width: int, height: int
) -> Text:
    """Draws a plan.

    Each character is a piece of time by a range of addresses and shows who holds most of it: a letter where a row's
    life starts, `-` while it goes on, `#` for scratch, `.` for nobody. Below: the bytes that live at most, as a share of
    the arena, and the tensor whose rows are made.

    Args:
        graph: the model.
        plan: a plan for it by the row.
        entries: the legend.
        highest: the peak, marked by `^`.
        width: characters in a line.
        height: lines of the map.
    """
    edges = np.array(step_edges(graph, plan))
    margin = max(len(f"{plan.arena_bytes:,}"), len("output")) + 1
    columns = max(width - margin, 20)
    cells = _cells(plan, entries, edges, columns, height)
    text = Text(no_wrap=True, overflow="ignore")
    for number in range(height):
        address = plan.arena_bytes * (height - number) // height
        text.append(f"{f'{address:,}' if number % 4 == 0 else '':>{margin - 1}} ", "dim")
        for holder, starts in zip(cells.holder[number], cells.starts[number], strict=True):
            text.append_text(_cell(entries, int(holder), is_start=bool(starts)))
        text.append("\n")
    text.append(f"{'live':>{margin - 1}} ", "dim").append(_profile(plan, edges, columns)).append("\n")
    text.append(f"{'output':>{margin - 1}} ", "dim").append_text(_makers(graph, plan, entries, edges, columns))
    if highest is not None:
        text.append(
            "\n" + " " * (margin + min(int(edges[highest.start] * columns), columns - 1)) + f"{_PEAK} peak", "bold"
        )
    return text


def _cell(entries: tuple[Entry, ...], holder: int, *, is_start: bool) -> Text:
    if holder < 0:
        return Text(_FREE, "dim")
    entry = entries[holder]
    mark = entry.letter if is_start or entry.letter == SCRATCH_LETTER else _LIVES_ON
    return Text(mark, f"black on {entry.color}")


def _cells(plan: Plan, entries: tuple[Entry, ...], edges: _Row, columns: int, height: int) -> _Cells:
    """Fills each cell with the buffer that holds most of its bytes for most of the time."""
    numbers = {entry.tensor: number for number, entry in enumerate(entries)}
    most = np.zeros((height, columns))
    holder = np.full((height, columns), -1)
    starts = np.zeros((height, columns), np.bool_)
    arena = max(plan.arena_bytes, 1)
    for buffer in plan.buffers:
        times = _covered(edges[buffer.start], edges[buffer.end], columns)
        places = _covered(buffer.offset / arena, (buffer.offset + buffer.size_bytes) / arena, height)[::-1]
        shares = places[:, None] * times[None, :]
        wins = shares > most
        most[wins] = shares[wins]
        holder[wins] = numbers[buffer.tensor]
        is_first = np.zeros(columns, np.bool_)
        is_first[int(np.argmax(times >= min(0.5, times.max())))] = True
        starts[wins] = np.broadcast_to(is_first, shares.shape)[wins]
    return _Cells(holder, starts)


def _covered(start: float, end: float, cells: int) -> _Row:
    """Returns, for each of `cells` equal parts of 0 to 1, the share that is between two points."""
    lower = np.arange(cells) / cells
    covered: _Row = cells * np.clip(np.minimum(end, lower + 1 / cells) - np.maximum(start, lower), 0.0, None)
    return covered


def _profile(plan: Plan, edges: _Row, columns: int) -> str:
    """The most bytes that live in each column, in eighths of the arena."""
    most = np.zeros(columns)
    for each in stretches(plan):
        touched = _covered(edges[each.start], edges[each.end], columns) > 0
        most[touched] = np.maximum(most[touched], each.live_bytes / max(plan.arena_bytes, 1))
    return "".join(_LEVELS[int(np.ceil(level * 9 - 1e-9))] for level in most)


def _makers(graph: Graph, plan: Plan, entries: tuple[Entry, ...], edges: _Row, columns: int) -> Text:
    """The tensor that steps make during most of each column."""
    numbers = {entry.tensor: number for number, entry in enumerate(entries)}
    spent = np.zeros((len(entries) + 1, columns))
    step = 0
    for run in plan.runs:
        number = numbers.get(graph.views[run.node].output.index, len(entries))
        spent[number] += _covered(edges[step], edges[step + run.steps], columns)
        step += run.steps
    line = Text()
    for number in spent.argmax(axis=0):
        line.append_text(_cell(entries, int(number) if number < len(entries) else -1, is_start=True))
    return line
