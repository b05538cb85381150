"""Resource variables: from handles, reads and assignments in a file's order to variables and their next versions.

A graph has no order of its own, so that order becomes data: each assignment makes a tensor of its own, the next version of the
variable, and a read becomes the version that is current at its place. Readers of the read's output read that version.

Source: TFLM `micro/micro_resource_variable.cc` and the kernels `var_handle.cc`, `read_variable.cc`, `assign_variable.cc`,
`call_once.cc`.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from kibi.dtypes import Array, DType
from kibi.errors import Problem
from kibi.ir import Node, Tensor, TensorType, in_order
from kibi.ops import AssignVariable

Key = tuple[str, str]
"""The key of a variable: container and shared name."""
_AGAIN = "Export the model again; the file is damaged"


@dataclass(frozen=True, slots=True)
class Access:
    """A read or an assignment, as the file has it.

    Attributes:
        node: it, without its handle; an assignment has no output yet.
        key: its variable's.
    """

    node: Node
    key: Key

    @property
    def is_assignment(self) -> bool:
        """True if it is an assignment."""
        return isinstance(self.node.op, AssignVariable)

    @property
    def tensor(self) -> int:
        """The index of the value that is read or assigned."""
        return (self.node.inputs[0] or 0) if self.is_assignment else self.node.outputs[0]


@dataclass(frozen=True, slots=True)
class Woven:
    """A graph's parts with variables among them.

    Attributes:
        tensors: by index.
        nodes: in a possible order, where the file has one.
        problems: what is wrong with variables.
    """

    tensors: dict[int, Tensor]
    nodes: list[Node]
    problems: tuple[Problem, ...] = ()


def weave(
    tensors: Mapping[int, Tensor],
    nodes: Sequence[Node | Access],
    outputs: Sequence[int],
    initial: Mapping[Key, Array],
    first_index: int,
) -> Woven:
    """Replaces reads and assignments by variables and their versions.

    Nodes that read an old version run before the new one is made; where that is impossible, or where a read makes an output of
    the model, the old one is copied.

    Args:
        tensors: by index.
        nodes: in the file's order.
        outputs: of the model.
        initial: first values, where the file gives some.
        first_index: of the tensors that are added.
    """
    accesses = [each for each in nodes if isinstance(each, Access)]
    others = [each for each in nodes if isinstance(each, Node)]
    types, problems = _types(tensors, accesses, initial)
    if problems or not accesses:
        return Woven(dict(tensors), others, problems)
    for copied in (frozenset(outputs), frozenset(outputs) | _read_late(nodes)):
        weaving = _Weaving(dict(tensors), copied, first_index)
        for key, kind in types.items():
            weaving.add(key, kind, _first_value(tensors, accesses, key, kind, initial))
        for each in nodes:
            weaving.node(each)
        ordered = in_order(weaving.tensors, weaving.nodes)
        if ordered is not None:
            return Woven(weaving.tensors, list(ordered))
    return Woven(weaving.tensors, weaving.nodes)


def _read_late(nodes: Sequence[Node | Access]) -> frozenset[int]:
    """Outputs of reads that are read when the variable has been assigned again already."""
    late: set[int] = set()
    old: set[int] = set()
    fresh: dict[Key, set[int]] = {}
    for each in nodes:
        node = each.node if isinstance(each, Access) else each
        late.update(old.intersection(index for index in node.inputs if index is not None))
        if isinstance(each, Access) and each.is_assignment:
            old |= fresh.pop(each.key, set())
        elif isinstance(each, Access):
            fresh.setdefault(each.key, set()).add(each.tensor)
    return frozenset(late)


def _types(
    tensors: Mapping[int, Tensor], accesses: Sequence[Access], initial: Mapping[Key, Array]
) -> tuple[dict[Key, TensorType], tuple[Problem, ...]]:
    """Returns the type of each variable that is read, which is the type of its first read; and the problems."""
    read: dict[Key, Tensor] = {}
    for access in (each for each in accesses if not each.is_assignment):
        read.setdefault(access.key, tensors[access.tensor])
    assigned = {access.key for access in accesses if access.is_assignment}
    problems = []
    for access in accesses:
        kind, first = tensors[access.tensor].type, read.get(access.key)
        if first is None:
            continue
        what = f"{access.node.op.name}: variable {access.key[1]!r}"
        if (kind.dtype, kind.elements) != (first.type.dtype, first.type.elements):
            problems.append(_problem(access, f"{what} is {first.type} in one place, {kind} in another"))
        elif access.key not in assigned and access.key not in initial:
            problems.append(_problem(access, f"{what} is read, but nothing assigns it; TFLM crashes there"))
        elif access.key in initial and _misfits(initial[access.key], kind):
            array = initial[access.key]
            given = f"{list(array.shape)} {DType.of(array)}"
            problems.append(_problem(access, f"{what} is {kind}, its first value {given}"))
    return {key: tensor.type for key, tensor in read.items()}, tuple(problems)


def _misfits(value: Array, kind: TensorType) -> bool:
    return (DType.of(value), value.size) != (kind.dtype, kind.elements)


def _problem(access: Access, what: str) -> Problem:
    return Problem(what, _AGAIN, access.node.source)


def _first_value(
    tensors: Mapping[int, Tensor], accesses: Iterable[Access], key: Key, kind: TensorType, initial: Mapping[Key, Array]
) -> Array:
    """Returns a variable's value before the first inference.

    If nothing initializes it, each byte is the zero point, as s8, of the tensor that is assigned first.
    """
    if key in initial:
        value = initial[key].reshape(kind.shape)
    else:
        given = next(
            tensors[each.tensor].type.quantization for each in accesses if each.is_assignment and each.key == key
        )
        byte = 0 if given is None else given.zero_point & 0xFF
        value = np.full(kind.size_bytes, byte, np.uint8).view(kind.dtype.numpy).reshape(kind.shape)
    value = value.copy()
    value.flags.writeable = False
    return value


@dataclass(slots=True)
class _Weaving:
    """The graph's parts as built so far.

    Attributes:
        tensors: by index.
        copied: outputs of reads that are copies.
        next_index: of the next tensor that is added.
        current: for each variable that is read anywhere, the version that is there now.
        renamed: for outputs of reads, the version that replaces them.
        unread: for variables whose last assignment nobody has read, its node.
        nodes: so far.
    """

    tensors: dict[int, Tensor]
    copied: frozenset[int]
    next_index: int
    current: dict[Key, int] = field(default_factory=dict)
    renamed: dict[int, int] = field(default_factory=dict)
    unread: dict[Key, Node] = field(default_factory=dict)
    nodes: list[Node] = field(default_factory=list)

    def add(self, key: Key, kind: TensorType, initial: Array) -> None:
        """Adds a variable."""
        name = key[1] or "variable"
        self.current[key] = self.next_index
        self.tensors[self.next_index] = Tensor(self.next_index, name, kind, is_variable=True, initial=initial)
        self.next_index += 1

    def node(self, each: Node | Access) -> None:
        """Adds the next node of the file. An assignment that nobody ever reads is left out."""
        if isinstance(each, Node):
            inputs = (None if index is None else self.renamed.get(index, index) for index in each.inputs)
            self.nodes.append(replace(each, inputs=tuple(inputs)))
        elif not each.is_assignment:
            self._read(each)
        elif each.key in self.current:
            self._assign(each)

    def _read(self, access: Access) -> None:
        version, output = self.current[access.key], access.tensor
        self.unread.pop(access.key, None)
        if output in self.copied or self.tensors[output].type != self.tensors[version].type:
            self.nodes.append(replace(access.node, inputs=(version,)))
        else:
            self.renamed[output] = version

    def _assign(self, access: Access) -> None:
        unread = self.unread.pop(access.key, None)
        if unread is not None:  # it is as if it had never been
            self.nodes.remove(unread)
            before = self.tensors[self.tensors.pop(unread.outputs[0]).updates or 0]
        else:
            before = self.tensors[self.current[access.key]]
        version = replace(
            before,
            index=self.next_index,
            name=f"{before.name}, next",
            is_variable=False,
            initial=None,
            updates=before.index,
        )
        self.tensors[version.index] = version
        value = self.renamed.get(access.tensor, access.tensor)
        self.nodes.append(replace(access.node, inputs=(value,), outputs=(version.index,)))
        self.unread[access.key] = self.nodes[-1]
        self.current[access.key] = version.index
        self.next_index += 1
