"""The picture of the packages: a box for each, and lines that a reader can follow."""

from typing import NamedTuple
from xml.etree import ElementTree as ET

import pytest

from tests.docs.documents import DOCS
from tests.test_layers import RANK

_SVG = "{http://www.w3.org/2000/svg}"
_PAST = 0.05
"""Pixels that rounding in the file may add."""


class _Box(NamedTuple):
    left: float
    top: float
    right: float
    bottom: float


class _Line(NamedTuple):
    x1: float
    y1: float
    x2: float
    y2: float


@pytest.fixture(scope="module")
def picture() -> ET.Element:
    return ET.fromstring((DOCS / "images" / "packages.svg").read_text(encoding="utf-8"))  # noqa: S314 - our own file


def _boxes(picture: ET.Element) -> list[_Box]:
    """The boxes of packages; the first rectangle of the document is its paper."""
    rectangles = picture.findall(f"{_SVG}rect")[1:]
    sides = [[float(each.attrib[name]) for name in ("x", "y", "width", "height")] for each in rectangles]
    return [_Box(x, y, x + width, y + height) for x, y, width, height in sides]


def _lines(picture: ET.Element) -> list[_Line]:
    return [
        _Line(*(float(each.attrib[name]) for name in ("x1", "y1", "x2", "y2")))
        for each in picture.findall(f"{_SVG}line")
    ]


def _crosses(line: _Line, box: _Box) -> bool:
    """True if a part of the line is inside of the box: clipped to it by Liang and Barsky's rule, it is not empty."""
    first, last = 0.0, 1.0
    dx, dy = line.x2 - line.x1, line.y2 - line.y1
    inside = (
        (-dx, line.x1 - box.left),
        (dx, box.right - line.x1),
        (-dy, line.y1 - box.top),
        (dy, box.bottom - line.y1),
    )
    for slope, distance in inside:
        room = distance - _PAST
        if slope == 0 and room <= 0:
            return False
        if slope < 0:
            first = max(first, room / slope)
        elif slope > 0:
            last = min(last, room / slope)
    return first < last


def test_rule_of_crossings_knows_what_crosses() -> None:
    """A line through a box crosses it; one along its edge, or past its corner, does not."""
    box = _Box(10, 10, 30, 20)
    assert _crosses(_Line(0, 0, 40, 30), box)
    assert _crosses(_Line(20, 0, 20, 40), box)
    assert _crosses(_Line(20, 12, 20, 18), box)
    assert not _crosses(_Line(10, 0, 10, 40), box)
    assert not _crosses(_Line(20, 20, 20, 40), box)
    assert not _crosses(_Line(0, 25, 9, 0), box)


def test_no_line_passes_under_a_box(picture: ET.Element) -> None:
    """Each line can be seen from end to end."""
    boxes, lines = _boxes(picture), _lines(picture)
    assert len(lines) >= len(boxes) > 20
    assert not [(line, box) for line in lines for box in boxes if _crosses(line, box)]


def test_boxes_do_not_overlap_and_each_is_a_package(picture: ET.Element) -> None:
    """There is one box for each package, and none lies over another."""
    boxes = _boxes(picture)
    names = [str(each.text) for each in picture.findall(f"{_SVG}text")][::2]
    assert sorted(names) == sorted(RANK.keys() - {"__main__"})
    assert len(boxes) == len(names)
    for index, one in enumerate(boxes):
        for other in boxes[index + 1 :]:
            assert one.right < other.left or other.right < one.left or one.bottom < other.top or other.bottom < one.top


def test_lines_end_at_boxes_or_at_one_another(picture: ET.Element) -> None:
    """A line goes downwards, from a box to a box, without a gap."""
    boxes, lines = _boxes(picture), _lines(picture)
    starts = {(line.x1, line.y1) for line in lines}
    ends = {(line.x2, line.y2) for line in lines}
    for line in lines:
        assert line.y1 < line.y2
    for x, y in starts - ends:
        assert any(box.left <= x <= box.right and abs(y - box.bottom) < _PAST for box in boxes)
    for x, y in ends - starts:
        assert any(box.left <= x <= box.right and abs(y - box.top) < _PAST for box in boxes)
