"""Bytes lent between slices: whatever the application writes there, the outputs are the same, and nobody writes over it in time."""

import ctypes
from pathlib import Path

import numpy as np
import pytest

import kibi
import kibi.demo
from kibi.engines import HostEngine
from kibi.engines.engine import PAUSED
from kibi.ir import Graph
from kibi.planner import Plan
from kibi.reports.measurement import same_bits
from kibi.runtime import seeded_inputs
from tests.engines.networks import pooled_network, residual_network, two_input_network
from tests.support.zoo import catalog, check_zoo


def _lent(engine: HostEngine, steps: int) -> tuple[int, int]:
    """Address and number of the bytes that the library lends for so many steps."""
    place, size = ctypes.c_void_p(), ctypes.c_size_t()
    assert engine.call("spare", ctypes.c_uint32(steps), ctypes.byref(place), ctypes.byref(size)) == 0
    return int(place.value or 0), int(size.value)


def _free(plan: Plan, model: Graph, done: int, steps: int) -> int:
    """The longest run of bytes that no buffer owns from a place on for so many steps, byte by byte."""
    is_free = np.ones(plan.arena_bytes + 1, bool)
    is_free[-1] = False
    for buffer in plan.buffers:
        is_given = buffer.tensor in model.inputs
        made = 0 if is_given else buffer.start + 1
        end = buffer.end + (buffer.tensor in model.outputs)
        if made <= done + steps and done < end:
            is_free[buffer.offset : buffer.offset + buffer.size_bytes] = False
    ends = np.flatnonzero(~is_free)
    return int(np.diff(ends, prepend=-1).max()) - 1


def _lends(model: Graph, folder: Path, *, lease: bool = False, **wish: str) -> int:
    """Runs an inference in slices of one step, writes into all that is lent, and returns the most bytes lent for three steps."""
    plan = kibi.plan(model, **wish)  # type: ignore[arg-type]  # wishes are strings
    library = kibi.compile(model, plan, folder, spare=True, lease=lease)
    engine, inputs = HostEngine(library), seeded_inputs(model, 1)
    random, most, sizes = np.random.default_rng(0), 0, list[tuple[int, int]]()
    for number, array in enumerate(inputs):
        ctypes.memmove(engine.address("input", number), array.ctypes.data, array.nbytes)
    status, done, held = PAUSED, 0, (0, b"", -1)
    while status == PAUSED:
        for steps in (0, 3):
            address, size = _lent(engine, steps)
            wanted = _free(plan, library.model.graph, done, min(steps, len(plan.steps) - done))
            assert size <= wanted  # lives that touch are joined, which may keep a byte for one place longer
            sizes.append((size, wanted))
            if held[2] >= done and steps == 0:
                continue  # the bytes that are held for three steps may be lent again
            pattern = random.integers(0, 256, size, np.uint8).tobytes()
            ctypes.memmove(address, pattern, size)
            if steps:
                held, most = (address, pattern, done + steps), max(most, size)
        status = engine.call("run_for", ctypes.c_uint32(1))
        done += 1
        if status == PAUSED and done <= held[2]:
            assert ctypes.string_at(held[0], len(held[1])) == held[1]
        held = held if done < held[2] else (0, b"", -1)
    assert same_bits(engine.outputs(), kibi.run(model, plan, inputs))
    assert sum(size for size, _ in sizes) > 0.85 * sum(wanted for _, wanted in sizes)
    return most


@pytest.mark.parametrize("granularity", ["row", "tensor"])
@pytest.mark.parametrize(
    "model", [residual_network(), pooled_network("MEAN"), two_input_network()], ids=lambda m: m.name
)
def test_bytes_that_are_lent_change_no_output(model: Graph, granularity: str, tmp_path: Path) -> None:
    """An accumulator is not lent, scratch is not lent for a time in which it is used."""
    _lends(model, tmp_path, granularity=granularity)


def test_bytes_that_the_shipped_model_lends_change_no_output(tmp_path: Path) -> None:
    """More than a third of the arena at some time; a lease's word is not lent."""
    model = kibi.load(kibi.demo.model_path())
    assert _lends(model, tmp_path, lease=True) > kibi.plan(model).arena_bytes // 3


@pytest.mark.zoo
@pytest.mark.slow
@pytest.mark.parametrize("name", ["mlperf_kws_int8", "mlperf_ic_int8", "mlonmcu_lstm2"])
def test_bytes_that_real_models_lend_change_no_output(name: str, tmp_path: Path) -> None:
    """The same of real networks."""
    check_zoo()
    _lends(kibi.simplify(kibi.load(catalog()[name].path)), tmp_path)


def test_wrong_calls_of_spare_are_refused(tmp_path: Path) -> None:
    """Null pointers, and a model without an arena."""
    model = residual_network()
    engine = HostEngine(kibi.compile(model, None, tmp_path, spare=True))
    place, size = ctypes.c_void_p(), ctypes.c_size_t()
    assert engine.call("spare", ctypes.c_uint32(1), None, ctypes.byref(size)) == -1
    assert engine.call("spare", ctypes.c_uint32(1), ctypes.byref(place), None) == -1
    assert engine.call("spare", ctypes.c_uint32(0xFFFFFFFF), ctypes.byref(place), ctypes.byref(size)) == 0
    engine.call("init", ctypes.c_void_p(), ctypes.c_size_t(0))
    assert engine.call("spare", ctypes.c_uint32(1), ctypes.byref(place), ctypes.byref(size)) == -4
