"""The example that listens for a wake word, on recordings of the zoo, beside the package that the models are from."""

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import kibi
from kibi.runtime import seeded_inputs
from kibi.tflm import Oracle
from kibi.toolchain import build_program
from tests.support.zoo import requires_zoo, zoo_path
from tests.toolchain.tools import check_gcc

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


@pytest.mark.slow
def test_c_under_sanitizers_gives_tflms_answers_over_many_slices(
    example: ModuleType, oracle: Oracle, tmp_path: Path
) -> None:
    """Rows of the state are overwritten in place, slice after slice, and no wrong byte is touched."""
    check_gcc()
    word = example.Word.named("okay_nabu")
    graph = word.graph
    library = kibi.compile(graph, kibi.plan(graph, "host"), tmp_path, target="host")
    sources = [*(tmp_path / name for name in library.sources), _EXAMPLE.with_name("detector.c")]
    program = build_program(sources, compiler="gcc", level="0", includes=[tmp_path], sanitize=True)
    runs = [seeded_inputs(graph, seed) for seed in range(40)]
    sent = b"".join(run[0].tobytes() for run in runs)
    answers = subprocess.run([program], input=sent, capture_output=True, check=True).stdout.decode().split()[::2]
    wanted = [int(np.asarray(each.outputs[0]).item()) for each in oracle.run(graph.path, runs)]
    assert [int(answer) for answer in answers] == wanted
