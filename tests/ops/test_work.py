"""What a row costs in the references: what is the same for all rows is found once, and gates are computed together."""

from typing import Any

import numpy as np
import pytest

from kibi.dtypes import DType
from kibi.frontends.tflite import parse_tflite
from kibi.frontends.tflite.builder import ModelBuilder
from kibi.ir import Graph
from kibi.ops.attributes import Activation
from kibi.ops.recurrent import lstm_floats, lstm_integers
from kibi.ops.windows.pooling import Spans
from kibi.runtime import Interpreter, seeded_inputs


def _lstm(dtype: DType, times: int) -> Graph:
    """A layer of three units on vectors of two elements."""
    b, rng, is_float = ModelBuilder(), np.random.default_rng(times), dtype is DType.F32
    x = b.input([1, times, 2], dtype, *(() if is_float else (0.05, 3)))

    def weights(*shape: int) -> int:
        drawn = rng.integers(-127, 128, shape)
        return b.constant(drawn.astype(np.float32)) if is_float else b.constant(drawn.astype(np.int8), 0.01, 0)

    own, recurrent = [weights(3, 2) for _ in range(4)], [weights(3, 3) for _ in range(4)]
    biases = [b.constant(np.zeros(3, np.float32 if is_float else np.int32)) for _ in range(4)]
    scale, cell_scale = ((), ()) if is_float else ((2.0**-7, 0), (2.0**-11, 0))
    hidden = b.tensor([1, 3], dtype, *scale, variable=True)
    cells = b.tensor([1, 3], dtype if is_float else DType.S16, *cell_scale, variable=True)
    y = b.tensor([1, times, 3], dtype, *scale)
    operands = [x, *own, *recurrent, -1, -1, -1, *biases, -1, -1, hidden, cells, -1, -1, -1, -1]
    b.operator("UNIDIRECTIONAL_SEQUENCE_LSTM", operands, [y], fused_activation_function="TANH")
    return parse_tflite(b.finish([y]), "lstm.tflite")


def _pool(name: str, dtype: DType, rows: int) -> Graph:
    b, quantization = ModelBuilder(), () if dtype is DType.F32 else (0.05, 3)
    x, y = b.input([1, rows, 5, 2], dtype, *quantization), b.tensor([1, rows, 5, 2], dtype, *quantization)
    sizes = {"filter_width": 3, "filter_height": 2, "stride_w": 1, "stride_h": 1}
    b.operator(name, [x], [y], sizes, padding="SAME")
    return parse_tflite(b.finish([y]), "pool.tflite")


def _calls(patch: pytest.MonkeyPatch, owner: object, name: str, graph: Graph) -> int:
    """How often a function is called while a model is made ready and runs."""
    original, calls = getattr(owner, name), list[int]()

    def counting(*arguments: Any) -> Any:
        calls.append(1)
        return original(*arguments)

    with patch.context() as inner:
        inner.setattr(owner, name, counting)
        Interpreter(graph).run(seeded_inputs(graph, 0))
    return len(calls)


@pytest.mark.parametrize("times", [3, 9])
def test_lstm_multiplies_all_gates_at_once(monkeypatch: pytest.MonkeyPatch, times: int) -> None:
    """A step takes one product of the vector and one of the hidden state; of integers five scalings, not one for each gate."""
    assert _calls(monkeypatch, lstm_floats, "add_products", _lstm(DType.F32, times)) == 2 * times
    assert _calls(monkeypatch, lstm_integers, "requantize", _lstm(DType.S8, times)) == 5 * times


@pytest.mark.parametrize("name", ["MAX_POOL_2D", "AVERAGE_POOL_2D"])
def test_pooling_quantizes_the_limits_of_its_activation_as_often_for_many_rows_as_for_few(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """They are the same for all rows."""
    few, many = (_calls(monkeypatch, Activation, "limits", _pool(name, DType.S8, rows)) for rows in (3, 40))
    assert few == many


def test_pooling_of_floats_adds_each_column_of_a_window_as_one_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows share the places of the window's columns: three, with the outputs that have them inside."""
    (view,) = _pool("L2_POOL_2D", DType.F32, 4).views
    spans = Spans.of(view.op.window(view))  # type: ignore[attr-defined]  # of a pooling
    assert spans._few_taps is not None
    assert [(each.indices(5), columns.indices(5)) for each, columns in spans._few_taps] == [
        ((1, 5, 1), (0, 4, 1)),
        ((0, 5, 1), (0, 5, 1)),
        ((0, 4, 1), (1, 5, 1)),
    ]
    graphs = (_pool("L2_POOL_2D", DType.F32, rows) for rows in (4, 30))
    few, many = (_calls(monkeypatch, Spans, "_taps", graph) for graph in graphs)
    assert few == many <= 2
