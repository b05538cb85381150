"""The model inside of a page: its module, its golden input, and when it is left out."""

import hashlib
from base64 import b64decode
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import kibi
from kibi import demo
from kibi.arrays.images import image_array
from kibi.errors import ToolchainError
from kibi.frontends.tflite import parse_tflite
from kibi.pages.machine import WASM, digest_of, machine_record, why_not
from kibi.pages.measured import MeasuredModel
from kibi.planner import PlannedModel
from kibi.runtime import seeded_inputs
from kibi.toolchain.wasm import link_wasm
from tests.support.choices import Seeded
from tests.support.operator_models import OPERATOR_MODELS


def test_golden_digest_is_that_of_the_python_runtime(glyphs: MeasuredModel, glyphs_machine: dict[str, Any]) -> None:
    """Of all outputs after as many inferences; and the golden input is the one that was measured."""
    golden = glyphs_machine["golden"]
    inputs = seeded_inputs(glyphs.planned.model, 0)
    assert [b64decode(each) for each in golden["inputs"]] == [each.tobytes() for each in inputs]
    interpreter = kibi.Interpreter(glyphs.planned.model, glyphs.planned.plan)
    outputs = [interpreter.run(inputs) for _ in range(golden["runs"])][-1]
    assert golden["sha256"] == hashlib.sha256(b"".join(each.tobytes() for each in outputs)).hexdigest()
    assert golden["sha256"] == digest_of(outputs)


def test_pixels_are_those_of_kibi_run(glyphs: MeasuredModel, glyphs_machine: dict[str, Any]) -> None:
    """The table gives what a picture of these pixels becomes."""
    (end,) = glyphs_machine["inputs"]
    pixels = demo.samples()[0][3]
    graph = glyphs.planned.model
    expected = image_array(graph, graph.tensors[graph.inputs[0]], pixels)
    assert np.array_equal(np.array(end["pixels"])[pixels], expected.reshape(pixels.shape))
    assert (end["scale"], end["zero_point"]) == (np.float32(1 / 255), -128)


def test_module_exports_the_functions_of_the_model(glyphs_machine: dict[str, Any]) -> None:
    """And imports nothing: it has no section of imports, whose number is 2."""
    module = b64decode(glyphs_machine["wasm"])
    for name in ("init", "input", "output", "invoke"):
        assert f"glyphs_{name}".encode() in module
    sections, place = [], 8
    while place < len(module):
        sections.append(module[place])
        size = shift = 0
        place += 1
        while True:
            size |= (module[place] & 127) << shift
            shift, place = shift + 7, place + 1
            if module[place - 1] < 128:
                break
        place += size
    assert 2 not in sections


def test_plan_that_a_page_cannot_imitate_leaves_the_model_out(glyphs: MeasuredModel) -> None:
    """Streamed inputs, external buffers, several memories."""
    graph = glyphs.simplified.graph
    for options in ({"input": "streamed"}, {"output": "external"}):
        planned = PlannedModel.of(graph, kibi.plan(graph, **options))  # type: ignore[arg-type]  # a choice of options
        found = machine_record(replace(glyphs, planned=planned))
        assert found.keys() == {"left_out"}
        assert "in another way" in found["left_out"]
    assert why_not(glyphs) == ""


def test_function_that_is_missing_is_named() -> None:
    """A module without what the page calls is not made."""
    with pytest.raises(ToolchainError, match="absent_function"):
        link_wasm([], WASM, ["absent_function"])


def test_model_with_variables_has_a_reset() -> None:
    """So that the golden input begins with the first values."""
    drawn = OPERATOR_MODELS["SVDF"](Seeded(0))
    made = kibi.report(parse_tflite(drawn.model, "svdf.tflite"), oracle=False)
    assert b'"has_variables":true' in made.page
    assert b"svdf_reset" in b64decode(made.page.split(b'"wasm":"')[1].split(b'"')[0])
