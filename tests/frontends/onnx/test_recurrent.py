"""LSTM, GRU and RNN beside ONNX Runtime."""

from typing import Any

import numpy as np
import pytest

from kibi.frontends.onnx import convert
from kibi.frontends.tflite import parse_tflite
from tests.frontends.onnx.elsewhere import computed_elsewhere
from tests.frontends.onnx.running import run, run_onnx
from tests.support.amount import share
from tests.support.onnx_models import OnnxBuilder

_GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}
_INPUTS, _HIDDEN = 3, 4


def _model(op: str, direction: str, steps: int, batch: int, *, is_full: bool) -> tuple[Any, dict[str, Any]]:
    """A recurrent layer; a full one has biases, states, peepholes where there are some, and limits."""
    rng = np.random.default_rng(1)
    directions, gates = 2 if direction == "bidirectional" else 1, _GATES[op]
    b = OnnxBuilder(7)
    x = b.input((steps, batch, _INPUTS))
    feeds = {"x": rng.normal(size=(steps, batch, _INPUTS)).astype(np.float32)}
    rows = gates * _HIDDEN
    inputs = [x, b.weights(directions, rows, _INPUTS), b.weights(directions, rows, _HIDDEN)]
    attributes: dict[str, Any] = {"direction": direction, "hidden_size": _HIDDEN}
    if is_full:
        state = rng.normal(size=(directions, batch, _HIDDEN)).astype(np.float32)
        bias = b.constant(rng.normal(size=(directions, 2 * rows)).astype(np.float32))
        inputs += [bias, "", b.input(state.shape, name="hidden")]
        feeds["hidden"] = state
        attributes["clip"] = 1.5
        if op == "LSTM":
            inputs += [b.constant(state), b.constant(rng.normal(size=(directions, 3 * _HIDDEN)).astype(np.float32))]
        if op == "GRU":
            attributes["linear_before_reset"] = 1
    outputs = b.node(op, *inputs, count=3 if op == "LSTM" else 2, **attributes)
    return b.model(*outputs), feeds


@pytest.mark.parametrize("op", _GATES)
@pytest.mark.parametrize("direction", share(["forward", "reverse", "bidirectional"], 2))
@pytest.mark.parametrize("is_full", [False, True])
def test_recurrent_layer_computes_what_onnx_runtime_does(op: str, direction: str, is_full: bool) -> None:
    """All outputs, of one sequence and of several, up to the rounding of float32."""
    for steps, batch in ((1, 1), (4, 3)):
        model, feeds = _model(op, direction, steps, batch, is_full=is_full)
        wanted = computed_elsewhere(model, feeds)
        for mine, its in zip(run_onnx(model, feeds, [each.dtype for each in wanted]), wanted, strict=True):
            np.testing.assert_allclose(mine, its, rtol=1e-5, atol=1e-6)


def test_recurrent_layer_begins_anew_in_each_inference() -> None:
    """The same input gives the same output again: there is no state between two inferences."""
    model, feeds = _model("LSTM", "forward", 4, 1, is_full=False)
    graph = parse_tflite(convert(model.SerializeToString(), "model.onnx").data, "model.tflite")
    assert not any(tensor.is_variable for tensor in graph.tensors)
    first, second = (run(graph, [feeds["x"]])[0].tobytes() for _ in range(2))
    assert first == second


def test_steps_share_their_weights() -> None:
    """Twice the steps make twice the operators, and hardly a byte of weights more."""
    sizes = []
    for steps in (8, 16):
        model, _ = _model("GRU", "forward", steps, 1, is_full=False)
        graph = parse_tflite(convert(model.SerializeToString(), "model.onnx").data, "model.tflite")
        filters = {view["filter"].index for view in graph.views if view.op.name == "FULLY_CONNECTED"}
        sizes.append(len(filters))
    assert sizes[0] == sizes[1]
