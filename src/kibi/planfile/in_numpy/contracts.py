"""Whether nodes keep to the contracts of their kernels: then no kernel is asked for more than memories and the file hold.

The contracts are those that a core in C evaluates. What a view of memory checks at each step anyway is not checked here:
alignment, and rows that are null.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibi.kernels.params.contract_operations import LEAST_NUMBER, Op, operations
from kibi.planfile.contracts import contract_of
from kibi.planfile.reader import PlanFile

_LOW, _HIGH = -(1 << 31), (1 << 31) - 1
_BOUND = 1 << 30
_SIZES = {1: "i1", 2: "<i2", 4: "<i4", 8: "<i8"}
_ROLE_SHIFT, _SIZE_BITS = 4, 3
"""Of the operand of a group: the role, and the exponent of an element's bytes."""
_OUTPUT = 2 << _ROLE_SHIFT


@dataclass(frozen=True, slots=True)
class Group:
    """The pointers of a step to one input, state or output: how many, and the bytes at each."""

    count: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Shape:
    """What a node has: contracts are about it.

    Attributes:
        steps: row steps.
        groups: of inputs, states, outputs.
        reads, states: how many of these are inputs, and states.
        scratch_bytes: of its scratch.
    """

    steps: int
    groups: Sequence[Group]
    reads: int
    states: int
    scratch_bytes: int


class _BrokenError(Exception):
    """A node does not keep to its contract."""


