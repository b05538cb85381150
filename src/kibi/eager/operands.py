"""Operands of an operator in eager use: what a tensor must offer, and the checks of names and rules."""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Protocol

from numpy.typing import ArrayLike

from kibi.dtypes import Array
from kibi.errors import InputError, ModelError
from kibi.ir import Graph, Node, NodeView, Operator, Tensor, TensorType, verify


class Operand(Protocol):
    """The interface that a tensor must have to be bound; all classes of `kibi.eager.tensors`, and those derived from them, do."""

    is_writable: bool
    """True if it can be written."""

    @property
    def type(self) -> TensorType:
        """Shape, element type, quantization."""

    @property
    def name(self) -> str:
        """The tensor's name in messages."""

    @property
    def is_fast(self) -> bool:
        """True if all its bytes are in one piece and can be read directly."""

    @property
    def has_fast_rows(self) -> bool:
        """True if the bytes of each row are in one piece and can be read directly."""

    def row(self, y: int) -> Array:
        """A copy of a row.

        Raises:
            EventError: it is not there.
        """

    def write_row(self, y: int, values: ArrayLike) -> None:
        """Writes a row.

        Raises:
            EventError: it cannot be written.
        """

    def to_array(self) -> Array:
        """A copy of all elements.

        Raises:
            EventError: a row is not there.
        """

    def direct_row(self, y: int, operator: Operator, *, writing: bool = False) -> AbstractContextManager[Array]:
        """A row's own bytes, in the device's byte order, for an operator that is marked fast.

        Raises:
            EventError: the row is not there, or cannot be written.
        """


def checked_operands(op: Operator, given: Mapping[str, Operand | None]) -> dict[str, Operand]:
    """The operands that are there, in the operator's order.

    Raises:
        InputError: a name is missing or unknown, or what is given is no tensor.
    """
    if op.receives:
        raise InputError(f"{op.name} computes nothing: its rows come from the caller. Write them to a tensor.")
    made = [name.rstrip("?") for name in op.outputs]
    optional = {name.rstrip("?"): name.endswith("?") for name in (*op.inputs, *op.outputs)}
    missing = [name for name, may_miss in optional.items() if not may_miss and given.get(name) is None]
    unknown = [name for name in given if name not in optional]
    if missing or unknown:
        wrong = [f"{', '.join(missing)} missing"] if missing else []
        wrong += [f"{', '.join(unknown)} unknown"] if unknown else []
        raise InputError(f"{op.name}: {' and '.join(wrong)}. {_names(op)}")
    operands = {name: operand for name in optional if (operand := given.get(name)) is not None}
    for name, operand in operands.items():
        if not isinstance(getattr(operand, "type", None), TensorType):
            raise InputError(
                f"{op.name}: {name} is of type {type(operand).__name__}, which is no tensor. Give a tensor such as "
                "kibi.eager.tensors.BufferTensor."
            )
        if name in (*made, *op.states) and not operand.is_writable:
            raise InputError(f"{op.name}: {name} {operand.name!r} cannot be written. Give a tensor that can.")
    return operands


def _names(op: Operator) -> str:
    """The names that exist, and what is required."""
    inputs, outputs = (
        ", ".join(f"{name.rstrip('?')}{' (optional)' if name.endswith('?') else ''}" for name in names)
        for names in (op.inputs, op.outputs)
    )
    return f"It takes {inputs} and gives {outputs}."


def verified_view(op: Operator, operands: Mapping[str, Operand]) -> NodeView:
    """Returns a view of the operator and its operands as the only node of a graph, so that all rules of graphs apply.

    Raises:
        InputError: a rule is broken.
        EventError: a constant cannot be read.
    """
    made = [name.rstrip("?") for name in op.outputs]
    tensors: list[Tensor] = []
    index: dict[str, int] = {}
    for name, operand in operands.items():
        index[name] = len(tensors)
        is_state = name in op.states
        is_constant = name not in op.row_inputs and name not in made and not is_state
        data = operand.to_array() if is_constant else None
        if data is not None:
            data.flags.writeable = False
        tensors.append(Tensor(len(tensors), operand.name, operand.type, data, is_variable=is_state))
    inputs = tuple(index.get(name.rstrip("?")) for name in op.inputs)
    outputs = tuple(index[name] for name in made if name in index)
    rows = tuple(index[name] for name in op.row_inputs if name in index)
    graph = Graph("eager", op.name, tuple(tensors), (Node(op, inputs, outputs, 0),), rows, outputs)
    try:
        return verify(graph).views[0]
    except ModelError as error:
        problem = error.problems[0]
        where = "" if problem.tensor is None else f" (tensor {problem.tensor!r})"
        remedy = f" {problem.remedy}." if problem.remedy else ""
        raise InputError(f"{problem.what}{where}.{remedy}") from None
