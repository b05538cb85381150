"""Data sets: arrays, folders, functions; each becomes the inputs of a model, or an error that says what is wrong."""

import io
import sys
import wave
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import kibi
from kibi import demo
from kibi.arrays.array_files import ArrayFileError, open_archive, read_rows
from kibi.arrays.dataset import Dataset, open_dataset
from kibi.arrays.dataset_folder import read_wav
from kibi.arrays.input_files import read_inputs
from kibi.arrays.rows import RangeWatch, fit_rows, real_rows
from kibi.dtypes import Array, DType
from kibi.errors import InputError
from kibi.files import temporary_folder
from kibi.frontends.tflite.builder import ModelBuilder
from kibi.ir import Graph
from tests.support.amount import share

GLYPHS = kibi.load(demo.model_path())
IMAGES, LABELS = demo.samples()


def _graph(shape: list[int], dtype: DType = DType.S8, scale: float | None = 0.01, inputs: int = 1) -> Graph:
    """A sum or a copy of inputs `x`, `z` of that type."""
    builder = ModelBuilder()
    zero_point = None if scale is None else 0
    names = ["x", "z"][:inputs]
    tensors = [builder.input(shape, dtype, scale, zero_point, name=name) for name in names]
    made = builder.tensor(shape, dtype, scale, zero_point, name="made")
    if inputs == 2:
        builder.operator("ADD", tensors, [made], {"fused_activation_function": "NONE"})
    else:
        builder.operator("RESHAPE", [tensors[0]], [made], {"new_shape": np.array(shape, np.int32)})
    with temporary_folder() as folder:
        (folder / "own.tflite").write_bytes(builder.finish([made]))
        return kibi.load(folder / "own.tflite")


def _rows(dataset: Dataset, number: int = 0) -> Array:
    return np.stack([sample.inputs[number] for sample in dataset.samples()])


def _labels(dataset: Dataset) -> list[Any]:
    return [sample.label for sample in dataset.samples()]


def test_shipped_samples_become_the_inputs_of_their_pictures() -> None:
    """Pixels in an archive and pixels in an image file are the same elements; labels have their own name."""
    dataset = open_dataset(GLYPHS, Path(demo.__file__).with_name("samples.npz"))
    assert (dataset.source, dataset.count, dataset.classes) == ("samples.npz", 10, ())
    rows = fit_rows(GLYPHS, 0, _rows(dataset), "here")
    assert rows.shape == (10, 1, 28, 28, 1)
    np.testing.assert_array_equal(rows[7], read_inputs(GLYPHS, [demo.picture_paths()[0]])[0])
    assert _labels(dataset) == LABELS.tolist()
    assert _labels(dataset) == LABELS.tolist()  # it can be read again


@pytest.mark.parametrize("count", [0, 1, 3, 40_000])
def test_rows_of_an_array_are_those_of_numpy(count: int, tmp_path: Path) -> None:
    """Whatever the number of blocks."""
    array = np.arange(count * 70, dtype=np.float32).reshape(count, 7, 10)
    np.save(tmp_path / "x.npy", array)
    with (tmp_path / "x.npy").open("rb") as stream:
        blocks = list(read_rows(stream, lambda _: None))
    assert sum(map(len, blocks)) == count
    if count:
        np.testing.assert_array_equal(np.concatenate(blocks), array)
        assert max(block.nbytes for block in blocks) <= 1 << 20


@pytest.mark.parametrize("first", share([0, 60, 1, 3_000, 40_000, 39_999], 1))
def test_rows_from_a_number_are_those_of_numpy(first: int, tmp_path: Path) -> None:
    """Of files, and of archives that are compressed or not."""
    array = np.arange(40_000 * 70, dtype=np.float32).reshape(40_000, 7, 10)
    np.save(tmp_path / "x.npy", array)
    np.savez(tmp_path / "stored.npz", x=array)
    np.savez_compressed(tmp_path / "packed.npz", x=array)
    with (tmp_path / "x.npy").open("rb") as stream:
        found = [row for block in read_rows(stream, lambda _: None, first) for row in block]
    assert len(found) == 40_000 - first
    np.testing.assert_array_equal(np.reshape(found, (-1, 7, 10)), array[first:])
    for name in ("stored.npz", "packed.npz"):
        with (tmp_path / name).open("rb") as stream, open_archive(stream) as archive:
            found = [row for block in archive.rows("x", lambda _: None, first) for row in block]
        np.testing.assert_array_equal(np.reshape(found, (-1, 7, 10)), array[first:])


