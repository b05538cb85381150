"""Pauses where buffers are in regions or rows stream: slices, leases, bytes lent, checkpoints; the bits are those of one call."""

import ctypes
from pathlib import Path

import numpy as np
import pytest

import kibi
from kibi.codegen import Library
from kibi.dtypes import Array
from kibi.engines import DeviceEngine, HostEngine
from kibi.engines.engine import PAUSED
from kibi.ir import Graph
from kibi.planner.lives import every_life, saved_bytes
from kibi.planner.regions.file import Region
from kibi.reports.checkpoints import cheapest_places
from kibi.reports.measurement import same_bits
from kibi.runtime import seeded_inputs
from tests.engines.networks import pooled_network, residual_network, two_input_network
from tests.support.amount import share
from tests.support.slots import Slots

_BOARD = (Region("fast", 300, 1.0), Region("slow", 4096, 4.0), Region("flash", 1 << 20, 9.0, False, True))
_MODELS = (residual_network(height=20), two_input_network(), pooled_network("MEAN"))
_TAKEN, _NO_SEQUENCE = -8, -5
_HEAD_BYTES = 20


def _slots(library: Library) -> Slots:
    header = library.files[f"{library.model.graph.name}.h"]
    return Slots(int(header.split("_CHECKPOINT_BYTES ")[1].split("u")[0]))


def _write(engine: HostEngine, inputs: list[Array]) -> None:
    for number, array in enumerate(inputs):
        ctypes.memmove(engine.address("input", number), array.ctypes.data, array.nbytes)


def _lent(engine: HostEngine, steps: int) -> tuple[int, int]:
    place, size = ctypes.c_void_p(), ctypes.c_size_t()
    assert engine.call("spare", ctypes.c_uint32(steps), ctypes.byref(place), ctypes.byref(size)) == 0
    return int(place.value or 0), int(size.value)


def _spoiled(library: Library) -> HostEngine:
    """An engine after a loss of power: its memory holds anything."""
    engine = HostEngine(library)
    for block in engine._blocks:
        block[64:-64] = 0x3C
    return engine


@pytest.mark.share(2, part=0)
@pytest.mark.parametrize("granularity", ["row", pytest.param("tensor", marks=pytest.mark.slow)])
@pytest.mark.parametrize("model", share(_MODELS, 0, 2), ids=lambda model: model.name)
def test_model_in_regions_has_slices_lease_spare_and_checkpoints(
    model: Graph, granularity: str, tmp_path: Path
) -> None:
    """Junk in all that is lent in each pause, and an inference that goes on from there after a loss of power."""
    plan = kibi.plan(model, granularity=granularity, regions=_BOARD)
    library = kibi.compile(model, plan, tmp_path, lease=True, spare=True, checkpoints=True)
    inputs, slots, random = seeded_inputs(model, 1), _slots(library), np.random.default_rng(0)
    wanted = kibi.run(model, None, inputs)
    found = saved_bytes(every_life(library.model.graph, plan), len(plan.steps))
    assert slots.size_bytes == _HEAD_BYTES + max(found)
    engine, status, done, most = HostEngine(library), PAUSED, 0, 0
    _write(engine, inputs)
    while status == PAUSED:
        address, size = _lent(engine, 1)
        most = max(most, size)
        ctypes.memmove(address, random.integers(0, 256, size, np.uint8).tobytes(), size)
        assert slots.call(engine, "checkpoint") == 0
        assert np.frombuffer(bytes(slots.data[(done + 1) % 2][8:16]), "<u4").tolist() == [done, found[done]]
        if done % 4 == 0:
            other = _spoiled(library)
            assert slots.call(other, "resume") == 0
            while other.call("run_for", ctypes.c_uint32(3)) == PAUSED:
                pass
            assert same_bits(other.outputs(), wanted)
        status = engine.call("run_for", ctypes.c_uint32(1))
        done += 1
    assert (status, done) == (0, len(plan.steps))
    assert same_bits(engine.outputs(), wanted)
    assert most > 0
    device = DeviceEngine(library)
    assert all(same_bits(device.run(inputs, slice_steps=size), wanted) for size in (1, 5))


def test_bytes_of_each_region_are_lent_somewhen(tmp_path: Path) -> None:
    """The largest run is looked for in all regions, inside of each."""
    model = residual_network(height=20)
    plan = kibi.plan(model, granularity="tensor", regions=_BOARD)
    library = kibi.compile(model, plan, tmp_path, spare=True)
    engine, status, seen = HostEngine(library), PAUSED, set[int]()
    _write(engine, seeded_inputs(model, 1))
    blocks = [(int(block.ctypes.data) + 64, block.nbytes - 128) for block in engine._blocks]
    assert len(blocks) == 2
    while status == PAUSED:
        address, size = _lent(engine, 1)
        inside = [n for n, (start, room) in enumerate(blocks) if start <= address and address + size <= start + room]
        assert inside or not size
        seen |= {*inside} if size else set()
        status = engine.call("run_for", ctypes.c_uint32(1))
    assert seen == {0, 1}


