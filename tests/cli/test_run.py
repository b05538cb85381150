"""`kibi run` reads inputs from files, answers, and writes outputs."""

import io
from pathlib import Path

import numpy as np
import pytest

import kibi as api
from kibi import demo
from kibi.dtypes import DType
from kibi.frontends.tflite.builder import ModelBuilder
from tests.cli.conftest import Kibi
from tests.engines.counting import counting_bytes
from tests.frontends.models import residual
from tests.support.zoo import model_path, zoo_path

SEVEN, THREE = demo.picture_paths()


def _expected() -> np.ndarray[tuple[int, ...], np.dtype[np.generic]]:
    """What the model answers to the seven."""
    pixels = demo.samples()[0][7].astype(np.int16) - 128
    return api.run(api.load(demo.model_path()), None, [pixels.astype(np.int8).reshape(1, 28, 28, 1)])[0]


@pytest.mark.parametrize(("picture", "answer"), [(SEVEN, "7"), (THREE, "3")])
def test_run_on_a_picture_prints_the_top_classes(kibi: Kibi, glyphs: Path, picture: Path, answer: str) -> None:
    """A classifier answers with its best class first, of pictures of any size."""
    done = kibi("run", glyphs, "--input", picture)
    assert (done.code, done.err) == (0, "")
    rows = [line.split() for line in done.out.splitlines()]
    assert rows[0] == ["class", "score", "stored"]
    assert rows[1][0] == answer
    assert float(rows[1][1]) > 0.9
    assert len(rows) == 6


def test_run_with_labels_names_the_classes(kibi: Kibi, glyphs: Path, tmp_path: Path) -> None:
    """Names take the places of numbers; a wrong count of them is refused."""
    labels = tmp_path / "labels.txt"
    labels.write_text("zero\none\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\n\n")
    assert "\nseven" in kibi("run", glyphs, "-i", SEVEN, "--labels", labels).out
    labels.write_text("zero\none\n")
    done = kibi("run", glyphs, "-i", SEVEN, "--labels", labels)
    assert done.code == 4
    assert "2 labels" in done.err


@pytest.mark.parametrize("engine", ["python", "host"])
def test_run_with_either_engine_gives_the_same_values(kibi: Kibi, glyphs: Path, engine: str) -> None:
    """The C library on this machine answers with the same bits."""
    record = kibi("run", glyphs, "-i", SEVEN, "--engine", engine, "--json").record
    assert (record["model"], record["engine"]) == ("glyphs", engine)
    assert record["outputs"][0]["values"] == _expected().reshape(-1).tolist()
    assert record["outputs"][0]["top"][0]["label"] == "7"


def test_run_writes_outputs_in_the_form_of_the_suffix(kibi: Kibi, glyphs: Path, tmp_path: Path) -> None:
    """The same bits, as an array, in an archive, or raw."""
    for name in ("out.npy", "out.npz", "out.bin"):
        assert f"Written to {tmp_path / name}" in kibi("run", glyphs, "-i", SEVEN, "-o", tmp_path / name).out
    assert np.array_equal(np.load(tmp_path / "out.npy"), _expected())
    with np.load(tmp_path / "out.npz") as archive:
        assert np.array_equal(archive["probabilities"], _expected())
    assert (tmp_path / "out.bin").read_bytes() == _expected().tobytes()


def test_run_of_a_model_that_is_no_classifier_prints_statistics(kibi: Kibi, tmp_path: Path) -> None:
    """Without one vector of scores, the output is summed up."""
    path, data = tmp_path / "residual.tflite", tmp_path / "x.npy"
    path.write_bytes(residual())
    np.save(data, np.zeros((1, 4, 4, 2), np.int8))
    done = kibi("run", path, "-i", data)
    assert done.code == 0
    assert done.out.split()[:2] in (["class", "score"], ["output", "type"])


