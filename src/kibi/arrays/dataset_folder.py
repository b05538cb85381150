"""Data sets in folders: images, wav files or arrays, in one folder for each class."""

import io
import os
import wave
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from kibi.arrays.array_files import ArrayFileError, ArrayType, read_array
from kibi.arrays.dataset import Label, Sample
from kibi.arrays.images import IMAGE_SUFFIXES, read_pixels
from kibi.arrays.rows import check_row_type
from kibi.dtypes import Array, DType
from kibi.errors import InputError
from kibi.files import open_binary, read_file
from kibi.ir import Graph, Tensor

SUFFIXES = (*IMAGE_SUFFIXES, ".npy", ".wav")
_MOST_WAV_BYTES = 256 << 20


@dataclass(frozen=True, slots=True)
class _File:
    """A file with one input, and the folder of its class, or None."""

    path: Path
    label: str | None


class FolderDataset:
    """The files of a folder, each with one input; those in folders inside of it belong to the class that the folder names.

    Classes are in the order of their names, and so are the files of each. Files of other kinds are left out, and so are those
    whose names begin with a full stop.

    - Images (`.png`, `.bmp`) are resized to the input, grey or RGB; what a pixel means follows from the input's range.
    - Sounds (`.wav`, PCM, one channel) have as many samples as the input has elements; a sample means -1 to 1. For an input of
      int16 without a scale they stay as they are. Nothing else is computed from them.
    - Arrays (`.npy`) have the shape of one input.

    Args:
        graph: the model, with one input.
        folder: the folder.

    Raises:
        InputError: the model has several inputs, or the folder has no such files, or files both beside and in folders.
    """

    def __init__(self, graph: Graph, folder: Path) -> None:
        if len(graph.inputs) != 1:
            what = f"{folder}: a file in a folder is one input, and {graph.source} has {len(graph.inputs)}"
            raise InputError(f"{what}. Give a .npz file, or a Python function.")
        self._tensor = graph.tensors[graph.inputs[0]]
        self._folder = folder
        self.source = folder.name or str(folder)
        try:
            self._files, self.classes = _files(folder)
        except OSError as error:
            raise InputError(f"{error.filename or folder}: {error.strerror}. Give a folder that can be read.") from None
        self.count: int = len(self._files)

    def labels(self) -> Iterator[Label]:
        """Yields the folder of each file, if there are folders of classes."""
        return (file.label for file in self._files if file.label is not None)

    def samples(self, first: int = 0) -> Iterator[Sample]:
        """Yields the inputs from the one with that number, each read from its file."""
        for file in self._files[first:]:
            name = file.path.relative_to(self._folder).as_posix()
            yield Sample((_read(file.path, self._tensor),), file.label, name)


def _files(folder: Path) -> tuple[list[_File], tuple[str, ...]]:
    """The files with inputs, and the names of the classes."""
    entries = sorted((each for each in os.scandir(folder) if not each.name.startswith(".")), key=lambda each: each.name)
    own = [_File(Path(each.path), None) for each in entries if not each.is_dir() and _is_input(each.name)]
    classes = [each for each in entries if each.is_dir()]
    inside = [
        _File(Path(each.path, name), each.name)
        for each in classes
        for name in sorted(path.name for path in Path(each.path).iterdir() if path.is_file())
        if _is_input(name)
    ]
    if own and inside:
        what = f"{folder}: {own[0].path.name} is beside folders of classes"
        raise InputError(f"{what}. Move each file into the folder of its class, or all into one folder.")
    if not own and not inside:
        other = Counter(Path(each.name).suffix.lower() or "no suffix" for each in entries if not each.is_dir())
        found = f", but {', '.join(sorted(other)[:8])}" if other else ""
        raise InputError(f"{folder}: there is no {', '.join(SUFFIXES)} file in it or in its folders{found}.")
    return own or inside, tuple(each.name for each in classes) if inside else ()


def _is_input(name: str) -> bool:
    return not name.startswith(".") and Path(name).suffix.lower() in SUFFIXES


def _read(path: Path, tensor: Tensor) -> Array:
    """The array in a file."""
    suffix = path.suffix.lower()
    if suffix in IMAGE_SUFFIXES:
        return read_pixels(path, tensor)
    if suffix == ".wav":
        return read_wav(path, tensor)

    def judge(kind: ArrayType) -> None:
        check_row_type(tensor, kind.shape, kind.dtype, str(path))

    try:
        with open_binary(path) as stream:
            return read_array(stream, judge)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}. Give a .npy file.") from None
    except ArrayFileError as error:
        raise InputError(f"{path}: {error}. Save it with numpy.save, as plain numbers.") from None


def read_wav(path: Path, tensor: Tensor) -> Array:
    """The samples of a wav file, as many as an input has elements.

    Args:
        path: the file: PCM with 8, 16, 24 or 32 bits and one channel, of any rate.
        tensor: the input.

    Returns:
        Samples from -1 to 1, float32; int16 as they are if the input is int16 without a scale.

    Raises:
        InputError: it is no such file, or has another number of samples.
    """
    data = read_file(path, _MOST_WAV_BYTES, InputError, "Give a wav file.")
    try:
        with wave.open(io.BytesIO(data)) as sound:
            channels, width, count = sound.getnchannels(), sound.getsampwidth(), sound.getnframes()
            frames = sound.readframes(min(count, tensor.type.elements + 1))
    except (
        wave.Error,
        EOFError,
        ValueError,
        ArithmeticError,
        RuntimeError,
    ) as error:  # what the module raises on damage
        raise InputError(f"{path}: it is no wav file of PCM samples: {str(error) or 'it is cut off'}.") from None
    if channels != 1 or width not in (1, 2, 3, 4):
        raise InputError(f"{path}: it has {channels} channels of {8 * width} bits. Save it with one channel, as PCM.")
    if count != tensor.type.elements or len(frames) != count * width:
        what = f"{path}: it has {count:,} samples, input {tensor.name!r} takes {tensor.type.elements:,}"
        raise InputError(f"{what}. Cut it; if the model takes features, compute them, and give them as arrays.")
    if tensor.type.dtype is DType.S16 and tensor.type.quantization is None and width == 2:
        return np.frombuffer(frames, "<i2").astype(np.int16).reshape(tensor.type.shape)
    return _scaled(frames, width).reshape(tensor.type.shape)


def _scaled(frames: bytes, width: int) -> Array:
    """Samples of so many bytes as values from -1 to 1."""
    if width == 1:
        values = np.frombuffer(frames, np.uint8).astype(np.float64) - 128
    elif width == 3:
        low, middle, high = np.frombuffer(frames, np.uint8).reshape(-1, 3).astype(np.int32).T
        values = (low | middle << 8 | (high ^ 0x80) - 0x80 << 16).astype(np.float64)
    else:
        values = np.frombuffer(frames, f"<i{width}").astype(np.float64)
    scaled: Array = (values / 2 ** (8 * width - 1)).astype(np.float32)
    return scaled
