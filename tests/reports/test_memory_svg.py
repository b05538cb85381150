"""The SVG picture of a memory plan."""

from dataclasses import replace
from xml.etree import ElementTree as ET

import pytest

from kibi.planner import Plan, plan
from kibi.reports.memory_svg import memory_svg
from kibi.targets import target
from tests.planner.networks import by_row, chain, residual

M4 = target("cortex-m4")
SVG = "{http://www.w3.org/2000/svg}"


def _boxes(svg: str) -> list[dict[str, float]]:
    """The boxes of buffers by x, y, width, height."""
    root = ET.fromstring(svg)  # noqa: S314 - our own output
    found = [each for each in root.iter(f"{SVG}rect") if each.get("class") == "box"]
    return [{key: float(each.attrib[key]) for key in ("x", "y", "width", "height")} for each in found]


def _words(svg: str) -> list[str]:
    root = ET.fromstring(svg)  # noqa: S314 - our own output
    return ["".join(each.itertext()) for each in root.iter(f"{SVG}text")]


def test_memory_svg_boxes_are_to_scale() -> None:
    """Each buffer has a box: height by its bytes, upwards by its offset, and operators are equally wide."""
    net = chain(3, 3, rows=6, width=100)
    made = plan(net, M4)
    boxes = _boxes(memory_svg(net, made))
    assert len(boxes) == len(made.buffers) == 3
    unit = boxes[0]["height"] / made.buffers[0].size_bytes
    floor = max(box["y"] + box["height"] for box in boxes)
    for box, buffer in zip(boxes, made.buffers, strict=True):
        assert box["height"] == pytest.approx(unit * buffer.size_bytes, abs=0.1)
        assert floor - box["y"] - box["height"] == pytest.approx(unit * buffer.offset, abs=0.1)
    widths = [box["width"] for box in boxes]
    assert widths == pytest.approx([450, 900, 450], abs=0.1)


def test_memory_svg_interleaved_rows_are_visible() -> None:
    """Where rows interleave each row has its own box."""
    net = residual(rows=6, row_bytes=100)
    made = plan(net, M4, runs=by_row(net))
    svg = memory_svg(net, made)
    assert len(_boxes(svg)) == len(made.buffers) > len(net.tensors)
    assert "operators 0 to 3 by rows" in _words(svg)


def test_memory_svg_says_what_is_seen() -> None:
    """Title, arena, bound, axes, operators, peak with its holders and every tensor are written down."""
    net = residual(rows=6, row_bytes=100, scratch_bytes=20)
    svg = memory_svg(net, plan(net, M4))
    words = _words(svg)
    assert "net on cortex-m4" in words
    assert "arena 1,820 bytes, lower bound 1,820 bytes, proven optimal for this order" in words
    assert "address (bytes)" in words
    assert {"0", "200", "1,820"} <= set(words)
    assert {"0 WINDOW", "3 SUM", "4 TOTAL"} <= set(words)
    assert "peak 1,820 bytes at 2 WINDOW: b 600 + c 600 + d 600 + scratch 20" in words
    assert all(any(word.startswith(f"t{index}[1, ") for word in words) for index in range(6))
    assert 'fill="url(#scratch)"' in svg


def test_memory_svg_lower_bound_line_where_it_is_not_met() -> None:
    """A plan above its lower bound shows the bound."""
    net = chain(3, 3)
    made = plan(net, M4)
    above = replace(made, arena_bytes=made.arena_bytes + 20, proven_optimal=False)
    assert "lower bound" in _words(memory_svg(net, above))
    assert "lower bound" not in _words(memory_svg(net, made))


def test_memory_svg_hostile_names_are_escaped() -> None:
    """Names from a model are text, whatever is in them."""
    net = chain(3, 3)
    tensors = (*net.tensors[:2], replace(net.tensors[2], name="<script>alert('x')</script>&\x00\ufffe"))
    svg = memory_svg(replace(net, tensors=tensors), plan(net, M4))
    assert "<script>" not in svg
    assert any("<script>alert('x')" in word for word in _words(svg))


def test_memory_svg_same_plan_same_picture() -> None:
    """The picture depends on the plan alone, not on how long planning took."""
    net = residual()
    made = plan(net, M4)
    assert memory_svg(net, made) == memory_svg(net, replace(made, solve_seconds=9.0))


def test_memory_svg_plan_without_steps_is_drawn() -> None:
    """Nothing is divided by zero where there is nothing to draw."""
    net = replace(chain(1), nodes=(), outputs=(0,))
    ET.fromstring(memory_svg(net, Plan("net", "cortex-m4", (), (), 0, 0, proven_optimal=True)))  # noqa: S314 - ours
