"""Mutations of a model as the schema's objects: numbers, names, wires, shapes and types that stay well-formed as a file.

Such files pass the checks of bytes and reach what comes after them: rules of shapes, passes, planner, kernels. The objects
are those of LiteRT's own generated schema.
"""

import pickle
from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from functools import lru_cache
from typing import Any

import flatbuffers
import numpy as np
from ai_edge_litert import schema_py_generated as schema

from tests.fuzz.corpus import corpus
from tests.fuzz.hostile_text import hostile_text

_INTEGERS = (
    0,
    1,
    2,
    3,
    -1,
    -2,
    7,
    8,
    127,
    128,
    255,
    256,
    -128,
    32767,
    65535,
    65536,
    1 << 20,
    (1 << 31) - 1,
    -(1 << 31),
)
_FLOATS = (0.0, -0.0, 1.0, -1.0, 1e-45, 1e-30, 1e30, 3.4e38, float("inf"), float("-inf"), float("nan"), 0.5, 2.0)
_SIZES, _LARGE_SIZES = (0, 1, 2, 3, 5, 16, 33), (64, 257, 1024, 65536, (1 << 31) - 1)
_LARGE_SHARE = 0.1
"""Large sizes are rare: most models then are so quick that many are tried."""
_FILE_IDENTIFIER = b"TFL3"


@lru_cache(maxsize=1024)
def unpacked(number: int) -> Any:
    """The model of that number in the corpus as the schema's objects, which must not be changed."""
    return schema.ModelT.InitFromPackedBuf(bytearray(corpus()[number]), 0)


@lru_cache(maxsize=1024)
def _pickled(number: int) -> bytes:
    return pickle.dumps(unpacked(number))


def _fresh(number: int) -> Any:
    """Returns the model as objects that may be changed: a copy, which is four times as quick from a pickle."""
    return pickle.loads(_pickled(number))  # noqa: S301 - pickled above


def mutated(number: int, rng: np.random.Generator) -> bytes:
    """The model of that number in the corpus with one to three mutations.

    Raises:
        WriterError: the schema's writer cannot write it.
    """
    model = _fresh(number)
    for _ in range(int(rng.choice((1, 1, 1, 2, 3)))):
        _MUTATIONS[int(rng.integers(len(_MUTATIONS)))](model, rng)
    return packed(model)


class WriterError(Exception):
    """A mutation that the schema's writer cannot write: no case."""


def packed(model: Any) -> bytes:
    """The file.

    Raises:
        WriterError: the schema's writer cannot write it.
    """
    builder = flatbuffers.Builder(1024)
    try:
        builder.Finish(model.Pack(builder), _FILE_IDENTIFIER)
    except Exception as error:  # the writer checks little, and raises whatever Python raises
        raise WriterError(str(error)) from error
    return bytes(builder.Output())


def _objects(item: Any) -> Iterator[Any]:
    """Every table under one, itself first."""
    if hasattr(item, "__dict__"):
        yield item
        for value in vars(item).values():
            yield from _objects(value)
    elif isinstance(item, list):
        for each in item:
            yield from _objects(each)


def _of(sequence: Sequence[Any], rng: np.random.Generator) -> Any:
    return sequence[int(rng.integers(len(sequence)))]


def _size(rng: np.random.Generator) -> int:
    return int(_of(_LARGE_SIZES if rng.random() < _LARGE_SHARE else _SIZES, rng))


def _integer(rng: np.random.Generator, old: int) -> int:
    if rng.random() < 0.4:
        return int(old + rng.integers(-2, 3))
    return int(_of(_INTEGERS, rng))


def _set_field(model: Any, rng: np.random.Generator) -> None:
    """Gives one field of any table another value of its kind."""
    item = _of([item for item in _objects(model) if vars(item)], rng)
    name = _of(list(vars(item)), rng)
    value = getattr(item, name)
    setattr(item, name, _other(value, rng))