def test_rows_from_a_number_beyond_what_is_there_are_refused(tmp_path: Path) -> None:
    """The header says that there are more."""
    np.save(tmp_path / "x.npy", np.zeros((10_000, 70), np.float32))
    (tmp_path / "x.npy").write_bytes((tmp_path / "x.npy").read_bytes()[:20_000])
    with (tmp_path / "x.npy").open("rb") as stream, pytest.raises(ArrayFileError, match="and fewer follow"):
        list(read_rows(stream, lambda _: None, 9_000))


@pytest.mark.parametrize(
    ("array", "expected"),
    [(np.float32(3), "one number"), (np.asfortranarray(np.ones((2, 3))), "first axis varies fastest")],
    ids=["number", "order"],
)
def test_array_without_rows_is_refused(array: Array, expected: str) -> None:
    """A number has none; another order of axes would need all of it."""
    stream = io.BytesIO()
    np.save(stream, array)
    stream.seek(0)
    with pytest.raises(ArrayFileError, match=expected):
        list(read_rows(stream, lambda _: None))


def test_array_that_is_cut_off_is_refused(tmp_path: Path) -> None:
    """Its complete rows come first."""
    np.save(tmp_path / "x.npy", IMAGES)
    data = (tmp_path / "x.npy").read_bytes()
    (tmp_path / "x.npy").write_bytes(data[:-5])
    with pytest.raises(InputError, match="its header says 7,840 bytes, and 7,835 follow"):
        list(open_dataset(GLYPHS, tmp_path / "x.npy").samples())


def test_archive_with_a_wrong_checksum_is_refused(tmp_path: Path) -> None:
    """At its end, because rows are read one after another."""
    np.savez(tmp_path / "x.npz", x=IMAGES)
    data = bytearray((tmp_path / "x.npz").read_bytes())
    data[data.index(IMAGES[9].tobytes()[:100]) + 3] ^= 1
    (tmp_path / "x.npz").write_bytes(data)
    with pytest.raises(InputError, match="damaged"):
        list(open_dataset(GLYPHS, tmp_path / "x.npz").samples())


@pytest.mark.parametrize("names", [("x", "z"), ("z", "x"), ("first", "second")])
@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_archive_has_inputs_by_name_or_in_order(
    names: tuple[str, str], save: Callable[..., None], tmp_path: Path
) -> None:
    """The labels are what is left."""
    graph = _graph([1, 4], inputs=2)
    arrays = {name: np.full((5, 4), number, np.int8) for number, name in enumerate(names)}
    save(tmp_path / "d.npz", y=np.arange(5), **arrays)
    dataset = open_dataset(graph, tmp_path / "d.npz")
    wanted = [arrays[name] for name in (("x", "z") if "x" in names else names)]
    for number in range(2):
        np.testing.assert_array_equal(_rows(dataset, number), wanted[number])
    assert _labels(dataset) == [0, 1, 2, 3, 4]
    with (tmp_path / "d.npz").open("rb") as stream, open_archive(stream) as archive:
        assert archive.type_of("y").shape == (5,)


