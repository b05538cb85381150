"""The eight benchmark models: every tensor and every output, in all three engines, against TFLM's answers."""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

import kibi
from kibi.engines import DeviceEngine, HostEngine
from tests.planner.networks import by_row
from tests.support import zoo
from tests.support.amount import sample

if TYPE_CHECKING:
    from kibi.dtypes import Array

ACTIVATION_BYTES = {
    "mlperf_kws_int8": 16_000,
    "mlperf_vww_int8": 55_296,
    "mlperf_ic_int8": 49_152,
    "mlperf_ad_int8": 768,
    "mlperf_sww_int8": 6_656,
    "tflm_person_detect": 55_296,
}
"""The largest sum of live activations in file order: no plan of whole tensors can need less."""

pytestmark = zoo.requires_zoo

_SMALL = ("mlperf_kws_int8", "mlperf_ad_int8", "mlperf_sww_int8", "tflm_micro_speech", "tflm_hello_int8")
"""Models that are quick in Python and on the core: in each run of the tests, these."""


@pytest.mark.share(2, part=0)
@pytest.mark.parametrize("name", sample([(name,) for name in zoo.BENCHMARKS], [(name,) for name in _SMALL]))
def test_interpreter_equals_every_golden_tensor(name: str) -> None:
    """Each intermediate tensor of runs 0 and 3 has the hash that TFLM's has, and each output of all six runs."""
    model = kibi.load(zoo.model_path(name))
    interpreter = kibi.Interpreter(model, kibi.plan(model))
    goldens = dict(zip(zoo.GOLDEN_RUNS, zoo.goldens(name), strict=True))
    for number, inputs in enumerate(zoo.seeded_runs(name)):
        seen: dict[int, Array] = {}
        outputs = interpreter.run(inputs, lambda index, array, seen=seen: seen.update({index: array}))  # type: ignore[misc]
        assert tuple(map(zoo.digest, outputs)) == zoo.catalog()[name].output_digests[number]
        if number in goldens:
            made = {view.output.index for view in model.views}
            assert made <= set(goldens[number])
            assert {i: zoo.fingerprint(seen[i]) for i in made} == {i: goldens[number][i] for i in made}


@pytest.mark.share(2, part=1)
@pytest.mark.parametrize("name", sample([(name,) for name in zoo.BENCHMARKS], [(name,) for name in _SMALL[::2]]))
def test_host_and_device_equal_tflm_on_the_seeded_runs(name: str, tmp_path: Path) -> None:
    """The C library gives TFLM's outputs on this machine (six runs) and on the emulated Cortex-M4 (two runs)."""
    model = kibi.load(zoo.model_path(name))
    library = kibi.compile(model, kibi.plan(model), tmp_path)
    host, device = HostEngine(library), DeviceEngine(library)
    for number, inputs in enumerate(zoo.seeded_runs(name)):
        expected = zoo.catalog()[name].output_digests[number]
        assert tuple(map(zoo.digest, host.run(inputs))) == expected
        if number in zoo.GOLDEN_RUNS:
            assert tuple(map(zoo.digest, device.run(inputs))) == expected


@pytest.mark.parametrize(("name", "size"), ACTIVATION_BYTES.items())
def test_plan_of_activations_meets_its_lower_bound(name: str, size: int) -> None:
    """Without scratch the arena is at most what lives at once where nothing is made in place, and proven."""
    from kibi.planner import plan  # noqa: PLC0415 - the story's `kibi.plan` always counts scratch

    model = kibi.load(zoo.model_path(name))
    made = plan(model, kibi.target("cortex-m4"), scratch=False)
    assert made.arena_bytes == made.lower_bound_bytes <= size
    assert made.proven_optimal


@pytest.mark.parametrize(
    "name",
    sample([(name,) for name in zoo.BENCHMARKS if name != "tflm_hello_int8"], [(name,) for name in _SMALL[1::2]]),
)
def test_interleaved_order_gives_the_same_bits_in_all_engines(name: str, tmp_path: Path) -> None:
    """A real model whose row steps interleave wherever they can equals the one that runs operator by operator."""
    model = kibi.load(zoo.model_path(name))
    plan = kibi.plan(model, runs=by_row(model))
    library = kibi.compile(model, plan, tmp_path)
    inputs = next(iter(zoo.seeded_runs(name)))
    expected = kibi.run(model, None, inputs)
    for engine in (kibi.Interpreter(model, plan), HostEngine(library), DeviceEngine(library)):
        for found, wanted in zip(engine.run(inputs), expected, strict=True):
            np.testing.assert_array_equal(found, wanted)


