"""Models in zip archives, as Edge Impulse and MLTK write them: `.tflite` files, or else C source with arrays."""

import io
import lzma
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import PurePosixPath

from kibi.frontends.containers.c_array import MOST_BYTES as MOST_SOURCE_BYTES
from kibi.frontends.containers.c_array import arrays
from kibi.frontends.containers.choice import ContainerError, Found
from kibi.frontends.formats import C_SOURCE, TFLITE

_MOST_MEMBERS = 10_000
_MOST_MODEL_BYTES = (1 << 31) - 1
_MOST_READ_BYTES = 1 << 30
"""The most bytes that are unpacked to find models: an archive can be much larger than its file."""
_PICKLE = "data.pkl"
"""What the archive of a PyTorch module or of its weights has."""
_HEAD_BYTES = 8
_PIECE_BYTES = 1 << 20
_AGAIN = "Download it again, or unpack it and give the model in it"


def members(data: bytes) -> list[Found]:
    """The models in a zip archive, in its order.

    Members that begin as a `.tflite` file does; if there are none, arrays in C source, named `MEMBER/ARRAY`.

    Raises:
        ContainerError: the archive is damaged, encrypted, or too large.
    """
    with _problems():
        archive = zipfile.ZipFile(io.BytesIO(data))
        infos = [info for info in archive.infolist() if not info.is_dir()]
    if len(infos) > _MOST_MEMBERS:
        what = f"the archive has {len(infos)} members; at most {_MOST_MEMBERS} are looked at"
        raise ContainerError(what, "Unpack it, and give the model in it")
    models = [_member(archive, info) for info in infos if _read(archive, info, _HEAD_BYTES)[4:8] == TFLITE]
    if not models and any(PurePosixPath(info.filename).name == _PICKLE for info in infos):
        what = "it is a PyTorch file of pickled objects, which may be any code, so Kibi never loads them"
        raise ContainerError(
            what, "Save the module as a program: torch.export.save(torch.export.export(module, (x,)), 'm.pt2')"
        )
    return models or list(_in_source(archive, infos))


def _member(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Found:
    def read() -> bytes:
        found = _read(archive, info, _MOST_MODEL_BYTES + 1)
        if len(found) > _MOST_MODEL_BYTES:
            raise ContainerError(f"{info.filename} has more than {_MOST_MODEL_BYTES} bytes", _AGAIN)
        return found

    return Found(info.filename, read)


def _in_source(archive: zipfile.ZipFile, infos: list[zipfile.ZipInfo]) -> Iterator[Found]:
    left = _MOST_READ_BYTES
    for info in infos:
        if PurePosixPath(info.filename).suffix.lower() in C_SOURCE:
            text = _read(archive, info, min(left, MOST_SOURCE_BYTES) + 1)
            left -= len(text)
            if left < 0 or len(text) > MOST_SOURCE_BYTES:
                raise ContainerError("the C source in the archive is too large to be searched for models", _AGAIN)
            yield from (Found(f"{info.filename}/{each.name}", each.read) for each in arrays(text))


def _read(archive: zipfile.ZipFile, info: zipfile.ZipInfo, most: int) -> bytes:
    """The first bytes of a member, at most so many: what it says of its size is not trusted."""
    taken = bytearray()
    with _problems(), archive.open(info) as stream:
        while len(taken) < most and (piece := stream.read(min(most - len(taken), _PIECE_BYTES))):
            taken += piece
    return bytes(taken)


@contextmanager
def _problems() -> Iterator[None]:
    """Converts what the library raises of bad archives.

    Raises:
        ContainerError: an archive is damaged, encrypted, or packed in a way that the library does not know.
    """
    try:
        yield
    except RuntimeError as error:  # NotImplementedError is one, too
        what = f"the archive cannot be read: {error}"
        raise ContainerError(what, "Unpack it, and give the model in it") from error
    except (zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, OSError, ValueError, struct.error) as error:
        raise ContainerError(f"the archive is damaged: {error}", _AGAIN) from error
