"""A memory plan as SVG: time goes right, addresses go up, one colour for each tensor.

Time: every operator is equally wide, and its row steps share its width equally, in the order in which they run. By row steps alone
the first layers, which have most rows, would leave no room for the rest; this way an operator that runs to completion is
one column, and rows that interleave show as narrow steps whose total width for each operator is still the same.
"""

from dataclasses import dataclass
from itertools import accumulate, count
from xml.sax.saxutils import escape

from kibi.ir import Graph
from kibi.planner import Buffer, Plan, buffer_name
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
_CHARACTER = 6.4
"""Width of a character at the labels' size, generously."""
_SLOPE = (0.74, 0.67)
"""How far an operator's name goes left and down for its length."""
_INK, _QUIET, _GRID, _ALARM = "#222222", "#666666", "#dddddd", "#b00020"
_STYLE = (
    "text{font-family:system-ui,'Segoe UI',Helvetica,Arial,'DejaVu Sans',sans-serif;font-size:11px;fill:" + _INK + "}"
    ".title{font-size:16px;font-weight:600}.needs{font-size:13px}.quiet{fill:" + _QUIET + "}"
    ".small{font-size:8px}.peak{fill:" + _ALARM + ";font-weight:600}.box{stroke:#ffffff}"
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
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {chart.width:.0f} {chart.height:.0f}" '
        f'width="{chart.width:.0f}" height="{chart.height:.0f}" role="img">',
        f"<title>{escape(f'Memory plan of {title}: {needs}')}</title>",
        f"<style>{_STYLE}</style>",
        '<defs><pattern id="scratch" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
        '<rect width="6" height="6" fill="#f2f2f2"/><rect width="2" height="6" fill="#888888"/></pattern></defs>',
        f'<rect width="{chart.width:.0f}" height="{chart.height:.0f}" rx="6" fill="#ffffff"/>',
        _text(_LEFT, 30, title, "title"),
        _text(_LEFT, 50, needs, "needs"),
        *_addresses(chart),
        *_operators(graph, chart),
        *_boxes(graph, chart, entries),
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
        lines += [_line(left, y, right, y, _INK if address in (0, arena) else _GRID)]
        lines += [_text(left - 8, y + 4, f"{address:,}", anchor="end")]
    middle = _TOP + _HEIGHT / 2
    lines.append(
        f'<text class="quiet" transform="translate(18 {middle:.1f}) rotate(-90)" text-anchor="middle">address (bytes)</text>'
    )
    if chart.plan.lower_bound_bytes < arena:
        y = chart.y(chart.plan.lower_bound_bytes)
        lines.append(_line(left, y, right, y, _QUIET, "6 4"))
        if y - _TOP > 14:  # else its label would touch the line of the arena's size
            lines.append(_text(right, y - 4, "lower bound", "quiet", "end"))
    return lines


def _round_step(arena_bytes: int) -> int:
    """Bytes between two lines: 1, 2 or 5 times a power of ten, so that there are four to ten."""
    return next(
        factor * 10**power for power in count() for factor in (1, 2, 5) if arena_bytes <= 10 * factor * 10**power
    )


def _operators(graph: Graph, chart: _Chart) -> list[str]:
    """The axis of time: the operators' names under their columns, a line between two columns."""
    lines = []
    for name, start, end in _columns_of_time(graph, chart.plan):
        left, right = chart.edges[start], chart.edges[end]
        lines.append(_line(right, _TOP, right, chart.bottom + 4, _GRID))
        middle = (left + right) / 2 + 3
        place = f"translate({middle:.1f} {chart.bottom + 14:.1f}) rotate(-42)"
        room = int(min(middle / _SLOPE[0], (_NAMES_HEIGHT - 40) / _SLOPE[1]) / _CHARACTER)
        lines.append(f'<text transform="{place}" text-anchor="end">{escape(shortened(name, room))}</text>')
    middle = (chart.edges[0] + chart.edges[-1]) / 2
    words = "time: operators in the order in which they run, equally wide, each divided equally into its rows"
    return [*lines, _text(middle, chart.bottom + _NAMES_HEIGHT - 10, words, "quiet", "middle")]


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
    names = [operator(graph, node) for node in (min(nodes), max(nodes))]
    return [(f"{names[0]} to {names[1]} by rows", start, end)]


def _boxes(graph: Graph, chart: _Chart, entries: tuple[Entry, ...]) -> list[str]:
    """A box for each buffer, with a tooltip."""
    shown = {entry.tensor: entry for entry in entries}
    lines: list[str] = []
    for buffer in chart.plan.buffers:
        entry = shown[buffer.tensor]
        left, right = chart.edges[buffer.start], chart.edges[buffer.end]
        top, bottom = chart.y(buffer.offset + buffer.size_bytes), chart.y(buffer.offset)
        fill = "url(#scratch)" if buffer.tensor is None else entry.color
        stroke = min(1.0, (right - left) / 6, (bottom - top) / 6)
        lines.append(
            f'<rect class="box" x="{left:.2f}" y="{top:.2f}" width="{right - left:.2f}" height="{bottom - top:.2f}" '
            f'fill="{fill}" stroke-width="{stroke:.2f}"><title>{escape(_tooltip(graph, buffer))}</title></rect>'
        )
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
    left, right = chart.edges[buffer.start], chart.edges[buffer.end]
    top, bottom = chart.y(buffer.offset + buffer.size_bytes), chart.y(buffer.offset)
    middle, base = (left + right) / 2, (top + bottom) / 2 + 4
    room = int((right - left - 8) / _CHARACTER)
    if entry.tensor is None or bottom - top < 8 or right - left < 8:
        return []
    if bottom - top < 13:
        return [_text(middle, base - 1, entry.letter, "small", "middle")]
    if room < 12:
        return [_text(middle, base, entry.letter, anchor="middle")]
    name = f"{entry.letter}  {shortened(entry.name, room - 3)}"
    if bottom - top < 34:
        return [_text(middle, base, name, anchor="middle")]
    size = _text(middle, base + 8, f"{buffer.size_bytes:,} bytes", anchor="middle")
    return [_text(middle, base - 7, name, anchor="middle"), size]


def _peak(graph: Graph, chart: _Chart) -> list[str]:
    """A bar above each span of time at which the most bytes live, a frame around the first, and who holds them there."""
    found = peak(graph, chart.plan)
    if found is None:
        return []
    highest, words = found
    spans: list[tuple[float, float]] = []
    for each in stretches(chart.plan):
        left, right = chart.edges[each.start], chart.edges[each.end]
        if each.live_bytes != highest.live_bytes:
            continue
        if spans and spans[-1][1] == left:
            spans[-1] = (spans[-1][0], right)
        else:
            spans.append((left, right))
    lines = [
        f'<rect x="{left:.2f}" y="{_TOP - 7:.1f}" width="{right - left:.2f}" height="4" fill="{_ALARM}"/>'
        for left, right in spans
    ]
    left, right = spans[0]
    lines.append(
        f'<rect x="{left:.2f}" y="{_TOP:.1f}" width="{right - left:.2f}" height="{_HEIGHT:.1f}" fill="none" '
        f'stroke="{_ALARM}" stroke-width="1.5" stroke-dasharray="5 3"/>'
    )
    at = max(_LEFT, min(left, chart.edges[-1] - 1.1 * _CHARACTER * len(words)))
    return [*lines, _text(at, _TOP - 13, words, "peak")]


def _legend(chart: _Chart, entries: tuple[Entry, ...]) -> list[str]:
    lines: list[str] = []
    columns = _columns(chart.width)
    column_width = (chart.width - _LEFT - _RIGHT) / columns
    per_column = -(-len(entries) // columns)
    for position, entry in enumerate(entries):
        column, line = divmod(position, per_column)
        x = _LEFT + column * column_width
        y = chart.bottom + _NAMES_HEIGHT + _LEGEND_LINE * line
        fill = "url(#scratch)" if entry.tensor is None else entry.color
        lines.append(f'<rect x="{x:.1f}" y="{y:.1f}" width="16" height="14" rx="2" fill="{fill}"/>')
        if entry.tensor is not None:
            lines.append(_text(x + 8, y + 11, entry.letter, anchor="middle"))
        facts = ", ".join(part for part in (entry.form, f"{entry.size_bytes:,} bytes", entry.place) if part)
        name = shortened(entry.name, max(10, int((column_width - 30) / _CHARACTER) - len(facts) - 2))
        quiet = f'<tspan class="quiet" dx="8">{escape(facts)}</tspan>'
        lines.append(f'<text x="{x + 24:.1f}" y="{y + 11:.1f}">{escape(name)}{quiet}</text>')
    return lines


def _text(x: float, y: float, text: str, kind: str = "", anchor: str = "start") -> str:
    style = f' class="{kind}"' if kind else ""
    where = f' text-anchor="{anchor}"' if anchor != "start" else ""
    return f'<text x="{x:.1f}" y="{y:.1f}"{style}{where}>{escape(text)}</text>'


def _line(x1: float, y1: float, x2: float, y2: float, color: str, dashes: str = "") -> str:
    dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{color}"{dashed}/>'
