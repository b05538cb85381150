"""The events on the page of a report."""

from typing import Any

import kibi
from kibi.dtypes import DType
from kibi.eager.events import event_id
from kibi.eager.inference_events import EVENTS
from kibi.eager.own_events import own_events
from kibi.frontends.tflite import parse_tflite
from kibi.frontends.tflite.builder import ModelBuilder
from kibi.pages.html import report_page
from kibi.pages.measured import MeasuredModel


def test_events_are_those_of_the_c_code_with_what_occurred(
    glyphs: MeasuredModel, glyphs_record: dict[str, Any]
) -> None:
    """Each that the model's C file names, with the id that it states; what the measured run reported comes first."""
    found = glyphs_record["events"]
    assert found["inferences"] == 2
    occurred = [(each["name"], each["count"]) for each in found["types"] if each["count"]]
    assert (
        occurred
        == [("InferenceEnded", 2), ("InferenceStarted", 2)]
        == [(each["name"], each["count"]) for each in found["types"][:2]]
    )
    text = glyphs.library.files["glyphs.c"]
    for each in found["types"]:
        assert each["ids"] == {str(width): event_id(each["name"], width) for width in (1, 2, 4)}
        assert f"KIBI_{each['kind'].upper()}({each['name']}, 0x{each['ids']['4']:08x}u);" in text
    assert {each["name"] for each in found["types"]} == {
        kind.name for kind in own_events() if f"({kind.name}, 0x" in text
    }
    page = report_page(glyphs_record, {"left_out": "."}).decode()
    assert '<th scope="row">InferenceEnded</th><td>event</td><td><code>0x5e804ac0</code></td>' in page
    assert "2 inferences of the measured run" in page


def test_rows_of_a_streamed_input_are_counted() -> None:
    """Each row that the plan receives is an event of the run."""
    builder = ModelBuilder()
    given = builder.input((1, 3, 2, 1), DType.S8, 0.05, 0)
    made = builder.tensor((1, 3, 2, 1), DType.S8, 0.05, 0)
    builder.operator("ABS", [given], [made])
    model = parse_tflite(builder.finish([made]), "abs.tflite")
    record = kibi.report(model, kibi.plan(model, input="streamed"), oracle=False).record
    counts = {each["name"]: each["count"] for each in record["events"]["types"]}
    assert counts["RowReceived"] == 3 * record["events"]["inferences"]
    assert counts["OutOfSequence"] == 0
    assert {each["kind"] for each in record["events"]["types"] if each["name"] in {kind.name for kind in EVENTS}} == {
        "event"
    }


def test_warnings_about_data_are_on_the_page(glyphs_record: dict[str, Any]) -> None:
    """As text, whatever they hold."""
    record = {**glyphs_record, "evaluation": {"warnings": ["values <b> look normalised."]}}
    assert (
        "About the data, Kibi warns: values &lt;b&gt; look normalised."
        in report_page(record, {"left_out": "."}).decode()
    )
