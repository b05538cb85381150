"""Inputs that stream, and tensors in external buffers, in C on this machine and on emulated cores."""

import ctypes
import subprocess
from pathlib import Path

import numpy as np
import pytest

import kibi
from kibi.engines import DeviceEngine, HostEngine
from kibi.ir import Graph
from kibi.packages.golden import golden_inputs
from kibi.runtime import seeded_inputs
from kibi.toolchain import build_program
from tests.engines.networks import pooled_network, residual_network, two_input_network
from tests.support.amount import sample, share

TURN = -5
MODELS = {"residual": residual_network(), "two inputs": two_input_network(), "pooled": pooled_network("MEAN")}
_WAYS = [
    ("tensor", "streamed", "stored"), ("row", "streamed", "stored"),
    ("row", "streamed", "external"), ("row", "external", "external"),
]  # fmt: skip
each_model = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)


@pytest.mark.share(2, part=1)
@pytest.mark.parametrize(
    ("name", "granularity", "inputs", "outputs"), sample((name, *each) for each in _WAYS for name in MODELS)
)
def test_every_way_of_handing_over_gives_the_same_bits(
    name: str, granularity: str, inputs: str, outputs: str, tmp_path: Path
) -> None:
    """Rows pushed one by one, or buffers of the caller's: the outputs of whole arrays in the arena, run after run."""
    model = MODELS[name]
    plan = kibi.plan(model, granularity=granularity, input=inputs, output=outputs)
    library = kibi.compile(model, plan, tmp_path)
    engines = (HostEngine(library), DeviceEngine(library))
    for seed in range(2):
        arrays = seeded_inputs(model, seed)
        expected = kibi.run(model, None, arrays)
        for engine in engines:
            for got, want in zip(engine.run(arrays), expected, strict=True):
                np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("target", share(["cortex-m0plus", "cortex-m33"], 0, 2))
def test_streamed_rows_give_the_same_bits_on_other_cores(target: str, tmp_path: Path) -> None:
    """A core that faults on unaligned words, and a newer one."""
    model = MODELS["residual"]
    library = kibi.compile(model, kibi.plan(model, target, granularity="row", input="streamed"), tmp_path)
    arrays = seeded_inputs(model, 4)
    np.testing.assert_array_equal(DeviceEngine(library).run(arrays)[0], kibi.run(model, None, arrays)[0])


@pytest.mark.parametrize("granularity", ["tensor", "row"])
def test_calls_out_of_turn_return_an_error_and_lose_nothing(granularity: str, tmp_path: Path) -> None:
    """Too early an invoke, a row of the other input, a row too many: KIBI_ERROR_SEQUENCE, and the inference goes on."""
    model = MODELS["two inputs"]
    library = kibi.compile(model, kibi.plan(model, granularity=granularity, input="streamed"), tmp_path)
    engine = HostEngine(library)
    arrays = seeded_inputs(model, 2)
    arrivals = library.model.arrivals
    rows = [np.ascontiguousarray(arrays[number][0, row]) for number, row in arrivals]
    assert engine.call("invoke") == TURN
    for (number, _), data in zip(arrivals, rows, strict=True):
        pointer = ctypes.c_void_p(data.ctypes.data)
        assert engine.call("expected_input") == number
        assert engine.call("push_row", ctypes.c_uint(1 - number), pointer) == TURN
        assert engine.call("push_row", ctypes.c_uint(7), pointer) == TURN
        assert engine.call("push_row", ctypes.c_uint(number), ctypes.c_void_p()) == -1
        assert engine.call("push_row", ctypes.c_uint(number), pointer) == 0
    assert engine.call("expected_input") == -1
    assert engine.call("push_row", ctypes.c_uint(0), ctypes.c_void_p(rows[0].ctypes.data)) == TURN
    assert engine.call("invoke") == 0
    np.testing.assert_array_equal(engine.outputs()[0], kibi.run(model, None, arrays)[0])


def test_rewind_forgets_what_was_pushed(tmp_path: Path) -> None:
    """After `rewind` the first row is expected again, and a whole inference is right."""
    model = MODELS["residual"]
    engine = HostEngine(kibi.compile(model, kibi.plan(model, granularity="row", input="streamed"), tmp_path))
    arrays = seeded_inputs(model, 5)
    row = np.ascontiguousarray(arrays[0][0, 0])
    for _ in range(3):
        assert engine.call("push_row", ctypes.c_void_p(row.ctypes.data)) == 0
    engine.call("rewind")
    np.testing.assert_array_equal(engine.run(arrays)[0], kibi.run(model, None, arrays)[0])


def test_external_buffers_are_asked_for_and_checked(tmp_path: Path) -> None:
    """Without them nothing runs; too small ones, unknown numbers and null pointers are refused."""
    model = MODELS["residual"]
    library = kibi.compile(model, kibi.plan(model, input="external"), tmp_path)
    engine = HostEngine(library)
    buffer = np.zeros(model.tensors[model.inputs[0]].type.size_bytes, np.int8)
    pointer, size = ctypes.c_void_p(buffer.ctypes.data), ctypes.c_size_t(buffer.nbytes)
    assert engine.call("set_external_buffer", ctypes.c_uint(0), pointer, ctypes.c_size_t(buffer.nbytes - 1)) == -2
    assert engine.call("set_external_buffer", ctypes.c_uint(1), pointer, size) == -1
    assert engine.call("set_external_buffer", ctypes.c_uint(0), ctypes.c_void_p(), size) == -1
    assert engine.call("set_external_buffer", ctypes.c_uint(0), pointer, size) == 0
    memory = np.zeros(library.model.plan.arena_bytes, np.uint64)
    engine.call("init", ctypes.c_void_p(memory.ctypes.data), ctypes.c_size_t(memory.nbytes))
    assert engine.call("invoke") == -4


@each_model
@pytest.mark.parametrize(
    "wish",
    [{"input": "streamed"}, pytest.param({"input": "external", "output": "external"}, marks=pytest.mark.slow)],
    ids=str,
)
def test_example_runs_with_every_way_of_handing_over(model: Graph, wish: dict[str, str], tmp_path: Path) -> None:
    """The example program that comes with the library builds without warnings and prints the outputs of the golden inputs."""
    plan = kibi.plan(model, granularity="row", **wish)  # type: ignore[arg-type]  # wishes are strings
    library = kibi.compile(model, plan, tmp_path)
    sources = [tmp_path / name for name in (*library.sources, "examples/example_main.c")]
    program = build_program(sources, includes=[tmp_path])
    done = subprocess.run([program], check=True, capture_output=True, text=True, timeout=60)
    expected = kibi.run(model, None, golden_inputs(model))[0].reshape(-1)
    assert done.stdout.splitlines() == [*(str(value) for value in expected), f"{model.name}: same bits"]


def test_streamed_model_says_nothing_of_an_input_accessor(tmp_path: Path) -> None:
    """The header of a streaming model has `push_row` in the place of `input`."""
    model = MODELS["residual"]
    library = kibi.compile(model, kibi.plan(model, granularity="row", input="streamed"), tmp_path)
    header = library.files["residual.h"]
    assert "residual_push_row(residual_t *model, const int8_t *row)" in header
    assert "residual_input(" not in header
