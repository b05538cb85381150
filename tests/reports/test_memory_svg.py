"""The SVG picture of a memory plan."""

from dataclasses import replace
from xml.etree import ElementTree as ET

import pytest

from kibi.ir import Graph
from kibi.planner import Granularity, Handover, Plan, PlannedModel, plan
from kibi.planner.plan import RegionUse
from kibi.reports import memory_plot, memory_png
from kibi.reports import memory_svg as pictures
from kibi.reports.memory_svg import memory_svg
from kibi.reports.memory_timeline import highest_stretch, legend, stretches
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
    boxes = _boxes(memory_svg(PlannedModel.of(net, made)))
    assert len(boxes) == len(made.buffers) == 3
    unit = boxes[0]["height"] / made.buffers[0].size_bytes
    floor = max(box["y"] + box["height"] for box in boxes)
    for box, buffer in zip(boxes, made.buffers, strict=True):
        assert box["height"] == pytest.approx(unit * buffer.size_bytes, abs=0.1)
        assert floor - box["y"] - box["height"] == pytest.approx(unit * buffer.offset, abs=0.1)
    widths = [box["width"] for box in boxes]
    assert widths == pytest.approx([430, 860, 430], abs=0.1)


def test_memory_svg_interleaved_rows_are_visible() -> None:
    """Where rows interleave each row has its own box."""
    net = residual(rows=6, row_bytes=100)
    made = plan(net, M4, runs=by_row(net))
    svg = memory_svg(PlannedModel.of(net, made))
    assert len(_boxes(svg)) == len(made.buffers) > len(net.tensors)
    assert "net on cortex-m4, by the row" in _words(svg)


def test_memory_svg_says_what_is_seen() -> None:
    """Title, arena, bound, axes, operators, peak with its holders and every tensor are written down."""
    net = residual(rows=6, row_bytes=100, scratch_bytes=20)
    svg = memory_svg(PlannedModel.of(net, plan(net, M4)))
    words = _words(svg)
    assert "net on cortex-m4, by the tensor" in words
    assert "arena 1,820 bytes: proven to be the least that this order of steps allows" in words
    assert "address (bytes)" in words
    assert {"0", "200", "1,820"} <= set(words)
    assert {"model input", "WINDOW", "SUM", "TOTAL", "scratch"} <= set(words)
    assert "peak 1,820 bytes at 2 WINDOW" in words
    at = words.index("Who holds the peak")
    assert words[at + 1 : at + 13] == [
        *("0", "t1", "6 rows", "600"), *("1", "t2", "6 rows", "600"), *("2", "t3", "6 rows", "600")
    ]  # fmt: skip
    assert all(f"t{index}" in words for index in range(6))
    assert 'fill="url(#scratch)"' in svg


def test_memory_svg_lower_bound_line_where_it_is_not_met() -> None:
    """A plan above its lower bound shows the bound."""
    net = chain(3, 3)
    made = plan(net, M4)
    above = replace(made, arena_bytes=made.arena_bytes + 20, proven_optimal=False)
    words = f"lower bound {made.lower_bound_bytes}"
    assert words in _words(memory_svg(PlannedModel.of(net, above)))
    assert words not in _words(memory_svg(PlannedModel.of(net, made)))


def test_memory_svg_hostile_names_are_escaped() -> None:
    """Names from a model are text, whatever is in them."""
    net = chain(3, 3)
    tensors = (*net.tensors[:2], replace(net.tensors[2], name="<script>alert('x')</script>&\x00\ufffe"))
    svg = memory_svg(PlannedModel.of(replace(net, tensors=tensors), plan(net, M4)))
    assert "<script>" not in svg
    assert any("<script>alert('x')" in word for word in _words(svg))


def test_memory_svg_same_plan_same_picture() -> None:
    """The picture depends on the plan alone, not on how long planning took."""
    net = residual()
    made = plan(net, M4)
    assert memory_svg(PlannedModel.of(net, made)) == memory_svg(PlannedModel.of(net, replace(made, solve_seconds=9.0)))


def test_memory_svg_plan_without_steps_is_drawn() -> None:
    """Nothing is divided by zero where there is nothing to draw."""
    net = replace(chain(1), nodes=(), outputs=(0,))
    ET.fromstring(memory_svg(PlannedModel.of(net, Plan("net", "cortex-m4", (), (), 0, 0, proven_optimal=True))))  # noqa: S314 - ours


def test_memory_svg_streamed_input_has_a_lane_of_its_own() -> None:
    """The node that receives rows is shown as the input that it is, with the steps at which rows arrive."""
    net = chain(3, 3)
    made = plan(net, M4, granularity=Granularity.ROW, inputs=Handover.STREAMED)
    words = _words(memory_svg(PlannedModel.of(net, made)))
    assert "net on cortex-m4, by the row, input streamed" in words
    assert "STREAM_INPUT" in words
    assert "in" in words


