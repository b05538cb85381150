"""From the contents of an ONNX file to those of a `.tflite` file."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np

from kibi.dtypes import DType
from kibi.errors import ModelError, Problem
from kibi.frontends.onnx.draft import Draft, Quantization, Tensor
from kibi.frontends.onnx.emitter import ELEMENTS, Emitter, Stored, channels_last, plain_order
from kibi.frontends.onnx.folding import folded
from kibi.frontends.onnx.fusing import fused
from kibi.frontends.onnx.graph import Node, OnnxGraph
from kibi.frontends.onnx.library import DamagedError
from kibi.frontends.onnx.loading import loaded
from kibi.frontends.onnx.lowering.entry import Lowering
from kibi.frontends.onnx.lowering.registry import LOWERINGS
from kibi.frontends.onnx.problems import Unsupported, grouped, unsupported
from kibi.frontends.onnx.targets import meant

_SHOWN = 3
_NO_SHAPES: Mapping[str, Sequence[int]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Conversion:
    """An ONNX model as a `.tflite` file.

    Attributes:
        data: the file.
        orders: of inputs and outputs whose axes are not stored in ONNX's order: axis `i` of the tensor is axis `order[i]` of
            ONNX's, by name.
        notes: what users may want to know of operators, with the names of the nodes: which layers are computed as float32 although
            the file has scales for them.
    """

    data: bytes = field(repr=False)
    orders: Mapping[str, tuple[int, ...]]
    notes: Mapping[str, tuple[str, ...]]

    def lines(self) -> tuple[str, ...]:
        """What users may want to know, a sentence each, without full stops."""
        stored = [
            f"{name!r} is stored channels last: its axes are ONNX's {list(order)}"
            for name, order in self.orders.items()
        ]
        told = [
            f"{len(names)} x {text}: {', '.join(names[:_SHOWN])}{' …' * (len(names) > _SHOWN)}"
            for text, names in self.notes.items()
        ]
        return (*stored, *told)


def convert(data: bytes, path: str, shapes: Mapping[str, Sequence[int]] = _NO_SHAPES) -> Conversion:
    """Reads an ONNX model.

    Args:
        data: the contents of the file.
        path: of the file; its external data are in the same folder, and errors name it.
        shapes: of inputs, by name and in ONNX's order of axes, where the file leaves sizes open.

    Raises:
        ModelError: the file is damaged, too new, incomplete, leaves sizes open, or asks for what Kibi does not support; with all
            problems at once.
        ToolchainError: the library `onnx` is missing.
    """
    claimed = frozenset(("", name) for name in LOWERINGS)
    try:
        with np.errstate(all="ignore"):  # constants may be infinite, or no numbers, as the file has them
            return _converted(fused(folded(loaded(data, path, shapes, claimed), path, claimed)), path)
    except DamagedError as error:
        raise ModelError(path, [Problem(str(error), "Export the model again, or download it again")]) from error


def _converted(graph: OnnxGraph, path: str) -> Conversion:
    e = Emitter(graph, _convert_all)
    inputs = []
    for name in graph.inputs:
        try:
            inputs.append(_input(e, name))
        except Unsupported as error:
            raise ModelError(path, [Problem(error.what, error.remedy, tensor=name)]) from error
    e.convert()
    if e.problems:
        raise ModelError(path, grouped(e.problems))
    try:
        stored = [_output(e, name) for name in graph.outputs]
    except Unsupported as error:
        raise ModelError(path, [Problem(f"an output: {error.what}", error.remedy)]) from error
    outputs = e.distinct(inputs, [each.tensor for each in stored])
    orders = {
        name: each.order
        for name, each in (*((name, e.stored(name)) for name in graph.inputs), *zip(graph.outputs, stored, strict=True))
        if each.order != plain_order(len(each.order))
    }
    for name, tensor in zip(graph.outputs, outputs, strict=True):
        e.names[tensor] = name
    draft = Draft(tuple(e.operations), tuple(inputs), tuple(outputs), e.names).needed()
    return Conversion(draft.written(), orders, {text: tuple(names) for text, names in e.notes.items()})


def _input(e: Emitter, name: str) -> Tensor:
    value = e.graph.values[name]
    rank = len(value.shape)
    if 0 in value.shape:
        raise Unsupported(f"its shape {list(value.shape)} has no elements", "Give sizes of 1 or more")
    order = channels_last(rank) if e.is_spatial(name) else plain_order(rank)
    meaning = _meaning(e, name)
    dtype = e.dtype(name) if meaning is None else meaning.dtype
    tensor = Tensor(tuple(value.shape[axis] for axis in order), dtype, meaning)
    e.give(name, tensor, order)
    return tensor


def _meaning(e: Emitter, name: str) -> Quantization | None:
    """The scale of an input of integers, which DequantizeLinear alone takes."""
    kind = e.graph.values[name].kind
    consumers = e.consumers.get(name, ())
    if kind not in ("INT8", "UINT8", "INT16", "UINT16") or not consumers or name in e.graph.outputs:
        return None
    if not all(node.op == "DequantizeLinear" and not node.domain and node.inputs[0] == name for node in consumers):
        return None
    try:
        found = {meant(e, node, kind) for node in consumers}
    except Unsupported:
        return None  # the node itself is reported
    return found.pop() if len(found) == 1 and not any(each.is_per_channel for each in found) else None


def _convert_all(e: Emitter) -> None:
    """Converts all nodes of a graph, and notes those that cannot be converted."""
    for node in e.graph.nodes:
        try:
            lowering = None if node.domain else LOWERINGS.get(node.op)
            if lowering is None:
                raise unsupported()
            before = len(e.operations)
            _convert(e, node, lowering)
            _note_floats(e, node, before)
        except Unsupported as error:
            e.problems.append((node, error))
            _give_up(e, node)


def _convert(e: Emitter, node: Node, lowering: Lowering) -> None:
    """Converts a node.

    Raises:
        Unsupported: it cannot be converted, or its operands contradict each other: the library does not check all shapes.
    """
    try:
        lowering.convert(e, node)
    except (ArithmeticError, AssertionError, LookupError, TypeError, ValueError) as error:
        what = f"its inputs and attributes do not fit together ({type(error).__name__}: {error})"
        raise Unsupported(what, "Export the model again, or report it to Kibi if other runtimes take it") from error
    for name in node.outputs:
        if name and e.is_known(name):
            stored = e.stored(name)
            shape = tuple(stored.tensor.shape[stored.order.index(axis)] for axis in range(len(stored.order)))
            if shape != e.shape(name):
                raise Unsupported(
                    f"it gives shape {list(shape)} where {list(e.shape(name))} was inferred", "Export again"
                )


def _note_floats(e: Emitter, node: Node, before: int) -> None:
    """Notes a node whose integers became real numbers."""
    is_told = any(_name(node) in names for names in e.notes.values())
    if not is_told and any(operation.name == "DEQUANTIZE" for operation in e.operations[before:]):
        e.note("computed as float32, because no integer kernel computes it with these types and scales", node)


def _name(node: Node) -> str:
    return node.name or node.outputs[0]


def _give_up(e: Emitter, node: Node) -> None:
    """Puts something in the place of outputs that cannot be computed, so that further problems are found."""
    for name in node.outputs:
        if name and not e.is_known(name):
            value = e.graph.values[name]
            e.give(name, Tensor(value.shape, ELEMENTS.get(value.kind, DType.F32)))


def _output(e: Emitter, name: str) -> Stored:
    """An output: real numbers if the file says so, with its axes in ONNX's order, or channels last."""
    stored = e.unscrambled(e.stored(name))
    rank = len(stored.order)
    if stored.order not in (plain_order(rank), channels_last(rank)) or (
        rank not in (3, 4) and stored.tensor.data is None
    ):
        stored = Stored(e.reordered(stored, plain_order(rank)), plain_order(rank))
    if e.graph.values[name].kind in ("FLOAT", "FLOAT16", "BFLOAT16", "DOUBLE"):
        stored = Stored(e.dequantized(stored.tensor), stored.order)
    return stored
