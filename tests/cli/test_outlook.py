"""The line about float32 models: what they would take as int8."""

from pathlib import Path

import numpy as np
import pytest

import kibi
from examples.patterns import Layer, Net, patterns
from kibi import demo
from kibi.dtypes import DType
from kibi.frontends.tflite.builder import ModelBuilder
from kibi.quantization.outlook import outlook
from tests.cli.conftest import Kibi


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The path of a float32 network, beside data for it."""
    folder = tmp_path_factory.mktemp("outlook")
    net = Net([Layer("conv", 6, 3, 2, "RELU"), Layer("dense", 10)], (12, 12, 1))
    net.train(*patterns(200, 1), epochs=2)
    (folder / "net.tflite").write_bytes(net.file())
    np.save(folder / "data.npy", patterns(60, 2)[0].astype(np.float32))
    return folder / "net.tflite"


@pytest.mark.share(3, part=1)
@pytest.mark.parametrize("verb", ["inspect", "plan", "compile"])
def test_float32_models_say_what_int8_would_take(kibi: Kibi, model: Path, tmp_path: Path, verb: str) -> None:
    """In one line, with the command; a quantized model does not."""
    words = ["-o", str(tmp_path / "out")] if verb == "compile" else []
    line = kibi(verb, str(model), *words).out.splitlines()[-1]
    assert line.startswith("float32; as int8 it would take about ")
    assert f"kibi quantize {model} --data DATA -o net_int8.tflite" in line
    words = ["-o", str(tmp_path / "glyphs")] if verb == "compile" else []
    assert "as int8" not in kibi(verb, str(demo.model_path()), *words).out


@pytest.mark.slow
def test_what_int8_would_take_is_what_it_takes(model: Path, tmp_path: Path) -> None:
    """The figures of the line are those of the quantized model but for a tenth."""
    graph = kibi.load(model)
    found = outlook(model, graph, kibi.target("cortex-m4"))
    kibi.quantize(model, model.with_name("data.npy"), tmp_path / "net.tflite", evaluate=False, target=None)
    made = kibi.load(tmp_path / "net.tflite")
    assert found is not None
    assert found.ram_bytes == pytest.approx(kibi.plan(made).arena_bytes, rel=0.1)
    assert found.weights_bytes == pytest.approx(made.weights_bytes, rel=0.1)


def test_model_without_float32_says_nothing_of_int8(tmp_path: Path) -> None:
    """Also where it has operators of integers alone."""
    b = ModelBuilder()
    x, y = b.input([4], DType.S32), b.tensor([4], DType.S32)
    b.operator("ADD", [x, x], [y])
    path = tmp_path / "add.tflite"
    path.write_bytes(b.finish([y]))
    assert outlook(path, kibi.load(path)) is None
