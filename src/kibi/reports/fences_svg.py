"""When constants may be written while inference runs, as SVG: time goes right, a bar for each constant."""

from collections.abc import Sequence

from kibi.printable import printable
from kibi.reports.fences import Fence
from kibi.reports.memory_shapes import GRID, INK, Box, document, label, line
from kibi.text.markup import Markup

_UNREAD, _WAITS, _FREE = "#f3d98b", "#c8553d", "#bfe3c0"
_MEANINGS = (
    (_UNREAD, "no step has read it: a write changes this inference, without a mixture"),
    (_WAITS, "read, and read again: a write waits, or mixes"),
    (_FREE, "the next inference alone reads it"),
)
_LEFT, _TOP, _WIDTH, _RIGHT = 400.0, 134.0, 760.0, 40.0
_LINE, _BAR, _GAP, _FOOT = 20.0, 14.0, 6.0, 56.0
_NAME = 26
"""The most characters of a name."""
_TICKS = 8
"""The most numbers on the axis."""


def fences_svg(model: str, found: Sequence[Fence], steps: int) -> str:
    """Draws when each constant may be written.

    Args:
        model: its name, for the title.
        found: the constants, in the order in which they are drawn, from the top.
        steps: row steps of an inference; at least 1.

    Returns:
        An SVG document.
    """
    bottom = _TOP + _LINE * len(found)
    box = Box(_LEFT, _TOP, _LEFT + _WIDTH, bottom)
    title = f"{printable(model)}: when constants may be written"
    lines = [
        label(24, 40, title, "title"),
        label(
            24,
            64,
            f"in an inference of {steps:,} steps; of each constant the operator, its output, the field",
            "needs quiet",
        ),
        *_legend(),
        label(_LEFT - 10, _TOP - 4, "bytes", "quiet", "end", 10),
        *_axis(box, steps),
    ]
    for number, each in enumerate(found):
        lines += _bar(each, box, _TOP + _LINE * number, steps)
    return document(_LEFT + _WIDTH + _RIGHT, bottom + _FOOT, title, lines)


def _legend() -> list[Markup]:
    lines, x = list[Markup](), 24.0
    for color, text in _MEANINGS:
        lines.append(Box(x, 86, x + _BAR, 86 + _BAR).draw(fill=color))
        lines.append(label(x + _BAR + _GAP, 97, text))
        x += _BAR + 4 * _GAP + 5.6 * len(text)
    return lines


def _axis(box: Box, steps: int) -> list[Markup]:
    """Lines at round numbers of steps that have run."""
    lines, each = list[Markup](), 1
    while steps / each > _TICKS:
        each = each * 5 // 2 if str(each).startswith("2") else each * 2
    for value in range(0, steps + 1, each):
        x = box.left + box.width * value / steps
        lines.append(line((x, box.top - _GAP), (x, box.bottom + _GAP), GRID))
        lines.append(label(x, box.bottom + 20, f"{value:,}", "quiet", "middle"))
    lines.append(label(box.middle[0], box.bottom + 38, "steps that have run", "quiet", "middle"))
    return lines


def _bar(fence: Fence, box: Box, top: float, steps: int) -> list[Markup]:
    """A constant's names and bytes, and what holds from the first step to the last one."""
    first, last = (box.left + box.width * step / steps for step in (fence.first, fence.last + 1))
    base = top + (_LINE + 7) / 2
    told = f"{printable(fence.constant)}: steps {fence.first:,} to {fence.last:,} read it"
    parts = ((box.left, first, _UNREAD), (first, last, _WAITS), (last, box.right, _FREE))
    places = ((left, right, color) for left, right, color in parts if right > left)
    bars = [Box(left, top + 3, right, top + 3 + _BAR).draw(told, fill=color) for left, right, color in places]
    names = f"{_short(fence.name)}  {_short(fence.constant)}"
    return [
        label(24, base, fence.op, size=10),
        label(150, base, names, size=10),
        label(box.left - 10, base, f"{fence.size_bytes:,}", "quiet", "end", 10),
        *bars,
        line((first, top + 3), (first, top + 3 + _BAR), INK),
    ]


def _short(name: str) -> str:
    shown = printable(name)
    return shown if len(shown) <= _NAME else f"{shown[: _NAME - 1]}…"
