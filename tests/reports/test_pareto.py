"""Which choices are worth having."""

from dataclasses import replace
from xml.etree import ElementTree as ET

from hypothesis import given
from hypothesis import strategies as st

from kibi.reports.pareto import Choice, is_dominated, pareto_optimal, pareto_record
from kibi.reports.pareto_svg import pareto_svg

SVG = "{http://www.w3.org/2000/svg}"


def _choice(ram: int, flash: int, instructions: int) -> Choice:
    return Choice("by the row", "s", ram, ram, True, ram, flash, instructions, None, 0.0)


CHOICES = (_choice(100, 10, 10), _choice(50, 12, 11), _choice(50, 12, 12), _choice(100, 10, 10), _choice(120, 9, 10))


def test_pareto_optimal_is_what_nothing_beats() -> None:
    """The third needs more instructions than the second for nothing; equals do not beat each other."""
    assert pareto_optimal(CHOICES) == (True, True, False, True, True)
    assert is_dominated(CHOICES[2], by=CHOICES[1])
    assert not is_dominated(CHOICES[0], by=CHOICES[3])


@given(st.lists(st.tuples(*[st.integers(0, 4)] * 3), min_size=1, max_size=8))
def test_pareto_optimal_leaves_something_and_covers_the_rest(costs: list[tuple[int, int, int]]) -> None:
    """Something is always optimal, and whatever is not has an optimal choice that beats it."""
    choices = [_choice(*cost) for cost in costs]
    best = [choice for choice, is_best in zip(choices, pareto_optimal(choices), strict=True) if is_best]
    assert best
    for choice, is_best in zip(choices, pareto_optimal(choices), strict=True):
        assert is_best or any(is_dominated(choice, other) for other in best)


def test_pareto_record_marks_the_optimal() -> None:
    """JSON has the same facts."""
    record = pareto_record("net", "cortex-m4", CHOICES[:3])
    assert (record["model"], record["target"]) == ("net", "cortex-m4")
    assert [choice["pareto_optimal"] for choice in record["choices"]] == [True, True, False]
    assert record["choices"][1]["ram_bytes"] == 50


def test_pareto_svg_has_a_dot_for_each_choice_in_both_plots() -> None:
    """And one in the legend; open ones are those that are not worth having."""
    root = ET.fromstring(pareto_svg("<net>", "cortex-m4", CHOICES[:3]))  # noqa: S314 - our own output
    dots = [circle.attrib["fill"] for circle in root.iter(f"{SVG}circle")]
    assert len(dots) == 9
    assert dots.count("#ffffff") == 3
    words = ["".join(text.itertext()) for text in root.iter(f"{SVG}text")]
    assert "<net> on cortex-m4: RAM against instructions and flash" in words
    assert words.count("by the row, -Os") == 3


def test_pareto_svg_of_a_single_choice_and_of_zeros() -> None:
    """Axes have a length even where all values are the same, or nothing."""
    for choice in (CHOICES[0], replace(CHOICES[0], ram_bytes=0, flash_bytes=0, instructions=0)):
        root = ET.fromstring(pareto_svg("net", "host", [choice]))  # noqa: S314 - our own output
        places = [float(circle.attrib[key]) for circle in root.iter(f"{SVG}circle") for key in ("cx", "cy")]
        assert len(places) == 6
        assert all(0 < place < 1200 for place in places)
