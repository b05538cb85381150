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

from kibi.kernels.params.contract_operations import LEAST_NUMBER, LESS, OUTPUT, Op, mask_value, operations
from kibi.planfile.contracts import contract_of
from kibi.planfile.reader import PlanFile

_LOW, _HIGH = -(1 << 31), (1 << 31) - 1
_BOUND = 1 << 30
_SIZES = {1: "i1", 2: "<i2", 4: "<i4", 8: "<i8"}
_SIZE_BITS, _ROLE_BITS = 3, 24
"""Of the operand of a group: the exponent of an element's bytes, and the role."""


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
    field_bytes: int
    shape: Shape
    stack: list[int] = field(default_factory=list)
    array: NDArray[Any] = field(default_factory=lambda: np.empty(0, np.int8))
    next: int = 0

    def pop(self) -> int:
        return self.stack.pop()

    def number(self, index: int, size: int) -> int:
        """A parameter by its number among those of so many bytes."""
        return int.from_bytes(self.file.part(self.params + index * size, size), "little", signed=True)

    def select(self, count: int, operand: int) -> NDArray[Any]:
        """The array to which a parameter points."""
        place, size = (self.params + self.number(operand & 31, 4)) & 0xFFFFFFFF, 1 << (operand >> 6)
        _require(count >= 0)
        data = self.file.part(place, count * size)
        self.array = np.frombuffer(data, _SIZES[size], count)
        return self.array

    def column(self, operand: int) -> NDArray[np.int64]:
        return self.array[operand & 15 :: operand >> 4].astype(np.int64)

    def group(self, elements: int, pointers: int, kind: int) -> None:
        shape, number = self.shape, self.next
        _require(number < len(shape.groups))
        role = 8 * (1 + (number >= shape.reads) + (number >= shape.reads + shape.states))
        size = elements << (kind & _SIZE_BITS)
        _require(role == kind & _ROLE_BITS and shape.groups[number].count == pointers)
        _require(0 <= size <= shape.groups[number].bytes)
        self.next += 1

    def reach(self, operand: int, *, is_up: bool) -> int:
        """How far nested loops reach, up or down."""
        steps, each = self.column(operand & 0xF0), self.column(operand)
        count = min(len(steps), len(each))
        steps, each = steps[:count], each[:count]
        _require(bool((steps >= 1).all() and (np.abs(steps * each) <= _BOUND).all()))
        most = (steps - 1) * each
        return int(np.where((most > 0) == is_up, most, 0).sum())

    def read(self, operation: Op, data: bytes) -> int | None:
        """The number that an operation pushes without a look at arrays or the top of the stack; None: it pushes none."""
        shape = self.shape
        if operation is Op.FIELD:
            return self.number(data[0] % LESS, self.field_bytes) - data[0] // LESS
        if operation is Op.NUMBER:
            return data[0] + LEAST_NUMBER
        if operation is Op.MASK:
            return mask_value(data[0])
        if operation is Op.GET:
            return self.stack[data[0]]
        if operation is Op.LARGE:
            return int.from_bytes(data, "little", signed=True)
        if operation in (Op.ROOM, Op.COUNT):
            _require(data[0] < shape.reads)
            group = shape.groups[data[0]]
            return group.bytes if operation is Op.ROOM else group.count
        plain = {Op.READS: shape.reads, Op.POINTERS: sum(each.count for each in shape.groups[: shape.reads])}
        return plain.get(operation)

    def pushed(self, operation: Op, data: bytes) -> int | None:
        """The number that an operation pushes; None: it pushes none."""
        if operation in (Op.LEAST, Op.MOST):
            found = self.column(data[0])
            return int(found.min() if operation is Op.LEAST else found.max()) if len(found) else 0
        if operation in (Op.HIGHEST, Op.LOWEST):
            return self.reach(data[0], is_up=operation is Op.HIGHEST)
        if operation is Op.PRODUCT:
            return int(prod(self.column(data[0]).tolist()))
        if operation is Op.MOST_SUM:
            count = self.pop()
            sums = self.select(count, data[0]).astype(np.int64) + self.select(count, data[1])
            return max(int(sums.max()), 0) if count else 0
        if operation is Op.POWER:
            exponent = self.pop()
            _require(0 <= exponent <= 30)
            return 1 << exponent
        return self.computed(operation) if operation in _BINARY else self.read(operation, data)

    def computed(self, operation: Op) -> int:
        b, a = self.pop(), self.pop()
        if operation in (Op.DIV, Op.CEIL, Op.MOD):
            _require(a >= 0 and b >= 1)
            return {Op.DIV: a // b, Op.CEIL: -(-a // b), Op.MOD: a % b}[operation]
        return {Op.ADD: a + b, Op.SUB: a - b, Op.MUL: a * b, Op.MAX: max(a, b), Op.MIN: min(a, b)}[operation]

    def check(self, operation: Op, data: bytes) -> None:
        """What looks at two numbers, and leaves one of them."""
        b, a = self.pop(), self.stack[-1]
        if operation is Op.LE:
            _require(a <= b)
            self.stack[-1] = b
        elif operation is Op.GROUP:
            self.group(a, b, data[0])
        elif operation is Op.GROUPS:
            for _ in range(min(self.stack[-2], len(self.shape.groups) + 1)):
                self.group(a, b, data[0])
        elif operation is Op.FIELDS:
            bits = int.from_bytes(data, "little")
            numbers = [self.number(index, self.field_bytes) for index in range(32) if bits >> index & 1]
            _require(all(b <= each <= a for each in numbers))
        elif operation is Op.RANGE:
            _require(bool(((self.array >= b) & (self.array <= a)).all()))
        elif operation is Op.TABLE_INPUTS:
            _require(0 <= a <= len(self.array) // 2)
            for pointers, size in self.array[: 2 * a].reshape(-1, 2).tolist():
                self.group(size * b, pointers, data[0])
        else:
            _require(operation is Op.ALIGNED)

    def look(self, operation: Op, data: bytes) -> None:
        """What looks at one number, or at none."""
        if operation is Op.ARRAY:
            self.select(self.stack[-1], data[0])
        elif operation is Op.SCRATCH:
            _require(self.pop() <= self.shape.scratch_bytes)
        elif operation is Op.EACH:
            count = self.pop()
            _require(bool((self.select(count, data[0]) <= self.select(count, data[1])).all()))
        elif operation is Op.BELOW:
            _require(bool((np.abs(self.array.astype(np.float64)) < 2.0 ** data[0]).all()))
        elif operation is Op.TABLE_OUTPUTS:
            for place in range(self.pop(), len(self.array)):
                self.group(int(self.array[place]), 1, OUTPUT)
        elif operation is Op.TABLE_OUTPUT:
            # The rows that are there differ from step to step: the write itself is checked.
            self.next += 1
        elif operation is Op.REST:
            self.next = self.shape.reads
        else:
            raise _BrokenError  # Op.NEVER

    def run(self, contract: Sequence[tuple[Op, bytes]]) -> None:
        self.stack.append(self.shape.steps)
        for operation, data in contract:
            if operation in _CHECKS:
                self.check(operation, data)
            elif (found := self.pushed(operation, data)) is not None:
                _require(_LOW <= found <= _HIGH)
                self.stack.append(found)
            else:
                self.look(operation, data)
        _require(self.next == len(self.shape.groups))


_BINARY = frozenset({Op.ADD, Op.SUB, Op.MUL, Op.DIV, Op.CEIL, Op.MOD, Op.MAX, Op.MIN})
_CHECKS = frozenset({Op.LE, Op.GROUP, Op.GROUPS, Op.FIELDS, Op.RANGE, Op.TABLE_INPUTS, Op.ALIGNED})


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
        _Evaluation(file, params, contract_of(kernel)[0], shape).run(_operations(kernel))
    except _BrokenError:
        return False
    return True


@cache
def _operations(kernel: str) -> tuple[tuple[Op, bytes], ...]:
    return tuple(each for each in operations(contract_of(kernel)) if each[0] is not Op.END)


def _require(is_right: bool) -> None:
    if not is_right:
        raise _BrokenError
