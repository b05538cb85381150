"""Windows of poolings: memory that grows with the row, and the order in which floats are taken."""

import tracemalloc

import numpy as np
import pytest

import kibi
from kibi.dtypes import Array, DType
from kibi.frontends.tflite import parse_tflite
from kibi.frontends.tflite.builder import ModelBuilder
from kibi.ir import Graph
from kibi.runtime import Interpreter, seeded_inputs


def _pooling(name: str, dtype: DType, shape: list[int], size: int) -> Graph:
    b = ModelBuilder()
    quantization = () if dtype is DType.F32 else (0.5, 3)
    x, y = b.input(shape, dtype, *quantization), b.tensor(shape, dtype, *quantization)
    sizes = {"filter_height": size, "filter_width": size, "stride_h": 1, "stride_w": 1}
    b.operator(name, [x], [y], {**sizes, "padding": "SAME"})
    return parse_tflite(b.finish([y]), "pooling.tflite")


@pytest.mark.parametrize(
    ("name", "dtype"),
    [
        ("AVERAGE_POOL_2D", DType.S8),
        ("MAX_POOL_2D", DType.S8),
        ("AVERAGE_POOL_2D", DType.F32),
        ("MAX_POOL_2D", DType.F32),
        ("L2_POOL_2D", DType.F32),
    ],
)
def test_window_much_larger_than_a_row_takes_no_memory_for_its_elements(name: str, dtype: DType) -> None:
    """A window of 2^14 columns on 600: the 600 x 600 elements that a row's windows cover are never held at once."""
    graph = _pooling(name, dtype, [1, 2, 600, 8], 1 << 14)
    interpreter, inputs = Interpreter(graph, kibi.plan(graph)), seeded_inputs(graph, 0)
    tracemalloc.start()
    try:
        interpreter.run(inputs)
        assert tracemalloc.get_traced_memory()[1] < 8 << 20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("size", [1, 2, 3, 5, 20])
def test_max_of_floats_is_that_of_one_comparison_after_another(size: int) -> None:
    """Zeros of both signs, infinities and what is no number: the bits of `std::max` in order of rows and columns."""
    values = np.array([0.0, -0.0, -1.5, 2, np.nan, np.inf, -np.inf], np.float32)
    data = np.random.default_rng(size).choice(values, (1, 7, 6, 2), p=[0.3, 0.3, 0.3, 0.01, 0.03, 0.01, 0.05])
    graph = _pooling("MAX_POOL_2D", DType.F32, [1, 7, 6, 2], size)
    found = Interpreter(graph, kibi.plan(graph)).run([data])[0]
    assert found.tobytes() == _one_by_one(data, size).tobytes()


def _one_by_one(data: Array, size: int) -> Array:
    limits = np.finfo(np.float32)
    made = np.empty_like(data)
    pad = (size - 1) // 2
    for _, y, x, channel in np.ndindex(data.shape):
        rows, columns = (slice(max(0, at - pad), at - pad + size) for at in (y, x))
        largest = limits.min
        for value in data[0, rows, columns, channel].reshape(-1).astype(np.float32):
            largest = value if largest < value else largest  # noqa: FURB136 - `max` is the other comparison
        made[0, y, x, channel] = min(largest, limits.max)
    return made
