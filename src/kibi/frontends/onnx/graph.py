"""An ONNX graph as frozen data: what is left of the file after checking, inlining and folding."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from numpy.typing import NDArray

Numbers = NDArray[Any]
"""Elements of a constant, of any type."""


@dataclass(frozen=True, slots=True)
class Value:
    """A value of the graph.

    Attributes:
        name: unique in the graph.
        shape: complete.
        kind: ONNX's name of the element type: `FLOAT`, `INT64`, and so on.
        data: the elements of a constant; else None.
        is_constant: true for a constant, also one that is dequantized.
    """

    name: str
    shape: tuple[int, ...]
    kind: str
    data: Numbers | None = field(default=None, repr=False)
    is_constant: bool = False


@dataclass(frozen=True, slots=True)
class Node:
    """A node of the graph.

    Attributes:
        op: the operator's name.
        domain: its domain; empty for ONNX's own.
        inputs: names of values; empty for those left out.
        outputs: names of values; empty for those left out.
        attributes: numbers, bytes, lists and arrays by name.
        name: the file's name for it, which may be empty.
        activation: what follows in the same operator of a `.tflite` file: NONE, RELU, RELU6 or RELU_N1_TO_1.
    """

    op: str
    domain: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, Any]
    name: str = ""
    activation: str = "NONE"

    @property
    def title(self) -> str:
        """The operator's name with its domain, as messages call it."""
        return f"{self.domain}.{self.op}" if self.domain else self.op

    def input(self, place: int) -> str:
        """The name of the input at a place; empty if it is left out."""
        return self.inputs[place] if place < len(self.inputs) else ""

    def integer(self, name: str, default: int) -> int:
        """An attribute that is an integer."""
        return int(self.attributes.get(name, default))

    def real(self, name: str, default: float) -> float:
        """An attribute that is a real number."""
        return float(self.attributes.get(name, default))

    def integers(self, name: str, default: tuple[int, ...] = ()) -> tuple[int, ...]:
        """An attribute that is a list of integers."""
        return tuple(int(each) for each in self.attributes.get(name, default))

    def text(self, name: str, default: str) -> str:
        """An attribute that is a text."""
        value = self.attributes.get(name, default)
        return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


@dataclass(frozen=True, slots=True)
class OnnxGraph:
    """A graph whose shapes are all known.

    Attributes:
        nodes: in an order in which they can run.
        values: by name.
        inputs: names of what it takes.
        outputs: names of what it gives.
        opset: the version of ONNX's own operators.
    """

    nodes: tuple[Node, ...]
    values: Mapping[str, Value]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    opset: int

    def consumers(self) -> Mapping[str, tuple[Node, ...]]:
        """The nodes that take each value; a node that takes it twice is there twice."""
        found: dict[str, list[Node]] = {}
        for node in self.nodes:
            for name in node.inputs:
                if name:
                    found.setdefault(name, []).append(node)
        return {name: tuple(nodes) for name, nodes in found.items()}

    def producers(self) -> Mapping[str, Node]:
        """The node that makes each value."""
        return {name: node for node in self.nodes for name in node.outputs if name}

    def data(self, name: str) -> Numbers | None:
        """The elements of a constant; None for what is computed or left out."""
        return self.values[name].data if name else None

    def with_nodes(self, nodes: tuple[Node, ...], values: Mapping[str, Value] | None = None) -> "OnnxGraph":
        """The graph with other nodes, and with further values."""
        return replace(self, nodes=nodes, values={**self.values, **(values or {})})
