"""The plot of a memory plan: a box for each buffer, time going right, addresses going up; parts of larger pictures."""

from collections.abc import Sequence
from dataclasses import dataclass

from kibi.ir import Graph
from kibi.planner import Buffer, Plan, buffer_name
from kibi.planner.tensor_names import shortened
from kibi.printable import printable
from kibi.reports.memory_shapes import ALARM, GRID, INK, QUIET, SCRATCH_FILL, SHARED_FILL, Box, label, line
from kibi.reports.memory_timeline import Entry, Stretch, step_edges, stretches
from kibi.text.markup import Markup

CHARACTER = 0.56
"""Width of a character as a share of the letters' size, generously."""
MOST_BOXES = 8_000
"""Buffers that are drawn: of more, those with the most bytes for the most time."""
_MOST_PAIRS = 1_000_000
"""The limit of pairs of buffers alive at the same time that are examined for shared bytes."""
_LABEL_SIZE, _SMALLEST_LABEL = 11.0, 7.0
_NARROWEST_FRAME = 5.0
_NEAREST_LINES = 16.0


@dataclass(frozen=True, slots=True)
class Plot:
    """The area in which a plan is drawn.

    Attributes:
        graph, plan: the drawn graph and plan.
        box: the plot's sides: time 0 to the end, and address 0 to `top_bytes`.
        top_bytes: the address at the upper side.
        edges: x of the start of each step, and of the end of the last.
    """

    graph: Graph
    plan: Plan
    box: Box
    top_bytes: int
    edges: tuple[float, ...]

    @staticmethod
    def of(graph: Graph, plan: Plan, box: Box, top_bytes: int | None = None) -> "Plot":
        """Returns the plot of a plan; without `top_bytes` the arena reaches the upper side."""
        edges = tuple(box.left + box.width * edge for edge in step_edges(graph, plan))
        return Plot(graph, plan, box, max(plan.arena_bytes if top_bytes is None else top_bytes, 1), edges)

    def y(self, address: int) -> float:
        """Returns the height of an address in the picture."""
        return self.box.bottom - self.box.height * address / self.top_bytes

    def place(self, buffer: Buffer) -> Box:
        """Returns the box of a buffer in the picture."""
        top, bottom = self.y(buffer.offset + buffer.size_bytes), self.y(buffer.offset)
        return Box(self.edges[buffer.start], top, self.edges[buffer.end], bottom)


def buffer_boxes(plot: Plot, entries: tuple[Entry, ...]) -> list[Markup]:
    """Draws a box for each buffer, with a tooltip; then labels on boxes that have room."""
    shown = {entry.tensor: entry for entry in entries}
    boxes, labels = [], []
    clear = clear_boxes(plot)
    for buffer in drawn_buffers(plot.plan):
        entry, box = shown[buffer.tensor], plot.place(buffer)
        fill = SCRATCH_FILL if buffer.tensor is None else entry.color
        stroke = min(1.0, box.width / 6, box.height / 6)
        tooltip = _tooltip(plot.graph, buffer)
        boxes.append(box.draw(tooltip, class_="box", fill=fill, stroke_width=f"{stroke:.2f}"))
        labels += _label(plot, clear.get(buffer, box), entry, buffer)
    return [*boxes, *shared_stripes(plot), *labels, *_input_names(plot, shown)]


def drawn_buffers(plan: Plan) -> tuple[Buffer, ...]:
    """The buffers that are drawn, in the plan's order."""
    if len(plan.buffers) <= MOST_BOXES:
        return plan.buffers
    areas = [buffer.size_bytes * (buffer.end - buffer.start) for buffer in plan.buffers]
    kept = sorted(range(len(areas)), key=lambda number: -areas[number])[:MOST_BOXES]
    return tuple(plan.buffers[number] for number in sorted(kept))


