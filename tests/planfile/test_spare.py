"""Bytes that the core lends between slices: whatever is written there, outputs are the same, and nobody writes over it in time."""

import ctypes

import numpy as np
import pytest

import kibi
from kibi import demo
from kibi.ir import Graph
from kibi.kernels.params import PARAMS
from kibi.kernels.params.contract_text import has_contract
from kibi.planfile.reader import PlanFile
from kibi.planfile.writer import plan_file
from kibi.planner import Plan, PlannedModel
from kibi.runtime import seeded_inputs
from tests.engines.networks import pooled_network, residual_network, two_input_network
from tests.ops.comparison import graph_of
from tests.planfile.c_model import PAUSED, CModel
from tests.support.amount import amount, share
from tests.support.choices import Seeded
from tests.support.operator_models import OPERATOR_MODELS
from tests.support.zoo import catalog, requires_zoo

_NETWORKS = (residual_network(), pooled_network("MEAN"), two_input_network())
_ALL = 0xFFFFFFFF


def _lent(model: CModel, steps: int) -> tuple[int, int]:
    """Address and number of the bytes that the core lends for so many steps."""
    place, size = ctypes.c_void_p(), ctypes.c_size_t()
    assert model.call("spare", ctypes.c_uint32(steps), ctypes.byref(place), ctypes.byref(size)) == 0
    address, first = int(place.value or 0), int(model.arena.ctypes.data)
    assert first <= address
    assert address + size.value <= first + model.arena.size
    return address, int(size.value)


def _free(plan: Plan, graph: Graph, done: int, steps: int) -> int:
    """The longest run of bytes that no buffer owns from a place on for so many steps, byte by byte."""
    is_free = np.ones(plan.arena_bytes + 1, bool)
    is_free[-1] = False
    for buffer in plan.buffers:
        made = 0 if buffer.tensor in graph.inputs else buffer.start + 1
        end = buffer.end + (buffer.tensor in graph.outputs)
        if made <= done + steps and done < end:
            is_free[buffer.offset : buffer.offset + buffer.size_bytes] = False
    ends = np.flatnonzero(~is_free)
    return int(np.diff(ends, prepend=-1).max()) - 1


def _lends(graph: Graph, *, lease: bool = False, every: int = 1, **wish: str) -> tuple[int, int, int]:
    """Runs an inference in slices, and writes into all that is lent.

    Returns:
        The sum of all bytes that were lent, the sum of those that no buffer of the plan owns, and the most that were lent for
        three slices.
    """
    planned = PlannedModel.of(graph, kibi.plan(graph, target="host", **wish))  # type: ignore[arg-type]
    file, plan = PlanFile(plan_file(planned)), planned.plan
    model = CModel(file, lease=lease, trusts=not all(has_contract(PARAMS[kernel]) for kernel in file.kernels))
    inputs, random = seeded_inputs(graph, 1), np.random.default_rng(0)
    expected = kibi.run(graph, plan, inputs)
    sums, most, status, done, held = [0, 0], 0, PAUSED, 0, (0, b"", -1)
    model.write_all(inputs)
    while status == PAUSED:
        for steps in (0, 3 * every):
            if held[2] >= done and steps == 0:
                continue  # the bytes that are held may be lent again
            address, size = _lent(model, steps)
            sums[0] += size
            sums[1] += _free(plan, planned.graph, done, min(steps, len(plan.steps) - done))
            pattern = random.integers(0, 256, size, np.uint8).tobytes()
            ctypes.memmove(address, pattern, size)
            if steps:
                held, most = (address, pattern, done + steps), max(most, size)
        status = model.run_for(every)
        done += every
        if status == PAUSED and done <= held[2]:
            assert ctypes.string_at(held[0], len(held[1])) == held[1]
    if status == 0:  # an operator may end an inference early
        assert model.outputs() == [each.tobytes() for each in expected]
    assert (status == 0) == bool(expected)
    return sums[0], sums[1], most


@pytest.mark.share(3, part=0)
@pytest.mark.parametrize("lease", [False, True])
@pytest.mark.parametrize("granularity", ["row", "tensor"])
@pytest.mark.parametrize("graph", _NETWORKS, ids=lambda each: each.name)
def test_bytes_that_are_lent_change_no_output(graph: Graph, granularity: str, lease: bool) -> None:
    """An accumulator is not lent, scratch is not lent for a time in which it is used; little that is free is kept."""
    lent, free, _ = _lends(graph, granularity=granularity, lease=lease)
    assert lent > 0.95 * free


