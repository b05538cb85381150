"""A memory plan as SVG, large enough for a slide: places and lifetimes of buffers, live bytes, and operators.

Three parts share one axis of time: the plot of addresses, the bytes that live, and a lane for each operator, which is
also the legend: its number stands on the boxes of the tensor that it makes.
"""

from dataclasses import dataclass

from kibi.ir import Graph
from kibi.planner import Plan, PlannedModel
from kibi.planner.placement.stacking import region_bases, stacked
from kibi.planner.tensor_names import shortened
from kibi.reports.memory_plot import (
    CHARACTER,
    MOST_BOXES,
    Plot,
    address_lines,
    bound_line,
    buffer_boxes,
    peak_frame,
    region_lines,
    shared_places,
)
from kibi.reports.memory_shapes import (
    GRID,
    QUIET,
    SCRATCH_FILL,
    Box,
    area,
    document,
    label,
    line,
    turned_label,
)
from kibi.reports.memory_timeline import (
    Entry,
    Stretch,
    headline,
    highest_stretch,
    holders,
    legend,
    manner,
    operator,
    stretches,
)
from kibi.text.markup import Markup

_LEFT, _RIGHT, _TOP, _HEIGHT = 196.0, 372.0, 104.0, 430.0
_NARROWEST_PLOT, _NARROWEST_OPERATOR = 860.0, 12.0
_WIDEST_PLOT, _MOST_LANES = 9_600.0, 400
"""The limits of the plot's width, where operators become narrower, and of lanes; beyond, only the largest outputs have one."""
_PROFILE_HEIGHT, _GAP, _FOOT = 44.0, 16.0, 34.0
_HOLDER_LINE, _HOLDER_BARS = 21.0, 262.0
_PAPER = "#cfd4da"
"""The profile of live bytes."""


@dataclass(frozen=True, slots=True)
class _Lane:
    """One line of the lower part.

    Attributes:
        entry: the tensor, or the scratch, that it explains.
        words: the operator that makes it.
        spans: when that happens, as half-open steps.
    """

    entry: Entry
    words: str
    spans: tuple[tuple[int, int], ...]


def memory_svg(planned: PlannedModel) -> str:
    """Draws a plan.

    Args:
        planned: the model with a valid plan.

    Returns:
        An SVG document, the same for the same plan. Each box has a tooltip.
    """
    graph, bases, plan = planned.graph, region_bases(planned.plan), stacked(planned.plan)
    entries = legend(graph, plan)
    width = min(max(_NARROWEST_PLOT, _NARROWEST_OPERATOR * len(graph.nodes)), _WIDEST_PLOT)
    plot = Plot.of(graph, plan, Box(_LEFT, _TOP, _LEFT + width, _TOP + _HEIGHT))
    every = _lanes(graph, plan, entries)
    lanes = _largest(every)
    lane_height = 17.0 if len(lanes) <= 20 else 14.0 if len(lanes) <= 40 else 11.0
    profile = Box(_LEFT, plot.box.bottom + _GAP, plot.box.right, plot.box.bottom + _GAP + _PROFILE_HEIGHT)
    first_lane = profile.bottom + _GAP
    last_lane = first_lane + lane_height * len(lanes)
    title, needs = headline(plan)
    title = f"{title}, {manner(plan)}"
    highest = highest_stretch(plan)
    lines = [
        label(24, 40, title, "title"),
        label(24, 64, needs, "needs quiet"),
        label(plot.box.right + 12, 42, f"{plan.arena_bytes:,} bytes", "figure"),
        turned_label(_LEFT - 80, (plot.box.top + plot.box.bottom) / 2, -90, "address (bytes)", "middle"),
        *address_lines(plot),
        *_profile(plot, profile, highest),
        *_lane_lines(plot, lanes, first_lane, lane_height),
        *buffer_boxes(plot, entries),
        *region_lines(plot, bases),
        *(bound_line(plot) if len(bases) < 2 else []),
    ]
    if highest is not None:
        lines += [*peak_frame(plot, highest, last_lane), *_peak_words(plot, highest), *_holders(plot, highest, entries)]
    words = "time: operators in the order in which they run, equally wide, each divided equally into its rows"
    words += "; striped: made in the place of what is read" if shared_places(plan) else ""
    words += _left_out(len(every), len(lanes), len(plan.buffers))
    lines.append(label(_LEFT, last_lane + 20, words, "quiet"))
    return document(plot.box.right + _RIGHT, last_lane + _FOOT, f"Memory plan of {title}: {needs}", lines)