@pytest.mark.parametrize(
    ("arrays", "expected"),
    [
        ({"x": np.zeros((3, 27, 28), np.int8)}, r"one input has the shape \[27, 28\], \[1, 28, 28, 1\] is required"),
        ({"x": np.zeros((28, 28), np.int8)}, r"one input has the shape \[28\]"),
        (
            {"x": np.zeros((3, 28, 28), np.int16)},
            "the type is int16; int8 is required, real values as float32, or pixels",
        ),
        ({"x": np.zeros((3, 28, 28), np.complex64)}, "the type is complex64"),
        ({"x": np.int8(3)}, "one number"),
        ({"x": IMAGES, "z": IMAGES}, "it holds the arrays 'x', 'z'. Needed are 'image' or 1 in that order"),
        ({"x": IMAGES, "y": LABELS, "labels": LABELS}, "it holds the arrays"),
        ({"y": LABELS}, "it holds the arrays 'y'"),
        ({"x": IMAGES, "y": LABELS[:9]}, "different numbers of inputs: 'x' has 10, 'y' has 9"),
        ({"x": IMAGES, "y": np.array(["a" * 1025] * 10)}, "the labels are <U1025"),
        ({"x": IMAGES, "y": np.eye(10)}, r"labels.argmax\(axis=1\)"),
        ({"x": IMAGES, "y": LABELS.astype(np.float32)}, "the labels are float32"),
    ],
    ids=str,
)
def test_archive_that_does_not_fit_is_refused_before_it_is_read(
    arrays: dict[str, Array], expected: str, tmp_path: Path
) -> None:
    """Shape, type, names, counts, labels."""
    np.savez(tmp_path / "d.npz", **arrays)  # type: ignore[arg-type]  # its own flag is not among them
    with pytest.raises(InputError, match=expected):
        open_dataset(GLYPHS, tmp_path / "d.npz")


def test_archive_that_claims_more_inputs_than_any_memory_holds_is_refused(tmp_path: Path) -> None:
    """Neither the inputs nor the labels that are missing take room before they are read."""
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "|u1", "fortran_order": False, "shape": (10**12, 28, 28)})
    with zipfile.ZipFile(tmp_path / "d.npz", "w") as archive:
        archive.writestr("x.npy", header.getvalue() + IMAGES.tobytes())
    dataset = open_dataset(GLYPHS, tmp_path / "d.npz")
    with pytest.raises(InputError, match=r"its header says .* bytes, and 7,840 follow"):
        list(dataset.samples())


def test_labels_are_known_before_the_inputs_are_read(tmp_path: Path) -> None:
    """Those in archives, in files of their own, and the names of folders; a function gives them with its inputs."""
    np.savez(tmp_path / "d.npz", x=IMAGES, y=LABELS)
    assert list(open_dataset(GLYPHS, tmp_path / "d.npz").labels()) == LABELS.tolist()
    np.save(tmp_path / "x.npy", IMAGES)
    assert not list(open_dataset(GLYPHS, tmp_path / "x.npy").labels())
    (tmp_path / "truth.txt").write_text("\n".join(["cat", "7", "9" * 5000, *map(str, range(7))]))
    assert list(open_dataset(GLYPHS, tmp_path / "x.npy", tmp_path / "truth.txt").labels())[:3] == ["cat", 7, "9" * 5000]
    (tmp_path / "classes").mkdir()
    _png(tmp_path / "classes" / "a" / "x.png", 5)
    assert list(open_dataset(GLYPHS, tmp_path / "classes").labels()) == ["a"]
    assert not list(open_dataset(GLYPHS, lambda: [(IMAGES[0], 3)]).labels())


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_real_values_are_quantized_as_those_of_one_input(dtype: type[np.floating[Any]], tmp_path: Path) -> None:
    """A batch gets the elements that `kibi run` gives each of its inputs."""
    values = np.random.default_rng(0).uniform(-0.2, 1.2, (4, 28, 28)).astype(dtype)
    rows = fit_rows(GLYPHS, 0, values, "here")
    for row, value in zip(rows, values, strict=True):
        np.save(tmp_path / "x.npy", value)
        np.testing.assert_array_equal(row, read_inputs(GLYPHS, [tmp_path / "x.npy"])[0])
    values[2, 3, 3] = np.nan
    with pytest.raises(InputError, match="not numbers"):
        fit_rows(GLYPHS, 0, values, "here")


def test_own_integers_become_real_values_for_another_model() -> None:
    """And nothing else does."""
    graph = _graph([1, 4], scale=0.5)
    np.testing.assert_array_equal(real_rows(graph, 0, np.array([[1, -2, 3, 4]], np.int8)), [[0.5, -1, 1.5, 2]])
    floats = np.ones((1, 4), np.float32)
    assert real_rows(graph, 0, floats) is floats


