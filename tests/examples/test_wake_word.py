"""The example that listens for a wake word, on recordings of the zoo, beside the package that the models are from."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.support.zoo import requires_zoo, zoo_path

_EXAMPLE = Path(__file__).parents[2] / "examples" / "wake_word" / "wake_word.py"
_RECORDINGS = zoo_path() / "inputs" / "wakeword_wav"
_WORDS = ("alexa", "hey_jarvis")

pytestmark = requires_zoo


@pytest.fixture(scope="module")
def example() -> ModuleType:
    """The script as a module."""
    for package in ("pymicro_features", "pymicro_wakeword"):
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"{package} is not installed: pip install 'kibi[wakeword]'")
    spec = importlib.util.spec_from_file_location("wake_word", _EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["wake_word"] = module  # where its dataclasses look for their module
    spec.loader.exec_module(module)
    return module


def _heard_by_peer(word: str, samples: bytes) -> bool:
    """Whether `pymicro-wakeword` hears the word, with TensorFlow Lite's kernels."""
    from pymicro_wakeword import MicroWakeWord, MicroWakeWordFeatures, Model  # noqa: PLC0415 - may not be installed

    peer: Any = MicroWakeWord.from_builtin(Model(word))
    return any(peer.process_streaming(each) for each in MicroWakeWordFeatures().process_streaming(samples))


@pytest.mark.parametrize("word", _WORDS)
def test_word_is_heard_where_it_is_said_and_nowhere_else_as_by_the_peer(example: ModuleType, word: str) -> None:
    """In C, once in a recording of it, not in one of other words, and both as `pymicro-wakeword` finds."""
    model = example.Word.named(word)
    for name, is_said in ((f"{word}_2.wav", True), ("computer_computer.wav", False)):
        found = example.detections(model, _RECORDINGS / name, "c")
        assert len(found) == is_said
        assert _heard_by_peer(word, example.samples_of(_RECORDINGS / name)) is is_said


def test_c_hears_it_at_the_same_time(example: ModuleType) -> None:
    """The loop in C gives the same detections as the one in Python."""
    model = example.Word.named("okay_nabu")
    path = _RECORDINGS / "okay_nabu_1.wav"
    assert example.detections(model, path, "c") == example.detections(model, path, "python") != []
