"""The search for a reader of digits: gradients are right, int8 follows the floats, and the record is what was measured."""

from importlib import import_module
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from numpy.typing import NDArray

import kibi
from kibi.sweeps.best import best
from kibi.sweeps.picture import sweep_svg
from kibi.sweeps.rows import Status
from kibi.sweeps.spec import load_spec
from kibi.sweeps.table import read_table
from tests.clusters.extra import check_sweep

_FOLDER = Path(__file__).parents[2] / "examples" / "sweep"


@pytest.fixture
def training(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The module that trains."""
    monkeypatch.syspath_prepend(str(_FOLDER))
    return import_module("training")


def _loss(training: ModuleType, layers: list[object], images: object, labels: NDArray[np.int64]) -> float:
    """The cross entropy of a batch, with the normalization of that batch."""
    scores = training.forward(training.folded(layers, images), images)[-1].astype(np.float64)
    shares = np.exp(scores - scores.max(1, keepdims=True))
    chosen = (shares / shares.sum(1, keepdims=True))[np.arange(len(labels)), labels]
    return float(-np.log(chosen).mean())


def test_gradients_are_the_slopes_of_the_loss(training: ModuleType) -> None:
    """Of the weights with the steepest slope, the gain and the bias of each layer, by central differences."""
    random = np.random.default_rng(1)
    layers = training.layers_of(training.Architecture(3, 3, 9), random)
    for layer in layers:  # in f64, so that differences are exact enough
        layer.weights, layer.gain, layer.bias = (each.astype(np.float64) for each in layer.trained)
    images, labels = random.random((16, 9, 9, 1)), random.integers(0, 10, 16)
    slopes = [*training._gradients(layers, images, labels)][::-1]
    assert len(slopes) == len(layers) == 8
    for layer, found in zip(layers, slopes, strict=True):
        for value, slope in zip(layer.trained, found, strict=True):
            place = np.unravel_index(np.abs(slope).argmax(), slope.shape)
            kept, step = float(value[place]), 1e-6
            losses = []
            for sign in (1, -1):
                value[place] = kept + sign * step
                losses.append(_loss(training, layers, images, labels))
            value[place] = kept
            assert (losses[0] - losses[1]) / (2 * step) == pytest.approx(float(slope[place]), rel=1e-3, abs=1e-5)


def test_int8_follows_the_floats(training: ModuleType, tmp_path: Path) -> None:
    """Scores differ by a few steps of their quantization."""
    random = np.random.default_rng(2)
    given = training.Architecture(4, 2, 12)
    pixels = random.integers(0, 256, (40, 12, 12, 1)).astype(np.uint8)
    images = pixels / np.float32(255)
    layers = training.train(given, np.tile(images, (4, 1, 1, 1)), np.arange(160) % 10, epochs=2)
    (tmp_path / "net.tflite").write_bytes(training.quantized(given, layers, images))
    model = kibi.load(tmp_path / "net.tflite")
    interpreter = kibi.Interpreter(model, kibi.plan(model))
    kind = model.tensors[model.outputs[0]].quantization
    assert kind is not None
    wanted = training.forward(layers, images)[-1]
    inputs = (pixels.astype(np.int16) - 128).astype(np.int8)
    scores = np.concatenate([interpreter.run([each[None]])[0] for each in inputs]).astype(np.float32)
    error = np.abs((scores - kind.zero_point) * kind.scale - wanted)
    assert error.max() < 0.12 * (wanted.max() - wanted.min())


def test_recorded_picture_and_readme_are_those_of_the_recorded_table() -> None:
    """The figures of the search are in the repository as they were measured."""
    check_sweep()
    rows = read_table(_FOLDER / "search.parquet")
    spec = load_spec(_FOLDER / "search.toml")
    arguments = dict(spec.arguments)
    count = len(arguments["widths"]) * len(arguments["depths"]) * len(arguments["resolutions"])
    assert len(rows) == count * len(spec.grid.settings)
    assert {row.outcome.status for row in rows} == {Status.MEASURED}
    svg = (_FOLDER / "search.svg").read_text(encoding="utf-8")
    assert svg == sweep_svg(rows, spec.objective, spec.budget)
    chosen = best(rows, spec.budget, spec.objective, 5)
    readme = (_FOLDER.parent / "README.md").read_text(encoding="utf-8")
    for row in chosen:
        values = [dict(row.parameters)[name] for name in ("width", "depth", "resolution")]
        figures = [f"{row.value(name):,}" for name in ("ram_bytes", "flash_bytes", "instructions")]
        share = f"{100 * (row.value('accuracy') or 0):.1f} %"
        assert f"| {' | '.join([*map(str, values), row.setting.goal, share, *figures])} |" in readme