def _png(path: Path, value: int, size: tuple[int, int] = (28, 28)) -> None:
    path.parent.mkdir(exist_ok=True)
    Image.fromarray(np.full(size, value, np.uint8)).save(path)


def test_folder_of_classes_gives_files_in_order_with_labels(tmp_path: Path) -> None:
    """Names decide the order; hidden files and those of other kinds are left out."""
    for place, value in (("b/2.png", 20), ("b/1.png", 10), ("a/9.bmp", 90), ("a/.hidden.png", 1)):
        _png(tmp_path / place, value)
    (tmp_path / "a" / "notes.txt").write_text("no input")
    (tmp_path / ".git").mkdir()
    np.save(tmp_path / "b" / "3.npy", np.full((28, 28), 30, np.uint8))
    dataset = open_dataset(GLYPHS, tmp_path)
    assert (dataset.count, dataset.classes) == (4, ("a", "b"))
    samples = list(dataset.samples())
    assert [(each.name, each.label, int(each.inputs[0].flat[0])) for each in samples] == [
        ("a/9.bmp", "a", 90), ("b/1.png", "b", 10), ("b/2.png", "b", 20), ("b/3.npy", "b", 30)
    ]  # fmt: skip


def test_folder_without_classes_has_no_labels(tmp_path: Path) -> None:
    """Files in the folder itself."""
    _png(tmp_path / "x.png", 5, (56, 56))
    dataset = open_dataset(GLYPHS, str(tmp_path))
    assert (dataset.classes, _labels(dataset)) == ((), [None])
    assert (fit_rows(GLYPHS, 0, _rows(dataset).reshape(1, 28, 28), "here") == 5 - 128).all()


def test_folder_that_is_no_data_set_is_refused(tmp_path: Path) -> None:
    """Nothing in it, files beside classes, a model with two inputs, a broken file."""
    (tmp_path / "photo.jpg").write_bytes(b"")
    with pytest.raises(InputError, match=r"no .bmp, .png, .npy, .wav file in it or in its folders, but .jpg"):
        open_dataset(GLYPHS, tmp_path)
    _png(tmp_path / "x.png", 5)
    _png(tmp_path / "a" / "x.png", 5)
    with pytest.raises(InputError, match=r"x\.png is beside folders of classes"):
        open_dataset(GLYPHS, tmp_path)
    with pytest.raises(InputError, match="a file in a folder is one input"):
        open_dataset(_graph([1, 4], inputs=2), tmp_path)
    (tmp_path / "a" / "y.png").write_bytes(b"no picture")
    with pytest.raises(InputError, match="no PNG or BMP image"):
        list(open_dataset(GLYPHS, tmp_path / "a").samples())
    with pytest.raises(InputError, match="an image fits an input"):
        list(open_dataset(_graph([1, 4]), tmp_path / "a").samples())


def _wav(path: Path, frames: bytes, width: int, channels: int = 1) -> None:
    with wave.open(str(path), "wb") as sound:
        sound.setnchannels(channels)
        sound.setsampwidth(width)
        sound.setframerate(16_000)
        sound.writeframes(frames)


@pytest.mark.parametrize(
    ("width", "frames"),
    [
        (1, bytes([0, 128, 192, 255])),
        (2, np.array([-32768, 0, 16384, 32767], "<i2").tobytes()),
        (3, b"".join(value.to_bytes(3, "little", signed=True) for value in (-(1 << 23), 0, 1 << 22, (1 << 23) - 1))),
        (4, np.array([-(1 << 31), 0, 1 << 30, (1 << 31) - 1], "<i4").tobytes()),
    ],
)
def test_samples_of_sounds_are_values_from_minus_one_to_one(width: int, frames: bytes, tmp_path: Path) -> None:
    """Whatever the number of bits."""
    _wav(tmp_path / "x.wav", frames, width)
    graph = _graph([1, 4], DType.F32, None)
    found = read_wav(tmp_path / "x.wav", graph.tensors[graph.inputs[0]])
    assert found.dtype == np.float32
    assert found.reshape(-1).tolist() == pytest.approx([-1, 0, 0.5, 1 - 2.0 ** (1 - 8 * width)], abs=1e-7)


