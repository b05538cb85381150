"""Inferences in slices: the bits of whole ones, whatever the slice, and as many slices as the steps make."""

import ctypes
from pathlib import Path

import pytest

import kibi
import kibi.demo
from kibi.engines import DeviceEngine, HostEngine
from kibi.engines.engine import PAUSED
from kibi.errors import PlanError
from kibi.ir import Graph
from kibi.reports.measurement import same_bits
from kibi.reports.slices import check_slice, measured_longest_step
from kibi.runtime import seeded_inputs
from tests.engines.networks import pooled_network, residual_network, two_input_network
from tests.planner.networks import by_row
from tests.support.amount import sample, share
from tests.support.zoo import catalog, check_zoo

_SIZES = (1, 2, 7, 1000)
_ERROR_NULL, _ERROR_NOT_INITIALIZED, _ERROR_SEQUENCE, _ERROR_STEPS = -1, -4, -5, -7
_ZOO = ("mlperf_kws_int8", "mlperf_ad_int8", "tflm_micro_speech", "mlonmcu_lstm2", "mww_v2_okay_nabu", "mlperf_ic_int8")


def _agrees(model: Graph, folder: Path, target: str = "cortex-m4", **wish: str) -> None:
    """Checks bits and number of slices of two inferences, by each size of slices, on this machine and on the core."""
    plan = kibi.plan(model, target, **wish)  # type: ignore[arg-type]  # wishes are strings
    library = kibi.compile(model, plan, folder, slices=True)
    host, device = HostEngine(library), DeviceEngine(library)
    interpreter = kibi.Interpreter(model, plan)
    computing = sum(not model.op.receives for model in (library.model.graph.nodes[node] for node, _ in plan.steps))
    for number, size in enumerate(_SIZES):
        arrays = seeded_inputs(model, number)
        expected = interpreter.run(arrays)
        assert same_bits(host.run(arrays, slice_steps=size), expected)
        assert same_bits(device.run(arrays, slice_steps=size), expected)
        assert host.slices == len(device.slices)
        if plan.input != "streamed" and not library.model.early_exits:
            assert host.slices == -(-computing // size)
    arrays = seeded_inputs(model, 0)
    expected = interpreter.run(arrays)
    assert same_bits(host.run(arrays), expected)
    assert same_bits(device.run(arrays), expected)


@pytest.mark.parametrize(
    ("mode", "granularity"),
    sample(
        [(mode, each) for mode in ("stored", "streamed", "external") for each in ("row", "tensor")],
        [("stored", "tensor"), ("streamed", "row"), ("external", "row")],
    ),
)
def test_slices_of_each_size_give_the_same_bits(mode: str, granularity: str, tmp_path: Path) -> None:
    """Each way of handing over, both forms of the table, one step at a time to all at once."""
    _agrees(residual_network(), tmp_path, input=mode, granularity=granularity)


@pytest.mark.slow
def test_slices_of_the_shipped_model_give_the_same_bits_on_a_small_core(tmp_path: Path) -> None:
    """An order whose lines repeat, on a core without the DSP instructions."""
    _agrees(kibi.load(kibi.demo.model_path()), tmp_path, "cortex-m0plus")


@pytest.mark.parametrize("mode", share(["stored", "streamed"], 1, 2))
def test_slices_of_two_inputs_and_of_an_accumulator_give_the_same_bits(mode: str, tmp_path: Path) -> None:
    """A scratch that survives from step to step does so between slices, too."""
    _agrees(two_input_network(), tmp_path / "two", input=mode)
    _agrees(pooled_network("MEAN"), tmp_path / "mean", input=mode)


@pytest.mark.slow
@pytest.mark.zoo
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name == "mlperf_kws_int8" else pytest.mark.slow) for name in _ZOO]
)
def test_slices_of_real_models_give_the_same_bits(name: str, tmp_path: Path) -> None:
    """Speech, images, an LSTM, a model with state."""
    check_zoo()
    _agrees(kibi.simplify(kibi.load(catalog()[name].path)), tmp_path)