@pytest.mark.share(2, part=1)
@pytest.mark.parametrize("name", sample((name,) for name in zoo.BENCHMARKS))
def test_measurement_keeps_within_what_was_promised(name: str, tmp_path: Path) -> None:
    """As commands compile: code under 12,500 bytes, stacks under 600, half of the instructions of TFLM's reference kernels."""
    model = kibi.simplify(kibi.load(zoo.model_path(name)))
    measured = kibi.measure(kibi.compile(model, None, tmp_path), oracle=False)
    assert measured.bit_exact
    assert measured.code_bytes <= 12_500
    assert measured.stack_bytes < 600
    assert sum(operator.instructions for operator in measured.ops) <= measured.instructions
    assert 2 * measured.instructions <= zoo.baseline(name)["instructions_reference"]


ROW_ARENA_BYTES = {
    ("mlperf_kws_int8", "stored"): 4_300,
    ("mlperf_kws_int8", "streamed"): 4_000,
    ("mlperf_vww_int8", "stored"): 28_500,
    ("mlperf_vww_int8", "streamed"): 10_900,
    ("mlperf_ic_int8", "stored"): 11_300,
    ("mlperf_ic_int8", "streamed"): 10_200,
    ("mlperf_ad_int8", "stored"): 1_100,
    ("mlperf_sww_int8", "stored"): 4_200,
    ("mlperf_sww_int8", "streamed"): 4_200,
    ("tflm_person_detect", "stored"): 13_000,
    ("tflm_person_detect", "streamed"): 10_700,
    ("tflm_micro_speech", "stored"): 3_500,
}
"""What plans by the row need at most, all scratch included."""
MORE_ARENA_BYTES = {
    ("arm_kws_micronet_m", "stored"): 13_500,
    ("arm_kws_micronet_m", "streamed"): 13_200,
    ("mltk_rock_paper_scissors", "stored"): 30_000,
    ("mltk_rock_paper_scissors", "streamed"): 9_500,
    ("openmv_blazeface_front_128", "stored"): 222_000,
    ("openmv_blazeface_front_128", "streamed"): 218_000,
}
"""The same of models that take longer to run."""


@pytest.mark.share(2, part=0)
@pytest.mark.parametrize(("name", "mode"), sample(ROW_ARENA_BYTES, list(ROW_ARENA_BYTES)[::4]))
def test_plan_by_row_keeps_its_size_and_the_bits(name: str, mode: str, tmp_path: Path) -> None:
    """A fraction of the memory, the same bits in all engines, at most four hundredths more instructions."""
    model = kibi.load(zoo.model_path(name))
    plan = kibi.plan(model, granularity="row", input=mode)
    assert plan.arena_bytes <= ROW_ARENA_BYTES[name, mode]
    library = kibi.compile(model, plan, tmp_path / "row")
    inputs = next(iter(zoo.seeded_runs(name)))
    device = DeviceEngine(library)
    for engine in (kibi.Interpreter(model, plan), HostEngine(library), device):
        assert tuple(map(zoo.digest, engine.run(inputs))) == zoo.catalog()[name].output_digests[0]
    whole = DeviceEngine(kibi.compile(model, kibi.plan(model, granularity="tensor"), tmp_path / "whole"))
    whole.run(inputs)
    assert device.last is not None
    assert whole.last is not None
    assert device.last.instructions <= 1.04 * whole.last.instructions


@pytest.mark.parametrize(
    ("name", "mode", "most"),
    sample(
        [(*key, most) for key, most in MORE_ARENA_BYTES.items()],
        [(*key, most) for key, most in MORE_ARENA_BYTES.items() if key[0] != "arm_kws_micronet_m"][::2],
    ),
)
def test_plan_by_row_of_larger_models_keeps_its_size(name: str, mode: str, most: int) -> None:
    """Larger networks, with 20 to 76 operators, stay under their limits, and under whole tensors."""
    model = kibi.load(zoo.model_path(name))
    plan = kibi.plan(model, input=mode)
    assert plan.arena_bytes <= most
    assert plan.arena_bytes <= kibi.plan(model, granularity="tensor", input=mode).arena_bytes