@pytest.mark.parametrize(
    ("array", "expected"),
    [
        (np.zeros((27, 28), np.int8), "the shape is [27, 28], [1, 28, 28, 1] is required"),
        (np.zeros((28, 28), np.int16), "the type is int16, int8 is required"),
        (np.full((28, 28), np.nan, np.float32), "not numbers"),
    ],
    ids=["shape", "type", "nan"],
)
def test_run_on_an_array_that_does_not_fit_says_why(
    kibi: Kibi, glyphs: Path, tmp_path: Path, array: np.ndarray[tuple[int, ...], np.dtype[np.generic]], expected: str
) -> None:
    """The error names the file, the input, what it has and what it needs."""
    path = tmp_path / "x.npy"
    np.save(path, array)
    done = kibi("run", glyphs, "-i", path)
    assert (done.code, done.out) == (4, "")
    assert expected in done.err
    assert "'image'" in done.err


def test_run_on_raw_bytes_of_the_wrong_size_says_both_sizes(kibi: Kibi, glyphs: Path, tmp_path: Path) -> None:
    """One byte too few is an error."""
    path = tmp_path / "x.bin"
    path.write_bytes(bytes(783))
    done = kibi("run", glyphs, "-i", path)
    assert done.code == 4
    assert "783 bytes" in done.err
    assert "784" in done.err


def test_run_with_the_earlier_name_of_an_engine_warns(kibi: Kibi, glyphs: Path) -> None:
    """`c` is now `host`; any other name is an error that lists them."""
    done = kibi("run", glyphs, "-i", SEVEN, "--engine", "c", "--json")
    assert done.record["engine"] == "host"
    assert "--engine c is now --engine host" in done.err
    done = kibi("run", glyphs, "-i", SEVEN, "--engine", "d")
    assert (done.code, done.out) == (2, "")
    assert "python, host" in done.err


@pytest.mark.parametrize("engine", [None, "python", "host"])
def test_run_of_several_inputs_answers_each(kibi: Kibi, glyphs: Path, tmp_path: Path, engine: str | None) -> None:
    """A line, an entry of the record, and a row of the array for each; C unless told otherwise."""
    options = [] if engine is None else ["--engine", engine]
    pictures = ["-i", SEVEN, "-i", THREE, "-i", SEVEN]
    done = kibi("run", glyphs, *pictures, *options, "-o", tmp_path / "out.npy")
    assert [line.split()[:2] for line in done.out.splitlines()[1:4]] == [
        ["seven.png", "7"],
        ["three.png", "3"],
        ["seven.png", "7"],
    ]
    array = np.load(tmp_path / "out.npy")
    assert array.shape == (3, 1, 10)
    assert np.array_equal(array[2], _expected())
    record = kibi("run", glyphs, *pictures, *options, "--json").record
    assert record["engine"] == (engine or "host")
    assert [run["input"] for run in record["runs"]] == ["seven.png", "three.png", "seven.png"]
    assert record["runs"][2]["outputs"][0]["values"] == _expected().reshape(-1).tolist()


def test_run_of_files_with_one_name_tells_them_by_their_folders(kibi: Kibi, glyphs: Path, tmp_path: Path) -> None:
    """As the folders of classes have them."""
    for folder, picture in (("a", SEVEN), ("b", THREE)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "x.png").write_bytes(picture.read_bytes())
    files = [tmp_path / "a" / "x.png", tmp_path / "b" / "x.png"]
    record = kibi("run", glyphs, "-i", files[0], "-i", files[1], "--json").record
    assert [run["input"] for run in record["runs"]] == [str(path) for path in files]


def test_run_of_several_inputs_keeps_variables(kibi: Kibi, tmp_path: Path) -> None:
    """They are a sequence, as for `kibi verify`."""
    (tmp_path / "sum.tflite").write_bytes(counting_bytes([1, 4]))
    np.save(tmp_path / "x.npy", np.full((1, 4), 2, np.int8))
    files = ["-i", tmp_path / "x.npy"] * 3
    for engine in ("python", "host"):
        record = kibi("run", tmp_path / "sum.tflite", *files, "--engine", engine, "--json").record
        assert [run["outputs"][0]["values"] for run in record["runs"]] == [[2] * 4, [4] * 4, [6] * 4]