def test_slice_of_no_steps_is_refused_and_changes_nothing(tmp_path: Path) -> None:
    """Each wrong call has its status, and the inference goes on after it."""
    model = residual_network()
    engine = HostEngine(kibi.compile(model, None, tmp_path, slices=True))
    arrays = seeded_inputs(model, 1)
    ctypes.memmove(engine.address("input", 0), arrays[0].ctypes.data, arrays[0].nbytes)
    assert engine.call("run_for", ctypes.c_uint32(5)) == PAUSED
    assert engine.call("run_for", ctypes.c_uint32(0)) == _ERROR_STEPS
    assert engine.call("run_for", ctypes.c_uint32(1000)) == 0
    assert same_bits(engine.outputs(), kibi.run(model, None, arrays))
    engine.call("init", ctypes.c_void_p(), ctypes.c_size_t(0))
    assert engine.call("run_for", ctypes.c_uint32(1)) == _ERROR_NOT_INITIALIZED


def test_invoke_and_rewind_begin_anew_in_the_middle_of_slices(tmp_path: Path) -> None:
    """What was begun is forgotten, and the next inference is complete."""
    model = residual_network()
    engine = HostEngine(kibi.compile(model, None, tmp_path, slices=True))
    for function in ("invoke", "rewind"):
        arrays = seeded_inputs(model, 2)
        ctypes.memmove(engine.address("input", 0), arrays[0].ctypes.data, arrays[0].nbytes)
        assert engine.call("run_for", ctypes.c_uint32(9)) == PAUSED
        ctypes.memmove(engine.address("input", 0), arrays[0].ctypes.data, arrays[0].nbytes)
        if function == "invoke":
            assert engine.call("invoke") == 0
        else:
            engine.call("rewind")
            assert engine.call("run_for", ctypes.c_uint32(1000)) == 0
        assert same_bits(engine.outputs(), kibi.run(model, None, arrays))


def test_rows_that_stream_are_copied_at_once_and_computed_in_slices(tmp_path: Path) -> None:
    """`push_row` computes nothing of its own row; what a caller leaves out, the next call does."""
    model = residual_network()
    library = kibi.compile(model, kibi.plan(model, input="streamed"), tmp_path, slices=True)
    engine = HostEngine(library)
    (array,) = arrays = seeded_inputs(model, 3)
    for number, row in enumerate(array[0]):
        assert engine.call("invoke") == _ERROR_SEQUENCE
        assert engine.call("push_row", ctypes.c_void_p(row.ctypes.data)) == 0
        if number % 2 and number > 3:  # every other time nobody asks for slices
            assert engine.call("run_for", ctypes.c_uint32(1)) == PAUSED
            while engine.call("run_for", ctypes.c_uint32(2)) == PAUSED:
                pass
    assert engine.call("invoke") == 0
    assert same_bits(engine.outputs(), kibi.run(model, None, arrays))


def test_slices_that_nobody_asks_for_cost_no_byte(tmp_path: Path) -> None:
    """A library without them has no word of them."""
    model = residual_network()
    plain = kibi.compile(model, None, tmp_path).files
    assert all("run_for" not in text for name, text in plain.items() if not name.startswith("kernels/"))


def test_longest_step_is_named_and_bounds_every_slice(tmp_path: Path) -> None:
    """The number is that of a call of the emulated core; a slice of one instruction less is refused by name."""
    model = residual_network(height=9)
    plan = kibi.plan(model, "cortex-m0plus", runs=by_row(model))
    library = kibi.compile(model, plan, tmp_path, slices=True)
    longest = measured_longest_step(library)
    engine, counts = DeviceEngine(library), []
    for seed in range(3):
        engine.run(seeded_inputs(model, seed), slice_steps=1)
        counts.append([call.instructions for call in engine.slices])
    assert longest.instructions == max(map(max, counts)) == max(each[longest.step] for each in counts)
    assert (longest.steps, longest.rows) == (len(plan.steps), 9)
    check_slice(longest, longest.instructions, "cortex-m0plus", "residual.tflite")
    with pytest.raises(PlanError, match=f"{longest.instructions - 1} are allowed: step {longest.step} of"):
        check_slice(longest, longest.instructions - 1, "cortex-m0plus", "residual.tflite")


def test_longest_step_of_a_stream_is_none_of_the_idle_slices(tmp_path: Path) -> None:
    """Where rows stream, some slices find nothing to do; steps keep their numbers."""
    model = residual_network()
    library = kibi.compile(model, kibi.plan(model, input="streamed", granularity="row"), tmp_path, slices=True)
    stored = kibi.compile(model, kibi.plan(model, granularity="row"), tmp_path / "stored", slices=True)
    assert measured_longest_step(library).rows == measured_longest_step(stored).rows == 12