def _lanes(graph: Graph, plan: Plan, entries: tuple[Entry, ...]) -> list[_Lane]:
    """Inputs, then operators in the order of the model file, then scratch."""
    spans: dict[int, list[tuple[int, int]]] = {}
    step = 0
    for run in plan.runs:
        spans.setdefault(run.node, []).append((step, step + run.steps))
        step += run.steps
    shown = {entry.tensor: entry for entry in entries}
    stored = [tensor for tensor in graph.stored_inputs if tensor in shown]
    lanes = [_Lane(shown[tensor], "model input", ()) for tensor in stored]
    for node in sorted(range(len(graph.nodes)), key=lambda index: graph.nodes[index].source):
        lanes += [
            _Lane(shown[tensor], graph.nodes[node].op.name, tuple(spans.get(node, ())))
            for tensor in graph.nodes[node].outputs
            if tensor in shown
        ]
    if None in shown:
        lives = tuple((buffer.start, buffer.end) for buffer in plan.buffers if buffer.tensor is None)
        lanes.append(_Lane(shown[None], "scratch", lives))
    return lanes


def _largest(lanes: list[_Lane]) -> list[_Lane]:
    """The lanes of the largest tensors, in their order; as many as fit the picture."""
    kept = sorted(range(len(lanes)), key=lambda number: -lanes[number].entry.size_bytes)[:_MOST_LANES]
    return [lanes[number] for number in sorted(kept)]


def _left_out(lanes: int, shown: int, buffers: int) -> str:
    """Returns a sentence about the parts of a very large plan that the picture does not show."""
    words = f"; {shown:,} of {lanes:,} tensors have a lane, the largest" if shown < lanes else ""
    more = f"; {MOST_BOXES:,} of {buffers:,} buffers are drawn, the largest" if buffers > MOST_BOXES else ""
    return words + more


def _lane_lines(plot: Plot, lanes: list[_Lane], top: float, height: float) -> list[Markup]:
    size = min(11.0, height - 2)
    character = CHARACTER * size
    lines = []
    for number, lane in enumerate(lanes):
        entry, y = lane.entry, top + height * number
        base, fill = y + height / 2 + 0.36 * size, SCRATCH_FILL if lane.entry.tensor is None else lane.entry.color
        lines.append(Box(24, y + 1, 48, y + height - 1).draw(rx="2", fill=fill))
        lines.append(label(36, base, entry.tag, anchor="middle", size=size))
        lines.append(label(55, base, shortened(lane.words, int((_LEFT - 60) / character)), size=size))
        lines.append(line((_LEFT, y + height / 2), (plot.box.right, y + height / 2), GRID))
        for start, end in lane.spans:
            mark = Box(plot.edges[start], y + 1.5, plot.edges[end], y + height - 1.5)
            lines.append(mark.draw(fill=fill))
        x = plot.box.right + 12
        facts = f"{entry.form or 'the largest'}, {entry.size_bytes:,} bytes"
        room = int((_RIGHT - 24) / character) - len(facts) - 2
        name = "" if entry.tensor is None else shortened(entry.name, room)
        lines.append(label(x, base, facts, "quiet", size=size))
        lines.append(label(x + _RIGHT - 36, base, name, anchor="end", size=size))
    return lines