def test_run_with_files_that_do_not_come_out_even_says_how_many(kibi: Kibi, tmp_path: Path) -> None:
    """Each inference takes one file for each input."""
    builder = ModelBuilder()
    x, y = (builder.input([1, 4], DType.S8, 1.0, 0, name=name) for name in "xy")
    z = builder.tensor([1, 4], DType.S8, 1.0, 0, name="z")
    builder.operator("ADD", [x, y], [z], {"fused_activation_function": "NONE"})
    (tmp_path / "sum.tflite").write_bytes(builder.finish([z]))
    np.save(tmp_path / "x.npy", np.full((1, 4), 2, np.int8))
    done = kibi("run", tmp_path / "sum.tflite", *["-i", tmp_path / "x.npy"] * 3)
    assert done.code == 4
    assert "3 files were given" in done.err


def test_run_into_a_folder_that_is_not_there_leaves_nothing(kibi: Kibi, glyphs: Path, tmp_path: Path) -> None:
    """The error names the path."""
    done = kibi("run", glyphs, "-i", SEVEN, "-o", tmp_path / "absent" / "out.npy")
    assert (done.code, done.out) == (9, "")
    assert not (tmp_path / "absent").exists()


def test_run_interrupted_while_writing_keeps_the_old_file(
    kibi: Kibi, glyphs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An output is whole or as it was before, and no scraps stay."""
    path = tmp_path / "out.npy"
    path.write_bytes(b"before")

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("os.replace", interrupt)
    done = kibi("run", glyphs, "-i", SEVEN, "-o", path)
    assert (done.code, done.out) == (130, "")
    assert path.read_bytes() == b"before"
    assert list(tmp_path.iterdir()) == [path]


def test_run_with_an_archive_takes_the_array_of_the_inputs_name(kibi: Kibi, glyphs: Path, tmp_path: Path) -> None:
    """Other arrays in it do not matter then; without the name and with several, it is an error."""
    pixels = (demo.samples()[0][7].astype(np.int16) - 128).astype(np.int8)
    np.savez(tmp_path / "named.npz", image=pixels, other=np.zeros(3))
    assert kibi("run", glyphs, "-i", tmp_path / "named.npz").out.splitlines()[1].startswith("7")
    np.savez(tmp_path / "single.npz", pixels)
    assert kibi("run", glyphs, "-i", tmp_path / "single.npz").out.splitlines()[1].startswith("7")
    np.savez(tmp_path / "other.npz", first=pixels, second=pixels)
    done = kibi("run", glyphs, "-i", tmp_path / "other.npz")
    assert done.code == 4
    assert "'first', 'second'" in done.err


def test_run_on_an_empty_or_pickled_file_is_an_input_error(kibi: Kibi, glyphs: Path, tmp_path: Path) -> None:
    """Nothing is unpickled: it could run code."""
    stream = io.BytesIO()
    np.save(stream, np.array([object()]), allow_pickle=True)
    for contents in (b"", b"junk", stream.getvalue()):
        for suffix in (".npy", ".npz", ".png", ".bmp"):
            path = tmp_path / f"x{suffix}"
            path.write_bytes(contents)
            done = kibi("run", glyphs, "-i", path)
            assert done.code == 4, (suffix, contents[:8], done.err)
            assert path.name in done.err


@pytest.mark.zoo
@pytest.mark.parametrize(("picture", "scores"), [("person", [4, -4]), ("no_person", [77, -77])])
def test_run_of_person_detection_answers_what_tflm_answers(kibi: Kibi, picture: str, scores: list[int]) -> None:
    """On pictures that come with TFLM, whose answers the zoo has recorded."""
    path = zoo_path() / "inputs" / "tflm_person_detection" / f"{picture}.bmp"
    record = kibi("run", model_path("tflm_person_detect"), "-i", path, "--json").record
    assert record["outputs"][0]["values"] == scores
