"""Handles of resource variables, and the subgraphs that give variables their first values."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from kibi.dtypes import Array
from kibi.errors import Problem
from kibi.frontends.tflite.folding import evaluated
from kibi.frontends.tflite.importers import RESOLVED
from kibi.frontends.tflite.reader import ModelReader, OperatorRecord
from kibi.frontends.tflite.variables import Access, Key
from kibi.ir import Node, Tensor

_AGAIN = "Export the model again; the file is damaged"
_MOST_BYTES = 1 << 21
"""The limit of bytes for first values and all that is computed for them, besides the file's bytes: far more than any device's
state. A limit is needed because a few bytes of a file may name any size, and the generated C grows with it."""


@dataclass(slots=True)
class Room:
    """The number of bytes that the subgraphs with variables' first values may still make.

    Attributes:
        most_bytes: the limit for all subgraphs together.
        used_bytes: the bytes made so far.
    """

    most_bytes: int
    used_bytes: int = 0

    @staticmethod
    def beside(file_bytes: int) -> "Room":
        """The room of a file of so many bytes."""
        return Room(file_bytes + _MOST_BYTES)

    def takes(self, size_bytes: int) -> bool:
        """Takes this number of bytes; returns false if fewer are left."""
        if self.used_bytes + size_bytes > self.most_bytes:
            return False
        self.used_bytes += size_bytes
        return True


@dataclass(frozen=True, slots=True)
class Handles:
    """The facts from those operators of a subgraph that act only while a model is loaded.

    Attributes:
        keys: for tensors that are handles, the variable's name.
        calls: the operators that call a subgraph once, each with the subgraph's number.
    """

    keys: Mapping[int, Key]
    calls: tuple[tuple[int, int], ...]

    @staticmethod
    def of(records: Sequence[tuple[int, OperatorRecord]], reader: ModelReader) -> "Handles":
        """The handles among operators, given with their indices.

        Raises:
            CorruptError: options are not sound.
        """
        keys: dict[int, Key] = {}
        calls: list[tuple[int, int]] = []
        for index, record in records:
            if record.name == "VAR_HANDLE":
                options = reader.options(record, "VarHandleOptions")
                keys |= dict.fromkeys(record.outputs, (options.text("Container"), options.text("SharedName")))
            elif record.name == "CALL_ONCE":
                calls.append((index, reader.options(record, "CallOnceOptions").integer("InitSubgraphIndex")))
        return Handles(keys, tuple(calls))

    def access(self, record: OperatorRecord, node: Node) -> Access | Problem:
        """Returns a record with the right number of operands as a read or an assignment; or its problem."""
        if None in node.inputs:
            return Problem(f"{record.name}: the value that is assigned is left out", _AGAIN, node.source)
        key = self.keys.get(record.inputs[0])
        if key is None:
            what = f"{record.name}: its first input is not made by a VAR_HANDLE before it, in the same subgraph"
            return Problem(what, "Use each variable in the main subgraph alone", node.source)
        return Access(node, key)

    def order_problems(self, accesses: Sequence[Access]) -> Iterator[Problem]:
        """First values that come too late."""
        first = min((access.node.source for access in accesses), default=-1)
        for index, _ in self.calls:
            if 0 <= first < index:
                what = "CALL_ONCE: it gives variables their first values when some are used already, which is not supported"
                yield Problem(what, "Export the model with the initialization in front", index)


def is_resolved(record: OperatorRecord) -> bool:
    """True if an operator acts only while the model is loaded, and is no node of the graph."""
    return record.name in RESOLVED


def first_values(
    source: str, tensors: Mapping[int, Tensor], nodes: Sequence[Node | Access], known: dict[Key, Array], room: Room
) -> Iterator[Problem]:
    """Runs the subgraph that gives variables their first values.

    Args:
        source: the model file's name.
        tensors: the subgraph's tensors, by index.
        nodes: the subgraph's nodes, in order.
        known: the values of variables so far; they are changed.
        room: for what is made, in all such subgraphs together.

    Yields:
        What stands in the way.
    """
    values = dict(tensors)
    for each in nodes:
        node = each.node if isinstance(each, Access) else each
        if any(index is not None and not values[index].is_constant for index in node.inputs):
            what = f"CALL_ONCE: {node.label} of its subgraph reads what is not known when the model is loaded"
            yield Problem(what, "Initialize variables from constants")
            return
        size_bytes = values[each.tensor if isinstance(each, Access) else node.outputs[0]].type.size_bytes
        if not room.takes(size_bytes):
            what = f"CALL_ONCE: {node.label} of its subgraph makes {size_bytes:,} bytes more than the {room.used_bytes:,} before it"
            most = f"at most {room.most_bytes:,} are computed when this file is loaded"
            yield Problem(f"{what}; {most}", "Begin with smaller values, or give them as inputs")
            return
        if isinstance(each, Access) and each.is_assignment:
            data = values[each.tensor].data
            assert data is not None  # noqa: S101 - it is a constant: see above
            known[each.key] = data
            continue
        made = known.get(each.key) if isinstance(each, Access) else evaluated(source, values, node)
        output = values[node.outputs[0]]
        if made is None or made.size != output.type.elements or made.dtype != output.type.dtype.numpy:
            yield Problem(f"CALL_ONCE: {node.label} of its subgraph cannot be computed when the model is loaded")
            return
        values[output.index] = replace(output, data=made.reshape(output.type.shape))
