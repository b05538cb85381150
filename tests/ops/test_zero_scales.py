"""Scales of 0, which converters give to tensors that were 0 whenever they looked, such as the first state of a network."""

import numpy as np
import pytest

from kibi.dtypes import Array, DType
from kibi.errors import ModelError
from kibi.frontends.tflite import parse_tflite
from kibi.frontends.tflite.builder import Attribute, ModelBuilder
from kibi.runtime import Interpreter
from kibi.runtime.inputs import quantize_real
from kibi.tflm import Oracle

_SIZE = 4


def _cell() -> tuple[bytes, list[Array]]:
    """One step of an unrolled LSTM of s16: both states come from the caller, and their scale is 0."""
    b, rng = ModelBuilder(), np.random.default_rng(6)
    unit, wide = 2.0**-15, 2.0**-12
    x, hidden = b.input((1, 3), DType.S16, unit, 0), b.input((1, _SIZE), DType.S16, 0.0, 0)
    cell = b.input((1, _SIZE), DType.S16, 0.0, 0)

    def made(name: str, operands: list[int], scale: float, size: int = _SIZE, **attributes: Attribute) -> int:
        output = b.tensor((1, size), DType.S16, scale, 0)
        b.operator(name, operands, [output], attributes)
        return output

    def matrix(rows: int, columns: int) -> int:
        return b.constant(rng.integers(-127, 128, (rows, columns)).astype(np.int8), 0.01, 0)

    own = made("FULLY_CONNECTED", [x, matrix(4 * _SIZE, 3), -1], wide, 4 * _SIZE)
    recurrent = made("FULLY_CONNECTED", [hidden, matrix(4 * _SIZE, _SIZE), -1], wide, 4 * _SIZE)
    sums = made("ADD", [own, recurrent], wide, 4 * _SIZE)
    gates = [b.tensor((1, _SIZE), DType.S16, wide, 0) for _ in range(4)]
    b.operator("SPLIT", [b.constant(np.array(1, np.int32)), sums], gates, num_splits=4)
    entry, forget, gate = (made("LOGISTIC", [gates[place]], unit) for place in (0, 1, 3))
    update = made("TANH", [gates[2]], unit)
    kept, added = made("MUL", [forget, cell], unit), made("MUL", [entry, update], unit)
    after = made("ADD", [kept, added], 2 * unit)
    output = made("MUL", [gate, made("TANH", [after], unit)], unit)
    data = rng.integers(-(1 << 15), 1 << 15, (1, 3)).astype(np.int16)
    return b.finish([output, after]), [data, np.zeros((1, _SIZE), np.int16), np.zeros((1, _SIZE), np.int16)]


def test_states_of_scale_zero_equal_tflm(oracle: Oracle) -> None:
    """What multiplies by a scale of 0 is 0, in TFLM and here."""
    model, inputs = _cell()
    wanted = oracle.run(model, [inputs])[0].outputs
    found = Interpreter(parse_tflite(model, "m.tflite")).run(inputs)
    assert [array.tobytes() for array in found] == [array.tobytes() for array in wanted]
    assert all(array.any() for array in found)


def test_output_of_scale_zero_that_would_divide_is_refused() -> None:
    """TFLM converts an infinite factor to an integer there, which C leaves undefined."""
    b = ModelBuilder()
    x, y = b.input((1, 4), DType.S8, 0.5, 0), b.tensor((1, 4), DType.S8, 0.0, 0)
    b.operator("RELU", [x], [y])
    with pytest.raises(ModelError, match="output has scale 0, by which it divides"):
        parse_tflite(b.finish([y]), "m.tflite")


@pytest.mark.parametrize("name", ["ADD", "SUB", "SQUARED_DIFFERENCE", "DIV", "RELU"])
def test_scales_that_are_all_zero_are_refused_where_they_divide(name: str) -> None:
    """Zero by zero is no factor."""
    b = ModelBuilder()
    operands = [b.input((1, 4), DType.S8, 0.0, 0) for _ in range(1 if name == "RELU" else 2)]
    y = b.tensor((1, 4), DType.S8, 0.0, 0)
    b.operator(name, operands, [y])
    with pytest.raises(ModelError, match="by a scale of 0, that of 'tensor_0'"):
        parse_tflite(b.finish([y]), "m.tflite")


def test_elements_of_scale_zero_are_moved() -> None:
    """An operator that only moves elements looks at no scale."""
    b = ModelBuilder()
    x, y = b.input((1, 4), DType.S8, 0.0, 3), b.tensor((2, 2), DType.S8, 0.0, 3)
    b.operator("RESHAPE", [x], [y])
    data = np.arange(4, dtype=np.int8).reshape(1, 4)
    (found,) = Interpreter(parse_tflite(b.finish([y]), "m.tflite")).run([data])
    assert found.tobytes() == data.tobytes()


def test_real_values_for_an_input_of_scale_zero_are_its_zero_point() -> None:
    """Such an input holds nothing but 0."""
    b = ModelBuilder()
    x, y = b.input((1, 3), DType.S8, 0.0, 7), b.tensor((3,), DType.S8, 0.0, 7)
    b.operator("RESHAPE", [x], [y])
    graph = parse_tflite(b.finish([y]), "m.tflite")
    assert quantize_real(graph.tensors[x], np.array([[0.0, 1.0, -5.0]])).tolist() == [[7, 7, 7]]
