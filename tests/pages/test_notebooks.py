"""What notebooks and prompts show of models, plans and measurements."""

from xml.etree import ElementTree as ET

import kibi
from kibi.frontends.tflite import parse_tflite
from kibi.ir import Graph
from kibi.pages.measured import MeasuredModel
from kibi.planner import Plan
from kibi.reports.measurement import Measurement
from kibi.text.notebook import MOST_ROWS
from tests.engines.networks import residual_network
from tests.pages.networks import chain_bytes, hostile_bytes


def _parsed(shown: Graph | Plan | Measurement) -> ET.Element:
    return ET.fromstring(shown._repr_html_())  # noqa: S314 - made here


def test_short_texts_say_what_a_thing_is() -> None:
    """One line each, not pages of tuples."""
    model = residual_network()
    plan = kibi.plan(model, granularity="tensor")
    assert repr(model) == f"<Graph residual: 4 operators, {len(model.tensors)} tensors>"
    assert repr(plan) == f"<Plan of residual on cortex-m4: arena {plan.arena_bytes:,} bytes (proven)>"
    assert "at least" in repr(kibi.plan(kibi.load(kibi.demo.model_path())))


def test_tables_of_notebooks_have_all_figures(glyphs: MeasuredModel) -> None:
    """Well-formed, with a row for each operator, and a box for each buffer."""
    model, plan, found = glyphs.planned.model, glyphs.planned.plan, glyphs.measurement
    graph, picture, costs = (_parsed(each) for each in (model, plan, found))
    assert len(graph.findall("./table/tbody/tr")) == len(model.nodes)
    assert len(picture.findall("./svg/rect")) == len(plan.buffers)
    assert {float(each.attrib["x"]) >= 0 <= float(each.attrib["y"]) for each in picture.iter("rect")} == {True}
    cells = [each.text for each in costs.iter("td")]
    assert {f"{cost.instructions:,}" for cost in found.ops} <= set(cells)
    assert any((text or "").startswith(f"{found.ram_bytes:,} bytes") for text in cells)
    assert repr(found).startswith("<Measurement of glyphs on cortex-m4: RAM ")


def test_long_models_say_how_much_is_left_out() -> None:
    """A notebook keeps what it shows."""
    model = parse_tflite(chain_bytes(MOST_ROWS + 7), "chain.tflite")
    html = _parsed(model)
    assert len(html.findall("./table/tbody/tr")) == MOST_ROWS
    assert html.findtext("./p") == "7 more"


def test_hostile_names_are_text_in_notebooks() -> None:
    """No element but those of the tables."""
    model = parse_tflite(hostile_bytes(), "<script>.tflite")
    for shown in (model, kibi.plan(model)):
        tags = {each.tag for each in _parsed(shown).iter()}
        assert tags <= {"div", "strong", "table", "thead", "tbody", "tr", "th", "td", "svg", "rect", "title"}