def test_memory_svg_many_operators_have_lanes_that_do_not_touch() -> None:
    """A lane for each of sixty operators, each with its number, name and a colour of its own."""
    net = chain(*[3] * 60)
    svg = memory_svg(PlannedModel.of(net, plan(net, M4)))
    words = _words(svg)
    assert {str(number) for number in range(60)} <= set(words)
    assert words.count("WINDOW") == 60
    assert len({entry.color for entry in legend(net, plan(net, M4))}) == 61


def _shared() -> tuple[Graph, Plan]:
    """A chain of single rows whose second operator works in the place of its input, as if its kernel allowed it."""
    net = chain(1, 1, rows=1, width=100)
    made = plan(net, M4)
    first, second, third = sorted(made.buffers, key=lambda buffer: buffer.tensor or 0)
    buffers = (replace(first, offset=100), replace(second, offset=0), replace(third, offset=20))
    return net, replace(made, buffers=buffers, arena_bytes=200, lower_bound_bytes=120, proven_optimal=False)


def test_memory_svg_shared_bytes_are_striped_and_counted_once() -> None:
    """Where an output is made in its input's place there are stripes of exactly that size, and the peak says so."""
    net, made = _shared()
    svg = memory_svg(PlannedModel.of(net, made))
    root = ET.fromstring(svg)  # noqa: S314 - our own output
    (stripes,) = [each for each in root.iter(f"{SVG}rect") if each.get("fill") == "url(#shared)"]
    assert float(stripes.attrib["height"]) == pytest.approx(_boxes(svg)[0]["height"] * 0.8, abs=0.1)
    assert any("striped" in word for word in _words(svg))
    highest = highest_stretch(made)
    assert highest is not None
    assert (highest.start, highest.live_bytes, highest.shared_bytes) == (0, 200, 0)
    second = list(stretches(made))[1]
    assert (second.live_bytes, second.shared_bytes) == (120, 80)


def test_memory_svg_regions_are_stacked_and_named() -> None:
    """Buffers of two memories do not lie on one another, and each memory's name stands where it starts."""
    net = chain(1, rows=1, width=100)
    made = plan(net, M4)
    buffers = tuple(
        replace(buffer, offset=0, region=name) for buffer, name in zip(made.buffers, ("fast", "slow"), strict=True)
    )
    regions = tuple(RegionUse(name, 4096, 100, 100, 0, 100, 1.0) for name in ("fast", "slow"))
    svg = memory_svg(PlannedModel.of(net, replace(made, buffers=buffers, regions=regions, arena_bytes=200)))
    assert {"fast", "slow"} <= set(_words(svg))
    assert "url(#shared)" not in svg.partition("</defs>")[2]
    tops = sorted(box["y"] for box in _boxes(svg))
    assert tops[1] - tops[0] == pytest.approx(_boxes(svg)[0]["height"], abs=0.1)


def test_live_bytes_of_each_stretch_are_those_that_some_buffer_holds() -> None:
    """The sweep over lives gives what each moment's buffers cover, byte by byte, where bytes are shared too."""
    net = residual(rows=6, row_bytes=100, scratch_bytes=20)
    for made in (plan(net, M4), plan(net, M4, runs=by_row(net)), _shared()[1]):
        for each in stretches(made):
            held = {byte for buffer in each.live for byte in range(buffer.offset, buffer.offset + buffer.size_bytes)}
            assert each.live_bytes == len(held)


def test_picture_of_more_than_can_be_seen_shows_the_largest_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """Boxes, lanes and width have bounds, and the picture says what it leaves out."""
    net = residual(rows=6, row_bytes=100)
    made = plan(net, M4, runs=by_row(net))
    monkeypatch.setattr(memory_plot, "MOST_BOXES", 4)
    monkeypatch.setattr(pictures, "MOST_BOXES", 4)
    monkeypatch.setattr(pictures, "_MOST_LANES", 2)
    svg = memory_svg(PlannedModel.of(net, made))
    assert len(_boxes(svg)) == 4
    said = " ".join(_words(svg))
    assert f"4 of {len(made.buffers)} buffers are drawn, the largest" in said
    assert "tensors have a lane, the largest" in said


@pytest.mark.slow
def test_png_of_a_large_picture_has_fewer_pixels_for_each_unit() -> None:
    """However large the drawing, no more than 25 million pixels are drawn."""
    svg = '<svg xmlns="http://www.w3.org/2000/svg" width="20000" height="20000"></svg>'
    data = memory_png.png(svg)
    assert 4_900 <= int.from_bytes(data[16:20], "big") <= 5_000
