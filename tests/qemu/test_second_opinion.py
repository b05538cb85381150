"""QEMU beside unicorn: two emulators that share no line of what is counted say the same of the same code."""

from pathlib import Path

import pytest

import kibi
from kibi import demo
from kibi.engines import DeviceEngine
from kibi.ir import Graph
from kibi.runtime import seeded_inputs
from kibi.targets import Target, target, targets
from tests.debugger.qemu import emulated_by_qemu
from tests.engines.networks import pooled_network, residual_network
from tests.support import zoo
from tests.support.amount import IS_EXHAUSTIVE

BOTH = [each.name for each in targets() if each.emulated_cpu and each.qemu]
ALONE = [each.name for each in targets() if each.qemu and not each.emulated_cpu]
_WHOLE = ("cortex-m4", "rv32imafc")
"""The targets on which each run of the tests takes the shipped model, too; in `make check-all`, all do."""
_ZOO = ("mlperf_ad_int8", "mlperf_kws_int8", "tflm_micro_speech", "tflm_mnist_lstm_float", "tflm_person_detect")


def _engine(model: Graph, plan: kibi.Plan, processor: Target, folder: Path) -> DeviceEngine:
    folder.mkdir()
    return DeviceEngine(kibi.compile(model, plan, folder, target=processor))


def _assert_same(model: Graph, name: str, folder: Path) -> None:
    """Bits, stack, and instructions operator by operator."""
    processors, inputs = (target(name).emulated_by("unicorn"), emulated_by_qemu(name)), seeded_inputs(model, 1)
    plan = kibi.plan(model, name)
    engines = [_engine(model, plan, each, folder / each.runner.value) for each in processors]
    first, second = ([each.tobytes() for each in engine.run(inputs)] for engine in engines)
    assert second == first
    one, other = (engine.last for engine in engines)
    assert one is not None
    assert other is not None
    assert other.by_operator == one.by_operator
    assert (other.instructions, other.stack_bytes, other.value) == (one.instructions, one.stack_bytes, one.value)
    assert other.cycles_estimate is None


@pytest.mark.parametrize("name", BOTH)
def test_both_emulators_say_the_same(name: str, tmp_path: Path) -> None:
    """On every target that both run: a chain with an addition, one that reads all rows, and the shipped model."""
    models = [residual_network(), pooled_network("FULLY_CONNECTED")]
    if IS_EXHAUSTIVE or name in _WHOLE:
        models.append(kibi.simplify(kibi.load(demo.model_path())))
    for number, model in enumerate(models):
        (tmp_path / str(number)).mkdir()
        _assert_same(model, name, tmp_path / str(number))


@pytest.mark.parametrize("name", ALONE)
def test_target_of_qemu_alone_gives_the_same_bits(name: str, tmp_path: Path) -> None:
    """Its outputs are those of the Python runtime; operators add up to what was counted."""
    model = kibi.simplify(kibi.load(demo.model_path()))
    inputs, plan = seeded_inputs(model, 1), kibi.plan(model, name)
    engine = _engine(model, plan, emulated_by_qemu(name), tmp_path / name)
    assert [each.tobytes() for each in engine.run(inputs)] == [each.tobytes() for each in kibi.run(model, plan, inputs)]
    assert engine.last is not None
    assert sum(engine.last.by_operator.values()) == engine.last.instructions
    assert 0 < engine.last.stack_bytes < 1024


@zoo.requires_zoo
@pytest.mark.slow
@pytest.mark.parametrize("name", BOTH)
@pytest.mark.parametrize("model", _ZOO)
def test_both_emulators_say_the_same_of_real_models(model: str, name: str, tmp_path: Path) -> None:
    """Five models of the collection, on every target that both run."""
    _assert_same(kibi.simplify(kibi.load(zoo.model_path(model))), name, tmp_path)


@zoo.requires_zoo
@pytest.mark.slow
@pytest.mark.parametrize("name", ALONE)
@pytest.mark.parametrize("model", _ZOO)
def test_real_model_equals_tflm(model: str, name: str, tmp_path: Path) -> None:
    """Five models of the collection, on every target that QEMU alone runs: TFLM's outputs."""
    graph = kibi.load(zoo.model_path(model))
    engine = _engine(graph, kibi.plan(graph, name), emulated_by_qemu(name), tmp_path / name)
    inputs = next(iter(zoo.seeded_runs(model)))
    assert tuple(map(zoo.digest, engine.run(inputs))) == zoo.catalog()[model].output_digests[0]
