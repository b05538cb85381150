"""A memory plan as SVG: time goes right, addresses go up, one colour for each tensor.

Time: every operator is equally wide, and its row steps share its width equally, in the order in which they run. By row
steps alone the first layers, which have most rows, would leave no room for the rest; this way an operator that runs to
completion is one column, and rows that interleave are narrow steps whose width together is the same for each operator.
"""

from dataclasses import dataclass
from itertools import accumulate
from xml.sax.saxutils import escape

from kibi.ir import Graph
from kibi.planner import Buffer, Plan, buffer_name
from kibi.reports.memory_shapes import Box, label, line, turned_label
from kibi.reports.memory_timeline import (
    Entry,
    headline,
    legend,
    operator,
    peak,
    printable,
    shortened,
    stretches,
)

_LEFT, _RIGHT, _TOP, _HEIGHT = 84.0, 28.0, 92.0, 400.0
_NARROWEST_PLOT, _NARROWEST_OPERATOR = 900.0, 26.0
_NAMES_HEIGHT = 150.0
_LEGEND_LINE, _LEGEND_COLUMN = 20.0, 480.0
_CHARACTER = 6.2
"""Width of a character at the labels' size, generously."""
_SLOPE = (0.74, 0.67)
"""How far an operator's name goes left and down for its length."""
_INK, _QUIET, _GRID, _ALARM = "#222222", "#666666", "#dddddd", "#b00020"
_STYLE = (
    "text{font-family:system-ui,'Segoe UI',Helvetica,Arial,'DejaVu Sans',sans-serif;font-size:11px;fill:" + _INK + "}"
    ".title{font-size:16px;font-weight:600}.needs{font-size:13px}.quiet{fill:" + _QUIET + "}"
    ".small{font-size:8px}.peak{fill:" + _ALARM + ";font-weight:600}.box{stroke:#ffffff}"
    ".on{paint-order:stroke;stroke:#ffffff;stroke-opacity:0.55;stroke-width:3px}"
)
_HATCHING = (
    '<pattern id="scratch" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
    '<rect width="6" height="6" fill="#f2f2f2"/><rect width="2" height="6" fill="#888888"/></pattern>'
)


@dataclass(frozen=True, slots=True)
class _Chart:
    """Where things are drawn.

    Attributes:
        plan: the plan.
        edges: x of the start of each step, and of the end of the last.
        width: of the whole picture.
        height: of the whole picture.
    """

    plan: Plan
    edges: tuple[float, ...]
    width: float
    height: float

    @property
    def bottom(self) -> float:
        """The y of address 0."""
        return _TOP + _HEIGHT

    def y(self, address: int) -> float:
        """The y of an address."""
        return self.bottom - _HEIGHT * address / max(self.plan.arena_bytes, 1)

    def box(self, buffer: Buffer) -> Box:
        """Where a buffer is drawn."""
        top, bottom = self.y(buffer.offset + buffer.size_bytes), self.y(buffer.offset)
        return Box(self.edges[buffer.start], top, self.edges[buffer.end], bottom)


