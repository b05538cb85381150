"""Real models and drawn networks on each emulated core: the same bits in every engine, and counts that add up."""

from pathlib import Path

import pytest

import kibi
from kibi.engines import DeviceEngine, HostEngine
from kibi.frontends.tflite import parse_tflite
from kibi.selection import Goal
from kibi.targets import targets
from tests.ops.comparison import assert_same
from tests.support import zoo
from tests.support.amount import amount
from tests.support.choices import Seeded
from tests.support.network_models import network

_MODELS = (
    "tinymaix_mnist_resnet_q",
    "tinymaix_mnist_dw_f",
    "derived_mnistcnn_a16w8",
    "tflm_kws_scrambled_8bit",
    "mlperf_ad_int8",
)
_CORES = [each.name for each in targets() if each.is_emulated]
_NETWORKS = 24
_ON_EACH = amount(2, len(_MODELS))
"""Models on each core: the next core has the next ones."""


@zoo.requires_zoo
@pytest.mark.parametrize("core", _CORES)
def test_real_models_equal_tflm(core: str, tmp_path: Path) -> None:
    """A seeded run of each, all in one library: in Python, in host C and on the core."""
    first = _ON_EACH * _CORES.index(core)
    names = [_MODELS[number % len(_MODELS)] for number in range(first, first + _ON_EACH)]
    models = [kibi.load(zoo.model_path(each)) for each in names]
    plans = [kibi.plan(model, core) for model in models]
    library = kibi.compile(models, plans, tmp_path, target=core, name="together", package=None)
    for index, (name, model, plan) in enumerate(zip(names, models, plans, strict=True)):
        device = DeviceEngine(library, index)
        inputs = next(iter(zoo.seeded_runs(name)))
        for engine in (kibi.Interpreter(model, plan), HostEngine(library, index), device):
            assert tuple(map(zoo.digest, engine.run(inputs))) == zoo.catalog()[name].output_digests[0], engine
        assert device.last is not None
        assert sum(device.last.by_operator.values()) == device.last.instructions
        assert 0 < device.last.stack_bytes < 1024


@pytest.mark.slow
@pytest.mark.parametrize("core", _CORES)
@pytest.mark.parametrize("goal", list(Goal))
def test_drawn_networks_equal_the_reference(core: str, goal: Goal, tmp_path: Path) -> None:
    """Narrow and wide ones, in host C and on the core."""
    cases = [network(Seeded(seed), 5 << seed % 5) for seed in range(_NETWORKS)]
    graphs = [parse_tflite(case.model, f"network_{seed}.tflite") for seed, case in enumerate(cases)]
    plans = [kibi.plan(graph, core, goal=goal) for graph in graphs]
    library = kibi.compile(graphs, plans, tmp_path, target=core, name="together", package=None)
    for index, (case, graph) in enumerate(zip(cases, graphs, strict=True)):
        expected = kibi.run(graph, None, case.inputs)
        for engine in (HostEngine(library, index), DeviceEngine(library, index)):
            assert_same(graph, engine.run(case.inputs), expected)
