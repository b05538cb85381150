"""Several memory plans side by side as SVG, at one scale of bytes."""

from collections.abc import Sequence

from kibi.planner.placement.stacking import region_bases, stacked
from kibi.planner.tensor_names import shortened
from kibi.printable import printable
from kibi.reports.memory_plot import CHARACTER, Plot, address_lines, bound_line, buffer_boxes, peak_frame, region_lines
from kibi.reports.memory_shapes import INK, Box, document, label, line, turned_label
from kibi.reports.memory_timeline import highest_stretch, legend
from kibi.reports.plan_comparison import ComparedPlan, times_smaller
from kibi.text.markup import Markup

_LEFT, _TOP, _GAP, _RIGHT, _FOOT = 96.0, 66.0, 44.0, 32.0, 30.0
_HEIGHT, _CAPTION_HEIGHT, _LINE_GAP = 420.0, 84.0, 24.0
_FLATTEST = 1 / 8
"""A line of plots is at least this part of the highest one's height."""
_MOST_COLUMNS = 4
_PLOT_WIDTH = {1: 900.0, 2: 560.0, 3: 400.0}
_NARROW_PLOT = 320.0
_CAPTION = 14.0
_WORTH_SAYING = 1.05
_VISIBLE = 6.0
"""A lower bound this far below the arena is drawn."""


def memory_comparison_svg(planned: Sequence[ComparedPlan], title: str = "") -> str:
    """Draws several plans side by side, and returns the SVG text.

    Args:
        planned: at least one; those of a model in a line, at most four in each.
        title: above them; empty: the models' names.

    Returns:
        An SVG document. In all plots a byte has the same height; each plot's width is all of its plan's time.
    """
    rows = _rows(planned)
    columns = max(map(len, rows))
    plot_width = _PLOT_WIDTH.get(columns, _NARROW_PLOT)
    width = _LEFT + columns * plot_width + (columns - 1) * _GAP + _RIGHT
    largest = max(each.plan.arena_bytes for each in planned)
    names = list(dict.fromkeys(printable(each.model.name) for each in planned))
    words = title or f"{', '.join(names)} on {planned[0].plan.target}"
    lines = [label(24, 40, shortened(words, int((width - 48) / (CHARACTER * 22))), "title")]
    top = _TOP
    for row in rows:
        top_bytes = max(*(planned[number].plan.arena_bytes for number in row), int(largest * _FLATTEST), 1)
        top += _CAPTION_HEIGHT
        bottom = top + _HEIGHT * top_bytes / max(largest, 1)
        for column, number in enumerate(row):
            left = _LEFT + column * (plot_width + _GAP)
            box = Box(left, top, left + plot_width, bottom)
            lines += _panel(planned, number, box, top_bytes, is_first=column == 0, names_model=len(names) > 1)
        top = bottom + _LINE_GAP
    note = "the same height is the same number of bytes in every plot; time goes right"
    lines.append(label(_LEFT, top, note, "quiet"))
    return document(width, top + _FOOT - _LINE_GAP / 2, f"Memory plans: {words}", lines)


def _rows(planned: Sequence[ComparedPlan]) -> list[list[int]]:
    """The numbers of the plans in each line of the picture; if any model has several plans, each model starts a line."""
    models = list(dict.fromkeys(id(each.model) for each in planned))
    by_model = [[number for number, each in enumerate(planned) if id(each.model) == model] for model in models]
    groups = [list(range(len(planned)))] if len(models) == len(planned) else by_model
    return [group[start : start + _MOST_COLUMNS] for group in groups for start in range(0, len(group), _MOST_COLUMNS)]


def _panel(
    planned: Sequence[ComparedPlan], number: int, box: Box, top_bytes: int, *, is_first: bool, names_model: bool
) -> list[Markup]:
    each = planned[number]
    graph, plan, bases = each.planned.graph, stacked(each.plan), region_bases(each.plan)
    plot = Plot.of(graph, plan, box, top_bytes)
    highest = highest_stretch(plan)
    arena = plot.y(each.plan.arena_bytes)
    lines = [
        *_caption(planned, number, box, names_model=names_model),
        *address_lines(plot, numbers=is_first),
        *buffer_boxes(plot, legend(graph, plan)),
        *region_lines(plot, bases),
        line((box.left, arena), (box.right, arena), INK),
        *(bound_line(plot) if plot.y(each.plan.lower_bound_bytes) - arena > _VISIBLE else []),
    ]
    if is_first and box.height > _HEIGHT / 3:
        lines.append(turned_label(24, box.middle[1], -90, "address (bytes)", "middle"))
    return [*lines, *(peak_frame(plot, highest, box.bottom, top=arena) if highest is not None else [])]


def _caption(planned: Sequence[ComparedPlan], number: int, box: Box, *, names_model: bool) -> list[Markup]:
    """Draws a plan's name, its bytes, and its bound."""
    each, ratio = planned[number], times_smaller(planned, number)
    name = f"{printable(each.model.name)}, " if names_model else ""
    room = int(box.width / (CHARACTER * _CAPTION))
    proof = f"lower bound {each.plan.lower_bound_bytes:,}, {each.proof}"
    less = f", {ratio:.1f} times smaller" if ratio is not None and ratio >= _WORTH_SAYING else ""
    return [
        label(box.left, box.top - 66, shortened(f"{name}{each.manner}", room), size=_CAPTION),
        label(box.left, box.top - 38, f"{each.plan.arena_bytes:,} bytes", "figure"),
        label(box.left, box.top - 18, f"{proof}{less}", "quiet", size=12),
    ]
