"""The example of a speech front end: audio in, label out, in Python, in C here and on the emulated core, as TFLM's two models."""

import importlib.util
import subprocess
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from numpy.typing import NDArray

from kibi.emulator import Core
from kibi.targets import target
from kibi.tflm import Oracle
from kibi.toolchain import build_image, build_program
from tests.support import zoo

_EXAMPLE = Path(__file__).parents[2] / "examples" / "speech_front_end"
_RECORDINGS = {"yes": "yes", "no": "no", "silence": "silence", "noise": "silence"}
"""The recordings, and TFLM's labels of them."""

pytestmark = zoo.requires_zoo


@pytest.fixture(scope="module")
def listen() -> ModuleType:
    """The example's program."""
    spec = importlib.util.spec_from_file_location("listen", _EXAMPLE / "listen.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _models() -> tuple[Path, Path]:
    return zoo.model_path("tflm_audio_pre_int8"), zoo.model_path("tflm_micro_speech")


def _recording(name: str) -> Path:
    return zoo.zoo_path() / "inputs" / "tflm_micro_speech" / f"{name}_1000ms.wav"


def _tflm(oracle: Oracle, windows: list[NDArray[np.int16]]) -> tuple[NDArray[np.generic], NDArray[np.generic]]:
    """TFLM's features and scores of the last second."""
    front_end, network = (path.read_bytes() for path in _models())
    runs = oracle.run(front_end, [[window] for window in windows])
    features = np.concatenate([run.outputs[0].reshape(1, -1) for run in runs])
    return features, oracle.run(network, [[features.reshape(1, -1)]])[0].outputs[0].reshape(-1)


@pytest.mark.parametrize(("name", "label"), _RECORDINGS.items())
def test_python_hears_what_tflm_hears(name: str, label: str, listen: ModuleType, oracle: Oracle) -> None:
    """Features and scores are TFLM's, bit for bit."""
    listener = listen.Listener(*listen.models_of(*_models()))
    samples = listen.samples_of(_recording(name))
    scores = listener.listen(samples)
    features, wanted = _tflm(oracle, list(listen.windows(samples)))
    np.testing.assert_array_equal(listener.features, features)
    np.testing.assert_array_equal(scores, wanted)
    assert listen.LABELS[int(scores.argmax())] == label


@pytest.mark.slow
def test_c_program_hears_what_python_hears(listen: ModuleType, tmp_path: Path) -> None:
    """Both models in one arena, compiled for this machine, give the same labels and scores."""
    models = listen.models_of(*_models())
    library = listen.compiled(models, tmp_path, "host")
    sources = [*(tmp_path / name for name in library.sources), _EXAMPLE / "speech.c", _EXAMPLE / "main.c"]
    program = build_program(sources, includes=[tmp_path, _EXAMPLE], sanitize=True)
    listener = listen.Listener(*models)
    for name, label in _RECORDINGS.items():
        text = subprocess.run([program, _recording(name)], check=True, capture_output=True, text=True).stdout
        scores = listener.listen(listen.samples_of(_recording(name)))
        assert text.split() == [label, *map(str, scores.tolist())]


@pytest.mark.slow
def test_device_hears_what_python_hears(listen: ModuleType, tmp_path: Path) -> None:
    """The emulated Cortex-M4 gives the same label from the samples, and from them alone."""
    models = listen.models_of(*_models())
    library = listen.compiled(models, tmp_path, "cortex-m4")
    sources = [*(tmp_path / name for name in library.sources), _EXAMPLE / "speech.c"]
    entries = ["speech_bytes", "speech_listen"]
    image = build_image(sources, target("cortex-m4"), entries=entries, includes=[tmp_path, _EXAMPLE], level="s")
    core = Core(image, target("cortex-m4"))
    listener = core.allocate("speech", core.call("speech_bytes").value, alignment=8)
    longest = core.allocate("samples", 32000, alignment=2, writable=False)
    for name in ("yes", "no"):
        samples = listen.samples_of(_recording(name))
        core.write(longest, samples.tobytes())
        call = core.call("speech_listen", listener, longest, samples.size, instruction_limit=100_000_000)
        assert listen.LABELS[call.signed_value] == _RECORDINGS[name]
        assert call.instructions < 20_000_000
