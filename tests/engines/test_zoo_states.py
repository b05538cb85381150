"""Real models that remember: runs one after another, in all three engines, against TFLM's answers."""

from pathlib import Path

import pytest

import kibi
from kibi.engines import DeviceEngine, HostEngine
from tests.support import zoo
from tests.support.amount import sample

_MODELS = (
    "coral_keras_lstm_mnist",
    "tflm_dtln_noise",
    "tflm_kws_scrambled",
    "tflm_kws_scrambled_8bit",
    "tflm_mnist_lstm_float",
    "tflm_mnist_lstm_int8",
)

pytestmark = zoo.requires_zoo


@pytest.mark.share(2, part=0)
@pytest.mark.parametrize(
    "name", sample([(name,) for name in _MODELS], [("tflm_kws_scrambled",), ("tflm_mnist_lstm_int8",)])
)
def test_consecutive_runs_equal_tflm_in_all_engines(name: str, tmp_path: Path) -> None:
    """Layers of SVDF and LSTM carry their states from one seeded run to the next as TFLM's do."""
    model = kibi.load(zoo.model_path(name))
    plan = kibi.plan(model)
    library = kibi.compile(model, plan, tmp_path)
    engines = kibi.Interpreter(model, plan), HostEngine(library), DeviceEngine(library)
    for number, inputs in enumerate(zoo.seeded_runs(name)):
        for engine in engines[: 3 if number < 2 else 2]:
            assert tuple(map(zoo.digest, engine.run(inputs))) == zoo.catalog()[name].output_digests[number]
