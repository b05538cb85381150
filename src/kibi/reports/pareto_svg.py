"""RAM against instructions, and RAM against flash, as SVG: a dot for each choice; the best are named and joined."""

from collections.abc import Callable, Sequence

from kibi.printable import printable
from kibi.reports.axes import Axis, staircase
from kibi.reports.memory_colors import layer_color
from kibi.reports.memory_shapes import GRID, INK, QUIET, Box, circle, document, label, line
from kibi.reports.pareto import Choice, pareto_optimal
from kibi.text.markup import Markup

_LEFT, _TOP, _WIDTH, _HEIGHT, _GAP, _RIGHT = 96.0, 112.0, 470.0, 340.0, 56.0, 40.0
_LEGEND_LINE, _FOOT = 22.0, 24.0
_RADIUS = 6.0


def pareto_svg(model: str, target: str, choices: Sequence[Choice]) -> str:
    """Draws the choices.

    Args:
        model: its name, for the title.
        target: the target of the measurements.
        choices: at least one, measured.

    Returns:
        An SVG document: two plots that share the axis of RAM; all axes start at zero.
    """
    best = pareto_optimal(choices)
    colors = [layer_color(number, len(choices)) for number in range(len(choices))]
    width = _LEFT + 2 * _WIDTH + _GAP + _RIGHT
    bottom = _TOP + _HEIGHT
    title = f"{printable(model)} on {target}: RAM against instructions and flash"
    lines = [
        label(24, 40, title, "title"),
        label(
            24,
            64,
            "each dot was compiled and run on the emulated core; filled: Pareto-optimal",
            "needs quiet",
        ),
    ]
    costs: tuple[tuple[str, Callable[[Choice], int]], ...] = (
        ("instructions of one inference", lambda choice: choice.instructions),
        ("flash (bytes)", lambda choice: choice.flash_bytes),
    )
    for number, (name, cost) in enumerate(costs):
        left = _LEFT + number * (_WIDTH + _GAP)
        box = Box(left, _TOP, left + _WIDTH, bottom)
        lines += _plot(box, choices, best, colors, name, cost, numbers=number == 0)
    top = bottom + 62
    for number, (choice, is_best, color) in enumerate(zip(choices, best, colors, strict=True)):
        lines += _legend_line(choice, number, is_best, color, top + _LEGEND_LINE * number)
    height = top + _LEGEND_LINE * len(choices) + _FOOT
    return document(width, height, title, lines)


def _plot(
    box: Box, choices: Sequence[Choice], best: Sequence[bool], colors: Sequence[str], name: str,
    cost: Callable[[Choice], int], *, numbers: bool,
) -> list[Markup]:  # fmt: skip
    ram = Axis.of([choice.ram_bytes for choice in choices], box.bottom, box.top, from_zero=True)
    across = Axis.of([cost(choice) for choice in choices], box.left, box.right, from_zero=True)
    lines = [label(box.left, box.top - 10, "RAM (bytes), stack included", "quiet")] if numbers else []
    for value in ram.ticks():
        y = ram.at(value)
        lines.append(line((box.left, y), (box.right, y), INK if value == 0 else GRID))
        lines += [label(box.left - 8, y + 4, f"{value:,}", anchor="end")] if numbers else []
    for value in across.ticks():
        x = across.at(value)
        lines.append(line((x, box.bottom), (x, box.bottom + 5), QUIET))
        lines.append(label(x, box.bottom + 18, f"{value:,}", anchor="middle"))
    lines.append(label(box.middle[0], box.bottom + 38, name, "quiet", "middle"))
    dots = [(across.at(cost(choice)), ram.at(choice.ram_bytes)) for choice in choices]
    lines += staircase([dot for dot, is_best in zip(dots, best, strict=True) if is_best])
    for (x, y), is_best, color in zip(dots, best, colors, strict=True):
        fill = color if is_best else "#ffffff"
        lines.append(circle((x, y), _RADIUS, fill=fill, stroke=INK))
    for x, y in dict.fromkeys(dots):
        names = ", ".join(str(number + 1) for number, dot in enumerate(dots) if dot == (x, y))
        lines.append(label(x + _RADIUS + 4, y - 5, names, "on"))
    return lines


def _legend_line(choice: Choice, number: int, is_best: bool, color: str, y: float) -> list[Markup]:
    fill = color if is_best else "#ffffff"
    kind = "" if is_best else "quiet"
    costs = (("RAM", choice.ram_bytes), ("flash", choice.flash_bytes), ("instructions", choice.instructions))
    facts = [
        label(_LEFT + 520 + 170 * k, y + 4, f"{name} {cost:,}", kind, "end", 12) for k, (name, cost) in enumerate(costs)
    ]
    return [
        circle((_LEFT + 6, y), _RADIUS, fill=fill, stroke=INK),
        label(_LEFT + 22, y + 4, f"{number + 1}", size=12),
        label(_LEFT + 44, y + 4, choice.name, kind, size=12),
        *facts,
    ]
