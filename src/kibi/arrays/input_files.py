"""Inputs from files: `.npy`, `.npz`, images, and raw bytes.

Whatever the file, an array fits an input in one of two ways: it has the input's own element type, or it holds real values
(any float type) that are quantized as the input says. Axes of size 1 may be left out or added; nothing else is reshaped.
"""

import os
import stat
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from kibi.arrays.array_files import ArrayFileError, ArrayType, open_archive, read_array
from kibi.arrays.images import IMAGE_SUFFIXES, read_image
from kibi.dtypes import Array, DType
from kibi.errors import InputError
from kibi.files import open_binary, take
from kibi.ir import Graph, Tensor
from kibi.runtime.inputs import quantize_real

_FORMS = "Give a .npy, .npz, .png or .bmp file; any other file is taken as the raw bytes of one input."
_MOST_NAMES = 16


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
        source: the origin of the array, for errors.

    Raises:
        InputError: its shape or type does not fit, or it holds a value that is not a number.
    """
    _check(tensor, ArrayType(array.shape, array.dtype), source)
    kind = tensor.type
    shaped = array.reshape(kind.shape)
    if array.dtype.newbyteorder("=") == kind.dtype.numpy.newbyteorder("="):
        return shaped.astype(kind.dtype.numpy)
    if np.isnan(shaped).any():
        what = "it holds values that are not numbers. Replace them before you save the array."
        raise InputError(f"{source}, for input {tensor.name!r}: {what}")
    return quantize_real(tensor, shaped)


def _check(tensor: Tensor, found: ArrayType, source: str) -> None:
    """Refuses an array by its shape and type alone, so that nothing of it need be read.

    Raises:
        InputError: it does not fit the input.
    """
    kind = tensor.type
    where = f"{source}, for input {tensor.name!r}"
    if _without_ones(found.shape) != _without_ones(kind.shape):
        raise InputError(f"{where}: the shape is {list(found.shape)}, {list(kind.shape)} is required.")
    if found.dtype.newbyteorder("=") == kind.dtype.numpy.newbyteorder("="):
        return
    if found.dtype.kind != "f" or not (kind.dtype.is_integer or kind.dtype is DType.F32):
        also = ", or real values as float32" if kind.quantization is not None else ""
        raise InputError(f"{where}: the type is {found.dtype}, {kind.dtype.numpy} is required{also}.")


def _read_one(graph: Graph, path: Path, tensor: Tensor) -> Array:
    """The file of one input."""
    suffix = path.suffix.lower()
    if suffix == ".npy":
        return _read_array(path, tensor)
    if suffix == ".npz":
        return _read_archive(graph, path, [tensor])[0]
    if suffix in IMAGE_SUFFIXES:
        return read_image(graph, path, tensor)
    return _read_raw(path, tensor)


def _read_raw(path: Path, tensor: Tensor) -> Array:
    """Reads exactly the input's bytes, little-endian; from an endless device, the first bytes."""
    needed = tensor.type.size_bytes
    try:
        with open_binary(path) as stream:
            status = os.fstat(stream.fileno())
            is_endless = stat.S_ISCHR(status.st_mode)
            data = take(stream, needed if is_endless else needed + 1)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}. {_FORMS}") from None
    if len(data) != needed:
        has = f"{max(status.st_size, len(data)):,}" if len(data) < needed or status.st_size else f"more than {needed:,}"
        what = f"{path}: it has {has} bytes, input {tensor.name!r} ({tensor.type}) takes {needed:,}"
        raise InputError(f"{what}. {_FORMS}")
    return np.frombuffer(data, tensor.type.dtype.numpy).reshape(tensor.type.shape)


def _read_array(path: Path, tensor: Tensor) -> Array:
    """The array of a `.npy` file."""
    try:
        with open_binary(path) as stream:
            found = read_array(stream, lambda kind: _check(tensor, kind, str(path)))
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}. {_FORMS}") from None
    except ArrayFileError as error:
        raise InputError(f"{path}: {error}. Save it with numpy.save, as plain numbers.") from None
    return fit_array(tensor, found, str(path))


def _read_archive(graph: Graph, path: Path, tensors: Sequence[Tensor]) -> list[Array]:
    """The arrays of a `.npz` file by the inputs' names, or else in their order."""
    arrays: list[Array] = []
    try:
        with open_binary(path) as stream, open_archive(stream) as archive:
            names = list(archive.names)
            wanted = [tensor.name for tensor in tensors]
            by_name = bool(set(names) & set(wanted))
            missing = [name for name in wanted if name not in names] if by_name else []
            if missing or (not by_name and len(names) != len(wanted)):
                needed = f"arrays {', '.join(map(repr, wanted))}, or {len(wanted)} in that order"
                raise InputError(f"{path}: it holds {_listed(names)}; {graph.source} takes {needed}.")
            for name, tensor in zip(wanted if by_name else names, tensors, strict=True):
                where = f"{path}[{name!r}]"
                found = archive.read(name, lambda kind, tensor=tensor, where=where: _check(tensor, kind, where))  # type: ignore[misc]
                arrays.append(fit_array(tensor, found, where))
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}. {_FORMS}") from None
    except ArrayFileError as error:
        raise InputError(f"{path}: {error}. Save it with numpy.savez, as plain numbers.") from None
    return arrays


def _listed(names: Sequence[str]) -> str:
    """The first of some arrays' names, and how many more there are."""
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return f"the arrays {', '.join(map(repr, names[:_MOST_NAMES])) or 'none'}{more}"


def _reason(error: Exception) -> str:
    """Returns the first line of a library's error text."""
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
