"""Parses graphs. The form is that of `kibi.ir.text`."""

import base64
import binascii
import typing
from collections.abc import Callable, Mapping
from dataclasses import MISSING, is_dataclass
from enum import Enum
from math import isfinite, prod
from types import NoneType, UnionType
from typing import Any, TypeVar

import numpy as np

from kibi.dtypes import Array, DType
from kibi.errors import InputError
from kibi.ir.codebook import Codebook
from kibi.ir.graph import Graph, Node
from kibi.ir.operator import Operator
from kibi.ir.tensor import Quantization, Tensor, TensorType
from kibi.ir.text.printing import attributes
from kibi.ir.text.tokens import Token, Tokens

_T = TypeVar("_T")
_MOST = (1 << 31) - 1
"""The largest index, size and channel axis."""
_MOST_AXES = 64
_DTYPES = {dtype.value: dtype for dtype in DType}


def parse_graph(text: str, operators: Mapping[str, type[Operator]], source: str = "text") -> Graph:
    """Returns the graph of a text. It is not verified.

    Args:
        text: as `graph_text` prints it, with elements.
        operators: by name.
        source: what errors call the text.

    Raises:
        InputError: the text does not have the form; with the line.
    """
    tokens = Tokens(text, source)
    inner: list[Graph] = []
    while tokens.skip("@"):
        if tokens.integer("the number of a subgraph") != len(inner):
            tokens.fail(f"subgraph @{len(inner)} is expected before it")
        tokens.expect("=")
        inner.append(_Parser(tokens, operators, tuple(inner)).graph())
    graph = _Parser(tokens, operators, tuple(inner)).graph()
    if tokens.next.kind != "end":
        tokens.fail("the text goes on after the graph")
    return graph


