"""Models on the RISC-V targets: TFLM's bits, the operators' counts, and tuning."""

from pathlib import Path

import pytest

import kibi
import kibi.demo
from kibi.engines import DeviceEngine
from kibi.errors import ModelError
from tests.support import zoo


@zoo.requires_zoo
@pytest.mark.parametrize(
    ("name", "target"),
    [
        ("tflm_hello_int8", "rv32imc"),
        ("mlperf_ad_int8", "rv32imc"),
        ("mlperf_kws_int8", "rv32imac"),
        ("tflm_micro_speech", "rv32imac"),
        pytest.param("tflm_mnist_lstm_float", "rv32imac", marks=pytest.mark.slow),
        pytest.param("tflm_mnist_lstm_float", "rv32imafc", marks=pytest.mark.slow),
    ],
)
def test_real_model_equals_tflm(name: str, target: str, tmp_path: Path) -> None:
    """One seeded run, with floats in software and in hardware; what the operators take adds up to what was counted."""
    model = kibi.load(zoo.model_path(name))
    engine = DeviceEngine(kibi.compile(model, kibi.plan(model, target), tmp_path, target=target))
    inputs = next(iter(zoo.seeded_runs(name)))
    assert tuple(map(zoo.digest, engine.run(inputs))) == zoo.catalog()[name].output_digests[0]
    assert engine.last is not None
    assert sum(engine.last.by_operator.values()) == engine.last.instructions
    assert engine.last.cycles_estimate is None
    assert 0 < engine.last.stack_bytes < 1024


@pytest.mark.slow
def test_tuning_counts_on_the_core_of_the_target() -> None:
    """The kernels that may run a layer are counted on it, and the plan has those with the fewest instructions."""
    model = kibi.load(kibi.demo.model_path())
    tuning = kibi.tune(model, target="rv32imac")
    made = kibi.plan(model, "rv32imac", tuning=tuning)
    assert made.kernels == tuning.kernels
    for layer in tuning.layers:
        least = min(each.instructions for each in layer.candidates)
        assert {each.kernel: each.instructions for each in layer.candidates}[layer.chosen] == least


@zoo.requires_zoo
@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name, entry in zoo.catalog().items() if not entry.refusal])
def test_zoo_equals_tflm(name: str, tmp_path: Path) -> None:
    """Every real model that has TFLM's very bits, one seeded run, with floats in software."""
    try:
        model = kibi.load(zoo.model_path(name))
    except ModelError:
        pytest.skip("refused")
    if max((node.op.ulps for node in model.nodes), default=0):
        pytest.skip("it may differ in last places")
    made = kibi.plan(model, "rv32imc")
    engine = DeviceEngine(kibi.compile(model, made, tmp_path, target="rv32imc"))
    inputs = next(iter(zoo.seeded_runs(name)))
    assert tuple(map(zoo.digest, engine.run(inputs))) == zoo.catalog()[name].output_digests[0]


@zoo.requires_zoo
@pytest.mark.slow
@pytest.mark.parametrize("goal", ["speed", "flash"])
@pytest.mark.parametrize(
    "name", ["mlperf_kws_int8", "mlperf_ic_int8", "mlperf_vww_int8", "mlperf_ad_int8", "tflm_person_detect"]
)
def test_models_equal_tflm_for_other_goals(name: str, goal: str, tmp_path: Path) -> None:
    """All seeded runs, one after another, with the kernels and the scratch of each goal."""
    model = kibi.load(zoo.model_path(name))
    engine = DeviceEngine(kibi.compile(model, kibi.plan(model, "rv32imc", goal=goal), tmp_path, target="rv32imc"))
    outputs = [tuple(map(zoo.digest, engine.run(inputs))) for inputs in zoo.seeded_runs(name)]
    assert outputs == list(zoo.catalog()[name].output_digests)
