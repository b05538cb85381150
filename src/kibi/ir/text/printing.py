"""Prints graphs. The form is that of `kibi.ir.text`."""

import base64
import hashlib
import json
from collections.abc import Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from enum import Enum
from typing import Any

import numpy as np

from kibi.dtypes import Array, DType
from kibi.errors import InternalError
from kibi.ir.codebook import Codebook
from kibi.ir.graph import Graph, Node, subgraphs_within
from kibi.ir.tensor import Quantization, Tensor, TensorType

_FEW = 16
"""Elements that are printed as numbers."""
_FEW_SCALES = 4
"""Scales that are printed where elements are left out."""
_DIGEST_DIGITS = 16


def graph_text(graph: Graph, *, elements: bool = True) -> str:
    """Returns a graph as text.

    Args:
        graph: with the graphs inside of its operators.
        elements: true if constants have their elements; without, the text is short, and cannot be parsed.
    """
    inner = _inner_first(graph)
    numbers = {id(body): number for number, body in enumerate(inner)}
    parts = [f"@{number} = {_graph(body, numbers, elements)}" for number, body in enumerate(inner)]
    return "".join([*parts, _graph(graph, numbers, elements)])


def node_text(graph: Graph, node: Node) -> str:
    """Returns the line of a node; graphs inside of it are called `@?`."""
    return _node(graph, node, {})


def _inner_first(graph: Graph) -> list[Graph]:
    """Returns the graphs inside of a graph's operators, each once, after those inside of it."""
    ordered: list[Graph] = []
    done: set[int] = set()
    waiting = [(body, False) for node in graph.nodes for body in node.op.subgraphs][::-1]
    while waiting:
        body, is_complete = waiting.pop()
        if id(body) in done:
            continue
        if is_complete:
            done.add(id(body))
            ordered.append(body)
            continue
        waiting.append((body, True))
        waiting += [(inner, False) for node in body.nodes for inner in node.op.subgraphs]
    if len(ordered) != len(subgraphs_within(graph.nodes)):
        raise InternalError("a graph inside of an operator is missing from the text")
    return ordered


def _graph(graph: Graph, numbers: Mapping[int, int], elements: bool) -> str:
    ends = [f"({', '.join(f'%{index}' for index in each)})" for each in (graph.inputs, graph.outputs)]
    head = f"graph {_string(graph.name)} from {_string(graph.source)} {ends[0]} -> {ends[1]} {{\n"
    made = {index for node in graph.nodes for index in node.outputs}
    tensors = [f"  {_tensor(each, elements)}\n" for each in graph.tensors if each.index not in made]
    nodes = [f"  {_node(graph, node, numbers)}\n" for node in graph.nodes]
    return "".join([head, *tensors, *nodes, "}\n"])


def _tensor(tensor: Tensor, elements: bool) -> str:
    declared = _declared(tensor, elements)
    return declared if tensor.data is None else f"{declared} = {_elements(tensor.data, elements)}"


def _declared(tensor: Tensor, elements: bool) -> str:
    """Returns a tensor with its properties, without its elements."""
    properties = [f"updates %{tensor.updates}"] if tensor.updates is not None else []
    properties += ["external"] if tensor.is_external else []
    properties += ["int4"] if tensor.is_int4 else []
    properties += ["variable"] if tensor.is_variable else []
    properties += [f"initial {_elements(tensor.initial, elements)}"] if tensor.initial is not None else []
    properties += [_codebook(tensor.codebook_in_use, elements)] if tensor.codebook_in_use is not None else []
    return " ".join([f"%{tensor.index} {_string(tensor.name)}: {_type(tensor.type, elements)}", *properties])


def _type(kind: TensorType, elements: bool) -> str:
    text = f"{kind.dtype}[{', '.join(map(str, kind.shape))}]"
    return text if kind.quantization is None else f"{text} ({_quantization(kind.quantization, elements)})"


def _quantization(given: Quantization, elements: bool) -> str:
    scales, zeros = ([_number(each) for each in numbers] for numbers in (given.scales, given.zero_points))
    axis = f", axis {given.axis}" if given.axis else ""
    if len(scales) == len(zeros) == 1:
        return f"scale {scales[0]}, zero {zeros[0]}{axis}"
    if not elements and len(scales) > _FEW_SCALES:
        low, high = min(given.scales), max(given.scales)
        return f"{len(scales)} scales from {low:.4g} to {high:.4g}{axis}"
    return f"scales [{', '.join(scales)}], zeros [{', '.join(zeros)}]{axis}"


def _codebook(given: Codebook, elements: bool) -> str:
    indices = f"u8[{given.indices.size}] {_elements(given.indices, elements)}"
    shape = ", ".join(map(str, given.tables.shape))
    tables = f"{DType.of(given.tables)}[{shape}] {_elements(given.tables, elements)}"
    return f"codebook (bits {given.bits}, indices {indices}, tables {tables})"


def _elements(data: Array, elements: bool) -> str:
    stored = np.ascontiguousarray(data).astype(data.dtype.newbyteorder("<"))
    if stored.size <= _FEW and not (stored.dtype.kind == "f" and not np.isfinite(stored).all()):
        return (
            f"[{', '.join(str(each) if stored.dtype.kind == 'f' else str(int(each)) for each in stored.reshape(-1))}]"
        )
    if not elements:
        return f"digest {_string(hashlib.sha256(stored.tobytes()).hexdigest()[:_DIGEST_DIGITS])}"
    return f"base64 {_string(base64.b64encode(stored.tobytes()).decode('ascii'))}"


def _node(graph: Graph, node: Node, numbers: Mapping[int, int]) -> str:
    made = ", ".join(_declared(graph.tensors[index], elements=True) for index in node.outputs)
    names = (name.rstrip("?") for name in node.op.inputs)
    operands = [
        f"{name} {'none' if index is None else f'%{index}'}"
        for name, index in zip(names, node.inputs, strict=False)  # optional inputs may be left out at the end
    ]
    given = [
        f"{each.name} {_value(getattr(node.op, each.name), numbers)}"
        for each in attributes(type(node.op))
        if not _is_default(each, getattr(node.op, each.name))
    ]
    text = f"{made} = {node.op.name} #{node.source} ({', '.join(operands)})"
    return f"{text} {{{', '.join(given)}}}" if given else text


def attributes(kind: Any) -> tuple["Field[Any]", ...]:
    """Returns the attributes of a class of operators, or the fields of an attribute's class."""
    return fields(kind)


def _is_default(attribute: "Field[Any]", value: object) -> bool:
    default = attribute.default if attribute.default_factory is MISSING else attribute.default_factory()
    return default is not MISSING and type(default) is type(value) and default == value


def _value(value: object, numbers: Mapping[int, int]) -> str:
    """Returns the value of an attribute; of NumPy's numbers as of Python's."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, Graph):
        return f"@{numbers.get(id(value), '?')}"
    if isinstance(value, Enum):
        return value.name
    if isinstance(value, str):
        return _string(value)
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return _number(value)
    if isinstance(value, tuple):
        return f"[{', '.join(_value(each, numbers) for each in value)}]"
    if is_dataclass(value):
        inner = (f"{each.name} {_value(getattr(value, each.name), numbers)}" for each in attributes(type(value)))
        return f"{type(value).__name__} {{{', '.join(inner)}}}"
    raise InternalError(f"an attribute of type {type(value).__name__} has no text")


def _number(value: object) -> str:
    return repr(value)


def _string(text: str) -> str:
    return json.dumps(text)
