"""Files become inputs, or a located error."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from kibi.arrays.input_files import fit_array, read_inputs, read_runs
from kibi.dtypes import Array, DType
from kibi.errors import InputError
from kibi.frontends.tflite import parse_tflite
from kibi.frontends.tflite.builder import ModelBuilder
from kibi.ir import Graph

FIRST = np.arange(8, dtype=np.int8).reshape(1, 2, 4)
SECOND = -FIRST


@pytest.fixture
def graph() -> Graph:
    """A model with two inputs of scale 0.5 and zero point 3."""
    builder = ModelBuilder()
    a, b = (builder.input([1, 2, 4], DType.S8, 0.5, 3, name=name) for name in ("left", "right"))
    y = builder.tensor([1, 2, 4], DType.S8, 0.5, 3)
    builder.operator("ADD", [a, b], [y])
    return parse_tflite(builder.finish(outputs=[y]), "sum.tflite")


def _save(path: Path, **arrays: Array) -> Path:
    np.savez(path, allow_pickle=False, **arrays)
    return path


def _same(found: list[Array], *expected: Array) -> bool:
    return len(found) == len(expected) and all(np.array_equal(a, b) for a, b in zip(found, expected, strict=True))


def test_read_inputs_takes_one_file_for_each_input_in_order(graph: Graph, tmp_path: Path) -> None:
    """Arrays and raw bytes may be mixed."""
    np.save(tmp_path / "a.npy", FIRST)
    (tmp_path / "b.raw").write_bytes(SECOND.tobytes())
    assert _same(read_inputs(graph, [tmp_path / "a.npy", tmp_path / "b.raw"]), FIRST, SECOND)


def test_read_inputs_takes_one_archive_by_names_or_by_order(graph: Graph, tmp_path: Path) -> None:
    """Names count where there are any of the inputs'; else the order does."""
    named = _save(tmp_path / "named.npz", right=SECOND, left=FIRST, other=FIRST)
    ordered = _save(tmp_path / "ordered.npz", one=FIRST, two=SECOND)
    assert _same(read_inputs(graph, [named]), FIRST, SECOND)
    assert _same(read_inputs(graph, [ordered]), FIRST, SECOND)


def test_read_inputs_from_an_archive_without_a_name_says_which(graph: Graph, tmp_path: Path) -> None:
    """A half-named archive is not guessed at."""
    path = _save(tmp_path / "x.npz", left=FIRST, wrong=SECOND)
    with pytest.raises(InputError, match=r"'left', 'wrong'.*takes arrays 'left', 'right'"):
        read_inputs(graph, [path])


def test_read_runs_fills_inputs_again_and_again(graph: Graph, tmp_path: Path) -> None:
    """Two inputs and four files are two runs; archives are a run each."""
    np.save(tmp_path / "a.npy", FIRST)
    np.save(tmp_path / "b.npy", SECOND)
    archive = _save(tmp_path / "x.npz", left=FIRST, right=SECOND)
    pair = [tmp_path / "a.npy", tmp_path / "b.npy"]
    runs = read_runs(graph, [*pair, archive, *pair])
    assert len(runs) == 3
    assert all(_same(run, FIRST, SECOND) for run in runs)
    with pytest.raises(InputError, match="3 files were given"):
        read_runs(graph, [*pair, pair[0]])


@pytest.mark.parametrize("count", [0, 1, 3, 4])
def test_read_inputs_with_another_number_of_files_is_refused(graph: Graph, tmp_path: Path, count: int) -> None:
    """The error names the inputs."""
    np.save(tmp_path / "a.npy", FIRST)
    with pytest.raises(InputError, match="'left', 'right'"):
        read_inputs(graph, [tmp_path / "a.npy"] * count)


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64, np.dtype(">f4")])
def test_fit_array_of_real_values_is_quantized(graph: Graph, kind: type[np.floating] | np.dtype[np.generic]) -> None:
    """Value / 0.5 + 3, ties away from zero, held at the ends of the type."""
    values = np.array([0, 0.5, 0.25, -0.25, 1e30, -1e30, 2, np.inf], np.float64)
    with np.errstate(over="ignore"):
        array = fit_array(graph.tensors[0], values.astype(kind).reshape(2, 4), "x")
    assert array.dtype == np.int8
    assert array.reshape(-1).tolist() == [3, 4, 4, 2, 127, -128, 7, 127]


def test_fit_array_may_leave_out_axes_of_size_one(graph: Graph) -> None:
    """No batch, or one more: the elements are the same; other shapes are not bent."""
    tensor = graph.tensors[0]
    for shape in ((2, 4), (1, 1, 2, 4), (2, 1, 4)):
        assert np.array_equal(fit_array(tensor, FIRST.reshape(shape), "x"), FIRST)
    for bent in ((8,), (4, 2), (1, 8)):
        with pytest.raises(InputError, match="the shape is"):
            fit_array(tensor, FIRST.reshape(bent), "x")


