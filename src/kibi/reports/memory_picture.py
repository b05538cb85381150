"""A memory plan as text: a line for each operator, or, if operators alternate, a map of time and addresses."""

from itertools import groupby
from textwrap import wrap

from rich.text import Text

from kibi.ir import Graph
from kibi.planner import Plan, PlannedModel
from kibi.planner.placement.stacking import stacked
from kibi.planner.tensor_names import shortened
from kibi.reports.memory_map import memory_map
from kibi.reports.memory_timeline import (
    SCRATCH_LETTER,
    Entry,
    Stretch,
    headline,
    highest_stretch,
    is_by_row,
    legend,
    operator,
    order_line,
    peak_words,
    stretches,
)

_FREE = "."
_PEAK = " <- peak"
_NARROWEST_BAR = 20
_MOST_LINES = 60
_MAP_LINES = 28


def memory_picture(planned: PlannedModel, *, width: int = 100) -> Text:
    """Draws a plan.

    Where no tensor is held row by row: one line for each stretch of row steps during which the same buffers live, which is
    one for each operator. Time goes down and addresses go right. A character is as many bytes as the arena divided by the
    bar's length; it shows who holds most of them, `.` where nobody holds any, `#` for scratch. Of very many stretches
    some are shown. Otherwise a map: time goes right and addresses go up, and a letter stands where a row's life starts.

    Args:
        planned: the model with a valid plan.
        width: characters in a line; below 80 some lines may be longer.

    Returns:
        The picture with a legend, without a newline at its end. Printed by rich it has colours in a terminal; its
        `plain` is the text alone.
    """
    graph, plan = planned.graph, stacked(planned.plan)
    entries = legend(graph, plan)
    title, needs = headline(plan)
    highest = highest_stretch(plan)
    text = Text(no_wrap=True, overflow="ignore")
    text.append(title, "bold").append(f"\n{needs}\n")
    if any_order := order_line(plan):
        text.append(f"{any_order}\n", "dim")
    if is_by_row(plan):
        text.append("time goes right, addresses go up; a letter starts the life of a row\n", "dim")
        text.append("live: fill of the arena, 1 to 9; output: what is computed\n\n", "dim")
        text.append_text(memory_map(graph, plan, entries, highest, width=width, height=_MAP_LINES))
        text.append("\n")
    else:
        text.append_text(_by_operator(graph, plan, entries, highest, width))
    if highest is not None:
        words = wrap(peak_words(graph, highest, entries), max(width, 40), subsequent_indent="  ")
        text.append("\n" + "\n".join(words) + "\n", "bold")
    text.append("\n")
    text.append_text(_legend(entries, width))
    text.rstrip()
    return text


def _by_operator(graph: Graph, plan: Plan, entries: tuple[Entry, ...], highest: Stretch | None, width: int) -> Text:
    """Draws a line for each stretch, to scale."""
    every = list(stretches(plan))
    lines = _thinned(every, highest)
    labels = [_label(graph, each) for each in lines]
    label_width = max((len(label) for label in labels), default=0)
    bytes_width = len(f"{plan.arena_bytes:,}")
    margin = " " * (label_width + bytes_width + 2)
    bar_width = max(_NARROWEST_BAR, width - len(margin) - len(_PEAK))
    text = Text()
    text.append(f"{len(every)} moments, of which {len(lines)} are shown\n\n" if len(lines) < len(every) else "\n")
    text.append(f"{'bytes live':>{len(margin) - 1}} {_ruler(plan.arena_bytes, bar_width)}\n", "dim")
    for label, stretch in zip(labels, lines, strict=True):
        is_peak = highest is not None and stretch.live_bytes == highest.live_bytes
        style = "bold" if is_peak else ""
        text.append(f"{label:<{label_width}} {stretch.live_bytes:>{bytes_width},} ", style)
        text.append_text(_bar(stretch, entries, plan.arena_bytes, bar_width))
        text.append(f"{_PEAK if is_peak else ''}\n", style)
    return text


def _thinned(lines: list[Stretch], highest: Stretch | None) -> list[Stretch]:
    """Chooses about sixty lines, evenly, with the peak among them, because a plan by the row has hundreds."""
    pace = -(-len(lines) // _MOST_LINES)
    return [line for number, line in enumerate(lines) if pace <= 1 or number % pace == 0 or line == highest]


def _label(graph: Graph, stretch: Stretch) -> str:
    """The operator, and its rows if they are not all."""
    number, name = operator(graph, stretch.node).split(" ", 1)
    label = f"{number:>3} {name}"
    if stretch.rows == graph.views[stretch.node].steps:
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
    """The arena during a stretch: each character shows the tensor that holds most of its bytes."""
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
