"""`load`: which files it reads, and what it says of all others."""

import gzip
import os
import subprocess
import sys
import threading
import zipfile
from pathlib import Path

import pytest

import kibi
from kibi.errors import ModelError
from kibi.frontends import load
from tests.frontends.models import fully_connected


def _refusal(path: Path) -> str:
    """The text of the error, which has one problem and a remedy."""
    with pytest.raises(ModelError) as refusal:
        load(path)
    assert len(refusal.value.problems) == 1
    assert refusal.value.problems[0].remedy
    return str(refusal.value)


def test_load_of_a_model_gives_a_graph_named_after_the_file(tmp_path: Path) -> None:
    """The graph's source is the file's name, its name an identifier made from it."""
    path = tmp_path / "Wake Word.v2.tflite"
    path.write_bytes(fully_connected())
    graph = load(path)
    assert (graph.source, graph.name) == ("Wake Word.v2.tflite", "wake_word_v2")
    assert load(str(path)) == graph


def test_load_of_a_model_under_any_name_goes_by_its_contents(tmp_path: Path) -> None:
    """The end of the name does not matter."""
    path = tmp_path / "model.thing"
    path.write_bytes(fully_connected())
    assert load(path).name == "model_thing"


@pytest.mark.parametrize(
    ("contents", "expected"),
    [
        (b"", "the file is empty"),
        (fully_connected()[:6], "6 bytes"),
        (b"\x20\x00\x00\x00TFL2" + b"\x00" * 40, "version '2'"),
        (b"\x08\x01\x12\x9a\x01\x0a\x07\x22\x05serve", "SavedModel"),
        (b"A model that detects\nwake words.\n", "text file"),
        ("Ein Modell für Wörter\n".encode(), "text file"),
        (("ä" * 5000).encode()[1:], "not a .tflite file"),
        (("x" + "ä" * 5000).encode(), "text file"),
        (
            b"alignas(16) const unsigned char g_model[] = {\n  0x1c, 0x00,",
            "no array in it begins as a .tflite file does",
        ),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\n", "Git LFS"),
        (b"\n<!DOCTYPE html><html><body>404</body></html>", "web page"),
        (gzip.compress(fully_connected()), "gzip"),
        (b"\x7fELF\x01\x01\x01\x00\x00\x00", "ELF"),
        (bytes(range(200, 240)), "cc cd ce cf, not the identifier 'TFL3'"),
        (b"\x00" * 64, "not the identifier"),
    ],
)
def test_load_of_a_file_that_is_no_model_says_what_it_is(tmp_path: Path, contents: bytes, expected: str) -> None:
    """Files of other kinds are recognised, and the error says what to do instead."""
    path = tmp_path / "thing"
    path.write_bytes(contents)
    assert expected in _refusal(path)


def test_load_of_an_archive_says_what_it_is(tmp_path: Path) -> None:
    """A zip file, as Keras and PyTorch write, is recognised."""
    path = tmp_path / "model.keras"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("config.json", "{}")
    assert "zip archive" in _refusal(path)


def test_load_of_a_missing_file_says_so(tmp_path: Path) -> None:
    """The error holds the whole path."""
    path = tmp_path / "absent.tflite"
    text = _refusal(path)
    assert "there is no such file" in text
    assert str(path) in text


def test_load_of_a_folder_says_so(tmp_path: Path) -> None:
    """A folder is no model, unless it is that of a SavedModel, and its graph alone is none."""
    assert "it is a folder" in _refusal(tmp_path)
    (tmp_path / "saved_model.pb").write_bytes(b"\x08\x01\x12\x9a\x01")
    assert "Give the folder" in _refusal(tmp_path / "saved_model.pb")


def test_load_of_a_pipe_reads_what_comes_through_it(tmp_path: Path) -> None:
    """A model may come from another program; such a graph has no file that could be read again."""
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=lambda: path.write_bytes(fully_connected()))
    writer.start()
    graph = kibi.load(path)
    writer.join()
    assert (graph.source, graph.path) == ("pipe", None)


def test_load_of_a_pipe_that_nobody_writes_into_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits for ever."""
    monkeypatch.setattr("kibi.files.reading._WRITER_SECONDS", 0.1)
    path = tmp_path / "pipe"
    os.mkfifo(path)
    assert "nobody wrote into" in _refusal(path)


@pytest.mark.parametrize(
    ("device", "reason"), [("/dev/null", "the file is empty"), ("/dev/zero", "not a .tflite file")]
)
def test_load_of_a_device_reads_no_more_than_its_head(device: str, reason: str) -> None:
    """What does not begin as a model is not read on."""
    assert reason in _refusal(Path(device))


def test_load_of_a_file_beyond_the_format_is_refused_unread(tmp_path: Path) -> None:
    """A file of three gigabytes ends in an error before a byte of it is in memory."""
    path = tmp_path / "large.tflite"
    with path.open("wb") as file:
        file.truncate(3 << 30)
    assert "3221225472 bytes" in _refusal(path)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every file")
def test_load_of_an_unreadable_file_says_why(tmp_path: Path) -> None:
    """The operating system's reason is in the error."""
    path = tmp_path / "secret.tflite"
    path.write_bytes(fully_connected())
    path.chmod(0)
    assert "Permission denied" in _refusal(path)


def test_load_of_an_impossible_path_says_why() -> None:
    """Paths that no file can have end in the same kind of error."""
    assert "cannot be read" in _refusal(Path("a\0b"))
    assert "cannot be read" in _refusal(Path("x" * 5000))


def test_import_of_the_frontends_leaves_the_schema_alone() -> None:
    """Whoever loads no model does not pay for the import of the schema's code."""
    code = "import sys, kibi.frontends; print('tflite' in sys.modules or 'flatbuffers' in sys.modules)"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "False"