def address_lines(plot: Plot, *, numbers: bool = True) -> list[Markup]:
    """Draws lines at round numbers of bytes up to the plot's upper side, with or without numbers on the left."""
    lines = []
    step = round_step(plot.top_bytes)
    while plot.box.height * step / plot.top_bytes < _NEAREST_LINES:
        step *= 2
    for address in (*range(0, plot.top_bytes, step), plot.top_bytes):
        y = plot.y(address)
        if address < plot.top_bytes and y - plot.box.top < 14:
            continue  # its number would touch that of the upper side
        lines.append(line((plot.box.left, y), (plot.box.right, y), INK if address == 0 else GRID))
        if numbers:
            lines.append(label(plot.box.left - 8, y + 4, f"{address:,}", anchor="end"))
    return lines


def bound_line(plot: Plot) -> list[Markup]:
    """Draws the lower bound, if the arena is larger."""
    bound, right = plot.plan.lower_bound_bytes, plot.box.right
    if bound >= plot.plan.arena_bytes:
        return []
    y = plot.y(bound)
    base = y - 4 if y - plot.box.top > 14 else y + 13
    words = label(right - 4, base, f"lower bound {bound:,}", "quiet on", "end")
    return [line((plot.box.left, y), (right, y), QUIET, "6 4"), words]


def region_lines(plot: Plot, bases: Sequence[tuple[str, int]]) -> list[Markup]:
    """Draws a line where each memory region starts, with its name; nothing for a plan with one arena."""
    lines = []
    for name, base in bases if len(bases) > 1 else ():
        y = plot.y(base)
        lines.append(line((plot.box.left, y), (plot.box.right, y), INK))
        lines.append(label(plot.box.right - 4, y - 4, printable(name), "on", "end"))
    return lines


def peak_frame(plot: Plot, highest: Stretch, bottom: float, top: float | None = None) -> list[Markup]:
    """Draws a tick above each span of time with the most live bytes, and a frame from the first of them down to `bottom`.

    It starts at `top`; without one at the plot's upper side.
    """
    spans: list[tuple[float, float]] = []
    for each in stretches(plot.plan):
        left, right = plot.edges[each.start], plot.edges[each.end]
        if each.live_bytes == highest.live_bytes:
            joins = bool(spans) and spans[-1][1] == left
            spans[-1 if joins else len(spans) :] = [(spans[-1][0] if joins else left, right)]
    top = plot.box.top if top is None else top
    lines = [Box(left, top - 6, max(right, left + 1), top - 2).draw(fill=ALARM) for left, right in spans]
    left, right = spans[0]
    if right - left < _NARROWEST_FRAME:
        middle = (left + right) / 2
        return [*lines, line((middle, top), (middle, bottom), ALARM)]
    frame = Box(left, top, right, bottom).draw(fill=ALARM, fill_opacity="0.06", stroke=ALARM, stroke_width="1.2")
    return [*lines, frame]


def round_step(top_bytes: int) -> int:
    """Bytes between two lines: 1, 2 or 5 times a power of ten, so that there are four to ten."""
    step = 1
    while top_bytes > 10 * step:
        step = step * 5 // 2 if str(step).startswith("2") else step * 2
    return step


def shared_places(plan: Plan) -> list[tuple[Buffer, Buffer, int, int]]:
    """The pairs of drawn buffers that share bytes while one is made in place of the other; of very many, the first ones.

    Returns:
        The one that starts later, the one that was there, and the addresses that they share, half-open.
    """
    found = []
    live: list[Buffer] = []
    looked = 0
    for buffer in sorted(drawn_buffers(plan), key=lambda buffer: buffer.start):
        live = [other for other in live if other.end > buffer.start]
        looked += len(live)
        if looked > _MOST_PAIRS:
            break
        for other in live:
            low = max(buffer.offset, other.offset)
            high = min(buffer.offset + buffer.size_bytes, other.offset + other.size_bytes)
            if high > low:
                found.append((buffer, other, low, high))
        live.append(buffer)
    return found


def shared_stripes(plot: Plot) -> list[Markup]:
    """Draws stripes where two buffers share bytes."""
    lines = []
    for later, earlier, low, high in shared_places(plot.plan):
        left, right = plot.edges[later.start], plot.edges[min(later.end, earlier.end)]
        lines.append(Box(left, plot.y(high), right, plot.y(low)).draw(fill=SHARED_FILL))
    return lines


