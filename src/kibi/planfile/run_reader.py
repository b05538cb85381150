"""Reads the runs of a plan file's graph; `kibi.planfile.runs` writes them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from kibi.errors import PlanError
from kibi.planfile.reader import PlanFile
from kibi.planfile.records import MANY, TABLE_BYTES, TABLE_NUMBERS, Kind
from kibi.planfile.runs import WIDTHS


@dataclass(frozen=True, slots=True)
class FileRun:
    """Some steps of a node.

    Attributes:
        node: its number.
        first: number of the first step; 0 where the node does not count.
        steps: how many.
        entries: where the first step's pointers lead: a byte of the arena, of the state after it, or a place record after both.
        shifts: how many bytes after its entry each pointer of the first step leads; empty: no pointer does.
        distances: by how many bytes each pointer moves on with each step.
        offset: the byte of the file at which the entries begin.
    """

    node: int
    first: int
    steps: int
    entries: tuple[int, ...]
    shifts: tuple[int, ...]
    distances: tuple[int, ...]
    offset: int


def runs_of(file: PlanFile, graph: Mapping[str, int], nodes: Sequence[Mapping[str, int]]) -> Iterator[FileRun]:
    """Yields the runs of a graph.

    Args:
        file: the plan file.
        graph: the record of the graph.
        nodes: the records of its nodes.

    Raises:
        PlanError: they are not inside the file, or name a node that there is not, or end in the middle of a run.
    """
    begin, size, width = graph["runs"], graph["runs_end"] - graph["runs"], graph["width"]
    if size <= 0 or begin % 2 or width not in WIDTHS or (width == 1 and begin < TABLE_BYTES):
        raise PlanError("the plan file is wrong: a graph has no runs. Make it again with `kibi compile --format plan`.")
    data = file.part(begin, size)
    if width == 1 and not file.data[begin + size] & MANY:
        raise _wrong()
    unit = min(width, 2)
    table = _table(file, begin) if width == 1 else ()
    place = 0
    while place < size:
        (head,) = _numbers(data, place, 1, unit)
        number, many = head // 2, bool(head & MANY)
        if number >= len(nodes):
            raise _wrong()
        counts = bool(nodes[number]["flags"] & Kind.COUNTS)
        first = _numbers(data, place, 1 + many + counts, unit)
        entries = place + unit * len(first)
        pointers, rows = nodes[number]["pointers"], nodes[number]["rows"]
        is_spaced = many and first[1] == 0
        if is_spaced and not 0 < rows < pointers:
            raise _wrong()
        found = _numbers(data, entries, 2 + pointers - rows if is_spaced else pointers * (1 + many), width)
        place = entries + width * len(found)
        if table:
            found = [table[each] for each in found]
        step, shifts = first[-1] if counts else 0, tuple[int, ...]()
        if is_spaced:
            spacing = _signed(found[1], width)
            shifts = (*(spacing * k for k in range(rows)), *[0] * (pointers - rows))
            found = [*found[:1] * rows, *found[2:]]
        distances = tuple(_signed(each, width) for each in found[pointers:])
        steps = first[1] if many and not is_spaced else 1
        yield FileRun(number, step, steps, tuple(found[:pointers]), shifts, distances, begin + entries)


def _table(file: PlanFile, begin: int) -> Sequence[int]:
    """The numbers before the runs, which their bytes name."""
    return list(map(int, np.frombuffer(file.data, "<u2", TABLE_NUMBERS, begin - TABLE_BYTES)))


def _numbers(data: bytes, place: int, count: int, size: int) -> list[int]:
    """Some numbers of a run, of so many bytes each.

    Raises:
        PlanError: they are not there.
    """
    if place + count * size > len(data):
        raise _wrong()
    return list(map(int, np.frombuffer(data, f"<u{size}", count, place)))


def _signed(number: int, width: int) -> int:
    half = 1 << (8 * max(width, 2) - 1)
    return (number ^ half) - half


def _wrong() -> PlanError:
    return PlanError(
        "the plan file is wrong: a run names a node that there is not, or is cut. Make it again with "
        "`kibi compile --format plan`."
    )
