"""Readers take what they need and no more, whatever a path names."""

import os
import threading
from pathlib import Path

import pytest

from kibi.errors import InputError
from kibi.files import open_binary, read_bytes, read_file, read_text, reading, take


def _piped(path: Path, *pieces: bytes) -> threading.Thread:
    """Write into a named pipe, piece by piece, from another thread."""
    os.mkfifo(path)

    def write() -> None:
        with path.open("wb", buffering=0) as pipe:
            for piece in pieces:
                pipe.write(piece)

    writer = threading.Thread(target=write)
    writer.start()
    return writer


@pytest.mark.parametrize("count", [0, 1, 3, 8])
def test_read_bytes_of_a_file_within_the_limit_gives_all(tmp_path: Path, count: int) -> None:
    """The limit itself is allowed."""
    path = tmp_path / "file"
    path.write_bytes(bytes(range(count)))
    assert read_bytes(path, 8) == bytes(range(count))


def test_read_bytes_of_a_larger_file_is_refused_unread(tmp_path: Path) -> None:
    """A file of a terabyte ends in an error at once."""
    path = tmp_path / "file"
    with path.open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(OSError, match="1,099,511,627,776 bytes, at most 8 are read"):
        read_bytes(path, 8)


@pytest.mark.parametrize("device", ["/dev/zero", "/dev/urandom"])
def test_read_bytes_of_a_device_without_end_stops_at_the_limit(device: str) -> None:
    """No more than one byte beyond the limit is read."""
    with pytest.raises(OSError, match="it has more than 4,096 bytes"):
        read_bytes(device, 4096)


def test_read_bytes_of_dev_null_is_empty() -> None:
    """A device that ends at once has nothing."""
    assert read_bytes("/dev/null", 8) == b""


def test_read_bytes_of_a_pipe_gives_all_that_was_written(tmp_path: Path) -> None:
    """In as many pieces as the writer likes."""
    path = tmp_path / "pipe"
    writer = _piped(path, b"one ", b"two ", b"x" * 100_000)
    assert read_bytes(path, 1 << 20) == b"one two " + b"x" * 100_000
    writer.join()


def test_read_bytes_of_a_pipe_that_was_opened_and_closed_is_empty(tmp_path: Path) -> None:
    """A writer without a word is an end."""
    writer = _piped(tmp_path / "pipe")
    assert read_bytes(tmp_path / "pipe", 8) == b""
    writer.join()


def test_read_bytes_of_a_pipe_without_a_writer_ends_in_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody waits for ever."""
    monkeypatch.setattr(reading, "_WRITER_SECONDS", 0.1)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match=r"nobody wrote into within 0\.1 s"):
        read_bytes(tmp_path / "pipe", 8)


def test_read_bytes_of_a_pipe_whose_writer_waits_goes_on_waiting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once somebody has opened it, no time is too long."""
    monkeypatch.setattr(reading, "_WRITER_SECONDS", 0.05)
    path, go_on = tmp_path / "pipe", threading.Event()
    os.mkfifo(path)

    def write() -> None:
        with path.open("wb") as pipe:
            go_on.wait()
            pipe.write(b"late")

    writer = threading.Thread(target=write)
    writer.start()
    threading.Timer(0.3, go_on.set).start()
    assert read_bytes(path, 8) == b"late"
    writer.join()


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("absent", "No such file"),
        ("folder", "Is a directory"),
        ("a\0b", "null"),
        ("x" * 300, "name too long"),
        ("", "empty"),
    ],
    ids=["absent", "folder", "null", "long", "empty"],
)
def test_read_file_that_cannot_be_read_says_why(tmp_path: Path, name: str, reason: str) -> None:
    """Path, reason and remedy, in the family of errors that the caller wants."""
    (tmp_path / "folder").mkdir()
    with pytest.raises(InputError, match=rf"(?s){reason}.*Give another"):
        read_file(f"{tmp_path}/{name}" if name else "", 8, InputError, "Give another.")


@pytest.mark.parametrize(
    ("data", "text"),
    [(b"a\nb", "a\nb"), (b"a\r\nb\rc", "a\nb\nc"), (b"\xef\xbb\xbfa", "a"), ("ü".encode(), "ü"), (b"", "")],
)
def test_read_text_gives_lines_as_python_has_them(tmp_path: Path, data: bytes, text: str) -> None:
    """Ends of lines are line feeds, and a byte order mark is no text."""
    (tmp_path / "file").write_bytes(data)
    assert read_text(tmp_path / "file", 100, InputError, "") == text


def test_read_text_of_bytes_is_refused(tmp_path: Path) -> None:
    """What is no UTF-8 is named so, and what is UTF-16 by its own name."""
    for data, reason in ((b"\x80\xfe\x00", "no text file in UTF-8"), (b"\xff\xfea\x00", "written in UTF-16")):
        (tmp_path / "file").write_bytes(data)
        with pytest.raises(InputError, match=reason):
            read_text(tmp_path / "file", 100, InputError, "")


def test_take_of_a_short_stream_gives_what_there_is(tmp_path: Path) -> None:
    """Asking for an exabyte takes no memory for it."""
    (tmp_path / "file").write_bytes(b"abc")
    with open_binary(tmp_path / "file") as stream:
        assert take(stream, 1 << 60) == b"abc"