def memory_svg(graph: Graph, plan: Plan) -> str:
    """Draw a plan.

    Args:
        graph: the model.
        plan: a valid plan for it.

    Returns:
        An SVG document, the same for the same plan. Each box has a tooltip; the letters are those of `memory_picture`.
    """
    entries = legend(graph, plan)
    chart = _chart(graph, plan, len(entries))
    title, needs = headline(plan)
    size = f'width="{chart.width:.0f}" height="{chart.height:.0f}"'
    view = f'viewBox="0 0 {chart.width:.0f} {chart.height:.0f}"'
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {view} {size} role="img">',
        f"<title>{escape(f'Memory plan of {title}: {needs}')}</title>",
        f"<style>{_STYLE}</style>",
        f"<defs>{_HATCHING}</defs>",
        f'<rect {size} rx="6" fill="#ffffff"/>',
        label(_LEFT, 30, title, "title"),
        label(_LEFT, 50, needs, "needs"),
        *_addresses(chart),
        *_operators(graph, chart),
        *_buffers(graph, chart, entries),
        *_peak(graph, chart),
        *_labels(chart, entries),
        *_legend(chart, entries),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _chart(graph: Graph, plan: Plan, entries: int) -> _Chart:
    rows = [site.output.type.rows for site in graph.sites]
    plot = max(_NARROWEST_PLOT, _NARROWEST_OPERATOR * len(rows))
    widths = [plot / max(len(rows), 1) / rows[node] for node, _ in plan.steps]
    width = _LEFT + plot + _RIGHT
    legend_lines = -(-entries // _columns(width))
    height = _TOP + _HEIGHT + _NAMES_HEIGHT + _LEGEND_LINE * (legend_lines + 1)
    return _Chart(plan, tuple(accumulate(widths, initial=_LEFT)), width, height)


def _columns(width: float) -> int:
    """Columns of the legend."""
    return max(1, int((width - _LEFT - _RIGHT) // _LEGEND_COLUMN)) + 1


def _addresses(chart: _Chart) -> list[str]:
    """The axis of addresses, with lines at round numbers of bytes, the arena's size and the lower bound."""
    arena, left, right = chart.plan.arena_bytes, chart.edges[0], chart.edges[-1]
    lines = []
    for address in (*range(0, arena, _round_step(arena)), arena):
        y = chart.y(address)
        if address < arena and y - chart.y(arena) < 14:
            continue  # its number would touch that of the arena's size
        lines.append(line((left, y), (right, y), _INK if address in (0, arena) else _GRID))
        lines.append(label(left - 8, y + 4, f"{address:,}", anchor="end"))
    lines.append(turned_label(18, _TOP + _HEIGHT / 2, -90, "address (bytes)", "middle"))
    if chart.plan.lower_bound_bytes < arena:
        y = chart.y(chart.plan.lower_bound_bytes)
        lines.append(line((left, y), (right, y), _QUIET, "6 4"))
        if y - _TOP > 14:  # else its label would touch the line of the arena's size
            lines.append(label(right, y - 4, "lower bound", "quiet", "end"))
    return lines


def _round_step(arena_bytes: int) -> int:
    """Bytes between two lines: 1, 2 or 5 times a power of ten, so that there are four to ten."""
    step = 1
    while arena_bytes > 10 * step:
        step = step * 5 // 2 if str(step).startswith("2") else step * 2
    return step


def _operators(graph: Graph, chart: _Chart) -> list[str]:
    """The axis of time: the operators' names under their columns, a line between two columns."""
    lines = []
    for name, start, end in _columns_of_time(graph, chart.plan):
        left, right = chart.edges[start], chart.edges[end]
        lines.append(line((right, _TOP), (right, chart.bottom + 4), _GRID))
        middle = (left + right) / 2 + 3
        room = int(min(middle / _SLOPE[0], (_NAMES_HEIGHT - 40) / _SLOPE[1]) / _CHARACTER)
        lines.append(turned_label(middle, chart.bottom + 14, -42, shortened(name, room), "end"))
    middle = (chart.edges[0] + chart.edges[-1]) / 2
    words = "time: operators in the order in which they run, equally wide, each divided equally into its rows"
    return [*lines, label(middle, chart.bottom + _NAMES_HEIGHT - 10, words, "quiet", "middle")]


def _columns_of_time(graph: Graph, plan: Plan) -> list[tuple[str, int, int]]:
    """Operators that run to completion, and between them the operators that run by the row together: name, steps."""
    columns: list[tuple[str, int, int]] = []
    mixed: list[int] = []
    step = start = 0
    for run in plan.runs:
        if run.rows == graph.sites[run.node].output.type.rows:
            columns += _mixed(graph, mixed, start, step)
            columns.append((operator(graph, run.node), step, step + run.rows))
            mixed, start = [], step + run.rows
        else:
            mixed.append(run.node)
        step += run.rows
    return columns + _mixed(graph, mixed, start, step)


def _mixed(graph: Graph, nodes: list[int], start: int, end: int) -> list[tuple[str, int, int]]:
    if not nodes:
        return []
    first, last = (graph.nodes[node].source for node in (min(nodes), max(nodes)))
    return [(f"operators {first} to {last} by rows", start, end)]


def _buffers(graph: Graph, chart: _Chart, entries: tuple[Entry, ...]) -> list[str]:
    """A box for each buffer, with a tooltip."""
    shown = {entry.tensor: entry for entry in entries}
    lines: list[str] = []
    for buffer in chart.plan.buffers:
        entry = shown[buffer.tensor]
        box = chart.box(buffer)
        fill = "url(#scratch)" if buffer.tensor is None else entry.color
        stroke = min(1.0, box.width / 6, box.height / 6)
        lines.append(box.draw(f'class="box" fill="{fill}" stroke-width="{stroke:.2f}"', _tooltip(graph, buffer)))
    return lines


def _labels(chart: _Chart, entries: tuple[Entry, ...]) -> list[str]:
    """Letters and names on the boxes that have room."""
    shown = {entry.tensor: entry for entry in entries}
    return [line for buffer in chart.plan.buffers for line in _label(chart, shown[buffer.tensor], buffer)]


def _tooltip(graph: Graph, buffer: Buffer) -> str:
    name = printable(buffer_name(graph, buffer))
    if buffer.tensor is not None:
        rows = f"rows {buffer.first_row} to {buffer.first_row + buffer.rows - 1}"
        name = f"{name} {graph.tensors[buffer.tensor].type}, {rows}"
    last = buffer.offset + buffer.size_bytes - 1
    return (
        f"{name}: {buffer.size_bytes:,} bytes, {buffer.offset:,} to {last:,}, steps {buffer.start} to {buffer.end - 1}"
    )


def _label(chart: _Chart, entry: Entry, buffer: Buffer) -> list[str]:
    """Letter and name and, below, bytes; the letter alone; or nothing: as large as the box allows."""
    box = chart.box(buffer)
    middle, base = box.middle[0], box.middle[1] + 4
    room = int((box.width - 8) / _CHARACTER)
    if entry.tensor is None or box.height < 8 or box.width < 8:
        return []
    if box.height < 13:
        return [label(middle, base - 1, entry.letter, "on small", "middle")]
    if room < 12:
        return [label(middle, base, entry.letter, "on", "middle")]
    name = f"{entry.letter}  {shortened(entry.name, room - 3)}"
    if box.height < 34:
        return [label(middle, base, name, "on", "middle")]
    size = label(middle, base + 8, f"{buffer.size_bytes:,} bytes", "on", "middle")
    return [label(middle, base - 7, name, "on", "middle"), size]


def _peak(graph: Graph, chart: _Chart) -> list[str]:
    """A bar above each span of time with the most live bytes, a frame around the first, and who holds them there."""
    found = peak(graph, chart.plan)
    if found is None:
        return []
    highest, words = found
    spans: list[tuple[float, float]] = []
    for each in stretches(chart.plan):
        left, right = chart.edges[each.start], chart.edges[each.end]
        if each.live_bytes == highest.live_bytes:
            joins = bool(spans) and spans[-1][1] == left
            spans[-1 if joins else len(spans) :] = [(spans[-1][0] if joins else left, right)]
    lines = [Box(left, _TOP - 7, right, _TOP - 3).draw(f'fill="{_ALARM}"') for left, right in spans]
    left, right = spans[0]
    dashes = f'fill="none" stroke="{_ALARM}" stroke-width="1.5" stroke-dasharray="5 3"'
    lines.append(Box(left, _TOP, right, chart.bottom).draw(dashes))
    at = max(_LEFT, min(left, chart.edges[-1] - 1.1 * _CHARACTER * len(words)))
    return [*lines, label(at, _TOP - 13, words, "peak")]


def _legend(chart: _Chart, entries: tuple[Entry, ...]) -> list[str]:
    lines: list[str] = []
    columns = _columns(chart.width)
    column_width = (chart.width - _LEFT - _RIGHT) / columns
    per_column = -(-len(entries) // columns)
    for position, entry in enumerate(entries):
        column, place = divmod(position, per_column)
        x = _LEFT + column * column_width
        y = chart.bottom + _NAMES_HEIGHT + _LEGEND_LINE * place
        fill = "url(#scratch)" if entry.tensor is None else entry.color
        lines.append(Box(x, y, x + 16, y + 14).draw(f'rx="2" fill="{fill}"'))
        if entry.tensor is not None:
            lines.append(label(x + 8, y + 11, entry.letter, anchor="middle"))
        facts = ", ".join(part for part in (entry.form, f"{entry.size_bytes:,} bytes", entry.place) if part)
        name = shortened(entry.name, max(10, int((column_width - 30) / _CHARACTER) - len(facts) - 2))
        quiet = f'<tspan class="quiet" dx="8">{escape(facts)}</tspan>'
        lines.append(f'<text x="{x + 24:.1f}" y="{y + 11:.1f}">{escape(name)}{quiet}</text>')
    return lines