def _profile(plot: Plot, box: Box, highest: Stretch | None) -> list[Markup]:
    """Draws the number of live bytes at each moment, up to the arena's size."""
    scale = box.height / plot.top_bytes
    points = [f"M{box.left:.1f} {box.bottom:.1f}"]
    for each in stretches(plot.plan):
        y = box.bottom - scale * each.live_bytes
        points.append(f"V{y:.1f}H{plot.edges[each.end]:.1f}")
    words = [label(box.left - 8, box.middle[1] + 4, "bytes live", "quiet", "end")]
    if highest is not None:
        y = box.bottom - scale * highest.live_bytes
        words.append(line((box.left, y), (box.right, y), QUIET, "2 3"))
        words.append(label(box.right + 12, y + 4, f"{highest.live_bytes:,} at the peak", "peak"))
    return [area(f"{''.join(points)}V{box.bottom:.1f}Z", _PAPER), *words]


def _peak_words(plot: Plot, highest: Stretch) -> list[Markup]:
    """Draws the step and the bytes of the peak, above its frame."""
    words = f"peak {highest.live_bytes:,} bytes at {operator(plot.graph, highest.node)}"
    if plot.graph.views[highest.node].steps != highest.rows:
        words += f", row {highest.first_row}"
    width = CHARACTER * 13 * len(words)
    at = min((plot.edges[highest.start] + plot.edges[highest.end]) / 2, plot.box.right - width / 2)
    return [label(max(at, plot.box.left + width / 2), plot.box.top - 12, words, "peak", "middle", 13)]


def _holders(plot: Plot, highest: Stretch, entries: tuple[Entry, ...]) -> list[Markup]:
    """Draws the tensors at the peak, the largest first, with bars; one last line sums up those that do not fit."""
    shown = {entry.tensor: entry for entry in entries}
    parts = holders(highest)
    fits = int(plot.box.height / _HOLDER_LINE) - 3
    left, top = plot.box.right + 12, plot.box.top + 22
    lines = [label(left, plot.box.top + 10, "Who holds the peak", "peak", size=13)]
    for tensor, size_bytes in parts[:fits]:
        count = sum(buffer.rows for buffer in highest.live if buffer.tensor == tensor)
        share = size_bytes / parts[0][1]
        lines += _holder(
            shown[tensor], Box(left, top, left + _RIGHT - 36, top + _HOLDER_LINE), size_bytes, count, share
        )
        top += _HOLDER_LINE
    rest = parts[fits:]
    if rest:
        words = f"{len(rest)} others: {sum(size for _, size in rest):,} bytes"
        lines.append(label(left + 32, top + 14, words, "quiet", size=12))
        top += _HOLDER_LINE
    if highest.shared_bytes:
        words = f"{highest.shared_bytes:,} of these bytes are shared, in place"
        lines.append(label(left + 32, top + 14, words, "quiet", size=12))
    return lines


def _holder(entry: Entry, box: Box, size_bytes: int, rows: int, share: float) -> list[Markup]:
    """Tag, name, how many rows, bytes, and a bar of `share` of its full length."""
    fill = SCRATCH_FILL if entry.tensor is None else entry.color
    base = box.top + 14
    held = f"{rows} row{'s' if rows != 1 else ''}" if entry.tensor is not None else ""
    name = "scratch" if entry.tensor is None else shortened(entry.name, 18)
    full = box.right - _HOLDER_BARS - box.left
    return [
        Box(box.left, box.top + 2, box.left + 24, box.bottom - 2).draw(rx="2", fill=fill),
        label(box.left + 12, base, entry.tag, "", "middle"),
        label(box.left + 32, base, name, size=12),
        label(box.left + 205, base, held, "quiet", "end", 12),
        label(box.left + _HOLDER_BARS - 8, base, f"{size_bytes:,}", "", "end", 12),
        Box(box.left + _HOLDER_BARS, box.top + 4, box.left + _HOLDER_BARS + max(full * share, 1), box.bottom - 4).draw(
            fill=fill
        ),
    ]
