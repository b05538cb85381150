"""NumPy's files are judged by their headers, and no more of them is read than the header says."""

import contextlib
import io
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kibi.arrays.array_files import ArrayFileError, ArrayType, open_archive, read_array
from kibi.dtypes import Array
from kibi.files import open_binary

ARRAYS = [
    np.arange(6).reshape(2, 3),
    np.asfortranarray(np.arange(6, dtype=np.int16).reshape(2, 3)),
    np.arange(6, dtype=">i4"),
    np.zeros((0, 3), np.int8),
    np.array(3, np.float32),
    np.arange(50_000, dtype=np.float64).reshape(2, -1),
    np.array([True, False]),
]


def _any(kind: ArrayType) -> None:
    """Refuses nothing."""


def _saved(array: Array) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()


def _header(text: str, body: bytes = b"", version: bytes = b"\x01\x00") -> io.BytesIO:
    size = len(text).to_bytes(2 if version == b"\x01\x00" else 4, "little")
    return io.BytesIO(b"\x93NUMPY" + version + size + text.encode() + body)


@pytest.mark.parametrize("array", ARRAYS, ids=lambda array: f"{array.dtype}{array.shape}")
def test_read_array_equals_numpy(array: Array) -> None:
    """Shape, type, order and elements."""
    found = read_array(io.BytesIO(_saved(array)), _any)
    assert (found.shape, found.dtype) == (array.shape, array.dtype)
    np.testing.assert_array_equal(found, array)


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
@pytest.mark.parametrize("is_pipe", [False, True])
def test_archive_equals_numpy(save: Any, is_pipe: bool) -> None:
    """Each array by its name, in the file's order, also where the stream cannot be rewound."""
    stream = io.BytesIO()
    save(stream, **{f"a{number}": array for number, array in enumerate(ARRAYS)})
    stream.seek(0)
    if is_pipe:
        stream.seekable = lambda: False  # type: ignore[method-assign]
    with open_archive(stream) as archive:
        assert list(archive.names) == [f"a{number}" for number in range(len(ARRAYS))]
        for number in reversed(range(len(ARRAYS))):
            np.testing.assert_array_equal(archive.read(f"a{number}", _any), ARRAYS[number])


@pytest.mark.parametrize(
    "text",
    [
        "{'descr': '|O', 'fortran_order': False, 'shape': (1,)}",
        "{'descr': [('a', '<i4')], 'fortran_order': False, 'shape': (1,)}",
        "{'descr': '<i4', 'fortran_order': False, 'shape': (-1,)}",
        "{'descr': '<i4', 'fortran_order': False, 'shape': (1.5,)}",
        "{'descr': '<i4', 'fortran_order': False, 'shape': 3}",
        "{'descr': '<i4', 'fortran_order': 1, 'shape': (1,)}",
        "{'descr': '<i999', 'fortran_order': False, 'shape': (1,)}",
        "{'descr': '<i4', 'fortran_order': False}",
        "{'descr': '<i4', 'fortran_order': False, 'shape': (1000000000000,)}",
        "__import__('os').system('false')",
        "(" * 9000,
        "[" * 9000 + "]" * 9000,
        "-" * 9000 + "1",
        "\x00",
        "",
    ],
    ids=lambda text: text[:60],
)
@pytest.mark.parametrize("version", [b"\x01\x00", b"\x02\x00", b"\x03\x00", b"\x09\x09"], ids=repr)
def test_read_array_of_a_hostile_header_is_refused(text: str, version: bytes) -> None:
    """Objects, records, negative and endless shapes, and whatever is no header."""
    with pytest.raises(ArrayFileError):
        read_array(_header(text, b"\x00" * 8, version), _any)


def test_read_array_of_a_header_of_gigabytes_is_refused() -> None:
    """A header says its own length, and is not believed."""
    with pytest.raises(ArrayFileError):
        read_array(io.BytesIO(b"\x93NUMPY\x02\x00\xff\xff\xff\xff" + b" " * 100_000), _any)


def test_read_array_reads_no_more_than_its_header_says(tmp_path: Path) -> None:
    """A file that goes on without end is left there; one that nobody wants is not read at all."""
    path = tmp_path / "file"
    path.write_bytes(_saved(np.arange(4, dtype=np.int8)))
    with path.open("r+b") as file:
        file.truncate(1 << 40)
    with open_binary(path) as stream:
        assert read_array(stream, _any).tolist() == [0, 1, 2, 3]

    class RefusedError(Exception):
        pass

    def refuse(kind: ArrayType) -> None:
        assert kind.size_bytes == 8 << 40
        raise RefusedError

    with pytest.raises(RefusedError):
        read_array(_header(f"{{'descr': '<f8', 'fortran_order': False, 'shape': ({1 << 40},)}}"), refuse)


@pytest.mark.parametrize("size", [1, 10, 79, 80, 127, 128, 131])
def test_read_array_that_is_cut_off_is_refused(size: int) -> None:
    """In its header or in its elements."""
    with pytest.raises(ArrayFileError):
        read_array(io.BytesIO(_saved(np.arange(4, dtype=np.int8))[:size]), _any)


def _bomb(path: Path, method: int = zipfile.ZIP_DEFLATED) -> Path:
    """An archive of some kilobytes that holds two gigabytes."""
    header = _header(f"{{'descr': '|i1', 'fortran_order': False, 'shape': ({2 << 30},)}}").getvalue()
    with zipfile.ZipFile(path, "w", method) as archive, archive.open("x.npy", "w", force_zip64=True) as member:
        member.write(header)
        for _ in range(64):
            member.write(bytes(1 << 20))
    return path


def test_archive_that_swells_is_judged_by_its_header(tmp_path: Path) -> None:
    """Nothing of it is unpacked that nobody wants."""

    def refuse(kind: ArrayType) -> None:
        raise ArrayFileError(f"{kind.size_bytes} bytes")

    with (
        _bomb(tmp_path / "x.npz").open("rb") as stream,
        open_archive(stream) as archive,
        pytest.raises(ArrayFileError, match=f"{2 << 30} bytes"),
    ):
        archive.read("x", refuse)


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_archive_compressed_as_numpy_does_not_is_refused(tmp_path: Path, method: int) -> None:
    """Their decoders have no bound."""
    with (
        _bomb(tmp_path / "x.npz", method).open("rb") as stream,
        open_archive(stream) as archive,
        pytest.raises(ArrayFileError, match="compressed as NumPy does not"),
    ):
        archive.read("x", _any)


def test_archive_with_a_directory_of_megabytes_is_refused(tmp_path: Path) -> None:
    """Each name in it would take a hundred times its bytes."""
    path = tmp_path / "x.npz"
    with zipfile.ZipFile(path, "w") as archive:
        for number in range(100):
            archive.writestr(f"{number:04}{'x' * 60_000}", b"")
    with path.open("rb") as stream, pytest.raises(ArrayFileError, match="list of files"), open_archive(stream):
        pass


@pytest.mark.parametrize("change", range(0, 400, 3))
def test_archive_with_any_byte_changed_gives_the_array_or_is_refused(change: int) -> None:
    """No exception but ours, wherever the damage is."""
    stream = io.BytesIO()
    np.savez(stream, x=np.arange(4, dtype=np.int8))
    data = bytearray(stream.getvalue())
    data[change % len(data)] ^= 0xFF
    with contextlib.suppress(ArrayFileError), open_archive(io.BytesIO(bytes(data))) as archive:
        for name in archive.names:
            assert archive.read(name, _any).size <= 4
