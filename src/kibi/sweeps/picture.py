"""The rows of a sweep as SVG: each a dot, in plots of RAM, flash and instructions; the best are filled, numbered and joined."""

from collections.abc import Sequence
from dataclasses import dataclass

from kibi.printable import printable
from kibi.reports.axes import Axis, staircase
from kibi.reports.memory_colors import layer_color
from kibi.reports.memory_shapes import ALARM, GRID, INK, QUIET, Box, circle, document, label, line
from kibi.sweeps.best import FRONT_COSTS, Budget, Objective, front
from kibi.sweeps.rows import COST_NAMES, Row, Status
from kibi.text.markup import Markup

_LEFT, _TOP, _HEIGHT, _GAP, _RIGHT = 96.0, 112.0, 340.0, 56.0, 40.0
_WIDTHS = {2: 470.0, 3: 320.0}
_LEGEND_LINE, _FOOT, _MOST_LINES = 22.0, 24.0, 30
_RADIUS, _OPEN_RADIUS = 6.0, 3.5
_LETTER = 7.0
"""The width of a digit at the axes."""
_LINE_LETTERS = 56
"""Of a model and its setting in the list of the best."""
_CELL = 2.0
"""Open dots nearer than this are drawn as one, so that the picture of many rows stays small."""
_UNITS = {"ram_bytes": "RAM (bytes), stack included", "flash_bytes": "flash (bytes)", "instructions": "instructions"}


@dataclass(frozen=True, slots=True)
class _Plot:
    """Two costs or figures: the one to the right, the one upwards, and the place of the plot."""

    across: str
    up: str
    box: Box


def sweep_svg(rows: Sequence[Row], objective: Objective, budget: Budget) -> str:
    """Draws the measured rows.

    Args:
        rows: of a sweep.
        objective: with a figure or another cost, it is drawn upwards, against RAM, flash and instructions; with one of these
            three, RAM is drawn upwards, against instructions and flash.
        budget: its limits are lines.

    Returns:
        An SVG document. Rows that no other of their target beats are filled and numbered; the list has the first 30, the best
        first.
    """
    shown = [row for row in rows if row.outcome.status is Status.MEASURED and objective.cost(row) is not None]
    best = sorted(front(shown, objective), key=lambda row: (objective.cost(row) or 0.0, row.value("ram_bytes") or 0.0))
    colors = {
        target: layer_color(number, max(len({row.setting.target for row in shown}), 2))
        for number, target in enumerate(dict.fromkeys(row.setting.target for row in shown))
    }
    plots = _plots(objective)
    *first, last = (_name(plot.across) for plot in plots)
    title = f"{len(shown):,} measured: {_name(plots[0].up)} against {', '.join(first)} and {last}"
    judged = dict.fromkeys(_name(name) for name in (*FRONT_COSTS, objective.name))
    told = f"filled: nothing else on its target is as good in all of these: {', '.join(judged)}"
    lines = [label(24, 40, title, "title"), label(24, 64, told, "needs quiet"), *_targets(colors)]
    for plot in plots if shown else ():
        lines += _drawn(plot, shown, best, colors, objective, budget)
    top = _TOP + _HEIGHT + 62
    for number, row in enumerate(best[:_MOST_LINES]):
        lines += _legend_line(row, number, colors[row.setting.target], objective, top + _LEGEND_LINE * number)
    more = len(best) - _MOST_LINES
    if more > 0:
        lines.append(label(_LEFT + 44, top + _LEGEND_LINE * _MOST_LINES + 4, f"and {more:,} more", "quiet", size=12))
    count = min(len(best), _MOST_LINES + 1)
    return document(plots[-1].box.right + _RIGHT, top + _LEGEND_LINE * count + _FOOT, title, lines)


def _plots(objective: Objective) -> tuple[_Plot, ...]:
    is_cost = objective.name in FRONT_COSTS
    pairs = (
        [("instructions", "ram_bytes"), ("flash_bytes", "ram_bytes")]
        if is_cost
        else [(name, objective.name) for name in FRONT_COSTS]
    )
    width = _WIDTHS[len(pairs)]
    lefts = [_LEFT + number * (width + _GAP) for number in range(len(pairs))]
    return tuple(
        _Plot(across, up, Box(left, _TOP, left + width, _TOP + _HEIGHT))
        for (across, up), left in zip(pairs, lefts, strict=True)
    )


def _targets(colors: dict[str, str]) -> list[Markup]:
    """The colour of each target, if there are several."""
    lines, x = [], _LEFT
    for target, color in colors.items() if len(colors) > 1 else ():
        lines += [circle((x, 82), _OPEN_RADIUS, fill=color, stroke=INK), label(x + 10, 86, target, size=12)]
        x += 30 + 7 * len(target)
    return lines


