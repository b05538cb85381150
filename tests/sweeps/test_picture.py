"""Pictures of sweeps."""

from dataclasses import replace
from itertools import pairwise
from xml.etree import ElementTree as ET

from kibi.reports.axes import Axis
from kibi.sweeps.best import Budget, Objective
from kibi.sweeps.picture import sweep_svg
from kibi.sweeps.settings import Setting
from tests.sweeps.test_best import ROWS
from tests.sweeps.work import row

SVG = "{http://www.w3.org/2000/svg}"
_BUDGET = Budget((("ram_bytes", 5000.0),))


def _parsed(svg: str) -> tuple[list[str], list[str]]:
    """The fills of the dots, and the texts."""
    root = ET.fromstring(svg)  # noqa: S314 - our own output
    fills = [circle.attrib["fill"] for circle in root.iter(f"{SVG}circle")]
    return fills, ["".join(text.itertext()) for text in root.iter(f"{SVG}text")]


def test_figure_is_drawn_against_three_costs() -> None:
    """A dot for each row in each plot, open where another beats it; the best have a line each, and the budget has one."""
    svg = sweep_svg(ROWS, Objective("accuracy", is_maximized=True), _BUDGET)
    fills, words = _parsed(svg)
    assert fills.count("#ffffff") == 3
    assert len(fills) == 3 * 4 + 3
    assert "4 measured: accuracy against RAM, flash and instructions" in words
    assert [each for each in words if each.startswith("large: ")] == ["large: cortex-m4, balanced, -Os"]
    assert "accuracy 0.95" in words
    assert "5,000" in words


def test_cost_is_drawn_as_ram_against_the_others_in_a_colour_for_each_target() -> None:
    """Two plots."""
    rows = (*ROWS, row("<other>", 500, 500, 50, target="cortex-m0plus"))
    fills, words = _parsed(sweep_svg(rows, Objective(), _BUDGET))
    assert len(set(fills) - {"#ffffff"}) == 2
    assert "cortex-m0plus" in words
    assert "<other>: cortex-m0plus, balanced, -Os" in words
    assert not any(each.startswith("accuracy") for each in words)


def test_texts_at_an_axis_have_room_beside_each_other() -> None:
    """Whatever the numbers, with digits of seven pixels; there are two at least, so that the scale can be read."""
    for high in (7, 960, 1_000, 16_000, 700_000, 424_000_000):
        axis = Axis.of([0, high], 0, 320)
        ticks = axis.ticks(7)
        assert len(ticks) >= 2
        for first, second in pairwise(ticks):
            assert axis.at(second) - axis.at(first) > 7 * (len(axis.text(first)) + len(axis.text(second))) / 2


def test_lines_of_the_list_have_a_length() -> None:
    """Long names lose their beginning; weights and granularity are named if they are unusual."""
    long = replace(
        row("folder/" * 20 + "end", 1, 2, 3), setting=Setting("cortex-m4", weights="rice", granularity="tensor")
    )
    _, words = _parsed(sweep_svg([long], Objective(), Budget()))
    (line,) = (each for each in words if each.startswith("…"))
    assert line.endswith("/end: cortex-m4, balanced, -Os, rice, tensor")
    assert len(line) == 56 + len(": ")


def test_limits_inside_of_a_plot_have_their_numbers() -> None:
    """RAM is upwards in both plots, flash is across in one."""
    limits = Budget((("ram_bytes", 5000.0), ("flash_bytes", 9050.0)))
    _, words = _parsed(sweep_svg(ROWS, Objective(), limits))
    assert (words.count("5,000"), words.count("9,050")) == (2, 1)


def test_picture_of_many_rows_stays_small() -> None:
    """Open dots at one place are one, and the list of the best ends after thirty."""
    rows = [row(f"{n}", 1000 + n % 40, 2000 - n % 40, 100 + n // 40) for n in range(20_000)]
    svg = sweep_svg(rows, Objective(), Budget())
    assert len(svg) < 3_000_000
    _, words = _parsed(svg)
    assert "and 10 more" in words


def test_picture_without_rows_or_with_equal_ones_is_drawn() -> None:
    """Axes have a length even then."""
    for rows in ((), (ROWS[-1],), (row("a", 0, 0, 0), row("b", 0, 0, 0)), (row("a", 50, 50, 5, accuracy=-0.5),)):
        for objective in (Objective(), Objective("accuracy", is_maximized=True)):
            ET.fromstring(sweep_svg(rows, objective, _BUDGET))  # noqa: S314 - our own output