@pytest.mark.parametrize("kind", [np.int16, np.uint8, np.int64, np.bool_, np.complex64])
def test_fit_array_of_another_type_is_refused(graph: Graph, kind: type[np.generic]) -> None:
    """Integers of another type are neither cast nor taken for real values."""
    with pytest.raises(InputError, match="int8 is required, or real values as float32"):
        fit_array(graph.tensors[0], FIRST.astype(kind), "x")


def test_fit_array_with_what_is_no_number_is_refused(graph: Graph) -> None:
    """There is no integer for it."""
    with pytest.raises(InputError, match="not numbers"):
        fit_array(graph.tensors[0], np.full((2, 4), np.nan), "x")


def _lying_header(path: Path) -> None:
    """An array of a terabyte, says the header."""
    np.save(path, FIRST)
    data = path.read_bytes()
    path.write_bytes(data.replace(b"(1, 2, 4)", b"(1<<40,) ".replace(b"1<<40", b"1" + b"0" * 4)))


def _cut(path: Path) -> None:
    np.save(path, FIRST)
    path.write_bytes(path.read_bytes()[:-1])


def _archive(path: Path) -> None:
    with path.open("wb") as stream:
        np.savez(stream, left=FIRST)


@pytest.mark.parametrize("spoil", [_lying_header, _cut, _archive])
def test_read_inputs_from_a_damaged_array_is_refused(
    graph: Graph, tmp_path: Path, spoil: Callable[[Path], None]
) -> None:
    """Whatever NumPy makes of it, the error is ours and names the file."""
    path = tmp_path / "bad.npy"
    spoil(path)
    with pytest.raises(InputError, match=r"bad\.npy"):
        read_inputs(graph, [path, path])


def test_read_inputs_from_a_damaged_archive_is_refused(graph: Graph, tmp_path: Path) -> None:
    """A flipped byte in a member is noticed by its checksum."""
    path = _save(tmp_path / "bad.npz", left=FIRST, right=SECOND)
    data = bytearray(path.read_bytes())
    data[data.index(FIRST.tobytes()) + 3] ^= 1
    path.write_bytes(bytes(data))
    with pytest.raises(InputError, match=r"bad\.npz"):
        read_inputs(graph, [path])


def test_read_inputs_from_a_missing_file_or_a_folder_is_refused(graph: Graph, tmp_path: Path) -> None:
    """For each kind of file."""
    for name in ("a.npy", "a.npz", "a.bin", "folder.npy", "folder.bin"):
        path = tmp_path / name
        if name.startswith("folder"):
            path.mkdir()
        with pytest.raises(InputError, match=name.replace(".", r"\.")):
            read_inputs(graph, [path, path])


@pytest.mark.filterwarnings("ignore::ResourceWarning")  # NumPy leaves files open in which it finds no archive
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("suffix", [".npy", ".npz", ".png", ".bmp"])
def test_read_inputs_from_a_mutated_file_is_read_or_refused(tmp_path: Path, suffix: str) -> None:
    """Whatever NumPy, zipfile or Pillow raise on changed bytes, what reaches the caller is an array or an `InputError`."""
    b = ModelBuilder()
    x = b.input([1, 8, 8, 3], DType.S8, 1 / 255, -128, name="x")
    y = b.tensor([1, 8, 8, 3], DType.S8, 1 / 255, -128)
    b.operator("RELU", [x], [y])
    graph = parse_tflite(b.finish([y]), "m.tflite")
    path = tmp_path / f"mutated{suffix}"
    data = np.arange(192, dtype=np.uint8).reshape(8, 8, 3)
    if suffix == ".npy":
        np.save(path, data.astype(np.float32))
    elif suffix == ".npz":
        np.savez_compressed(path, x=data.astype(np.float32))
    else:
        Image.fromarray(data).save(path)
    sound, rng, refused = path.read_bytes(), np.random.default_rng(len(suffix)), 0
    for number in range(400):
        changed = bytearray(sound)
        for _ in range(1 + number % 3):
            place = int(rng.integers(len(changed)))
            changed[place : place + number % 2] = rng.bytes(int(rng.integers(1, 4)))
        path.write_bytes(changed)
        try:
            read_inputs(graph, [path])
        except InputError:
            refused += 1
    assert refused


@pytest.mark.parametrize(
    "text", ["{'descr': '<f4', 'fortran_order': False, 'shape': (2,", "(" * 3000, "[" * 9, "9" * 5000, "\0"]
)
def test_read_inputs_from_an_array_whose_header_is_no_python_is_refused(
    graph: Graph, tmp_path: Path, text: str
) -> None:
    """A header of NumPy's is Python text; what its parser makes of any other is no exception of ours."""
    path = tmp_path / "x.npy"
    path.write_bytes(b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode())
    with pytest.raises(InputError, match="no NumPy file"):
        read_inputs(graph, [path, path])


def test_fit_array_of_numbers_beyond_float32_takes_the_ends_of_the_range(graph: Graph) -> None:
    """Numbers too large for float32, or for the scale, clamp without a warning."""
    tensor = graph.tensors[graph.inputs[0]]
    low, high = tensor.type.dtype.limits
    for value, end in ((1e300, high), (-1e300, low), (3e38, high), (np.inf, high)):
        assert (fit_array(tensor, np.full(tensor.type.shape, value), "x") == end).all()
