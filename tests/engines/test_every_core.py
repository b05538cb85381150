"""Five real models on each emulated core, in each run of the tests: TFLM's bits in every engine, and counts that add up."""

from pathlib import Path

import pytest

import kibi
from kibi.engines import DeviceEngine, HostEngine
from kibi.targets import targets
from tests.support import zoo

_MODELS = (
    "tinymaix_mnist_resnet_q",
    "tinymaix_mnist_dw_f",
    "derived_mnistcnn_a16w8",
    "tflm_kws_scrambled_8bit",
    "mlperf_ad_int8",
)


@zoo.requires_zoo
@pytest.mark.parametrize("core", [each.name for each in targets() if each.is_emulated])
def test_real_models_equal_tflm(core: str, tmp_path: Path) -> None:
    """A seeded run of each, all in one library: in Python, in host C and on the core."""
    models = [kibi.load(zoo.model_path(each)) for each in _MODELS]
    plans = [kibi.plan(model, core) for model in models]
    library = kibi.compile(models, plans, tmp_path, target=core, name="together", package=None)
    for index, (name, model, plan) in enumerate(zip(_MODELS, models, plans, strict=True)):
        device = DeviceEngine(library, index)
        inputs = next(iter(zoo.seeded_runs(name)))
        for engine in (kibi.Interpreter(model, plan), HostEngine(library, index), device):
            assert tuple(map(zoo.digest, engine.run(inputs))) == zoo.catalog()[name].output_digests[0], engine
        assert device.last is not None
        assert sum(device.last.by_operator.values()) == device.last.instructions
        assert 0 < device.last.stack_bytes < 1024
