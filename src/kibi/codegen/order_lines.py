"""Orders as the lines of a table: neighbouring nodes with equal steps share a line, and a line may repeat the lines above it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from kibi.codegen.c_text import integer_bits
from kibi.codegen.schedule_folding import Entry, Group


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the table: neighbouring functions, one after another, each from step `step` on; or a repetition.

    Attributes:
        start, last: the first and the last function; of a repetition the number of functions, and how many lines.
        step, steps, further: as in `Entry`; of a repetition 0, how often, 0.
    """

    start: int
    last: int
    step: int
    steps: int
    further: int


def order_lines(groups: Sequence[Group], steps: Sequence[int]) -> list[Line]:
    """Returns the lines of an order; a group that repeats ends with a line with the number of iterations.

    Args:
        groups: the folded order.
        steps: the number of steps of each node.
    """
    return [line for group in groups for line in _lines(group, steps)]


def _lines(group: Group, steps: Sequence[int]) -> Iterator[Line]:
    found: list[Line] = []
    mark = Line(len(steps), 0, 0, group.turns, 0)
    for entry in group.entries:
        if found and entry.node == found[-1].last + 1 and _alike(entry, found[-1], steps):
            found[-1] = replace(found[-1], last=entry.node, steps=max(found[-1].steps, entry.steps))
        else:
            found.append(Line(entry.node, entry.node, entry.first, entry.steps, entry.further))
    yield from found
    if group.turns > 1:
        yield replace(mark, last=len(found))


def _alike(entry: Entry, line: Line, steps: Sequence[int]) -> bool:
    """True if a line can include an entry; steps after a node's last are left out."""
    if (entry.first, entry.further) != (line.step, line.further):
        return False
    wholes = (entry.steps >= steps[entry.node], line.steps >= max(steps[line.start : line.last + 1]))
    return entry.steps == line.steps or (entry.first == 0 and entry.further == 0 and all(wholes))


def columns(lines: Sequence[Line]) -> tuple[tuple[int, ...], ...]:
    """Returns the numbers of each field, as columns."""
    return tuple(zip(*((line.start, line.last, line.step, line.steps, line.further) for line in lines), strict=True))


def line_bytes(lines: Sequence[Line]) -> int:
    """Returns `sizeof` one line of the table."""
    sizes = [integer_bits(column) // 8 for column in columns(lines)]
    total, widest = sum(sizes), max(sizes)
    return -(-total // widest) * widest
