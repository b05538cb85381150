"""Models that another framework converts: when it is asked, with what, and what is said where it is missing or fails."""

import io
import zipfile
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest

import kibi
from kibi.errors import ModelError, ToolchainError
from kibi.frontends.exporters import exporter
from kibi.frontends.exporters.exporter import TENSORFLOW, Exporter
from tests.frontends.models import relu

_HDF5 = b"\x89HDF\r\n\x1a\n"


def _keras() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name in ("metadata.json", "config.json", "model.weights.h5"):
            archive.writestr(name, "{}")
    return buffer.getvalue()


@pytest.fixture
def models(tmp_path: Path) -> dict[str, Path]:
    """A file or folder of each kind that TensorFlow converts; none is a whole one."""
    (tmp_path / "saved").mkdir()
    (tmp_path / "saved" / "saved_model.pb").write_bytes(b"\x08\x01")
    (tmp_path / "model.keras").write_bytes(_keras())
    (tmp_path / "model.h5").write_bytes(_HDF5 + bytes(100))
    return {name: tmp_path / name for name in ("saved", "model.keras", "model.h5")}


def _framework(folder: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> Exporter:
    """A framework that is installed, whose converter is a script with that text."""
    script = ModuleType("script")
    script.__file__ = str(folder / "script.py")
    Path(script.__file__).write_text(
        "import sys\nfrom pathlib import Path\nsource, made = map(Path, sys.argv[1:])\n" + text
    )
    found = replace(TENSORFLOW, module="json", script=script)
    monkeypatch.setattr("kibi.frontends.exporters.TENSORFLOW", found)
    return found


@pytest.mark.parametrize("name", ["saved", "model.keras", "model.h5"])
def test_missing_framework_is_named_with_its_command(
    models: dict[str, Path], monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Before any work, and with the other way on."""
    monkeypatch.setattr("kibi.frontends.exporters.TENSORFLOW", replace(TENSORFLOW, module="no_such_framework"))
    with pytest.raises(ToolchainError, match=r"pip install tensorflow-cpu. Or convert the model elsewhere"):
        kibi.load(models[name])


@pytest.mark.parametrize("name", ["saved", "model.keras", "model.h5"])
def test_model_is_what_the_framework_makes_of_it(
    models: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """The framework gets the path; it is asked once, however often the model is read."""
    (tmp_path / "relu.tflite").write_bytes(relu())
    text = f"assert source == Path({str(models[name])!r})\nprint('much', file=sys.stderr)\n"
    log = f"with open({str(tmp_path / 'log')!r}, 'a') as log: log.write('asked ')\n"
    _framework(
        tmp_path, monkeypatch, f"{text}{log}made.write_bytes(Path({str(tmp_path / 'relu.tflite')!r}).read_bytes())"
    )
    graph = kibi.load(models[name])
    assert (graph.path, graph.source) == (models[name], name)
    assert kibi.convert(models[name]).data == relu()
    assert (tmp_path / "log").read_text() == "asked "


def test_model_that_changed_is_converted_again(
    models: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Any file of a folder may change."""
    (tmp_path / "relu.tflite").write_bytes(relu())
    log = f"with open({str(tmp_path / 'log')!r}, 'a') as log: log.write('asked ')\n"
    _framework(tmp_path, monkeypatch, f"{log}made.write_bytes(Path({str(tmp_path / 'relu.tflite')!r}).read_bytes())")
    kibi.load(models["saved"])
    (models["saved"] / "variables.index").write_bytes(b"new")
    kibi.load(models["saved"])
    assert (tmp_path / "log").read_text() == "asked asked "


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "Path(str(made) + '.error').write_text('ValueError: a Lambda layer')",
            "cannot convert it: ValueError: a Lambda layer",
        ),
        ("print('no memory', file=sys.stderr); sys.exit(3)", "cannot convert it: no memory"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "cannot convert it: it ended with"),
        ("made.write_bytes(b'nonsense')", "not a .tflite file"),
    ],
)
def test_failure_of_the_framework_is_a_problem_of_the_model(
    models: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, expected: str
) -> None:
    """With its own words, or its end where it has none."""
    _framework(tmp_path, monkeypatch, text)
    with pytest.raises(ModelError) as refusal:
        kibi.load(models["model.keras"])
    assert expected in str(refusal.value)
    assert refusal.value.problems[0].remedy


def test_framework_that_never_ends_is_stopped(
    models: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With all that it started."""
    monkeypatch.setattr(exporter, "_SECONDS", 0.5)
    _framework(tmp_path, monkeypatch, "import time; time.sleep(600)")
    with pytest.raises(ToolchainError, match=r"more than 0\.5 s"):
        kibi.load(models["model.keras"])


def test_folder_without_a_model_is_none(tmp_path: Path) -> None:
    """Its own error, without any framework."""
    with pytest.raises(ModelError, match="it is a folder"):
        kibi.load(tmp_path)


@pytest.mark.timeout(300)
@pytest.mark.filterwarnings("default")  # TensorFlow's own
@pytest.mark.parametrize("name", ["m.keras", "m.h5", "saved"])
def test_tensorflow_converts_its_models(tmp_path: Path, name: str) -> None:
    """A network that is made on the spot; the converted file has the shapes of the network, and float32."""
    tf = pytest.importorskip("tensorflow", reason="TensorFlow is not installed: pip install tensorflow-cpu")
    layers = tf.keras.layers
    network = tf.keras.Sequential([tf.keras.Input((8, 8, 1)), layers.Conv2D(4, 3, activation="relu"), layers.Flatten()])
    path = tmp_path / name
    if name == "saved":
        network.export(path, verbose=False)
    else:
        network.save(path)
    graph = kibi.load(path)
    assert [graph.tensors[index].type.shape for index in (*graph.inputs, *graph.outputs)] == [(1, 8, 8, 1), (1, 144)]