class _Parser:
    """The parser of one graph."""

    def __init__(self, tokens: Tokens, operators: Mapping[str, type[Operator]], inner: tuple[Graph, ...]) -> None:
        self._tokens = tokens
        self._operators = operators
        self._inner = inner
        self._tensors: dict[int, Tensor] = {}
        self._nodes: list[Node] = []

    def graph(self) -> Graph:
        """Parses `graph "name" from "source" (inputs) -> (outputs) { lines }`."""
        tokens = self._tokens
        tokens.expect("graph")
        name = tokens.string("the graph's name")
        tokens.expect("from")
        source = tokens.string("the graph's source")
        inputs = self._listed("(", ")", self._index)
        tokens.expect("->")
        outputs = self._listed("(", ")", self._index)
        tokens.expect("{")
        while not tokens.skip("}"):
            self._line()
        missing = next((index for index in range(len(self._tensors)) if index not in self._tensors), None)
        if missing is not None:
            tokens.fail(f"tensor %{missing} is missing: {len(self._tensors)} tensors have the indices from 0 on")
        tensors = tuple(self._tensors[index] for index in range(len(self._tensors)))
        for tensor in tensors:
            self._check_versions(tensor)
        return Graph(name, source, tensors, tuple(self._nodes), inputs, outputs)

    def _check_versions(self, tensor: Tensor) -> None:
        """A next version is one of a variable, or of another next version of one."""
        seen, last = {tensor.index}, tensor
        while last.updates is not None:
            if last.updates in seen or last.updates not in self._tensors:
                self._tokens.fail(f"tensor %{tensor.index} is the next version of no variable")
            last = self._tensors[last.updates]
            seen.add(last.index)
        if last is not tensor and not last.is_variable:
            self._tokens.fail(f"tensor %{tensor.index} is the next version of %{last.index}, which is no variable")

    def _line(self) -> None:
        """Parses a tensor, or a node with the tensors that it makes."""
        tokens = self._tokens
        made = [self._declaration()]
        while tokens.skip(","):
            made.append(self._declaration())
        if not tokens.skip("="):
            if len(made) > 1:
                tokens.fail("'=' and the operator that makes the tensors are expected")
        elif tokens.next.kind == "name" and tokens.next.text not in ("base64", "digest"):
            self._nodes.append(self._node(tuple(index for index, _ in made)))
        elif len(made) > 1:
            tokens.fail("the operator that makes the tensors is expected")
        else:
            facts = made[0][1]
            facts["data"] = self._elements(facts["type"])
        for index, facts in made:
            if index in self._tensors:
                tokens.fail(f"tensor %{index} is declared twice")
            tables = facts.pop("tables", None)
            if tables is not None:
                facts["codebook"] = self._codebook(tables, facts.get("data"))
            self._tensors[index] = Tensor(index, **facts)

    def _index(self) -> int:
        self._tokens.expect("%")
        return self._tokens.integer("the index of a tensor", 0, _MOST)

    def _declaration(self) -> tuple[int, dict[str, Any]]:
        """Parses `%index "name": type properties`; returns the index and the tensor's fields."""
        tokens = self._tokens
        index = self._index()
        facts: dict[str, Any] = {"name": tokens.string("the tensor's name")}
        tokens.expect(":")
        facts["type"] = kind = self._type()
        if tokens.skip("("):
            facts["type"] = TensorType(kind.shape, kind.dtype, self._quantization(kind.dtype))
        while tokens.next.kind == "name":
            self._property(facts)
        return index, facts

    def _property(self, facts: dict[str, Any]) -> None:
        tokens = self._tokens
        name = tokens.take().text
        if name == "updates":
            facts["updates"] = self._index()
        elif name in ("external", "int4", "variable"):
            facts[f"is_{name}"] = True
        elif name == "initial":
            facts["initial"] = self._elements(facts["type"])
        elif name == "codebook":
            facts["tables"] = self._tables()
        else:
            tokens.fail(
                f"{name[:40]!r} is no property of a tensor: updates, external, int4, variable, initial, codebook"
            )

    def _type(self) -> TensorType:
        tokens = self._tokens
        name = tokens.name("the element type")
        if name not in _DTYPES:
            tokens.fail(f"{name[:40]!r} is no element type: {', '.join(_DTYPES)}")
        shape = self._listed("[", "]", lambda: tokens.integer("a size", 0, _MOST))
        if len(shape) > _MOST_AXES:
            tokens.fail(f"a shape of {len(shape)} axes has more than {_MOST_AXES}")
        if prod(shape) * _DTYPES[name].size_bytes > _MOST:
            tokens.fail(f"a tensor of the shape {list(shape)} has more than {_MOST} bytes")
        return TensorType(shape, _DTYPES[name])

    def _quantization(self, dtype: DType) -> Quantization:
        tokens = self._tokens
        if tokens.skip("scale"):
            scales: tuple[float, ...] = (tokens.real("the scale"),)
            tokens.expect(",")
            tokens.expect("zero")
            zeros: tuple[int, ...] = (tokens.integer("the zero point"),)
        else:
            tokens.expect("scales")
            scales = self._listed("[", "]", lambda: tokens.real("a scale"))
            tokens.expect(",")
            tokens.expect("zeros")
            zeros = self._listed("[", "]", lambda: tokens.integer("a zero point"))
        axis = 0
        if tokens.skip(","):
            tokens.expect("axis")
            axis = tokens.integer("the channel axis", 0, _MOST)
        end = tokens.next
        tokens.expect(")")
        if len(scales) != len(zeros) or not scales:
            tokens.fail(f"{len(scales)} scales have {len(zeros)} zero points", end)
        low, high = (0, 1) if dtype is DType.F32 or dtype is DType.BOOL else dtype.limits
        if not all(isfinite(scale) and scale >= 0 for scale in scales) or not all(
            low <= each <= high for each in zeros
        ):
            tokens.fail(f"scales are finite and at least 0, zero points of {dtype} are {low} … {high}", end)
        return Quantization(scales, zeros, axis)

    def _elements(self, kind: TensorType) -> Array:
        """Parses a list, or base64, of the elements of a tensor."""
        tokens, numpy = self._tokens, kind.dtype.numpy
        if tokens.skip("digest"):
            tokens.fail("the elements were left out when this text was printed. Print it with elements")
        if tokens.skip("base64"):
            try:
                data = base64.b64decode(tokens.string("the elements"), validate=True)
            except (binascii.Error, ValueError):
                tokens.fail("the elements are no base64")
            count, is_whole = len(data) // numpy.itemsize, len(data) % numpy.itemsize == 0
            found = np.frombuffer(data, numpy) if is_whole else np.zeros(0, numpy)
        else:
            found = self._numbers(kind.dtype)
            count, is_whole = found.size, True
        if count != prod(kind.shape) or not is_whole:
            tokens.fail(f"{count} elements are given for the shape {list(kind.shape)}")
        made = found.reshape(kind.shape)
        made.flags.writeable = False
        return made

    def _numbers(self, dtype: DType) -> Array:
        tokens = self._tokens
        if dtype is DType.F32:
            with np.errstate(over="ignore"):
                return np.array(self._listed("[", "]", lambda: tokens.real("an element")), np.float64).astype("<f4")
        low, high = (0, 1) if dtype is DType.BOOL else dtype.limits
        return np.array(self._listed("[", "]", lambda: tokens.integer("an element", low, high)), dtype.numpy)

    def _tables(self) -> tuple[int, Array, Array]:
        """Parses `(bits 4, indices u8[…] …, tables s8[…] …)`."""
        tokens = self._tokens
        tokens.expect("(")
        tokens.expect("bits")
        bits = tokens.integer("the bits of an index", 1, 7)
        arrays = []
        for name in ("indices", "tables"):
            tokens.expect(",")
            tokens.expect(name)
            arrays.append(self._elements(self._type()))
        tokens.expect(")")
        return bits, arrays[0], arrays[1]

    def _codebook(self, given: tuple[int, Array, Array], data: Array | None) -> Codebook:
        if data is None:
            self._tokens.fail("a tensor with a codebook has no elements")
        bits, indices, tables = given
        if indices.dtype != np.uint8 or indices.size * 8 < data.size * bits:
            self._tokens.fail(f"{indices.size} bytes of indices are too few for {data.size} elements of {bits} bits")
        return Codebook(bits, indices, tables, data)

    def _node(self, outputs: tuple[int, ...]) -> Node:
        """Parses `OPERATOR #number (operand %index, …) {attribute value, …}`."""
        tokens = self._tokens
        name = tokens.name("the operator")
        kind = self._operators.get(name)
        if kind is None:
            tokens.fail(f"{name[:40]!r} is no operator that Kibi has")
        tokens.expect("#")
        source = tokens.integer("the operator's number", -_MOST, _MOST)
        wanted = [each.rstrip("?") for each in kind.inputs]
        operands = self._listed("(", ")", self._operand)
        if [operand for operand, _ in operands] != wanted[: len(operands)]:
            tokens.fail(f"the operands of {name} are {', '.join(kind.inputs)}, in this order")
        values = dict(self._listed("{", "}", lambda: self._attribute(kind))) if tokens.next.text == "{" else {}
        return Node(self._operator(kind, values), tuple(index for _, index in operands), outputs, source)

    def _operand(self) -> tuple[str, int | None]:
        name = self._tokens.name("the operand")
        return name, None if self._tokens.skip("none") else self._index()

    def _operator(self, kind: type[Operator], values: dict[str, Any]) -> Operator:
        missing = [
            each.name
            for each in attributes(kind)
            if each.default is MISSING and each.default_factory is MISSING and each.name not in values
        ]
        if missing:
            self._tokens.fail(f"{kind.name} needs its attributes {', '.join(missing)}")
        return kind(**values)

    def _attribute(self, kind: type[Operator]) -> tuple[str, Any]:
        name = self._tokens.name("the attribute")
        known = {each.name for each in attributes(kind)}
        if name not in known:
            self._tokens.fail(
                f"{name[:40]!r} is no attribute of {kind.name}: {', '.join(sorted(known)) or 'it has none'}"
            )
        return name, self._value(typing.get_type_hints(kind)[name], f"attribute {name}")

    def _value(self, wanted: Any, what: str) -> Any:
        """Parses a value of a type: one that attributes of operators have."""
        tokens = self._tokens
        if isinstance(wanted, UnionType) or typing.get_origin(wanted) is typing.Union:
            return self._value(self._fitting(typing.get_args(wanted), what), what)
        if typing.get_origin(wanted) is tuple:
            return self._tuple(typing.get_args(wanted), what)
        if wanted is NoneType:
            tokens.expect("none")
            return None
        if wanted is bool:
            name = tokens.name(what)
            if name not in ("true", "false"):
                tokens.fail(f"{what}: {name[:40]!r} is neither true nor false")
            return name == "true"
        if wanted in (int, float, str):
            return {int: tokens.integer, float: tokens.real, str: tokens.string}[wanted](what)
        if wanted is Graph:
            tokens.expect("@")
            number = tokens.integer("the number of a subgraph", 0, _MOST)
            if number >= len(self._inner):
                tokens.fail(f"subgraph @{number} is not defined before this graph")
            return self._inner[number]
        if isinstance(wanted, type) and issubclass(wanted, Enum):
            name = tokens.name(what)
            if name not in wanted.__members__:
                tokens.fail(f"{what}: {name[:40]!r} is none of {', '.join(wanted.__members__)}")
            return wanted[name]
        if isinstance(wanted, type) and is_dataclass(wanted):
            return self._record(wanted, what)
        raise InputError(f"{what}: values of type {wanted} have no text. Build the graph in Python.")

    def _fitting(self, choices: tuple[Any, ...], what: str) -> Any:
        """Returns which of several types the next piece begins a value of."""
        token = self._tokens.next
        fitting = [each for each in choices if _begins(token, each)]
        if not fitting:
            self._tokens.fail(f"{what}: a value of another type is expected")
        return fitting[0]

    def _tuple(self, kinds: tuple[Any, ...], what: str) -> tuple[Any, ...]:
        if kinds[1:] == (...,):
            return self._listed("[", "]", lambda: self._value(kinds[0], what))
        wanted = iter(kinds)
        values = self._listed("[", "]", lambda: self._value(next(wanted, NoneType), what))
        if len(values) != len(kinds):
            self._tokens.fail(f"{what}: {len(values)} values are given, {len(kinds)} are expected")
        return values

    def _record(self, kind: type, what: str) -> Any:
        """Parses `Name {field value, …}`, all fields in their order."""
        tokens = self._tokens
        tokens.expect(kind.__name__)
        hints = typing.get_type_hints(kind)
        wanted = [each.name for each in attributes(kind)]

        def value() -> tuple[str, Any]:
            name = tokens.name(what)
            if name not in wanted:
                tokens.fail(f"{what}: {kind.__name__} has no field {name[:40]!r}")
            return name, self._value(hints[name], what)

        values = dict(self._listed("{", "}", value))
        if list(values) != wanted:
            tokens.fail(f"{what}: the fields of {kind.__name__} are {', '.join(wanted)}")
        return kind(**values)

    def _listed(self, start: str, end: str, parse: Callable[[], _T]) -> tuple[_T, ...]:
        """Parses things with commas between them, between two signs."""
        tokens, found = self._tokens, list[_T]()
        tokens.expect(start)
        while not tokens.skip(end):
            if found:
                tokens.expect(",")
            found.append(parse())
        return tuple(found)


def _begins(token: Token, wanted: Any) -> bool:
    """True if a piece of text begins a value of a type."""
    if isinstance(wanted, type) and issubclass(wanted, Enum):
        return token.text in wanted.__members__
    if typing.get_origin(wanted) is tuple:
        return token.text == "["
    kinds = {int: "number", float: "number", str: "string"}
    words = {NoneType: ("none",), bool: ("true", "false")}
    if wanted in kinds:
        return token.kind == kinds[wanted]
    return token.text in words.get(wanted, (getattr(wanted, "__name__", ""),))
