"""Reads the runs of a plan file's graph; `kibi.planfile.runs` writes them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from kibi.errors import PlanError
from kibi.planfile.reader import PlanFile
from kibi.planfile.records import MANY, Kind


@dataclass(frozen=True, slots=True)
class FileRun:
    """Some steps of a node.

    Attributes:
        node: its number.
        first: number of the first step; 0 where the node does not count.
        steps: how many.
        entries: where the pointers of the first step lead: a byte of the arena, or from the arena's size on a place record.
        distances: by how many bytes each pointer moves on with each step.
        offset: the byte of the file at which the entries begin.
    """

    node: int
    first: int
    steps: int
    entries: tuple[int, ...]
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
    size, width = graph["runs_end"] - graph["runs"], graph["width"]
    if size <= 0 or size % 2 or width not in (1, 2):
        raise PlanError("the plan file is wrong: a graph has no runs. Make it again with `kibi compile --format plan`.")
    numbers = np.frombuffer(file.part(graph["runs"], size), "<u2").tolist()
    place = 0
    while place < len(numbers):
        begin, head = place, numbers[place]
        number = head & ~MANY
        counts = number < len(nodes) and bool(nodes[number]["flags"] & Kind.COUNTS)
        header = 1 + bool(head & MANY) + counts
        pointers = nodes[number]["pointers"] * width if number < len(nodes) else 0
        place = begin + header + pointers * (1 + bool(head & MANY))
        if number >= len(nodes) or place > len(numbers):
            raise PlanError(
                "the plan file is wrong: a run names a node that there is not, or is cut. Make it again with "
                "`kibi compile --format plan`."
            )
        entries = begin + header
        yield FileRun(
            number,
            numbers[begin + header - 1] if counts else 0,
            numbers[begin + 1] if head & MANY else 1,
            _joined(numbers[entries : entries + pointers], width),
            _signed(_joined(numbers[entries + pointers : place], width), width),
            graph["runs"] + 2 * entries,
        )


def _joined(numbers: Sequence[int], width: int) -> tuple[int, ...]:
    """Numbers of 16 bits, or of 32 where the width is 2."""
    if width == 1:
        return tuple(numbers)
    return tuple(low | high << 16 for low, high in zip(numbers[::2], numbers[1::2], strict=True))


def _signed(numbers: Sequence[int], width: int) -> tuple[int, ...]:
    half = 1 << (16 * width - 1)
    return tuple((number ^ half) - half for number in numbers)
