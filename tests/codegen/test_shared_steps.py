"""Step functions that several nodes share: which nodes may, and that what they read is right."""

from pathlib import Path

import numpy as np
import pytest

import kibi
from kibi.dtypes import DType
from kibi.engines import DeviceEngine, HostEngine
from kibi.frontends.tflite import parse_tflite
from kibi.frontends.tflite.builder import Attribute, ModelBuilder
from kibi.ir import Graph
from kibi.runtime import seeded_inputs

_LAYERS = 3
"""Enough of one kind that sharing a function pays."""


def _network(batches: int, dilation: int, channels: int = 3, width: int = 6) -> Graph:
    """Convolutions that differ in their weights alone."""
    random, builder = np.random.default_rng(3), ModelBuilder()
    shape = [batches, 9, width, channels]
    tensor = builder.input(shape, DType.S8, 0.05, 4)
    for _ in range(_LAYERS):
        weights = builder.constant(random.integers(-127, 128, (channels, 3, 3, channels)).astype(np.int8), 0.004, 0)
        output = builder.tensor(shape, DType.S8, 0.07, 4)
        options: dict[str, Attribute] = {
            "padding": "SAME",
            "stride_h": 1,
            "stride_w": 1,
            "dilation_h_factor": dilation,
            "dilation_w_factor": dilation,
        }
        builder.operator("CONV_2D", [tensor, weights], [output], options)
        tensor = output
    return parse_tflite(builder.finish([tensor]), "alike.tflite")


@pytest.mark.parametrize(("batches", "dilation"), [(1, 1), (2, 1), (1, 2)])
def test_layers_of_one_kind_read_their_own_rows(batches: int, dilation: int, tmp_path: Path) -> None:
    """Layers that are alike share a function, but for those whose batches or dilated windows it knows nothing of."""
    model = _network(batches, dilation)
    library = kibi.compile(model, kibi.plan(model, "host"), tmp_path, target="host")
    is_shared = "node_steps" in library.files["alike.c"]
    assert is_shared == (batches == dilation == 1)
    inputs = seeded_inputs(model, 0)
    np.testing.assert_array_equal(HostEngine(library).run(inputs)[0], kibi.run(model, None, inputs)[0])


def test_layers_of_one_kind_read_their_own_copies(tmp_path: Path) -> None:
    """Of layers that share a function, those whose constants are copied read the copy, in the place that their data say."""
    model = _network(1, 1, channels=8, width=18)
    library = kibi.compile(model, kibi.plan(model, "cortex-m4", goal="speed"), tmp_path, target="cortex-m4")
    text = library.files["alike.c"]
    assert "staged(" in text
    assert "node_steps" in text
    inputs = seeded_inputs(model, 0)
    wanted = kibi.run(model, None, inputs)[0]
    np.testing.assert_array_equal(DeviceEngine(library).run(inputs)[0], wanted)
    np.testing.assert_array_equal(HostEngine(library).run(inputs)[0], wanted)
