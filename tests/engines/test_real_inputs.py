"""Real inputs: images, speech features, spectrograms and digits get the answers that TFLM gives, in Python and in host C."""

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kibi
from kibi.dtypes import Array
from kibi.engines import HostEngine
from kibi.ir import Graph
from tests.support import zoo
from tests.support.amount import sample

pytestmark = zoo.requires_zoo

_DIGITS = "emlearn_mnist_cnn_int8 on mnist_example_0..9"
_WINDOWS = "mlperf_ad_int8 on normal_id_01 (196 windows)"
_NO_ANSWER = "sww npz"
"""An entry that describes a file, and says nothing of an answer."""
Run = Callable[[Array], Array]


@cache
def _expected() -> Mapping[str, Any]:
    path = zoo.zoo_path() / "inputs" / "expected.json"
    return dict(json.loads(path.read_text(encoding="utf-8"))) if path.is_file() else {}


def _file(name: str) -> Path:
    return zoo.zoo_path() / "inputs" / name


def _centred(pixels: Array) -> Array:
    """Pixels of u8 as s8."""
    return (pixels.astype(np.int16) - 128).astype(np.int8)


def _bitmap(name: str) -> Array:
    """A bitmap of 8 bits, which begins with the lowest row: 96 x 96."""
    data = _file(f"tflm_person_detection/{name}").read_bytes()
    start = int.from_bytes(data[10:14], "little")
    return _centred(np.frombuffer(data, np.uint8, 96 * 96, start).reshape(96, 96)[::-1])


def _input(what: str) -> Array:
    """The elements behind the name that `expected.json` gives an input."""
    if what.endswith(".bmp"):
        return _bitmap(what)
    if found := re.match(r"esp (image\d) ", what):
        return _centred(np.fromfile(_file(f"esp_person_96x96_gray/{found[1]}.raw"), np.uint8))
    if found := re.match(r"(\w+_1000ms)\.wav ", what):
        features: Array = np.load(_file(f"tflm_micro_speech/{found[1]}_features_int8.npy"))
        return features
    if what == "g_kws_inputs":
        return np.fromfile(_file("mlperf_kws/g_kws_inputs.int8.bin"), np.int8)
    assert what.startswith("taxi_s_001241 "), what
    planes = np.fromfile(_file("mlperf_ic/taxi_s_001241_chw.bin"), np.uint8).reshape(3, 32, 32)
    return _centred(planes.transpose(1, 2, 0))


@cache
def _model(name: str) -> Graph:
    return kibi.load(zoo.model_path(name))


def _python(graph: Graph) -> Run:
    """A function from input to output in Python."""
    interpreter, shape = kibi.Interpreter(graph), graph.tensors[graph.inputs[0]].type.shape
    return lambda elements: interpreter.run([elements.reshape(shape)])[0].reshape(-1)


def _host(graph: Graph, folder: Path) -> Run:
    """The same in C on this machine."""
    engine, shape = HostEngine(kibi.compile(graph, None, folder)), graph.tensors[graph.inputs[0]].type.shape
    return lambda elements: engine.run([elements.reshape(shape)])[0].reshape(-1)


def _both(name: str, folder: Path) -> Iterator[Run]:
    graph = _model(name)
    yield _python(graph)
    yield _host(graph, folder)


_IN_PYTHON = [key for key in _expected() if key not in (_DIGITS, _WINDOWS, _NO_ANSWER)]


@cache
def _cached(name: str) -> Run:
    return _python(_model(name))


@pytest.mark.parametrize("key", _IN_PYTHON)
def test_real_input_has_the_answer_that_tflm_gives(key: str) -> None:
    """Every element of the output, in Python."""
    name, _, what = key.partition(" on ")
    assert _cached(name)(_input(what)).tolist() == _expected()[key]


@pytest.mark.parametrize(
    "name",
    sample(
        [("tflm_micro_speech",), ("tflm_person_detect",), ("mlperf_kws_int8",), ("mlperf_ic_int8",)],
        [("tflm_micro_speech",)],
    ),
)
def test_real_inputs_in_host_c_have_the_answers_that_tflm_gives(name: str, tmp_path: Path) -> None:
    """All inputs of a model, one after another, in C."""
    run = _host(_model(name), tmp_path)
    answers = {key: value for key, value in _expected().items() if key.startswith(f"{name} on ")}
    assert answers
    assert {key: run(_input(key.partition(" on ")[2])).tolist() for key in answers} == answers


def test_digits_are_read_as_what_they_are(tmp_path: Path) -> None:
    """Ten handwritten digits, in Python and in C."""
    digits = [_centred(np.fromfile(_file(f"mnist_28x28_u8/mnist_example_{k}.bin"), np.uint8)) for k in range(10)]
    for run in _both("emlearn_mnist_cnn_int8", tmp_path):
        assert [int(run(digit).argmax()) for digit in digits] == _expected()[_DIGITS]


def test_spectrogram_of_a_machine_is_rebuilt_as_by_tflm(tmp_path: Path) -> None:
    """196 windows of five frames: every byte of the outputs, in Python and in C."""
    expected = _expected()[_WINDOWS]
    frames = np.fromfile(_file("mlperf_ad/normal_id_01_00000000_hist_librosa.f32.bin"), np.float32).reshape(-1, 128)
    windows = np.stack([frames[k : k + 5].reshape(-1) for k in range(expected["windows"])])
    quantized = np.clip(np.round(windows / expected["in_scale"]) + expected["in_zp"], -128, 127).astype(np.int8)
    for run in _both("mlperf_ad_int8", tmp_path):
        outputs = b"".join(run(window).tobytes() for window in quantized)
        assert hashlib.sha256(outputs).hexdigest() == expected["outputs_sha256"]


def _c_array(path: Path, name: str) -> Array:
    """The bytes of the last array of that name in a C file."""
    text = path.read_text(encoding="utf-8").rpartition(f"{name}[] = {{")[2].partition("}")[0]
    return np.array([int(each, 16) for each in re.findall(r"0x\w\w", text)], np.uint8).view(np.int8)


def test_network_tester_has_the_answer_that_tflm_ships(tmp_path: Path) -> None:
    """TFLM's own example for trying a network, in Python and in C."""
    folder = _file("tflm_network_tester")
    elements, answer = (
        _c_array(folder / "input_data.h", "input_data"),
        _c_array(folder / "expected_output_data.h", "expected_output_data"),
    )
    for run in _both("tflm_network_tester", tmp_path):
        assert run(elements).tolist() == answer.tolist()
