"""Describes a model: inputs, outputs, and each operator with shapes, types, quantization, arithmetic and weights."""

from dataclasses import dataclass, fields
from enum import Enum
from typing import Any

from kibi.ir import Graph, NodeView, Operator, Quantization, Signature, Tensor
from kibi.ops import ExplicitPadding
from kibi.passes import Simplified

Attribute = int | float | bool | str | tuple[int, ...]


@dataclass(frozen=True, slots=True)
class OperatorFacts:
    """One operator.

    Attributes:
        index: in the model file.
        op: its name.
        attributes: its attributes by their names, those that were left at their defaults too.
        inputs: the tensors that it reads by the operands' names; constants among them.
        outputs: the tensors that it makes, in order.
        macs: multiply-accumulates of one inference.
        weights_bytes: bytes of the constants that it and its subgraphs read, as in the model file.
    """

    index: int
    op: str
    attributes: tuple[tuple[str, Attribute], ...]
    inputs: tuple[tuple[str, Tensor], ...]
    outputs: tuple[Tensor, ...]
    macs: int
    weights_bytes: int


@dataclass(frozen=True, slots=True)
class Inspection:
    """A model's contents.

    Attributes:
        model, source: the identifier made from the file's name, and that name.
        inputs, outputs: the model's ends.
        operators: in the order in which they run.
        signatures: the entry points of the file.
        macs: multiply-accumulates of one inference.
        weights_bytes: bytes of all constants; one that several operators read counts once.
        variables: the tensors that keep their values from one inference to the next.
    """

    model: str
    source: str
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    operators: tuple[OperatorFacts, ...]
    signatures: tuple[Signature, ...]
    macs: int
    weights_bytes: int
    variables: tuple[Tensor, ...]

    @property
    def variable_bytes(self) -> int:
        """Bytes of all variables."""
        return sum(tensor.type.size_bytes for tensor in self.variables)

    def to_dict(self) -> dict[str, Any]:
        """Returns the facts as plain data, for JSON."""
        return {
            "model": self.model,
            "source": self.source,
            "macs": self.macs,
            "weights_bytes": self.weights_bytes,
            "inputs": [tensor_record(tensor) for tensor in self.inputs],
            "outputs": [tensor_record(tensor) for tensor in self.outputs],
            "variables": [tensor_record(tensor) for tensor in self.variables],
            "signatures": [_signature_record(signature) for signature in self.signatures],
            "operators": [_operator_record(operator) for operator in self.operators],
        }


def inspect(graph: Graph) -> Inspection:
    """Returns what is in a model: operators, shapes, quantization, arithmetic, weights."""
    return Inspection(
        model=graph.name,
        source=graph.source,
        inputs=tuple(graph.tensors[index] for index in graph.inputs),
        outputs=tuple(graph.tensors[index] for index in graph.outputs),
        operators=tuple(_operator(view) for view in graph.views),
        signatures=graph.signatures,
        macs=graph.macs,
        weights_bytes=graph.weights_bytes,
        variables=tuple(graph.tensors[index] for index in graph.variables),
    )


def passes_record(simplified: Simplified) -> dict[str, Any]:
    """The effect of the lossless passes on a model as plain data: each change, the savings, and the totals afterwards."""
    changes = simplified.changes
    return {
        "changes": [
            {
                "pass": change.by,
                "node": change.where,
                "reason": change.what,
                "macs_saved": change.macs,
                "weights_bytes_saved": change.weights_bytes,
            }
            for change in changes
        ],
        "macs_saved": sum(change.macs for change in changes),
        "weights_bytes_saved": sum(change.weights_bytes for change in changes),
        "operators": len(simplified.graph.nodes),
        "macs": simplified.graph.macs,
        "weights_bytes": simplified.graph.weights_bytes,
    }


def tensor_record(tensor: Tensor) -> dict[str, Any]:
    """A tensor as plain data; `quantization` is null for a tensor without."""
    quantization = tensor.type.quantization
    return {
        "name": tensor.name,
        "shape": list(tensor.type.shape),
        "type": str(tensor.type.dtype),
        "size_bytes": tensor.type.size_bytes,
        "quantization": None if quantization is None else _quantization_record(quantization),
    }


def describe_attributes(operator: Operator | OperatorFacts) -> str:
    """An operator's attributes as text, without those that have no effect: `stride 2, SAME, RELU`."""
    facts = operator.attributes if isinstance(operator, OperatorFacts) else _attributes(operator)
    return ", ".join(text for name, value in facts if (text := _attribute_text(name.replace("_", " "), value)))


def _attribute_text(name: str, value: Attribute) -> str:
    if isinstance(value, tuple):
        sizes = value[:1] if len(set(value)) == 1 else value
        return "" if set(value) <= {1} else f"{name} {'x'.join(map(str, sizes))}"
    if isinstance(value, bool):
        return name if value else ""
    if isinstance(value, str):
        return "" if value == "NONE" else value
    return "" if value == 1 else f"{name} {value:g}"


def _attributes(operator: Operator) -> tuple[tuple[str, Attribute], ...]:
    found = []
    for field in fields(operator):  # type: ignore[arg-type]  # each operator is a dataclass; the abstract one is not
        value = getattr(operator, field.name)
        if not field.repr:
            continue  # what the operator is given when it is planned
        if isinstance(value, Graph):
            value = value.source.rpartition(", ")[2]
        if isinstance(value, Enum | ExplicitPadding):
            value = value.name if isinstance(value, Enum) else str(value)
        found.append((field.name, value))
    return tuple(found)


def _operator(view: NodeView) -> OperatorFacts:
    names = {name.rstrip("?") for name in view.op.inputs}
    inputs = tuple((name, tensor) for name, tensor in view.operands if name in names and tensor is not None)
    return OperatorFacts(
        index=view.node.source,
        op=view.op.name,
        attributes=_attributes(view.op),
        inputs=inputs,
        outputs=view.outputs,
        macs=view.op.macs(view),
        weights_bytes=sum(tensor.type.size_bytes for _, tensor in inputs if tensor.is_constant)
        + sum(body.weights_bytes for body in view.op.subgraphs),
    )


def _operator_record(operator: OperatorFacts) -> dict[str, Any]:
    inputs = [
        {"operand": name, **tensor_record(tensor), "is_constant": tensor.is_constant}
        for name, tensor in operator.inputs
    ]
    return {
        "index": operator.index,
        "op": operator.op,
        "attributes": dict(operator.attributes),
        "inputs": inputs,
        "outputs": [tensor_record(tensor) for tensor in operator.outputs],
        "macs": operator.macs,
        "weights_bytes": operator.weights_bytes,
    }


def _signature_record(signature: Signature) -> dict[str, Any]:
    ends = {"inputs": dict(signature.inputs), "outputs": dict(signature.outputs)}
    return {"name": signature.key, "subgraph": signature.subgraph, **ends}


def _quantization_record(quantization: Quantization) -> dict[str, Any]:
    return {
        "scales": list(quantization.scales),
        "zero_points": list(quantization.zero_points),
        "axis": quantization.axis if quantization.is_per_channel else None,
    }
