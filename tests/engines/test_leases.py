"""Leases in C: a call says that somebody else has used the arena, in place of a wrong class with KIBI_OK."""

import ctypes
from pathlib import Path

import numpy as np
import pytest

import kibi
import kibi.demo
from kibi.dtypes import Array, DType
from kibi.engines import DeviceEngine, HostEngine
from kibi.engines.engine import PAUSED
from kibi.frontends.tflite import parse_tflite
from kibi.frontends.tflite.builder import ModelBuilder
from kibi.ir import Graph
from kibi.reports.measurement import same_bits
from kibi.runtime import seeded_inputs
from tests.engines.networks import pooled_network, residual_network, two_input_network

_TAKEN = -8
_FIRST, _SECOND = residual_network(), pooled_network("MEAN")


def _engines(folder: Path, *models: Graph, slices: bool = False, **wish: str) -> list[HostEngine]:
    """Engines of these models, all in one arena as large as the largest one's."""
    made, needed = [], 0
    for number, model in enumerate(models):
        plan = kibi.plan(model, **wish)  # type: ignore[arg-type]  # wishes are strings
        library = kibi.compile(model, plan, folder / str(number), lease=True, slices=slices)
        needed = max(needed, library.model.arena_bytes)
        assert library.model.arena_bytes == plan.arena_bytes + 4
        made.append(HostEngine(library))
    arena = np.zeros(needed + 64, np.uint8)
    address = int(arena.ctypes.data) + -arena.ctypes.data % 64
    for engine in made:
        assert engine.call("init", ctypes.c_void_p(address), ctypes.c_size_t(needed)) == 0
        engine.arena = arena  # type: ignore[attr-defined]  # keeps the bytes
    return made


def _write(engine: HostEngine, number: int, array: Array) -> None:
    ctypes.memmove(engine.address("input", number), array.ctypes.data, array.nbytes)


def _output(engine: HostEngine) -> int | None:
    """The address of the first output; None where the library gives none."""
    found = engine._functions["output"](engine._state, ctypes.c_uint(0))
    return None if found is None else int(found)


def test_second_model_in_the_same_arena_is_noticed_before_and_after_an_inference(tmp_path: Path) -> None:
    """Inputs that it overwrote, and outputs that it overwrote; whoever hands over inputs again goes on."""
    first, second = _engines(tmp_path, _FIRST, _SECOND)
    inputs, others = seeded_inputs(_FIRST, 1), seeded_inputs(_SECOND, 2)
    _write(first, 0, inputs[0])
    _write(second, 0, others[0])
    assert first.call("invoke") == _TAKEN
    assert second.call("invoke") == 0
    assert same_bits(second.outputs(), kibi.run(_SECOND, None, others))
    assert _output(first) is None
    _write(first, 0, inputs[0])
    assert first.call("invoke") == 0
    assert same_bits(first.outputs(), kibi.run(_FIRST, None, inputs))
    _write(second, 0, others[0])
    assert _output(first) is None


def test_two_structs_of_one_model_are_told_apart(tmp_path: Path) -> None:
    """The word depends on the struct, not on the model alone."""
    first, second = _engines(tmp_path, _FIRST, _FIRST)
    inputs = seeded_inputs(_FIRST, 1)
    _write(first, 0, inputs[0])
    _write(second, 0, inputs[0])
    assert (first.call("invoke"), second.call("invoke")) == (_TAKEN, 0)


def test_application_that_overwrites_the_arena_is_noticed_between_slices(tmp_path: Path) -> None:
    """In the middle of an inference nothing goes on; the next input begins anew."""
    (engine,) = _engines(tmp_path, _FIRST, slices=True)
    inputs = seeded_inputs(_FIRST, 1)
    _write(engine, 0, inputs[0])
    assert engine.call("run_for", ctypes.c_uint32(5)) == PAUSED
    engine.arena[:] = 0x77  # type: ignore[attr-defined]  # as above
    for _ in range(2):
        assert engine.call("run_for", ctypes.c_uint32(5)) == _TAKEN
    assert engine.call("invoke") == _TAKEN
    assert same_bits(engine.run(inputs, slice_steps=7), kibi.run(_FIRST, None, inputs))


def test_input_that_was_written_before_somebody_elses_use_is_missed(tmp_path: Path) -> None:
    """One of two inputs is handed over, another model runs, the other one follows: the first is gone."""
    model = two_input_network()
    first, second = _engines(tmp_path, model, _SECOND)
    inputs = seeded_inputs(model, 1)
    _write(first, 0, inputs[0])
    assert second.run(seeded_inputs(_SECOND, 2))
    _write(first, 1, inputs[1])
    assert first.call("invoke") == _TAKEN
    _write(first, 0, inputs[0])
    assert first.call("invoke") == 0
    assert same_bits(first.outputs(), kibi.run(model, None, inputs))


