"""Models that another framework converts: when it is asked, with what, and what is said where it is missing or fails."""

import io
import re
import zipfile
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import kibi
from kibi.errors import InputError, ModelError, ToolchainError
from kibi.frontends.exporters import exporter, torch_script
from kibi.frontends.exporters.exporter import PYTORCH, TENSORFLOW, Exporter
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


def test_pickles_are_never_loaded(tmp_path: Path) -> None:
    """A module or its weights, as torch.save writes them, are refused with the other way to save."""
    with zipfile.ZipFile(tmp_path / "model.pt", "w") as archive:
        archive.writestr("model/data.pkl", b"cos\nsystem\n(S'echo'\ntR.")
    with pytest.raises(ModelError, match=r"never loads them\. Save the module as a program: torch\.export\.save"):
        kibi.load(tmp_path / "model.pt")


@pytest.mark.parametrize("name", ["m/archive_format", "serialized_exported_program.json"])
def test_program_of_torch_needs_pytorch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Both forms of its archive, that of today and the one before."""
    monkeypatch.setattr("kibi.frontends.exporters.PYTORCH", replace(PYTORCH, module="no_such_framework"))
    with zipfile.ZipFile(tmp_path / "model.pt2", "w") as archive:
        archive.writestr(name, "pt2")
        archive.writestr("m/data.pkl", b"")
    with pytest.raises(ToolchainError, match=r"pip install torch onnxscript 'kibi\[onnx\]'"):
        kibi.load(tmp_path / "model.pt2")


def test_module_in_memory_needs_pytorch(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is missing is said before anything is looked at."""
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(ToolchainError, match="pip install torch"):
        kibi.from_torch(object(), ())


@pytest.mark.timeout(300)
@pytest.mark.filterwarnings("default")  # PyTorch's own
def test_pytorch_converts_its_modules(tmp_path: Path) -> None:
    """A network that is made on the spot, from memory and from a file; what it was trained for stays as it was."""
    torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install torch onnxscript")
    module = torch.nn.Sequential(
        torch.nn.Conv2d(1, 4, 3), torch.nn.Dropout(), torch.nn.Flatten(), torch.nn.Linear(144, 3)
    )
    example = (torch.zeros(1, 1, 8, 8),)
    graph = kibi.from_torch(module, example, tmp_path / "m.tflite")
    assert module.training
    assert graph.path == tmp_path / "m.tflite"
    x = np.random.default_rng(0).normal(size=(1, 8, 8, 1)).astype(np.float32)
    module.eval()
    torch.export.save(torch.export.export(module, example), str(tmp_path / "m.pt2"))
    wanted = module(torch.from_numpy(x.transpose(0, 3, 1, 2).copy())).detach().numpy()
    for each in (graph, kibi.load(tmp_path / "m.pt2")):
        given = x.reshape(each.tensors[each.inputs[0]].type.shape)
        np.testing.assert_allclose(kibi.run(each, None, [given])[0].astype(np.float32), wanted, rtol=1e-5, atol=1e-6)
    with pytest.raises(InputError, match="Sequential cannot be traced"):
        kibi.from_torch(module, (torch.zeros(1, 5),))
    with pytest.raises(InputError, match=r"Give a torch\.nn\.Module"):
        kibi.from_torch(relu, example)


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').system('true')",
        "Symbol('s0', positive=True).__class__",
        "open('x')",
        "Symbol('os')",
        "exec",
        "9**9**9",
        "s0 if s0 else s0",
        "1" * 2000,
    ],
)
def test_sizes_in_a_program_of_torch_are_arithmetic(text: str) -> None:
    """PyTorch evaluates them as Python; what is anything else is not given to it."""
    with pytest.raises(ValueError, match="no arithmetic with symbols"):
        torch_script.checked(text, {"FloorDiv": None})


@pytest.mark.parametrize(
    "text", ["s0", "2*s0 + 1", "Mul(Integer(2), Symbol('s77', positive=True, integer=True))", "FloorDiv(u0, 2)"]
)
def test_symbols_and_functions_that_torch_names_are_sizes(text: str) -> None:
    """As torch.export writes them."""
    assert torch_script.checked(text, {"FloorDiv": None}) == text


def _altered(path: Path, name: str, old: bytes, new: bytes, **further: bytes) -> Path:
    """A copy of a program of torch.export in which a member says something else, and that has further members."""
    altered = path.with_stem("altered")
    with zipfile.ZipFile(path) as archive, zipfile.ZipFile(altered, "w") as written:
        for info in archive.infolist():
            data = archive.read(info)
            if info.filename.endswith(name):
                assert old in data
                data = data.replace(old, new)
            written.writestr(info, data)
        for member, data in further.items():
            written.writestr(f"{path.stem}/data/constants/{member}", data)
    return altered


@pytest.mark.timeout(300)
@pytest.mark.filterwarnings("default")  # PyTorch's own
def test_program_of_torch_never_becomes_code(tmp_path: Path) -> None:
    """Neither an expression in it, nor an object that is pickled; both would write a file here."""
    torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install torch onnxscript")
    program = torch.export.export(
        torch.nn.Flatten(0), (torch.zeros(2, 6),), dynamic_shapes=({0: torch.export.Dim("batch", min=1, max=64)},)
    )
    path, written = tmp_path / "m.pt2", tmp_path / "written"
    torch.export.save(program, str(path))
    size = re.search(
        rb"Symbol\('s\d+', positive=True, integer=True\)", zipfile.ZipFile(path).read("m/models/model.json")
    )
    assert size is not None
    hostile = _altered(path, "model.json", size[0], f"__import__('os').mkdir('{written}')".encode())
    with pytest.raises(ModelError, match="no arithmetic with symbols"):
        kibi.load(hostile)
    entry = (
        b'{"config": {"c": {"path_name": "opaque_obj_0", "is_param": false, "use_pickle": true, "tensor_meta": null}}}'
    )
    pickled = f"cos\nmkdir\n(S'{written}'\ntR.".encode()
    hostile = _altered(path, "model_constants_config.json", b'{"config": {}}', entry, opaque_obj_0=pickled)
    with pytest.raises(ModelError, match="objects of Python are pickled"):
        kibi.load(hostile)
    assert not written.exists()


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