def clear_boxes(plot: Plot) -> dict[Buffer, Box]:
    """Returns, for buffers that share bytes, a part of their lives in which they do not, if there is one: labels go there."""
    clear: dict[Buffer, tuple[int, int]] = {}
    for later, earlier, _, _ in shared_places(plot.plan):
        start, end = clear.get(later, (later.start, later.end))
        clear[later] = max(start, min(earlier.end, later.end)), end
        start, end = clear.get(earlier, (earlier.start, earlier.end))
        clear[earlier] = start, min(end, later.start)
    boxes = {}
    for buffer, (start, end) in clear.items():
        if start < end:
            whole = plot.place(buffer)
            boxes[buffer] = Box(plot.edges[start], whole.top, plot.edges[end], whole.bottom)
    return boxes


def _tooltip(graph: Graph, buffer: Buffer) -> str:
    name = printable(buffer_name(graph, buffer))
    if buffer.tensor is not None:
        rows = f"rows {buffer.first_row} to {buffer.first_row + buffer.rows - 1}"
        name = f"{name} {graph.tensors[buffer.tensor].type}, {rows}"
    last = buffer.offset + buffer.size_bytes - 1
    return (
        f"{name}: {buffer.size_bytes:,} bytes, {buffer.offset:,} to {last:,}, steps {buffer.start} to {buffer.end - 1}"
    )


def _label(plot: Plot, box: Box, entry: Entry, buffer: Buffer) -> list[Markup]:
    """The label that fits a box: tag, name and bytes; the tag alone; or nothing. Single rows have only tags."""
    (middle, base), tag = box.middle, entry.tag or "scratch"
    size = min(_LABEL_SIZE, box.height - 1.5, (box.width - 3) / (CHARACTER * len(tag)))
    if size < (_SMALLEST_LABEL if entry.tag else _LABEL_SIZE):
        return []
    room = int((box.width - 8) / (CHARACTER * _LABEL_SIZE))
    is_row = buffer.tensor is not None and len(plot.plan.buffers_of(buffer.tensor)) > 1
    if size < _LABEL_SIZE or room < 14 or is_row:
        return [label(middle, base + 0.36 * size, tag, "on", "middle", size)]
    name = tag if entry.tensor is None else f"{tag}: {shortened(entry.name, room - len(tag) - 2)}"
    if box.height < 34:
        return [label(middle, base + 4, name, "on", "middle", _LABEL_SIZE)]
    below = label(middle, base + 12, f"{buffer.size_bytes:,} bytes", "on", "middle", _LABEL_SIZE)
    return [label(middle, base - 3, name, "on", "middle", _LABEL_SIZE), below]


def _input_names(plot: Plot, shown: dict[int | None, Entry]) -> list[Markup]:
    """Draws a name for each input with rows too thin for labels, where they live longest, if it fits."""
    lines = []
    for tensor in plot.graph.inputs:
        boxes = [plot.place(buffer) for buffer in plot.plan.buffers_of(tensor)]
        if len(boxes) < 2 or boxes[0].height >= _SMALLEST_LABEL + 1.5:
            continue
        top, bottom = min(box.top for box in boxes) + 8, max(box.bottom for box in boxes) - 8
        places = [(_room(boxes, box.middle[1]), box.middle[1]) for box in boxes if top <= box.middle[1] <= bottom]
        room, middle = max(places, default=(0.0, 0.0))
        fits = int((room - 12) / (CHARACTER * _LABEL_SIZE))
        name = f"input {shortened(shown[tensor].name, 24)}"
        if fits >= len("input"):
            words = name if len(name) <= fits else "input"
            lines.append(label(boxes[0].left + 6, middle + 4, words, "on", "start", _LABEL_SIZE))
    return lines


def _room(boxes: list[Box], y: float) -> float:
    """Returns the greatest width of a line of text at `y` if all of its height must be on boxes."""
    return min(box.width for box in boxes if box.top < y + 7 and box.bottom > y - 7)