def test_bytes_that_the_shipped_model_lends_change_no_output() -> None:
    """More than a third of the arena at some time; a lease's word is not lent."""
    graph = kibi.load(demo.model_path())
    lent, free, most = _lends(graph, lease=True)
    assert most > kibi.plan(graph, target="host").arena_bytes // 3
    assert lent > 0.95 * free


@pytest.mark.parametrize("operator", share(sorted(OPERATOR_MODELS), 0))
def test_bytes_that_any_operator_lends_change_no_output(operator: str) -> None:
    """Windows of all kinds, batches, parts of rows, tables of places, graphs in operators, several outputs."""
    for seed in range(amount(2, 12)):
        _lends(graph_of(OPERATOR_MODELS[operator](Seeded(seed))), granularity=("row", "tensor")[seed % 2])


@requires_zoo
@pytest.mark.parametrize(
    "name",
    [
        "mww_v2_okay_nabu",
        *(
            pytest.param(each, marks=pytest.mark.slow)
            for each in ("mlperf_kws_int8", "mlperf_ic_int8", "mlonmcu_lstm2")
        ),
    ],
)
def test_bytes_that_real_models_lend_change_no_output(name: str) -> None:
    """The same of real networks."""
    lent, free, _ = _lends(kibi.simplify(kibi.load(catalog()[name].path)), every=3)
    assert lent > 0.9 * free


@pytest.mark.parametrize("graph", _NETWORKS, ids=lambda each: each.name)
def test_bytes_that_are_lent_between_rows_change_no_output(graph: Graph) -> None:
    """Of an input that streams: each row is a step; after the last one the outputs are kept."""
    planned = PlannedModel.of(graph, kibi.plan(graph, target="host", input="streamed"))
    file, inputs = PlanFile(plan_file(planned)), seeded_inputs(graph, 1)
    model, rows, random = CModel(file), [0] * len(inputs), np.random.default_rng(0)
    for _ in range(2):
        while (number := model.call("expected_input")) >= 0:
            address, size = _lent(model, 0)
            ctypes.memmove(address, random.integers(0, 256, size, np.uint8).tobytes(), size)
            assert model.push(number, inputs[number].reshape(file.inputs[number].rows, -1)[rows[number]]) == 0
            rows[number] += 1
        address, size = _lent(model, 0)
        ctypes.memmove(address, random.integers(0, 256, size, np.uint8).tobytes(), size)
        assert model.call("invoke") == 0
        assert model.outputs() == [each.tobytes() for each in kibi.run(graph, None, inputs)]
        rows = [0] * len(inputs)


def test_everything_but_the_inputs_is_free_before_an_inference() -> None:
    """For no step; for all of them together, next to nothing."""
    graph = residual_network()
    file = PlanFile(plan_file(PlannedModel.of(graph, kibi.plan(graph, target="host"))))
    model = CModel(file)
    status, port = model.port("input", 0)
    assert status == 0
    first, start = int(port.data or 0), int(model.arena.ctypes.data)
    address, size = _lent(model, 0)
    assert size == max(first - start, start + file.arena_bytes - first - port.bytes)
    assert address in (start, first + port.bytes)
    assert _lent(model, _ALL)[1] < file.arena_bytes // 8


def test_wrong_calls_of_spare_are_refused() -> None:
    """Null pointers, a model that is not open, and an arena that somebody else has."""
    graph = residual_network()
    file = PlanFile(plan_file(PlannedModel.of(graph, kibi.plan(graph, target="host"))))
    model, place, size = CModel(file, lease=True), ctypes.c_void_p(), ctypes.c_size_t()
    given = ctypes.c_uint32(1), ctypes.byref(place), ctypes.byref(size)
    assert model.call("spare", *given) == -8
    model.write_all(seeded_inputs(graph, 1))
    assert model.call("spare", *given) == 0
    assert model.call("spare", given[0], None, given[2]) == -1
    assert model.call("spare", *given[:2], None) == -1
    other = CModel(file, model.arena, lease=True)
    other.write_all(seeded_inputs(graph, 2))
    assert model.call("spare", *given) == -8
    model.call("close")
    assert model.call("spare", *given) == -4