@dataclass(slots=True)
class _Evaluation:
    """A contract that is evaluated: `kibi_contract.c` in Python."""

    file: PlanFile
    params: int
    shape: Shape
    stack: list[int] = field(default_factory=list)
    names: dict[int, int] = field(default_factory=dict)
    array: NDArray[Any] = field(default_factory=lambda: np.empty(0, np.int8))
    next: int = 0

    def pop(self) -> int:
        if not self.stack:
            raise _BrokenError
        return self.stack.pop()

    def number(self, index: int, size: int = 4) -> int:
        """A parameter by its number among those of so many bytes."""
        return int.from_bytes(self.file.part(self.params + index * size, size), "little", signed=True)

    def numbers(self, mask: bytes) -> list[int]:
        """The parameters of a mask."""
        bits = int.from_bytes(mask, "little")
        return [self.number(index) for index in range(32) if bits >> index & 1]

    def select(self, count: int, index: int, size: int) -> NDArray[Any]:
        """The array to which a parameter points."""
        place = (self.params + self.number(index)) & 0xFFFFFFFF
        _require(count >= 0)
        data = self.file.part(place, count * size)
        self.array = np.frombuffer(data, _SIZES.get(size, "i1"), count)
        return self.array

    def column(self, columns: int, column: int) -> NDArray[np.int64]:
        return self.array[column::columns].astype(np.int64)

    def group(self, pointers: int, elements: int, kind: int) -> None:
        shape, number = self.shape, self.next
        _require(number < len(shape.groups))
        role = (number >= shape.reads) + (number >= shape.reads + shape.states)
        size = elements << (kind & _SIZE_BITS)
        _require(role == kind >> _ROLE_SHIFT and shape.groups[number].count == pointers)
        _require(0 <= size <= shape.groups[number].bytes)
        self.next += 1

    def reach(self, columns: int, column: int, *, is_up: bool) -> int:
        """How far nested loops reach, up or down."""
        steps, each = self.column(columns, 0), self.column(columns, column)
        count = min(len(steps), len(each))
        steps, each = steps[:count], each[:count]
        _require(bool((steps >= 1).all() and (np.abs(steps * each) <= _BOUND).all()))
        most = (steps - 1) * each
        return int(np.where((most > 0) == is_up, most, 0).sum())

    def computed(self, operation: Op) -> int:
        b, a = self.pop(), self.pop()
        if operation in (Op.DIV, Op.CEIL):
            _require(a >= 0 and b >= 1)
            return a // b if operation is Op.DIV else -(-a // b)
        return {Op.ADD: a + b, Op.SUB: a - b, Op.MUL: a * b, Op.MAX: max(a, b), Op.MIN: min(a, b)}[operation]

    def read(self, operation: Op, data: bytes) -> int | None:
        """The number that an operation reads; None: it reads none."""
        shape = self.shape
        if operation in (Op.WORD, Op.HALF):
            return self.number(data[0], 4 if operation is Op.WORD else 2)
        if operation is Op.NUMBER:
            return data[0] + LEAST_NUMBER
        if operation is Op.GET:
            return self.names[data[0]]
        if operation in (Op.SMALL, Op.LARGE):
            return int.from_bytes(data, "little", signed=True)
        if operation in (Op.ROOM, Op.COUNT):
            _require(data[0] < shape.reads)
            group = shape.groups[data[0]]
            return group.bytes if operation is Op.ROOM else group.count
        plain = {
            Op.STEPS: shape.steps, Op.READS: shape.reads, Op.POINTERS: sum(each.count for each in shape.groups[: shape.reads]),
        }  # fmt: skip
        return plain.get(operation)

    def pushed(self, operation: Op, data: bytes) -> int | None:
        """The number that an operation pushes; None: it pushes none."""
        if operation in (Op.LEAST, Op.MOST):
            found = self.column(*data)
            return int(found.min() if operation is Op.LEAST else found.max()) if len(found) else 0
        if operation in (Op.HIGHEST, Op.LOWEST):
            return self.reach(*data, is_up=operation is Op.HIGHEST)
        if operation is Op.PRODUCT:
            return int(prod(self.column(*data).tolist()))
        if operation is Op.MOST_SUM:
            count = self.pop()
            sums = self.select(count, data[0], 2).astype(np.int64) + self.select(count, data[1], 2)
            return max(int(sums.max()), 0) if count else 0
        if operation is Op.POWER:
            exponent = self.pop()
            _require(0 <= exponent <= 30)
            return 1 << exponent
        if operation is Op.LESS:
            return self.pop() - 1
        is_binary = operation in (Op.ADD, Op.SUB, Op.MUL, Op.DIV, Op.CEIL, Op.MAX, Op.MIN)
        return self.computed(operation) if is_binary else self.read(operation, data)

    def in_range(self, operation: Op, data: bytes) -> None:
        """What only looks at numbers and arrays."""
        if operation is Op.LE:
            b, a = self.pop(), self.pop()
            _require(a <= b)
        elif operation is Op.MULTIPLE:
            b, a = self.pop(), self.pop()
            _require(a >= 0 and b >= 1 and a % b == 0)
        elif operation in (Op.NATURAL, Op.POSITIVE):
            _require(min(self.numbers(data)) >= (operation is Op.POSITIVE))
        elif operation is Op.BOUNDED:
            _require(all(-_BOUND <= each <= _BOUND for each in self.numbers(data)))
        elif operation is Op.BETWEEN:
            low, high = (int.from_bytes(data[place : place + 1], "little", signed=True) for place in (1, 2))
            _require(low <= self.number(data[0]) <= high)
        elif operation is Op.EACH:
            count = self.pop()
            _require(bool((self.select(count, data[0], data[2]) <= self.select(count, data[1], data[2])).all()))
        elif operation is Op.ALIGNED:
            self.pop()
            self.pop()
        else:
            self.in_array(operation, data)

    def in_array(self, operation: Op, data: bytes) -> None:
        """What looks at the elements of an array."""
        if operation is Op.ARRAY:
            self.select(self.pop(), *data)
        elif operation is Op.RANGE:
            high, low = self.pop(), self.pop()
            _require(bool(((self.array >= low) & (self.array <= high)).all()))
        elif operation is Op.WHOLE:
            _require(bool((self.array >= 0).all()))
        elif operation is Op.BELOW:
            _require(bool((np.abs(self.array.astype(np.float64)) < 2.0 ** data[0]).all()))
        else:
            raise _BrokenError  # Op.NEVER

    def in_room(self, operation: Op, data: bytes) -> None:
        """What names inputs, outputs, states and the scratch."""
        shape = self.shape
        if operation in (Op.GROUP, Op.GROUPS):
            elements, pointers = self.pop(), self.pop()
            for _ in range(min(self.pop(), len(shape.groups) + 1) if operation is Op.GROUPS else 1):
                self.group(pointers, elements, data[0])
        elif operation is Op.SCRATCH:
            _require(self.pop() <= shape.scratch_bytes)
        elif operation is Op.TABLE_INPUTS:
            times, count = self.pop(), self.pop()
            _require(0 <= count <= len(self.array) // 2)
            for pointers, size in self.array[: 2 * count].reshape(-1, 2).tolist():
                self.group(pointers, size * times, data[0])
        elif operation is Op.TABLE_OUTPUTS:
            first = self.pop()
            for number in range(len(shape.groups) - shape.reads - shape.states):
                _require(0 <= first + number < len(self.array))
                self.group(1, int(self.array[first + number]), _OUTPUT)
        elif operation is Op.TABLE_OUTPUT:
            # The rows that are there differ from step to step: the write itself is checked.
            self.next += 1
        elif operation is Op.REST:
            self.next = shape.reads

    def run(self, contract: Sequence[tuple[Op, bytes]]) -> None:
        for operation, data in contract:
            if operation is Op.SET:
                self.names[data[0]] = self.stack[-1]
            elif operation in _OF_ROOM:
                self.in_room(operation, data)
            elif (found := self.pushed(operation, data)) is not None:
                _require(_LOW <= found <= _HIGH)
                self.stack.append(found)
            else:
                self.in_range(operation, data)
        _require(self.next == len(self.shape.groups))


_OF_ROOM = frozenset({Op.GROUP, Op.GROUPS, Op.SCRATCH, Op.TABLE_INPUTS, Op.TABLE_OUTPUTS, Op.TABLE_OUTPUT, Op.REST})


def holds(file: PlanFile, kernel: str, params: int, shape: Shape) -> bool:
    """True if a node keeps to the contract of its kernel.

    Args:
        file: the plan file.
        kernel: its name.
        params: the offset of the node's parameters.
        shape: what the node has.

    Raises:
        PlanError: a pointer of the parameters leads outside of the file.
    """
    try:
        _Evaluation(file, params, shape).run(_operations(kernel))
    except _BrokenError:
        return False
    return True


@cache
def _operations(kernel: str) -> tuple[tuple[Op, bytes], ...]:
    return tuple(each for each in operations(contract_of(kernel)) if each[0] is not Op.END)


def _require(is_right: bool) -> None:
    if not is_right:
        raise _BrokenError
