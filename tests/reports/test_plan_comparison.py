"""Plans side by side."""

from dataclasses import replace
from xml.etree import ElementTree as ET

import pytest

from kibi.planner import Granularity, Handover, PlannedModel, plan
from kibi.reports.memory_comparison_svg import memory_comparison_svg
from kibi.reports.plan_comparison import ComparedPlan, comparison_record, times_smaller
from kibi.targets import target
from tests.planner.networks import by_row, chain, residual

M4 = target("cortex-m4")
SVG = "{http://www.w3.org/2000/svg}"


def _planned() -> list[ComparedPlan]:
    net, other = residual(rows=16, row_bytes=100), chain(3, rows=4, width=10)
    rows = plan(net, M4, granularity=Granularity.ROW)
    streamed = plan(net, M4, granularity=Granularity.ROW, inputs=Handover.STREAMED)
    return [
        ComparedPlan(PlannedModel.of(net, plan(net, M4)), "by the tensor"),
        ComparedPlan(PlannedModel.of(net, rows), "by the row"),
        ComparedPlan(PlannedModel.of(net, streamed), "by the row, input streamed"),
        ComparedPlan(PlannedModel.of(replace(other, name="other"), plan(other, M4)), "by the tensor"),
    ]


def test_planned_model_says_how_good_its_plan_is() -> None:
    """Proven, or how far from the bound."""
    net = chain(3, 3)
    made = plan(net, M4)
    assert ComparedPlan(PlannedModel.of(net, made), "").proof == "proven"
    above = replace(made, arena_bytes=made.lower_bound_bytes * 5 // 4, proven_optimal=False)
    assert ComparedPlan(PlannedModel.of(net, above), "").proof == "gap 25.0%"
    assert ComparedPlan(PlannedModel.of(net, replace(made, lower_bound_bytes=0)), "").gap == 0.0


def test_planned_model_is_named_as_asked_and_as_made() -> None:
    """Where whole tensors do, a plan by the row says so."""
    net = chain(1, rows=1, width=10)
    made = plan(net, M4, granularity=Granularity.ROW)
    assert ComparedPlan(PlannedModel.of(net, made), "by the row").manner == "by the row: whole tensors do"
    assert ComparedPlan(PlannedModel.of(net, made), "by the tensor").manner == "by the tensor"
    assert ComparedPlan(PlannedModel.of(net, made), "").manner == "by the tensor"


def test_table_entries_count_the_order_and_scattered_rows() -> None:
    """Whole tensors need no tables; interleaved rows one entry for each run, and one for each row of a scattered tensor."""
    net = chain(3, 3, rows=8)
    assert ComparedPlan(PlannedModel.of(net, plan(net, M4)), "").table_entries == 0
    made = plan(net, M4, runs=by_row(net))
    scattered = len(made.row_offsets(net, 1))
    assert ComparedPlan(PlannedModel.of(net, made), "").table_entries == len(made.runs) + scattered


def test_times_smaller_compares_with_the_same_models_first_plan() -> None:
    """The first plan of each model is compared with nothing."""
    planned = _planned()
    ratios = [times_smaller(planned, number) for number in range(4)]
    assert ratios[0] is None
    assert ratios[3] is None
    assert ratios[1] == pytest.approx(planned[0].plan.arena_bytes / planned[1].plan.arena_bytes)
    assert ratios[2] is not None
    assert ratios[1] is not None
    assert ratios[2] >= ratios[1] > 1


def test_comparison_record_is_that_of_each_plan_and_more() -> None:
    """A list, as JSON has it, with the keys of a single plan."""
    records = comparison_record(_planned())
    assert [record["variant"] for record in records[:2]] == ["by the tensor", "by the row"]
    assert all(
        {"arena_bytes", "lower_bound_bytes", "proven_optimal", "table_entries", "gap"} <= set(r) for r in records
    )


def test_comparison_svg_has_one_scale() -> None:
    """A byte is equally high in all plots: heights of boxes are in proportion to their bytes."""
    planned = _planned()
    root = ET.fromstring(memory_comparison_svg(planned))  # noqa: S314 - our own output
    heights = [float(box.attrib["height"]) for box in root.iter(f"{SVG}rect") if box.get("class") == "box"]
    sizes = [buffer.size_bytes for each in planned for buffer in each.plan.buffers]
    assert len(heights) == len(sizes)
    unit = heights[0] / sizes[0]
    assert heights == pytest.approx([unit * size for size in sizes], abs=0.02)


def test_comparison_svg_names_models_arenas_and_bounds() -> None:
    """Each plot has its model, bytes and proof above it; each model starts a line."""
    planned = _planned()
    root = ET.fromstring(memory_comparison_svg(planned))  # noqa: S314 - our own output
    words = ["".join(text.itertext()) for text in root.iter(f"{SVG}text")]
    assert "net, other on cortex-m4" in words
    assert "net, by the row" in words
    assert all(f"{each.plan.arena_bytes:,} bytes" in words for each in planned)
    assert any("proven" in word and "times smaller" in word for word in words)
    tops = {text.text: text.get("y") for text in root.iter(f"{SVG}text")}
    assert tops["net, by the tensor"] == tops["net, by the row"] != tops["other, by the tensor"]


def test_comparison_svg_single_plans_of_models_share_a_line() -> None:
    """Two models with a plan each stand side by side."""
    planned = [_planned()[0], _planned()[3]]
    root = ET.fromstring(memory_comparison_svg(planned, "two"))  # noqa: S314 - our own output
    tops = {text.text: text.get("y") for text in root.iter(f"{SVG}text")}
    assert tops["net, by the tensor"] == tops["other, by the tensor"]
    assert "two" in tops
