"""Recognizes a file by its first bytes, so that an error can say what a wrong file is, and what to do."""

from dataclasses import dataclass
from enum import Enum, auto
from pathlib import PurePath

from kibi.errors import Problem

_CONVERT = "Convert it to .tflite, quantized to int8, first"
_DOWNLOAD = "Download the model file itself"
_HEAD_BYTES = 4096
TFLITE = b"TFL3"
"""The identifier of a `.tflite` file, at byte 4."""
_ZIP = b"PK\x03\x04"
_HDF5 = b"\x89HDF\r\n\x1a\n"
C_SOURCE = frozenset((".c", ".cc", ".cpp", ".cxx", ".h", ".hpp", ".ino"))
"""How names of C source end."""


class Kind(Enum):
    """The kinds of files that Kibi reads models from."""

    TFLITE = auto()
    C_SOURCE = auto()
    ZIP = auto()
    HDF5 = auto()
    ONNX = auto()


def kind_of(head: bytes, name: str) -> Kind | None:
    """The kind of a file; None if it is none that Kibi reads.

    Args:
        head: its contents, or at least its first 4096 bytes.
        name: its name or path. Of two texts with the same beginning, one may be C source and the other not.
    """
    head = head[:_HEAD_BYTES]
    if head[4:8] == TFLITE:
        return Kind.TFLITE
    if head.startswith(_ZIP):
        return Kind.ZIP
    if head.startswith(_HDF5):
        return Kind.HDF5
    if _is_onnx(head, name):
        return Kind.ONNX
    is_named = PurePath(name).suffix.lower() in C_SOURCE
    return Kind.C_SOURCE if head and _is_text(head) and (is_named or _has_array(head)) else None


@dataclass(frozen=True, slots=True)
class _Format:
    """A format that is recognised by its first bytes."""

    start: bytes
    what: str
    remedy: str = _CONVERT


_FORMATS = (
    _Format(
        _ZIP,
        "a zip archive, as .keras and PyTorch's .pt files are,",
        "Unpack it, or convert the model in it to .tflite",
    ),
    _Format(b"\x1f\x8b", "compressed by gzip", "Unpack it first"),
    _Format(b"\x7fELF", "an ELF executable or object file", "Give the .tflite file that it was made from"),
    _Format(
        b"version https://git-lfs", "a pointer of Git LFS, not the model itself", "Run `git lfs pull` in its repository"
    ),
    _Format(b"<", "a web page or XML file", _DOWNLOAD),
)
# ONNX `onnx.proto`, message ModelProto: `ir_version` comes first, then one of the texts or messages in fields 2 to 8.
_ONNX_FIELDS = frozenset(field << 3 | 2 for field in (2, 3, 4, 6, 7, 8))
_ONNX_VERSIONS = range(3, 128)


def describe(data: bytes, name: str) -> Problem:
    """Returns the problem of a file that has no known identifier: what it is, and what to do.

    Args:
        data: its contents, or at least its first 4096 bytes.
        name: its name.
    """
    head = data[:_HEAD_BYTES]
    if not head:
        return Problem("the file is empty", "Export the model again, or download it again")
    if head.startswith(b"\x08\x01\x12"):
        return Problem("it is the graph of a TensorFlow SavedModel", "Give the folder that it is in")
    if head[4:7] == b"TFL":
        what = f"it is a TensorFlow Lite file of version {head[7:8].decode('latin-1')!r}; version '3' is supported"
        return Problem(what, "Convert the model with a newer converter")
    for known in _FORMATS:
        if head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(known.start):
            return Problem(f"it is {known.what}, not a .tflite file", known.remedy)
    if _is_text(head):
        if kind_of(head, name) is Kind.C_SOURCE:
            what = "it is C source, and no array in it begins as a .tflite file does"
            return Problem(what, "Give the .tflite file that it was made from")
        return Problem("it is a text file, not a .tflite file", "Give the path of a .tflite file")
    if len(data) < 8:
        what = f"the file has {len(data)} bytes, less than a .tflite file's header of 8"
        return Problem(what, "Export the model again, or download it again")
    what = f"it is not a .tflite file: bytes 4 to 7 are {head[4:8].hex(' ')}, not the identifier 'TFL3'"
    return Problem(what, "Give the path of a .tflite file; if it is one, download or export it again")


def _is_onnx(head: bytes, name: str) -> bool:
    """True if a protobuf begins as ONNX's does: the tag of `ir_version`, a small number, the tag of a later field."""
    looks_so = len(head) > 2 and head[0] == 0x08 and head[1] in _ONNX_VERSIONS and head[2] in _ONNX_FIELDS
    return looks_so or (name.lower().endswith(".onnx") and head[:1] == b"\x08")


def _has_array(head: bytes) -> bool:
    """True if a text seems to have an array of bytes in C."""
    return b"unsigned char" in head or b"uint8_t" in head


def _is_text(head: bytes) -> bool:
    """True if these are the first bytes of a text in UTF-8."""
    try:
        text = head.decode("utf-8")
    except UnicodeDecodeError as error:
        if len(head) < _HEAD_BYTES or error.start < len(head) - 3:  # a character may be cut at the end
            return False
        text = head[: error.start].decode("utf-8")
    return all(character.isprintable() or character in "\t\r\n\f" for character in text)
