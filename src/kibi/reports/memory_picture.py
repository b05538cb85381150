"""A memory plan as text: time goes down, addresses go right, one letter for each tensor."""

from itertools import groupby

from rich.text import Text

from kibi.ir import Graph
from kibi.planner import Plan
from kibi.reports.memory_timeline import (
    SCRATCH_LETTER,
    Entry,
    Stretch,
    headline,
    legend,
    operator,
    peak,
    shortened,
    stretches,
)

_FREE = "."
_PEAK = " <- peak"
_NARROWEST_BAR = 20
_MOST_LINES = 60


def memory_picture(graph: Graph, plan: Plan, *, width: int = 100) -> Text:
    """Draw a plan.

    One line for each stretch of row steps during which the same buffers live: one for each operator where operators run
    to completion. Of very many stretches some are shown. A character is as many bytes as the arena divided by the bar's
    length; it shows who holds most of them, `.` where nobody holds any, `#` for scratch.

    Args:
        graph: the model.
        plan: a valid plan for it.
        width: characters in a line; below 80 some lines may be longer.

    Returns:
        The picture with a legend, without a newline at its end. Printed by rich it has colours in a terminal; its
        `plain` is the text alone.
    """
    entries = legend(graph, plan)
    every = list(stretches(plan))
    highest = peak(graph, plan)
    lines = _thinned(every, None if highest is None else highest[0])
    labels = [_label(graph, each) for each in lines]
    label_width = max((len(label) for label in labels), default=0)
    bytes_width = len(f"{plan.arena_bytes:,}")
    margin = " " * (label_width + bytes_width + 2)
    bar_width = max(_NARROWEST_BAR, width - len(margin) - len(_PEAK))
    text = Text(no_wrap=True, overflow="ignore")
    title, needs = headline(plan)
    text.append(title, "bold").append(f"\n{needs}\n")
    text.append(f"{len(every)} moments, of which {len(lines)} are shown\n\n" if len(lines) < len(every) else "\n")
    text.append(f"{'bytes live':>{len(margin) - 1}} {_ruler(plan.arena_bytes, bar_width)}\n", "dim")
    for label, stretch in zip(labels, lines, strict=True):
        is_peak = highest is not None and stretch.live_bytes == highest[0].live_bytes
        style = "bold" if is_peak else ""
        text.append(f"{label:<{label_width}} {stretch.live_bytes:>{bytes_width},} ", style)
        text.append_text(_bar(stretch, entries, plan.arena_bytes, bar_width))
        text.append(f"{_PEAK if is_peak else ''}\n", style)
    if highest is not None:
        text.append(f"\n{highest[1]}\n", "bold")
    text.append("\n")
    text.append_text(_legend(entries, width))
    text.rstrip()
    return text


def _thinned(lines: list[Stretch], highest: Stretch | None) -> list[Stretch]:
    """At most some sixty lines, evenly chosen, the peak among them: a plan by the row has hundreds of moments."""
    pace = -(-len(lines) // _MOST_LINES)
    return [line for number, line in enumerate(lines) if pace <= 1 or number % pace == 0 or line == highest]


def _label(graph: Graph, stretch: Stretch) -> str:
    """The operator, and the rows where it is not all of them."""
    number, name = operator(graph, stretch.node).split(" ", 1)
    label = f"{number:>3} {name}"
    if stretch.rows == graph.sites[stretch.node].steps:
        return label
    if stretch.rows == 1:
        return f"{label} row {stretch.first_row}"
    return f"{label} rows {stretch.first_row}-{stretch.first_row + stretch.rows - 1}"


def _ruler(arena_bytes: int, width: int) -> str:
    """Offsets above the bar: zero, the quarters where there is room, and the arena's size."""
    last = f"{arena_bytes:,}"
    ruler = ["0", *" " * (width - 1 - len(last)), *last]
    for quarter in (1, 2, 3) if width >= 8 * len(last) else ():
        mark, at = f"{arena_bytes * quarter // 4:,}", width * quarter // 4
        ruler[at : at + len(mark)] = mark
    return "".join(ruler)


def _bar(stretch: Stretch, entries: tuple[Entry, ...], arena_bytes: int, width: int) -> Text:
    """The arena during a stretch: for each character whoever holds most of its bytes."""
    shown = {entry.tensor: entry for entry in entries}
    cell_bytes = max(arena_bytes, 1) / width
    holders: list[tuple[float, Entry | None]] = [(0.0, None)] * width
    for buffer in stretch.live:
        top = buffer.offset + buffer.size_bytes
        for cell in range(int(buffer.offset / cell_bytes), width):
            held_bytes = min(top, (cell + 1) * cell_bytes) - max(buffer.offset, cell * cell_bytes)
            if held_bytes <= 0:
                break
            if held_bytes > holders[cell][0]:
                holders[cell] = (held_bytes, shown[buffer.tensor])
    bar = Text()
    for entry, cells in groupby(entry for _, entry in holders):
        length = sum(1 for _ in cells)
        if entry is None:
            bar.append(_FREE * length, "dim")
        else:
            bar.append(entry.letter * length, f"black on {entry.color}")
    return bar


def _legend(entries: tuple[Entry, ...], width: int) -> Text:
    forms = max((len(entry.form) for entry in entries), default=0)
    sizes = max((len(f"{entry.size_bytes:,}") for entry in entries), default=0)
    places = max((len(entry.place) for entry in entries), default=0)
    room = max(12, width - forms - sizes - places - len("x        bytes  "))
    names = min(room, max((len(entry.name) for entry in entries), default=0))
    text = Text()
    for entry in entries:
        text.append(entry.letter, f"black on {entry.color}")
        name = entry.name if entry.letter == SCRATCH_LETTER else shortened(entry.name, names)
        text.append(f"  {name:<{names}}  {entry.form:<{forms}}  {entry.size_bytes:>{sizes},} bytes  {entry.place}\n")
    return text
