"""Inputs from files: `.npy`, `.npz`, images, and raw bytes.

Whatever the file, an array fits an input in one of two ways: it has the input's own element type, or it holds real values
(any float type) that are quantized as the input says. Axes of size 1 may be left out or added; nothing else is reshaped.
"""

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from kibi.dtypes import Array, DType
from kibi.errors import InputError, KibiError
from kibi.ir import Graph, Tensor
from kibi.runtime.images import IMAGE_SUFFIXES, read_image
from kibi.runtime.inputs import quantize_real

_FORMS = "Give a .npy, .npz, .png or .bmp file; any other file is taken as the raw bytes of one input."


def read_inputs(graph: Graph, paths: Sequence[Path]) -> list[Array]:
    """One inference's inputs.

    Args:
        graph: the model.
        paths: one file for each input, in the model's order; or one `.npz` file with an array for each, by the inputs'
            names or in their order.

    Returns:
        One array for each input, of its shape and type.

    Raises:
        InputError: too few or too many files, one that cannot be read, or one that does not fit.
    """
    runs = read_runs(graph, paths)
    if len(runs) != 1:
        raise InputError(f"{graph.source} takes {_wanted(graph)}; {len(paths)} files were given.")
    return runs[0]


def read_runs(graph: Graph, paths: Sequence[Path]) -> list[list[Array]]:
    """The inputs of one or several inferences: the files fill the model's inputs in order, again and again.

    Args:
        graph: the model.
        paths: as in `read_inputs`, for one inference after another.

    Raises:
        InputError: the files do not come out even, one cannot be read, or one does not fit.
    """
    tensors = [graph.tensors[index] for index in graph.inputs]
    runs: list[list[Array]] = []
    pending: list[Array] = []
    for path in paths:
        if path.suffix.lower() == ".npz" and not pending:
            runs.append(_read_archive(graph, path, tensors))
            continue
        pending.append(_read_one(graph, path, tensors[len(pending)]))
        if len(pending) == len(tensors):
            runs.append(pending)
            pending = []
    if pending or not runs:
        raise InputError(f"{graph.source} takes {_wanted(graph)}; {len(paths)} files were given.")
    return runs


def fit_array(tensor: Tensor, array: Array, source: str) -> Array:
    """An array as an input takes it.

    Args:
        tensor: the input.
        array: of the input's type, or real values; of the input's shape but for axes of size 1.
        source: whose array it is, for errors.

    Raises:
        InputError: its shape or type does not fit, or it holds a value that is not a number.
    """
    kind = tensor.type
    where = f"{source}, for input {tensor.name!r}"
    if _without_ones(array.shape) != _without_ones(kind.shape):
        raise InputError(f"{where}: the shape is {list(array.shape)}, {list(kind.shape)} is required.")
    shaped = array.reshape(kind.shape)
    if array.dtype.newbyteorder("=") == kind.dtype.numpy.newbyteorder("="):
        return shaped.astype(kind.dtype.numpy)
    if array.dtype.kind != "f" or not (kind.dtype.is_integer or kind.dtype is DType.F32):
        also = ", or real values as float32" if kind.quantization is not None else ""
        raise InputError(f"{where}: the type is {array.dtype}, {kind.dtype.numpy} is required{also}.")
    if np.isnan(shaped).any():
        raise InputError(f"{where}: it holds values that are not numbers. Replace them before you save the array.")
    return quantize_real(tensor, shaped)


def _read_one(graph: Graph, path: Path, tensor: Tensor) -> Array:
    """The file of one input."""
    suffix = path.suffix.lower()
    if suffix == ".npy":
        return fit_array(tensor, _load(path), str(path))
    if suffix == ".npz":
        return _read_archive(graph, path, [tensor])[0]
    if suffix in IMAGE_SUFFIXES:
        return read_image(graph, path, tensor)
    return _read_raw(path, tensor)


def _read_raw(path: Path, tensor: Tensor) -> Array:
    """Exactly the input's bytes, little-endian."""
    try:
        size = path.stat().st_size
        if path.is_file() and size != tensor.type.size_bytes:
            what = (
                f"{path}: it has {size:,} bytes, input {tensor.name!r} ({tensor.type}) takes {tensor.type.size_bytes:,}"
            )
            raise InputError(f"{what}. {_FORMS}")
        data = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}. {_FORMS}") from None
    return np.frombuffer(data, tensor.type.dtype.numpy).reshape(tensor.type.shape)


def _read_archive(graph: Graph, path: Path, tensors: Sequence[Tensor]) -> list[Array]:
    """The arrays of a `.npz` file by the inputs' names, or else in their order."""
    archive = _load(path)
    try:
        return _arrays(graph, path, archive, tensors)
    except KibiError:
        raise
    except Exception as error:  # noqa: BLE001 - zipfile and NumPy raise what they like on damaged archives
        raise InputError(f"{path}: the archive is damaged: {_reason(error)}. Save it again with numpy.savez.") from None
    finally:
        archive.close()


def _arrays(graph: Graph, path: Path, archive: Any, tensors: Sequence[Tensor]) -> list[Array]:
    """The arrays of an open archive; what it raises where it is damaged is its own."""
    names = list(archive.files)
    wanted = [tensor.name for tensor in tensors]
    by_name = bool(set(names) & set(wanted))
    missing = [name for name in wanted if name not in names] if by_name else []
    if missing or (not by_name and len(names) != len(wanted)):
        held = ", ".join(map(repr, names)) or "none"
        needed = f"arrays {', '.join(map(repr, wanted))}, or {len(wanted)} in that order"
        raise InputError(f"{path}: it holds the arrays {held}; {graph.source} takes {needed}.")
    pairs = zip(wanted if by_name else names, tensors, strict=True)
    return [fit_array(tensor, archive[name], f"{path}[{name!r}]") for name, tensor in pairs]


def _load(path: Path) -> Any:
    """What NumPy makes of a file; a `.npy` file is mapped, so that a lying header costs no memory.

    Pickled objects are refused: they could run code.
    """
    is_archive = path.suffix.lower() == ".npz"
    saved = f"Save it with numpy.save{'z' if is_archive else ''}, as plain numbers."
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            loaded = np.load(path, mmap_mode=None if is_archive else "r", allow_pickle=False)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or 'it is no NumPy file'}. {_FORMS}") from None
    except Exception as error:  # noqa: BLE001 - zipfile, zlib, tokenize and NumPy raise what they like on damaged files
        raise InputError(f"{path}: it is no NumPy file: {_reason(error)}. {saved}") from None
    if is_archive != hasattr(loaded, "files"):
        raise InputError(f"{path}: its contents are {'an array' if is_archive else 'an archive'}. {saved}")
    return loaded


def _reason(error: Exception) -> str:
    """The first line of what a library says is wrong."""
    return str(error).partition("\n")[0] or "it is damaged"


def _without_ones(shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(size for size in shape if size != 1)


def _wanted(graph: Graph) -> str:
    """The files that a model takes."""
    names = ", ".join(f"{graph.tensors[index].name!r}" for index in graph.inputs)
    count = len(graph.inputs)
    return (
        f"one file, for its input {names}" if count == 1 else f"{count} files, for its inputs {names}, or one .npz file"
    )