def _other(value: Any, rng: np.random.Generator) -> Any:
    """Another value of the same kind."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | np.integer):
        return _integer(rng, int(value))
    if isinstance(value, float | np.floating):
        return float(_of(_FLOATS, rng))
    if isinstance(value, bytes | str):
        return hostile_text(rng).encode("utf-8", "surrogatepass")
    if isinstance(value, np.ndarray):
        return _other_array(value, rng)
    if isinstance(value, list):
        return _other_list(value, rng)
    return None


def _other_array(values: np.ndarray[Any, Any], rng: np.random.Generator) -> Any:
    how = int(rng.integers(6))
    if how == 0 or not values.size:
        return np.append(values, values[-1:] if values.size else np.zeros(1, values.dtype))
    made = values.copy()
    if how == 1:
        return made[:-1]
    if how == 2:
        return made[::-1].copy()
    if how == 3:
        return None
    if how == 4:
        return np.tile(made, int(_of((2, 3, 40), rng)))
    return _set_elements(made, rng)


def _set_elements(values: np.ndarray[Any, Any], rng: np.random.Generator) -> np.ndarray[Any, Any]:
    """Sets one element, or all of them, to an edge of their type."""
    place = slice(None) if rng.random() < 0.2 else int(rng.integers(values.size))
    if values.dtype.kind == "f":
        values[place] = values.dtype.type(_of(_FLOATS, rng))
        return values
    limits = np.iinfo(values.dtype)
    drawn = int(_of((*_INTEGERS, int(limits.min), int(limits.max)), rng))
    values[place] = min(max(drawn, int(limits.min)), int(limits.max))
    return values


def _other_list(values: list[Any], rng: np.random.Generator) -> Any:
    how = int(rng.integers(5))
    if how == 0 or not values:
        return [*values, *values[-1:]]
    if how == 1:
        return values[:-1]
    if how == 2:
        return values[::-1]
    if how == 3:
        return values * int(_of((2, 3, 20), rng))
    return None if rng.random() < 0.3 else []


def _graph(model: Any, rng: np.random.Generator) -> Any:
    graphs = model.subgraphs or []
    return _of(graphs, rng) if graphs else schema.SubGraphT()


def _rewire(model: Any, rng: np.random.Generator) -> None:
    """Lets an operator, or the graph, read or write another tensor."""
    graph = _graph(model, rng)
    owner = _of([graph, *(graph.operators or [])], rng)
    name = _of(("inputs", "outputs"), rng)
    wires = np.array([] if getattr(owner, name) is None else getattr(owner, name), np.int32)
    tensor = int(rng.integers(-1, len(graph.tensors or []) + 1))
    if wires.size and rng.random() < 0.6:
        wires[int(rng.integers(wires.size))] = tensor
    else:
        wires = np.append(wires, np.int32(tensor)).astype(np.int32)
    setattr(owner, name, wires)


def _replace_size(model: Any, rng: np.random.Generator) -> None:
    """Replaces one size by another in every shape of a graph, so that shapes still fit one another."""
    graph = _graph(model, rng)
    sizes = sorted({int(size) for tensor in graph.tensors or [] if tensor.shape is not None for size in tensor.shape})
    if not sizes:
        return
    old, new = _of(sizes, rng), _size(rng)
    for tensor in graph.tensors:
        if tensor.shape is not None:
            tensor.shape = np.where(np.asarray(tensor.shape) == old, new, tensor.shape).astype(np.int32)


def _set_shape(model: Any, rng: np.random.Generator) -> None:
    """Gives one tensor another shape: a size, or the rank."""
    tensors = _graph(model, rng).tensors or []
    if not tensors:
        return
    tensor = _of(tensors, rng)
    shape = [] if tensor.shape is None else [int(size) for size in tensor.shape]
    how = int(rng.integers(3))
    if how == 0 and shape:
        shape[int(rng.integers(len(shape)))] = -1 if rng.random() < 0.1 else _size(rng)
    elif how == 1 and shape:
        del shape[int(rng.integers(len(shape)))]
    else:
        shape.insert(int(rng.integers(len(shape) + 1)), int(_of((1, 1, 2, 3), rng)))
    tensor.shape = np.array(shape, np.int32)


def _replace_type(model: Any, rng: np.random.Generator) -> None:
    """Gives every tensor of one type another type."""
    tensors = _graph(model, rng).tensors or []
    if tensors:
        old, new = _of(tensors, rng).type, int(rng.integers(0, 20))
        for tensor in tensors:
            if tensor.type == old:
                tensor.type = new


def _replace_operator(model: Any, rng: np.random.Generator) -> None:
    """Makes an operator another one, with its own attributes or none."""
    for code in model.operatorCodes or []:
        if rng.random() < 0.7:
            code.builtinCode = int(rng.integers(0, 210))
            code.deprecatedBuiltinCode = min(code.builtinCode, 127)


def _repeat_operator(model: Any, rng: np.random.Generator) -> None:
    """Runs an operator once more on a tensor of its own, a few times in a row."""
    graph = _graph(model, rng)
    if not graph.operators or not graph.tensors:
        return
    again = _of(graph.operators, rng)
    if again.inputs is None or again.outputs is None or not len(again.inputs) or not len(again.outputs):
        return
    for _ in range(int(_of((1, 2, 5, 30), rng))):
        made = deepcopy(again)
        source = int(made.outputs[0])
        if not 0 <= source < len(graph.tensors):
            return
        graph.tensors.append(deepcopy(graph.tensors[source]))
        made.inputs = np.array([source, *made.inputs[1:]], np.int32)
        made.outputs = np.array([len(graph.tensors) - 1, *made.outputs[1:]], np.int32)
        graph.operators.append(made)
        again = made
    if graph.outputs is not None and rng.random() < 0.8:
        graph.outputs = np.append(np.asarray(graph.outputs, np.int32), np.int32(len(graph.tensors) - 1))


def _splice(model: Any, rng: np.random.Generator) -> None:
    """Appends all subgraphs, or the operators of the first, of another model of the corpus."""
    other = _fresh(int(rng.integers(len(corpus()))))
    if not other.subgraphs or not model.subgraphs:
        return
    tensors, buffers, codes = (
        len(each or []) for each in (model.subgraphs[0].tensors, model.buffers, model.operatorCodes)
    )
    for graph in other.subgraphs:
        for tensor in graph.tensors or []:
            tensor.buffer += buffers if tensor.buffer else 0
        for operator in graph.operators or []:
            operator.opcodeIndex += codes
    model.buffers = [*(model.buffers or []), *(other.buffers or [])]
    model.operatorCodes = [*(model.operatorCodes or []), *(other.operatorCodes or [])]
    if rng.random() < 0.3:
        model.subgraphs = [*model.subgraphs, *other.subgraphs]
        return
    own, its = model.subgraphs[0], other.subgraphs[0]
    moved = [(owner, name) for owner in (its, *(its.operators or [])) for name in ("inputs", "outputs")]
    for owner, name in moved:
        if getattr(owner, name) is not None:
            wires = np.asarray(getattr(owner, name), np.int32)
            setattr(owner, name, np.where(wires >= 0, wires + tensors, wires).astype(np.int32))
    own.tensors = [*(own.tensors or []), *(its.tensors or [])]
    own.operators = [*(own.operators or []), *(its.operators or [])]
    for name in ("inputs", "outputs"):
        joined = [np.asarray(getattr(each, name), np.int32) for each in (own, its) if getattr(each, name) is not None]
        setattr(own, name, np.concatenate(joined).astype(np.int32) if joined else None)


def _set_quantization(model: Any, rng: np.random.Generator) -> None:
    """Gives a tensor another scale or zero point, or as many as it has channels."""
    tensors = [tensor for tensor in _graph(model, rng).tensors or [] if tensor.quantization is not None]
    if not tensors:
        return
    quantization = _of(tensors, rng).quantization
    how = int(rng.integers(4))
    if how == 0:
        quantization.scale = np.array([_of(_FLOATS, rng)], np.float32)
    elif how == 1:
        quantization.zeroPoint = np.array([_of((*_INTEGERS, 1 << 40, -(1 << 62)), rng)], np.int64)
    elif how == 2:
        quantization.quantizedDimension = int(_of(_INTEGERS, rng))
    else:
        count = int(_of((2, 3, 8, 16), rng))
        quantization.scale, quantization.zeroPoint = np.full(count, 0.01, np.float32), np.zeros(count, np.int64)


def _set_constant(model: Any, rng: np.random.Generator) -> None:
    """Sets bytes of a constant: extreme weights, biases, shapes, axes, indices."""
    buffers = [buffer for buffer in model.buffers or [] if buffer.data is not None and len(buffer.data)]
    if not buffers:
        return
    buffer = _of(buffers, rng)
    data = np.array(buffer.data, np.uint8)
    words = data[: data.size // 4 * 4].view("<i4")
    how = int(rng.integers(5))
    if how == 0 and words.size:
        words[int(rng.integers(words.size))] = int(_of([value for value in _INTEGERS if value < 1 << 31], rng))
    elif how == 1 and words.size:
        words[:] = int(_of(((1 << 31) - 1, -(1 << 31), 0, 1, -1), rng))
    elif how == 2:
        data[:] = int(_of((0, 0x80, 0x7F, 0xFF), rng))
    elif how == 3:
        data[int(rng.integers(data.size))] = int(rng.integers(256))
    else:
        data = data[: int(rng.integers(data.size + 1))]
    buffer.data = data


def _set_name(model: Any, rng: np.random.Generator) -> None:
    """Gives a tensor, graph, signature, custom operator or metadata a hostile name."""
    items = [
        (item, name)
        for item in _objects(model)
        for name in ("name", "description", "customCode", "signatureKey")
        if hasattr(item, name)
    ]
    item, name = _of(items, rng)
    setattr(item, name, hostile_text(rng).encode("utf-8", "surrogatepass"))


_MUTATIONS: tuple[Callable[[Any, np.random.Generator], None], ...] = (
    _set_field,
    _set_field,
    _set_field,
    _rewire,
    _replace_size,
    _set_shape,
    _replace_type,
    _replace_operator,
    _repeat_operator,
    _splice,
    _set_quantization,
    _set_constant,
    _set_constant,
    _set_name,
)
