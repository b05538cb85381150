"""When each constant of a model may be written while inference runs: before the first step that reads it, or after the last one."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from kibi.codegen.emit_context import EmitContext
from kibi.dtypes import Array
from kibi.kernels.params import PARAMS
from kibi.planfile.contracts import any_elements
from kibi.planner import PlannedModel
from kibi.targets import target as target_of

_LEAST_ALIGNMENT = 4
"""Plan files store constants at multiples of 4 bytes, or of an element where that is larger; equal ones once."""


@dataclass(frozen=True, slots=True)
class Fence:
    """A constant, and which row steps of an inference read it.

    Attributes:
        op, name: the first operator that reads it, and the output tensor of that.
        constant: the field of the kernel's parameters, or the tensor.
        size_bytes: of the constant.
        first, last: numbers of the first and the last step of the order that read it, from 0. While more than `first` and at most
            `last` steps have run, it has been read and will be read again: then it must wait.
        readers: how many operators read it. Equal constants are stored once in a plan file.
    """

    op: str
    name: str
    constant: str
    size_bytes: int
    first: int
    last: int
    readers: int

    def must_wait(self, steps: int) -> bool:
        """True if a step that comes after the first `steps` ones reads the constant: the inference would see a new one."""
        return 0 < steps <= self.last

    def mixes(self, steps: int) -> bool:
        """True if a write after so many steps lets the inference read old and new bytes."""
        return self.first < steps <= self.last


@dataclass
class _Reads:
    """What reads one constant: the names of the first reader, all readers, and steps."""

    op: str
    name: str
    constant: str
    size_bytes: int
    readers: set[tuple[int, int]] = field(default_factory=set)
    steps: list[int] = field(default_factory=list)


def fences(planned: PlannedModel) -> tuple[Fence, ...]:
    """Returns the constants of a model that may be written in a plan file with fences, in the order of their first steps.

    Constants that a core looks at when it opens the file stay as they are: of some kernels multipliers and shifts, and tables.
    An operator that runs graphs reads all constants in them at each of its steps. Rows that replace those outside of an input are
    constants, too.

    Args:
        planned: a model and its plan.
    """
    b = EmitContext(planned, target_of(planned.plan.target), has_long_rows=False)
    steps: list[list[tuple[int, int]]] = [
        [] for _ in b.graph.views
    ]  # of each node: which rows, and the numbers of the steps
    for number, (node, row) in enumerate(planned.plan.steps):
        steps[node].append((row, number))
    found: dict[tuple[int, bytes], _Reads] = {}
    for node, own in enumerate(steps):
        _add_arrays(found, b, node, [number for _, number in own])
        _add_rows(found, b, node, own)
        for inner in _inner(b, node):
            for each in range(len(inner.graph.views)):
                numbers = [number for _, number in own]
                _add_arrays(found, inner, each, numbers)
                _add_rows(
                    found, inner, each, [(row, number) for row in range(_rows(inner, each)) for number in numbers]
                )
    made = (
        Fence(each.op, each.name, each.constant, each.size_bytes, min(each.steps), max(each.steps), len(each.readers))
        for each in found.values()
        if each.steps and each.size_bytes
    )
    return tuple(sorted(made, key=lambda each: (each.first, each.last)))


def _inner(b: EmitContext, node: int) -> Iterator[EmitContext]:
    """The graphs that a node runs, and those inside of them."""
    for name in b.graph.views[node].op.subgraph_names:
        yield from b.body(node, name).with_subgraphs


def _rows(b: EmitContext, node: int) -> int:
    """How many row steps a node has."""
    return int(b.graph.views[node].steps)


def _add_arrays(found: dict[tuple[int, bytes], _Reads], b: EmitContext, node: int, numbers: Sequence[int]) -> None:
    """Adds the constants to which a node's parameters point: each of its steps reads them."""
    call = b.calls[node]
    free = any_elements(call.kernel) if call.kernel in PARAMS else frozenset()
    for name, data in call.constants.items():
        if name in free:
            _add(found, b, node, (name, data), numbers)


def _add_rows(
    found: dict[tuple[int, bytes], _Reads], b: EmitContext, node: int, steps: Sequence[tuple[int, int]]
) -> None:
    """Adds constant tensors that a node reads by the row, and the rows that replace those outside of its inputs."""
    view = b.graph.views[node]
    if view.op.receives:
        return
    for tensor, access in zip(view.row_tensors, b.accesses[node], strict=True):
        positions = [(access.positions(row), number) for row, number in steps]
        if tensor.is_constant and tensor.data is not None and tensor.index not in b.graph.outputs:
            inside = [number for rows, number in positions if any(each is not None for each in rows)]
            _add(found, b, node, (tensor.name, tensor.data), inside)
        if access.fill is not None and not access.stays_inside:
            dtype = tensor.type.dtype
            fill = np.full(b.fills[dtype.c, access.fill], access.fill, dtype.numpy)
            outside = [number for rows, number in positions if None in rows]
            _add(found, b, node, (f"outside of {tensor.name}", fill), outside)


def _add(
    found: dict[tuple[int, bytes], _Reads],
    b: EmitContext,
    node: int,
    constant: tuple[str, Array],
    numbers: Sequence[int],
) -> None:
    name, data = constant
    view, bits = b.graph.views[node], np.ascontiguousarray(data).tobytes()
    key = max(data.dtype.itemsize, _LEAST_ALIGNMENT), bits
    each = found.setdefault(key, _Reads(view.op.name, view.output.name, name, len(bits)))
    if numbers:
        each.readers.add((id(b), node))
        each.steps += numbers