def test_use_of_any_region_by_somebody_else_is_noticed(tmp_path: Path) -> None:
    """Each region has a word of its own, which no buffer touches; whoever hands over inputs again goes on."""
    model = two_input_network()
    plan = kibi.plan(model, granularity="tensor", regions=(Region("a", 220, 1.0), Region("b", 4096, 4.0)))
    library = kibi.compile(model, plan, tmp_path, lease=True, slices=True)
    assert library.model.arena_bytes == plan.arena_bytes + 8
    engine, inputs = HostEngine(library), seeded_inputs(model, 2)
    assert len(engine._blocks) == 2
    for block in engine._blocks:
        _write(engine, inputs)
        assert engine.call("run_for", ctypes.c_uint32(2)) == PAUSED
        block[64] = int(block[64]) ^ 1
        assert engine.call("run_for", ctypes.c_uint32(2)) == _TAKEN
        assert same_bits(engine.run(inputs, slice_steps=3), kibi.run(model, None, inputs))


def _rest(library: Library, slots: Slots, inputs: list[Array]) -> list[Array]:
    """The outputs of an inference that went on from a checkpoint: its sources give the rows that it asks for."""
    engine = _spoiled(library)
    assert slots.call(engine, "resume") == 0
    while (number := engine.call("expected_input")) >= 0:
        kind = library.model.graph.tensors[library.model.graph.inputs[number]].type
        row = inputs[number].reshape(kind.rows, -1)[engine.call("expected_row")]
        which = (ctypes.c_uint(number),) if len(inputs) > 1 else ()
        assert engine.call("push_row", *which, ctypes.c_void_p(np.ascontiguousarray(row).ctypes.data)) == 0
    assert engine.call("expected_row") == -1
    assert engine.call("invoke") == 0
    return engine.outputs()


@pytest.mark.share(3, part=2)
@pytest.mark.parametrize("lease", [True, pytest.param(False, marks=pytest.mark.slow)])
@pytest.mark.parametrize("granularity", ["row", pytest.param("tensor", marks=pytest.mark.slow)])
@pytest.mark.parametrize("model", _MODELS, ids=lambda model: model.name)
def test_inference_on_a_stream_goes_on_from_each_place(
    model: Graph, granularity: str, lease: bool, tmp_path: Path
) -> None:
    """Before the first row, after each row and each step, with the outputs ready; also where buffers are in regions."""
    regions = _BOARD if lease else None
    plan = kibi.plan(model, granularity=granularity, input="streamed", regions=regions)
    library = kibi.compile(model, plan, tmp_path, checkpoints=True, lease=lease)
    inputs, slots = seeded_inputs(model, 1), _slots(library)
    wanted, engine, saved = kibi.run(model, None, inputs), HostEngine(library), 0

    def pause() -> None:
        nonlocal saved
        assert slots.call(engine, "checkpoint") == 0
        saved += 1
        if saved % 3 == 1:
            assert same_bits(_rest(library, slots, inputs), wanted)

    pause()
    for number, row in library.model.arrivals:
        while engine.call("run_for", ctypes.c_uint32(1)) == PAUSED:
            pause()
        assert (engine.call("expected_input"), engine.call("expected_row")) == (number, row)
        engine._push(inputs[number], number, row)
        pause()
    while engine.call("run_for", ctypes.c_uint32(1)) == PAUSED:
        pause()
    pause()
    assert saved >= len(library.model.arrivals) + 2
    assert engine.call("invoke") == 0
    assert same_bits(engine.outputs(), wanted)


def test_cheapest_places_are_those_of_all_regions_and_of_streams() -> None:
    """The bytes of a place are the sum over regions, and rows that were pushed are steps."""
    model = residual_network(height=20)
    for wish in ({"regions": _BOARD}, {"input": "streamed"}):
        plan = kibi.plan(model, granularity="tensor", **wish)
        planned = kibi.planner.PlannedModel.of(model, plan)
        sizes = saved_bytes(every_life(planned.graph, plan), len(plan.steps))
        places = cheapest_places(planned)
        assert places
        assert all(each.size_bytes == _HEAD_BYTES + sizes[each.steps] for each in places)