def test_samples_stay_for_inputs_of_int16_without_a_scale(tmp_path: Path) -> None:
    """Front ends for speech take them so."""
    values = np.array([-32768, 5, 16384, 32767], "<i2")
    _wav(tmp_path / "x.wav", values.tobytes(), 2)
    graph = _graph([1, 4], DType.S16, None)
    np.testing.assert_array_equal(read_wav(tmp_path / "x.wav", graph.tensors[graph.inputs[0]]).reshape(-1), values)


def test_sound_that_does_not_fit_is_refused(tmp_path: Path) -> None:
    """Another length, two channels, no sound; features are not computed."""
    graph = _graph([1, 4], DType.F32, None)
    for name, frames, channels in (("long", bytes(10), 1), ("short", bytes(6), 1), ("stereo", bytes(16), 2)):
        _wav(tmp_path / f"{name}.wav", frames, 2, channels)
    (tmp_path / "none.wav").write_bytes(b"RIFF")
    (tmp_path / "float.wav").write_bytes(b"RIFF\x24\0\0\0WAVEfmt \x10\0\0\0\x03\0\x01\0" + bytes(20))
    data = (tmp_path / "stereo.wav").read_bytes()
    (tmp_path / "chunk.wav").write_bytes(data[:36] + b"LIST\xff\xff\xff\x7f" + data[36:])
    for name, expected in (
        ("long", "5 samples, input 'x' takes 4. Cut it; if the model takes features, compute them"),
        ("short", "3 samples"), ("stereo", "2 channels"), ("none", "no wav file"), ("float", "no wav file"),
        ("chunk", "no wav file"),
    ):  # fmt: skip
        with pytest.raises(InputError, match=expected):
            read_wav(tmp_path / f"{name}.wav", graph.tensors[graph.inputs[0]])


def test_function_yields_arrays_with_and_without_labels() -> None:
    """Names and numbers, of Python and of NumPy; lists and names for several inputs."""

    def one() -> Iterator[Any]:
        yield IMAGES[0]
        yield IMAGES[1], 1
        yield IMAGES[2], np.int64(2)
        yield IMAGES[3], "three"

    dataset = open_dataset(GLYPHS, one)
    assert (dataset.source, dataset.count) == ("one", None)
    assert _labels(dataset) == [None, 1, 2, "three"]
    np.testing.assert_array_equal(_rows(dataset), IMAGES[:4])

    graph, x = _graph([1, 4], inputs=2), np.ones(4, np.int8)
    dataset = open_dataset(graph, lambda: iter([[x, x], {"z": 2 * x, "x": x}, ([x, x], 1)]))
    np.testing.assert_array_equal(_rows(dataset, 1), [x, 2 * x, x])
    assert _labels(dataset) == [None, None, 1]


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        (np.zeros((27, 28), np.int8), "input 0, for input 'image': one input has the shape"),
        ((IMAGES[0], 1.5), "the label is float"),
        ("text", "its elements are"),
        ({"image": IMAGES[0], "z": IMAGES[0]}, "has no input 'z'"),
        ([[1], [2, 3]], "no array"),
    ],
    ids=str,
)
def test_function_that_yields_something_else_is_refused(item: object, expected: str) -> None:
    """The error says which input it is."""
    with pytest.raises(InputError, match=expected):
        list(open_dataset(GLYPHS, lambda: iter([item])).samples())


def test_error_in_a_function_is_an_error_of_the_input() -> None:
    """With its own text."""

    def broken() -> Iterator[Array]:
        yield IMAGES[0]
        raise ValueError("the disk is gone")

    with pytest.raises(InputError, match="broken raised ValueError: the disk is gone"):
        list(open_dataset(GLYPHS, broken).samples())
    with pytest.raises(InputError, match="raised TypeError"):
        list(open_dataset(GLYPHS, lambda: 3).samples())  # type: ignore[arg-type,return-value]  # that is the mistake


