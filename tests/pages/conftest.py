"""The model that Kibi ships, planned and measured once for all tests of reports."""

from typing import Any

import pytest

import kibi
from kibi import demo
from kibi.pages.machine import machine_record
from kibi.pages.measured import MeasuredModel, measured_model
from kibi.pages.record import report_record
from kibi.passes import simplify
from kibi.quantization.comparing import LayerComparison, LayerError
from kibi.targets import target


@pytest.fixture(scope="session")
def glyphs() -> MeasuredModel:
    """The shipped model, planned by the row for a Cortex-M4."""
    simplified = simplify(kibi.load(demo.model_path()))
    return measured_model(simplified, kibi.plan(simplified.graph), target("cortex-m4"), oracle=False)


@pytest.fixture(scope="session")
def glyphs_record(glyphs: MeasuredModel) -> dict[str, Any]:
    """Its record, without another model to compare with."""
    return report_record(glyphs)


@pytest.fixture(scope="session")
def glyphs_errors(glyphs: MeasuredModel) -> LayerComparison:
    """Errors of its layers as if they had been measured: the second layer has no partner, the third one is equalized."""
    graph = glyphs.planned.graph
    names = [graph.tensors[node.outputs[0]].name for node in graph.nodes]
    layers = [LayerError(name, name, 40.0 - 2.5 * number, -1.25, number == 2) for number, name in enumerate(names)]
    return LayerComparison("<float>.tflite", "data.npz", 32, (layers[0], *layers[2:]), (names[1],))


@pytest.fixture(scope="session")
def glyphs_machine(glyphs: MeasuredModel) -> dict[str, Any]:
    """The model itself, for its page."""
    return machine_record(glyphs, demo.labels)