def _drawn(
    plot: _Plot, shown: Sequence[Row], best: Sequence[Row], colors: dict[str, str], objective: Objective, budget: Budget
) -> list[Markup]:
    box = plot.box
    up = Axis.of(
        [_value(row, plot.up) for row in shown], box.bottom, box.top,
        from_zero=plot.up == "ram_bytes", has_fractions=plot.up not in COST_NAMES,
    )  # fmt: skip
    across = Axis.of([_value(row, plot.across) for row in shown], box.left, box.right)
    lines = [label(box.left, box.top - 8, _UNITS.get(plot.up, plot.up), "quiet")] if box.left == _LEFT else []
    for value in up.ticks():
        lines.append(line((box.left, up.at(value)), (box.right, up.at(value)), GRID))
        lines += [label(box.left - 8, up.at(value) + 4, up.text(value), anchor="end")] if box.left == _LEFT else []
    lines.append(line((box.left, box.bottom), (box.right, box.bottom), INK))
    for value in across.ticks(_LETTER):
        lines.append(line((across.at(value), box.bottom), (across.at(value), box.bottom + 5), QUIET))
        lines.append(label(across.at(value), box.bottom + 18, across.text(value), anchor="middle"))
    lines.append(label(box.middle[0], box.bottom + 38, _UNITS[plot.across], "quiet", "middle"))
    lines += _limits(plot, across, up, budget)
    place = {id(row): (across.at(_value(row, plot.across)), up.at(_value(row, plot.up))) for row in shown}
    filled = {id(row) for row in best}
    open_dots = {
        (round(x / _CELL), round(y / _CELL), row.setting.target): (x, y)
        for row in shown
        if id(row) not in filled
        for x, y in [place[id(row)]]
    }
    for (_, _, target), dot in open_dots.items():
        lines.append(circle(dot, _OPEN_RADIUS, fill="#ffffff", stroke=colors[target]))
    for target in colors:
        dots = [place[id(row)] for row in best if row.setting.target == target]
        lines += staircase(dots, is_upwards=objective.is_maximized and plot.up == objective.name)
    for row in reversed(best):
        lines.append(circle(place[id(row)], _RADIUS, fill=colors[row.setting.target], stroke=INK))
    for number, row in reversed([*enumerate(best[:_MOST_LINES], 1)]):
        x, y = place[id(row)]
        lines.append(label(x + _RADIUS + 3, y - 4, f"{number}", "on"))
    return lines


def _limits(plot: _Plot, across: Axis, up: Axis, budget: Budget) -> list[Markup]:
    """The limits of the budget that are inside of a plot."""
    lines = []
    limit = budget.limit(plot.across)
    if limit is not None and across.low <= limit <= across.high:
        x = across.at(limit)
        lines.append(line((x, plot.box.top), (x, plot.box.bottom), ALARM, "5 4"))
        lines.append(label(x - 4, plot.box.top + 10, f"{limit:,.0f}", "peak", "end"))
    limit = budget.limit(plot.up)
    if limit is not None and up.low <= limit <= up.high:
        y = up.at(limit)
        lines.append(line((plot.box.left, y), (plot.box.right, y), ALARM, "5 4"))
        lines.append(label(plot.box.right, y - 4, up.text(limit), "peak", "end"))
    return lines


def _legend_line(row: Row, number: int, color: str, objective: Objective, y: float) -> list[Markup]:
    way = row.setting.text
    own = [] if objective.name in FRONT_COSTS else [f"{_name(objective.name)} {_value(row, objective.name):.4g}"]
    facts = [f"{_name(name)} {_value(row, name):,.0f}" for name in FRONT_COSTS]
    return [
        circle((_LEFT + 6, y), _RADIUS, fill=color, stroke=INK),
        label(_LEFT + 22, y + 4, f"{number + 1}", size=12),
        label(_LEFT + 44, y + 4, f"{_shortened(printable(row.model), _LINE_LETTERS - len(way))}: {way}", size=12),
        *(label(_LEFT + 520 + 160 * k, y + 4, text, "", "end", 12) for k, text in enumerate([*own, *facts])),
    ]


def _shortened(name: str, most: int) -> str:
    return name if len(name) <= most else f"…{name[-(most - 1) :]}"


def _name(name: str) -> str:
    return "RAM" if name == "ram_bytes" else name.removesuffix("_bytes").replace("_", " ")


def _value(row: Row, name: str) -> float:
    return row.value(name) or 0.0