def test_function_is_found_by_module_or_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the working folder, too."""
    (tmp_path / "own_data_of_the_test.py").write_text(
        "import numpy as np\ndef read():\n    yield np.zeros((28, 28), np.int8), 4\nraise_ = 3\n"
    )
    monkeypatch.chdir(tmp_path)
    for name in ("own_data_of_the_test:read", f"{tmp_path / 'own_data_of_the_test.py'}:read"):
        dataset = open_dataset(GLYPHS, name)
        assert (dataset.source, _labels(dataset)) == (name, [4])
    del sys.modules["own_data_of_the_test"]
    assert str(tmp_path) not in sys.path
    (tmp_path / "broken_data_of_the_test.py").write_text("1 / 0\n")
    for name, expected in (
        ("own_data_of_the_test:write", "has no function 'write'"),
        ("own_data_of_the_test:raise_", "has no function 'raise_'"),
        ("no_such_module_of_anybody:read", "cannot be imported: ModuleNotFoundError"),
        ("broken_data_of_the_test:read", "cannot be imported: ZeroDivisionError"),
        ("absent.py:read", "no such file of Python"),
        ("absent", "there is no such file or folder"),
        ("own_data_of_the_test.py", "neither a folder nor"),
    ):
        with pytest.raises(InputError, match=expected):
            open_dataset(GLYPHS, name)
    sys.modules.pop("own_data_of_the_test", None)


@pytest.mark.parametrize("suffix", [".npy", ".txt"])
def test_labels_in_a_file_of_their_own(suffix: str, tmp_path: Path) -> None:
    """As many as there are inputs, of data whose number is known and of others."""
    path = tmp_path / f"y{suffix}"

    def write(count: int) -> None:
        if suffix == ".npy":
            np.save(path, np.arange(count))
        else:
            path.write_text("".join(f"{number}\n" for number in range(count)))

    np.save(tmp_path / "x.npy", IMAGES)
    write(10)
    assert _labels(open_dataset(GLYPHS, tmp_path / "x.npy", path)) == list(range(10))
    for count in (9, 11):
        write(count)
        with pytest.raises(InputError, match=f"{count} labels, and x.npy has 10 inputs"):
            open_dataset(GLYPHS, tmp_path / "x.npy", path)
        with pytest.raises(InputError, match=f"{count} labels"):
            list(open_dataset(GLYPHS, lambda: iter(IMAGES), path).samples())
    with pytest.raises(InputError):
        open_dataset(GLYPHS, tmp_path / "x.npy", tmp_path / f"absent{suffix}")


def test_names_are_labels_too(tmp_path: Path) -> None:
    """In a text file and in an array."""
    (tmp_path / "y.txt").write_text("cat\n3\ndog\n")
    dataset = open_dataset(GLYPHS, lambda: iter(IMAGES[:3]), tmp_path / "y.txt")
    assert _labels(dataset) == ["cat", 3, "dog"]
    np.savez(tmp_path / "d.npz", x=IMAGES[:2], y=np.array(["cat", "dog"]))
    assert _labels(open_dataset(GLYPHS, tmp_path / "d.npz")) == ["cat", "dog"]


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0, 255, "not normalised"),
        (0, 1, ""),
        (-0.02, 1.03, ""),
        (0, 0.02, "normalised twice"),
        (-1, 1, "not normalised"),
    ],
)
def test_values_that_look_as_if_not_normalised_are_told_of(low: float, high: float, expected: str) -> None:
    """Once, after some inputs or at the end; the model holds 0 to 1."""
    watch, rows = RangeWatch(GLYPHS), np.random.default_rng(0).uniform(low, high, (40, 28, 28)).astype(np.float32)
    watch.look([rows])
    assert watch.news() == []
    watch.look([rows])
    told = watch.news()
    assert len(told) == bool(expected)
    assert all(expected in text for text in told)
    assert watch.news(is_last=True) == []
    watch = RangeWatch(GLYPHS)
    watch.look([rows])
    assert len(watch.news(is_last=True)) == bool(expected)


def test_own_integers_and_pixels_are_not_judged() -> None:
    """They need no scaling."""
    watch = RangeWatch(GLYPHS)
    for rows in (IMAGES, IMAGES.view(np.int8)):
        watch.look([rows])
    assert watch.news(is_last=True) == []
