"""Models as programs for Linux and as WebAssembly: TFLM's bits, and the operators' counts."""

from pathlib import Path

import pytest

import kibi
import kibi.demo
from kibi.dtypes import Array
from kibi.engines import DeviceEngine
from kibi.errors import ModelError
from kibi.ir import Graph
from kibi.runtime import seeded_inputs
from tests.programs.tools import TARGETS, requires
from tests.support import zoo

_MODELS = ("tflm_hello_int8", "tflm_micro_speech", "mlperf_ad_int8", "mlperf_kws_int8", "tflm_mnist_lstm_float")


@zoo.requires_zoo
@pytest.mark.parametrize("name", TARGETS)
def test_real_models_equal_tflm(name: str, tmp_path: Path) -> None:
    """A seeded run of each, all in one library; what the operators take adds up to what was counted."""
    requires(name)
    models = [kibi.load(zoo.model_path(each)) for each in _MODELS]
    plans = [kibi.plan(model, name) for model in models]
    library = kibi.compile(models, plans, tmp_path, target=name, name="together", package=None)
    for index, each in enumerate(_MODELS):
        engine = DeviceEngine(library, index)
        inputs = next(iter(zoo.seeded_runs(each)))
        assert tuple(map(zoo.digest, engine.run(inputs))) == zoo.catalog()[each].output_digests[0], each
        _check_counts(engine, models[index])


def _check_counts(engine: DeviceEngine, model: Graph) -> None:
    assert engine.last is not None
    assert sum(engine.last.by_operator.values()) == engine.last.instructions
    assert engine.counter == ("instructions" if engine.linear_memory_bytes is None else "fuel")
    assert engine.last.instructions > model.macs / 64
    assert engine.last.cycles_estimate is None
    assert 0 < engine.last.stack_bytes < 128 * 1024


@pytest.mark.share(2, part=1)
@pytest.mark.parametrize("name", TARGETS)
def test_counts_and_stack_are_the_same_each_time(name: str, tmp_path: Path) -> None:
    """Two processes, and a second run of one of them, take the same instructions and the same stack."""
    requires(name)
    model = kibi.load(kibi.demo.model_path())
    plan = kibi.plan(model, name)
    library = kibi.compile(model, plan, tmp_path, target=name, package=None)
    inputs = seeded_inputs(model, 0)
    facts = []
    for engine in (DeviceEngine(library), DeviceEngine(library)):
        for _ in range(2):
            assert _same(engine.run(inputs), kibi.run(model, plan, inputs))
            assert engine.last is not None
            facts.append((engine.last.instructions, dict(engine.last.by_operator), engine.last.stack_bytes))
    assert facts == facts[:1] * 4
    if engine.counter == "instructions":
        assert min(engine.instructions_of(node) for node in range(len(model.nodes))) > 0


@pytest.mark.parametrize("name", [each for each in TARGETS if each.endswith("-linux")])
def test_counts_are_those_of_single_instructions(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where QEMU runs blocks of one instruction each, the counts are the same, operator by operator."""
    requires(name)
    model = kibi.load(kibi.demo.model_path())
    library = kibi.compile(model, kibi.plan(model, name), tmp_path, target=name, package=None)
    found = []
    for _ in range(2):
        engine = DeviceEngine(library)
        engine.run(seeded_inputs(model, 0))
        assert engine.last is not None
        found.append(dict(engine.last.by_operator))
        for variable in ("QEMU_SINGLESTEP", "QEMU_ONE_INSN_PER_TB"):  # QEMU renamed it in version 8.1
            monkeypatch.setenv(variable, "1")
    assert found[0] == found[1]


def _same(found: list[Array], expected: list[Array]) -> bool:
    return [each.tobytes() for each in found] == [each.tobytes() for each in expected]


@pytest.mark.slow
@zoo.requires_zoo
@pytest.mark.parametrize("name", TARGETS)
@pytest.mark.parametrize("model", sorted(each for each, entry in zoo.catalog().items() if not entry.refusal))
def test_simplified_model_equals_tflm(model: str, name: str, tmp_path: Path) -> None:
    """The whole zoo, after the lossless passes: two seeded runs of each."""
    requires(name)
    entry = zoo.catalog()[model]
    try:
        graph = kibi.simplify(kibi.load(entry.path))
    except ModelError as error:
        pytest.skip(f"not supported: {error.problems[0].what}")
    engine = DeviceEngine(kibi.compile(graph, kibi.plan(graph, name), tmp_path, target=name, package=None))
    runs = list(zoo.seeded_runs(model))[:2]
    assert [tuple(map(zoo.digest, engine.run(inputs))) for inputs in runs] == list(entry.output_digests[:2])
