"""Hostile float models and data for `kibi.quantize`: it ends in a model or in an error of Kibi's own, and writes all or nothing."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import kibi
from examples.patterns import Layer, Net
from kibi.dtypes import Array, DType
from kibi.errors import InternalError, KibiError
from kibi.ir import Graph
from kibi.quantization.network import Network
from tests.fuzz.checks import BrokenPromiseError, is_small, load
from tests.fuzz.corpus import corpus
from tests.quantization.test_recurrent import lstm, svdf
from tests.quantization.test_subgraphs import branching, counting
from tests.support.python_runner import without_compiler

_INPUTS = 4
_ODD = (np.nan, np.inf, -np.inf, 3.4e38, -3.4e38, 1e-45, 1e30, 0.0, 255.0)


@cache
def float_sources() -> tuple[int, ...]:
    """The numbers of the sound models that can be quantized."""
    return tuple(number for number, data in enumerate(corpus()) if _is_float(data))


@cache
def float_networks() -> Sequence[bytes]:
    """Further sound models: convolutions, layers with a memory, branches, a variable."""
    net = Net([Layer("conv", 3, 3, 2, "RELU6"), Layer("depthwise", 0, 3), Layer("mean"), Layer("dense", 4)], (6, 6, 1))
    rng, shape = np.random.default_rng(0), net.shape
    for layer in net.layers:
        shape = layer.prepare(shape, rng)
    return net.file(signature=True), lstm(times=2), svdf(), branching(), counting(3.0)


def _is_float(data: bytes) -> bool:
    try:
        Network.of(data, "model.tflite")
    except KibiError:
        return False
    return True


def quantize_hostile(data: bytes, rng: np.random.Generator, folder: Path) -> int:
    """Quantizes a model with data that may be anything; 0 if the model is too large to run in Python.

    Raises:
        KibiError: the model or the data are refused, as they should be.
        BrokenPromiseError: a file was written without success, or is missing or broken after it.
    """
    graph = load(data)
    if graph is not None and not is_small(graph):
        return 0
    model, output = folder / "model.tflite", folder / "quantized.tflite"
    model.write_bytes(data)
    before = {path.name for path in folder.iterdir()}
    try:
        with without_compiler():
            given = _data(graph, rng, folder)
            before = {path.name for path in folder.iterdir()}
            made = kibi.quantize(model, given, output, target=None, evaluate=False, **_options(rng))
        if output.read_bytes() != made.data:
            raise BrokenPromiseError("the file is not the model that was returned")
        if load(made.data) is None:
            raise BrokenPromiseError("Kibi does not read the model that it wrote")
    except InternalError:
        raise
    except KibiError:
        left = {path.name for path in folder.iterdir()} - before
        if left:
            raise BrokenPromiseError(f"an error left {', '.join(sorted(left))}") from None
        raise
    finally:
        output.unlink(missing_ok=True)
    return 1


def _options(rng: np.random.Generator) -> dict[str, Any]:
    """Options, of which few are wrong."""
    activations = str(rng.choice(["int8", "int16", "int8", "int4"], p=[0.6, 0.28, 0.1, 0.02]))
    return {
        "activations": activations,
        "inputs_and_outputs": str(rng.choice(["integer", "float32"])),
        "floats": [["SOFTMAX"], []][int(rng.random() < 0.98)],
        "pixels": str(rng.choice(["0..255", "0..1", "-1..1"])),
        "calibration_inputs": int(rng.choice([1, 3, 256])),
        "keep_state": bool(rng.random() < 0.3),
        "improve": bool(rng.random() < 0.5),
        "ram": 100 if rng.random() < 0.02 else None,
        "weights": "int4" if rng.random() < (0.3 if activations == "int8" else 0.02) else "int8",
    }


def _data(graph: Graph | None, rng: np.random.Generator, folder: Path) -> Any:
    """Data: a function that yields arrays, or a file."""
    kinds = [] if graph is None else [graph.tensors[index].type for index in graph.inputs]
    rows = [[_sound(kind.shape, kind.dtype, rng) for kind in kinds] for _ in range(_INPUTS)]
    kind = list(_KINDS)[int(rng.choice(len(_KINDS), p=_SHARES))]
    items = [_KINDS[kind](row, rng) for row in rows]
    if rng.random() < 0.8 or len(kinds) != 1:
        return lambda: iter(items)
    path = folder / "data.npy"
    try:
        np.save(path, np.stack([np.asarray(item[0]) for item in items]), allow_pickle=False)
    except (LookupError, MemoryError, TypeError, ValueError):  # what cannot be written
        path.write_bytes(b"\x93NUMPY\x01\x00v\x00{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999, 9)}")
    return path


def _sound(shape: tuple[int, ...], dtype: DType, rng: np.random.Generator) -> Array:
    drawn = rng.normal(size=shape) if dtype is DType.F32 else rng.integers(0, 2, shape)
    return np.asarray(drawn, dtype.numpy)


def _as_it_is(row: list[Array], rng: np.random.Generator) -> Any:
    del rng
    return row


def _odd_values(row: list[Array], rng: np.random.Generator) -> Any:
    """Some elements are no numbers, infinite, or beyond all measure."""
    found = [np.array(each) for each in row]
    for each in found:
        if each.dtype.kind == "f" and each.size:
            each.reshape(-1)[rng.integers(0, each.size, 2)] = np.float32(rng.choice(_ODD))
    return found


def _other_shape(row: list[Array], rng: np.random.Generator) -> Any:
    """One axis more, one less, other sizes, or another number of arrays."""
    how = int(rng.integers(4))
    if how == 0:
        return [each[None, None] for each in row]
    if how == 1:
        return [each.reshape(-1)[:-1] for each in row]
    return row[:-1] if how == 2 else [*row, np.zeros(3, np.float32)]


def _other_type(row: list[Array], rng: np.random.Generator) -> Any:
    """Arrays of another type: texts, objects, complex numbers, dates, structures."""
    dtype = str(rng.choice(["U3", "object", "complex64", "datetime64[s]", "float16", "float64", "uint8", "bool", "i8"]))
    found = []
    for each in row:
        try:
            found.append(np.zeros(each.shape, dtype))
        except TypeError:
            found.append(each)
    return found


def _huge(row: list[Array], rng: np.random.Generator) -> Any:
    """Arrays that claim to be huge, and take no memory."""
    del rng
    return [np.broadcast_to(np.zeros((), each.dtype), (1 << 20, 1 << 20)) for each in row]


def _no_array(row: list[Array], rng: np.random.Generator) -> Any:
    """What is no array at all."""
    others: Iterator[Any] = iter(
        (None, "text", 3, {}, [], ([1], [2, [3]]), b"\0", object(), (row, "label"), float("nan"))
    )
    return list(others)[int(rng.integers(10))]


_KINDS: Mapping[str, Callable[[list[Array], np.random.Generator], Any]] = {
    "sound": _as_it_is,
    "odd values": _odd_values,
    "other shape": _other_shape,
    "other type": _other_type,
    "huge": _huge,
    "no array": _no_array,
}
_SHARES = (0.5, 0.2, 0.1, 0.1, 0.03, 0.07)
