"""Whether nodes keep to the contracts of their kernels: then no kernel is asked for more than memories and the file hold.

The contracts are those that a core in C evaluates. What a view of memory checks at each step anyway is not checked here:
alignment, rows that are null, and whether rows are stored one after another.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibi.kernels.params.contract import Op, operations
from kibi.planfile.core_c import contract_of
from kibi.planfile.reader import PlanFile

_LOW, _HIGH = -(1 << 31), (1 << 31) - 1
_SIZES = {1: "i1", 2: "<i2", 4: "<i4", 8: "<i8"}
_SIZE_BITS = 63
"""Of the operand of an input: the bytes of an element."""


@dataclass(frozen=True, slots=True)
class Shape:
    """What a node has: contracts are about it.

    Attributes:
        steps: row steps.
        counts: pointers of each input in a step.
        rooms: bytes at each of them.
        outputs, states: the most bytes that may be written at each.
        scratch_bytes: of its scratch.
    """

    steps: int
    counts: Sequence[int]
    rooms: Sequence[int]
    outputs: Sequence[int]
    states: Sequence[int]
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
    array: NDArray[Any] = field(default_factory=lambda: np.empty(0, np.int8))
    reads: int = 0
    outputs: int = 0
    states: int = 0

    def pop(self) -> int:
        if not self.stack:
            raise _BrokenError
        return self.stack.pop()

    def number(self, offset: int, size: int) -> int:
        return int.from_bytes(self.file.part(self.params + offset, size), "little", signed=True)

    def select(self, count: int, offset: int, size: int) -> NDArray[Any]:
        """The array whose pointer is at an offset."""
        place = self.number(offset, 4) & 0xFFFFFFFF
        _require(count >= 0)
        data = self.file.part(place, count * size)
        self.array = np.frombuffer(data, _SIZES.get(size, "i1"), count)
        return self.array

    def column(self, columns: int, column: int) -> NDArray[np.int64]:
        return self.array[column::columns].astype(np.int64)

    def input(self, pointers: int, elements: int, size: int) -> None:
        _require(self.reads < len(self.shape.counts))
        room = self.shape.rooms[self.reads]
        _require(self.shape.counts[self.reads] == pointers and elements >= 0 and elements * size <= room)
        self.reads += 1

    def written(self, elements: int, size: int, *, is_state: bool = False) -> None:
        rooms, number = (self.shape.states, self.states) if is_state else (self.shape.outputs, self.outputs)
        _require(number < len(rooms) and elements >= 0 and elements * size <= rooms[number])
        self.states += is_state
        self.outputs += not is_state

    def reach(self, columns: int, column: int, *, is_up: bool) -> int:
        """How far nested loops reach, up or down."""
        steps, each = self.column(columns, 0), self.column(columns, column)
        count = min(len(steps), len(each))
        steps, each = steps[:count], each[:count]
        _require(bool((steps >= 1).all() and (np.abs(steps * each) <= 1 << 30).all()))
        most = (steps - 1) * each
        return int(np.where((most > 0) == is_up, most, 0).sum())

    def computed(self, operation: Op) -> int:
        b, a = self.pop(), self.pop()
        if operation in (Op.DIV, Op.CEIL):
            _require(a >= 0 and b >= 1)
            return a // b if operation is Op.DIV else -(-a // b)
        return {Op.ADD: a + b, Op.SUB: a - b, Op.MUL: a * b, Op.MAX: max(a, b), Op.MIN: min(a, b)}[operation]

    def pushed(self, operation: Op, data: bytes) -> int | None:
        """The number that an operation pushes; None: it pushes none, or is none of these."""
        shape, small = self.shape, int.from_bytes(data[:1], "little", signed=True)
        if operation in (Op.FIELD, Op.HALF):
            return self.number(data[0], 4 if operation is Op.FIELD else 2)
        if operation in (Op.SMALL, Op.LARGE):
            return int.from_bytes(data, "little", signed=True)
        if operation in (Op.ROOM, Op.COUNT):
            _require(small < len(shape.counts))
            return (shape.rooms if operation is Op.ROOM else shape.counts)[small]
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
        plain = {Op.STEPS: shape.steps, Op.READS: len(shape.counts), Op.POINTERS: sum(shape.counts)}
        if operation in plain:
            return plain[operation]
        is_binary = operation in (Op.ADD, Op.SUB, Op.MUL, Op.DIV, Op.CEIL, Op.MAX, Op.MIN)
        return self.computed(operation) if is_binary else None

    def in_range(self, operation: Op, data: bytes) -> None:
        """What only looks at numbers and arrays."""
        if operation is Op.LE:
            b, a = self.pop(), self.pop()
            _require(a <= b)
        elif operation in (Op.NATURAL, Op.POSITIVE):
            _require(self.number(data[0], 4) >= (operation is Op.POSITIVE))
        elif operation is Op.BETWEEN:
            low, high = (int.from_bytes(data[place : place + 1], "little", signed=True) for place in (1, 2))
            _require(low <= self.number(data[0], 4) <= high)
        elif operation in (Op.ARRAY, Op.SELECT):
            self.select(self.pop(), *data)
        elif operation is Op.RANGE:
            high, low = self.pop(), self.pop()
            _require(bool(((self.array >= low) & (self.array <= high)).all()))
        elif operation is Op.BELOW:
            _require(bool((np.abs(self.array.astype(np.float64)) < 2.0 ** data[0]).all()))
        elif operation is Op.EACH:
            count = self.pop()
            _require(bool((self.select(count, data[0], data[2]) <= self.select(count, data[1], data[2])).all()))
        elif operation is Op.ALIGNED:
            self.pop()
            self.pop()

    def in_room(self, operation: Op, data: bytes) -> None:
        """What names inputs, outputs, states and the scratch."""
        if operation in (Op.INPUT, Op.INPUTS):
            elements, pointers = self.pop(), self.pop()
            for _ in range(min(self.pop(), len(self.shape.counts) + 1) if operation is Op.INPUTS else 1):
                self.input(pointers, elements, data[0] & _SIZE_BITS)
        elif operation in (Op.OUTPUT, Op.STATE):
            self.written(self.pop(), data[0], is_state=operation is Op.STATE)
        elif operation is Op.SCRATCH:
            _require(self.pop() <= self.shape.scratch_bytes)
        elif operation is Op.TABLE_INPUTS:
            times, count = self.pop(), self.pop()
            _require(0 <= count <= len(self.array) // 2)
            for pointers, size in self.array[: 2 * count].reshape(-1, 2).tolist():
                self.input(pointers, size * times, 1)
        elif operation is Op.TABLE_OUTPUTS:
            first = self.pop()
            while self.outputs < len(self.shape.outputs):
                place = first + self.outputs
                _require(0 <= place < len(self.array))
                self.written(int(self.array[place]), 1)
        elif operation is Op.TABLE_OUTPUT:
            # The rows that are there differ from step to step: the write itself is checked.
            self.pop()
            self.pop()
            self.outputs += 1
        elif operation is Op.REST:
            self.reads = len(self.shape.counts)

    def run(self, contract: Sequence[tuple[Op, bytes]]) -> None:
        for operation, data in contract:
            found = self.pushed(operation, data)
            if found is not None:
                _require(_LOW <= found <= _HIGH)
                self.stack.append(found)
            elif operation in _OF_ROOM:
                self.in_room(operation, data)
            else:
                self.in_range(operation, data)
        shape = self.shape
        named = (self.reads, self.outputs, self.states)
        _require(named == (len(shape.counts), len(shape.outputs), len(shape.states)))


_OF_ROOM = frozenset(
    {
        Op.INPUT, Op.INPUTS, Op.OUTPUT, Op.STATE, Op.SCRATCH, Op.TABLE_INPUTS, Op.TABLE_OUTPUTS, Op.TABLE_OUTPUT, Op.REST,
    }
)  # fmt: skip


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