@pytest.mark.parametrize("slices", [False, True])
def test_stream_that_lost_its_arena_says_so_until_it_is_rewound(slices: bool, tmp_path: Path) -> None:
    """Rows, the end of the inference and the next input all say so; another model's stream is complete."""
    first, second = _engines(tmp_path, _FIRST, _SECOND, slices=slices, input="streamed")
    inputs, others = seeded_inputs(_FIRST, 1), seeded_inputs(_SECOND, 2)
    rows = inputs[0][0]
    for row in rows[:3]:
        assert first.call("push_row", ctypes.c_void_p(row.ctypes.data)) == 0
    assert same_bits(second.run(others), kibi.run(_SECOND, None, others))
    assert first.call("push_row", ctypes.c_void_p(rows[3].ctypes.data)) == _TAKEN
    assert first.call("expected_input") == -1
    assert first.call("invoke") == _TAKEN
    first.call("rewind")
    assert same_bits(first.run(inputs), kibi.run(_FIRST, None, inputs))


@pytest.mark.share(2, part=0)
@pytest.mark.parametrize("target", ["cortex-m4", pytest.param("cortex-m0plus", marks=pytest.mark.slow)])
@pytest.mark.parametrize("wish", [{}, {"input": "streamed"}, {"input": "external"}, {"output": "external"}], ids=str)
def test_lease_changes_no_bit_of_any_output(wish: dict[str, str], target: str, tmp_path: Path) -> None:
    """With slices and without, in every way of handing over, run after run."""
    model = two_input_network()
    plan = kibi.plan(model, target, **wish)  # type: ignore[arg-type]  # wishes are strings
    for slices in (False, True):
        engine = DeviceEngine(kibi.compile(model, plan, tmp_path / str(slices), lease=True, slices=slices))
        for seed in range(2):
            inputs = seeded_inputs(model, seed)
            assert same_bits(engine.run(inputs, slice_steps=3 if slices else None), kibi.run(model, None, inputs))


@pytest.mark.parametrize("wish", [{}, {"input": "external"}, {"input": "external", "output": "external"}], ids=str)
def test_model_with_next_to_no_arena_has_every_option(wish: dict[str, str], tmp_path: Path) -> None:
    """One operator, whose input and output may be all that there is: the word alone is in the arena then."""
    builder = ModelBuilder()
    made = builder.input([1, 4], DType.S8, 0.1, 3), builder.tensor([1, 4], DType.S8, 0.1, 3)
    builder.operator("RELU", [made[0]], [made[1]])
    model = parse_tflite(builder.finish([made[1]]), "one.tflite")
    plan = kibi.plan(model, **wish)  # type: ignore[arg-type]  # wishes are strings
    library = kibi.compile(model, plan, tmp_path, lease=True, spare=True, checkpoints=not wish)
    assert library.model.arena_bytes == plan.arena_bytes + 4
    inputs = seeded_inputs(model, 1)
    for engine in (HostEngine(library), DeviceEngine(library)):
        assert same_bits(engine.run(inputs, slice_steps=1), kibi.run(model, plan, inputs))


@pytest.mark.share(2, part=1)
@pytest.mark.parametrize("slices", [False, True])
def test_stream_whose_order_begins_with_lines_without_steps_takes_the_arena_with_its_first_row(
    slices: bool, tmp_path: Path
) -> None:
    """A cascade fills: its first iterations lack steps, and whoever asks for the expected input has not begun yet."""
    model = kibi.simplify(kibi.load(kibi.demo.model_path()))
    plan = kibi.plan(model, input="streamed")
    library = kibi.compile(model, plan, tmp_path / "first", lease=True, slices=slices)
    other = HostEngine(kibi.compile(_SECOND, None, tmp_path / "second", lease=True))
    engine, inputs = HostEngine(library), seeded_inputs(model, 1)
    arena = np.zeros(1 << 13, np.uint8)
    address = ctypes.c_void_p(int(arena.ctypes.data) + -arena.ctypes.data % 64)
    for each in (engine, other):
        assert each.call("init", address, ctypes.c_size_t(1 << 12)) == 0
    for _ in range(2):
        assert engine.call("expected_input") == 0
        other.run(seeded_inputs(_SECOND, 1))
        assert same_bits(engine.run(inputs, slice_steps=5 if slices else None), kibi.run(model, None, inputs))
