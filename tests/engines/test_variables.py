"""Tensors that keep their values from one inference to the next, in all engines and in TFLM."""

import ctypes
from pathlib import Path

import numpy as np
import pytest

import kibi
from kibi import tflm as oracle
from kibi.dtypes import DType
from kibi.engines import DeviceEngine, HostEngine
from kibi.frontends.tflite.builder import ModelBuilder
from kibi.runtime import seeded_inputs
from tests.support.oracle import requires_oracle

SHAPE = [1, 6, 5, 2]


def _model() -> bytes:
    """Two sums of the input with variables, one of them with a zero point: x + v → y, y + w → z."""
    builder = ModelBuilder()
    x = builder.input(SHAPE, DType.S8, 0.1, 3, name="x")
    v = builder.tensor(SHAPE, DType.S8, 0.2, -7, name="v", variable=True)
    w = builder.tensor(SHAPE, DType.S8, 0.1, 0, name="w", variable=True)
    y = builder.tensor(SHAPE, DType.S8, 0.25, 1, name="y")
    z = builder.tensor(SHAPE, DType.S8, 0.3, 0, name="z")
    builder.operator("ADD", [x, v], [y], {"fused_activation_function": "NONE"})
    builder.operator("ADD", [y, w], [z], {"fused_activation_function": "NONE"})
    return builder.finish([z])


@pytest.fixture
def model(tmp_path: Path) -> kibi.Graph:
    """The network, from a file."""
    path = tmp_path / "state.tflite"
    path.write_bytes(_model())
    return kibi.load(path)


def _bytes(model: kibi.Graph) -> int:
    return sum(model.tensors[index].type.size_bytes for index in model.variables)


@pytest.mark.parametrize("wish", [{"granularity": "tensor"}, {}, {"input": "streamed"}, {"input": "external"}], ids=str)
def test_variables_take_no_arena_and_keep_their_values(model: kibi.Graph, wish: dict[str, str], tmp_path: Path) -> None:
    """Python, host C and the device start from the same values, and see what is written between two runs until a reset."""
    plan = kibi.plan(model, **wish)  # type: ignore[arg-type]  # wishes are strings
    assert not {buffer.tensor for buffer in plan.buffers} & set(model.variables)
    library = kibi.compile(model, plan, tmp_path / "lib")
    interpreter, host, device = kibi.Interpreter(model, plan), HostEngine(library), DeviceEngine(library)
    assert interpreter.state_bytes == _bytes(model)
    assert device.state_bytes >= _bytes(model)
    inputs = seeded_inputs(model, 1)
    first = interpreter.run(inputs)[0]
    for engine in (interpreter, host, device):
        np.testing.assert_array_equal(engine.run(inputs)[0], first)
    values = np.random.default_rng(0).integers(-128, 128, SHAPE).astype(np.int8)
    index = model.variables[0]
    interpreter.tensors[index].assign(values)
    place = host.address("variable", 0)
    ctypes.memmove(place, values.ctypes.data, values.nbytes)
    changed = interpreter.run(inputs)[0]
    assert (changed != first).any()
    for _ in range(2):
        np.testing.assert_array_equal(host.run(inputs)[0], changed)
        np.testing.assert_array_equal(interpreter.run(inputs)[0], changed)
    interpreter.reset()
    host.call("reset")
    np.testing.assert_array_equal(interpreter.run(inputs)[0], first)
    np.testing.assert_array_equal(host.run(inputs)[0], first)


def test_interpreters_that_share_an_arena_have_state_of_their_own(model: kibi.Graph) -> None:
    """The arena is used in turns; a variable of one is not seen by the other."""
    plan = kibi.plan(model)
    arena = np.zeros(plan.arena_bytes, np.uint8)
    one, other = (kibi.Interpreter(model, plan, arena) for _ in range(2))
    inputs = seeded_inputs(model, 2)
    first = other.run(inputs)[0]
    one.tensors[model.variables[0]].assign(np.full(SHAPE, 90, np.int8))
    assert (one.run(inputs)[0] != first).any()
    np.testing.assert_array_equal(other.run(inputs)[0], first)


@requires_oracle
def test_first_values_are_those_of_tflm(model: kibi.Graph) -> None:
    """Variables of int8 begin at their zero point."""
    assert model.path is not None
    inputs = seeded_inputs(model, 3)
    with oracle.Oracle() as tflm:
        expected = tflm.run(model.path, [inputs])[0].outputs[0]
    np.testing.assert_array_equal(kibi.run(model, None, inputs)[0], expected)
