"""Writes expressions of contracts as operations on a stack, and keeps track of what is on it."""

import ast
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache

from kibi.dtypes import DType
from kibi.errors import InternalError
from kibi.kernels.params.contract_operations import GETS, GROWTH, LEAST_NUMBER, LESS, MOST_NUMBER, Op, mask_value
from kibi.kernels.params.contract_text import call_of, constant
from kibi.kernels.params.description import FieldKind, Params
from kibi.kernels.params.layout import Layout

STEPS = "node_steps"
_BINARY = {ast.Add: Op.ADD, ast.Sub: Op.SUB, ast.Mult: Op.MUL, ast.FloorDiv: Op.DIV, ast.Mod: Op.MOD}
_OF_TWO = {"ceil": Op.CEIL, "max": Op.MAX, "min": Op.MIN}
_OF_NODE = {"reads": Op.READS, "pointers": Op.POINTERS}
_OF_INPUT = {"room": Op.ROOM, "count": Op.COUNT}
OF_COLUMNS: Mapping[str, Op] = {
    "least": Op.LEAST, "most": Op.MOST, "product": Op.PRODUCT, "highest": Op.HIGHEST, "lowest": Op.LOWEST,
}  # fmt: skip
"""The operations of the functions of an array's columns."""


@dataclass
class Stack:
    """The bytes that were written, and what they leave on the stack.

    A check leaves one of the numbers that it looked at, and `ARRAY` the number of elements. So the stack has many numbers which
    are needed again, and one byte pushes each. `named` are further expressions that are computed before they are needed: then
    each place where they are needed takes one byte.

    Attributes:
        kind: the class of the parameters.
        named: expressions that are computed once.
        made: the bytes so far.
        texts: the expressions whose values are on the stack, the top last.
        arrays: the elements of each array that was written, as text.
        selected: the name of the array that operations read now, and how many of its elements were asked for; two empty texts
            before the first array.
        limited: the parameters with a least value, from which 1 can be taken away.
        parts: how often each expression was computed, and
        sizes: the bytes that it took.
    """

    kind: type[Params]
    named: tuple[str, ...] = ()
    made: bytearray = field(default_factory=bytearray)
    texts: list[str] = field(default_factory=lambda: [STEPS])
    arrays: dict[str, ast.expr] = field(default_factory=dict)
    selected: tuple[str, str] = ("", "")
    limited: set[str] = field(default_factory=set)
    parts: Counter[str] = field(default_factory=Counter)
    sizes: dict[str, int] = field(default_factory=dict)

    def prepare(self, *nodes: ast.expr) -> None:
        """Computes what has a name and is needed for expressions, and selects the array that they read."""
        for node in nodes:
            for each in _parts_of(node):
                text = ast.unparse(each)
                if text in self.named and text not in self.texts:
                    self.prepare_arrays(each)
                    self.push(each)
        self.prepare_arrays(*nodes)

    def prepare_arrays(self, *nodes: ast.expr) -> None:
        """Selects the array that expressions read; if they read several, all but the last are read now."""
        calls = [each for node in nodes for each in _calls_of_arrays(node, self.texts)]
        selections = dict.fromkeys(map(_selection, calls))
        for number, (name, count) in enumerate(selections, 1):
            self.select(name, count)
            if number < len(selections):
                for each in calls:
                    if _selection(each) == (name, count) and ast.unparse(each) not in self.texts:
                        self.push(each)

    def select(self, name: str, count: str = "") -> None:
        """Makes an array that was checked before, or its first elements, the last one."""
        if name not in self.arrays:
            raise InternalError(f"{self.kind.__name__} has no array {name}")
        if self.selected != (name, count):
            self.array(name, ast.Constant(int(count)) if count else self.arrays[name])
            self.selected = (name, count)

    def array(self, name: str, count: ast.expr) -> None:
        """Writes that an array has so many elements, and is the last one."""
        self.prepare(count)
        self.top(count)
        self.operation(Op.ARRAY, self.packed(name))
        self.selected = (name, "")

    def packed(self, name: str) -> int:
        """Where the pointer to an array is, and the bytes of an element, as an operand."""
        found = next((each for each in self.kind.fields if each.name == name), None)
        word = self.offset(name) // 4
        if found is None or word >= 32:
            raise InternalError(f"{self.kind.__name__} has no array {name}, or one whose pointer comes after 32 words")
        size = 1 if found.dtype is None else found.dtype.size_bytes
        return word | (size.bit_length() - 1) << 6

    def operation(self, operation: Op, *operands: int, leaves: str = "") -> None:
        """Writes an operation, which may leave another number on top than was there."""
        self.made += bytes((operation, *operands))
        growth = GROWTH.get(operation, -1)
        if growth < 0:
            self.texts.pop()
        elif growth > 0:
            self.texts.append("")
        if leaves:
            self.texts[-1] = leaves

    def top(self, node: ast.expr) -> None:
        """Pushes the first number of a line, unless the last line has left it, and no other line needs it."""
        text = ast.unparse(node)
        is_short = isinstance(node, ast.Name) or constant(node) is not None
        if self.texts[-1] != text or (text in self.named and not is_short):
            self.push(node)

    def push(self, node: ast.expr) -> None:
        """Writes the operations that push an expression."""
        text = ast.unparse(node)
        number = constant(node)
        if number is not None:
            self._number(number)
            return
        if text in self.texts[:GETS]:
            self.made.append(Op.GET + self.texts.index(text))
            self.texts.append(text)
            return
        begin = len(self.made)
        self._computed(node)
        self.texts[-1] = text
        self.parts[text] += 1
        self.sizes[text] = len(self.made) - begin

    def _computed(self, node: ast.expr) -> None:
        call = call_of(node)
        if isinstance(node, ast.Name):
            self._name(node.id)
        elif (name := _one_less(node)) in self.limited:
            self._name(name)
            self.made[-1] += LESS
        elif isinstance(node, ast.BinOp) and type(node.op) in _BINARY:
            value = constant(node.right)
            is_other = value is not None and number_byte(value) is None is not number_byte(-value)
            opposite = {ast.Add: Op.SUB, ast.Sub: Op.ADD}.get(type(node.op)) if is_other else None
            self.push(node.left)
            self.push(ast.Constant(-value) if opposite and value is not None else node.right)
            self.operation(opposite or _BINARY[type(node.op)])
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            self.push(ast.Constant(0))
            self.push(node.operand)
            self.operation(Op.SUB)
        elif call is not None and call[0] in _OF_TWO and len(call[1]) == 2:
            for each in call[1]:
                self.push(each)
            self.operation(_OF_TWO[call[0]])
        elif call is not None:
            self._call(*call)
        else:
            raise InternalError(f"{self.kind.__name__}: no part of a contract: {ast.unparse(node)}")

    def _call(self, name: str, arguments: list[ast.expr]) -> None:
        """Writes a function of one number, of an input or of arrays."""
        names = [each.id for each in arguments if isinstance(each, ast.Name)]
        numbers = [constant(each) for each in arguments]
        if name == "power" and len(arguments) == 1:
            self.push(arguments[0])
            self.operation(Op.POWER)
        elif name == "most_sum" and len(names) == 2 and self.arrays.keys() >= set(names):
            self.push(self.arrays[names[0]])
            self.operation(Op.MOST_SUM, *map(self.packed, names))
            self.selected = ("", "")
        elif name in _OF_INPUT and numbers[0] is not None:
            self.operation(_OF_INPUT[name], numbers[0])
        elif len(names) == 1 and self.selected == _selection_of(name, names[0]) and None not in numbers[1:]:
            column, columns = (numbers[1] or 0, numbers[2] or 1) if len(numbers) == 3 else (0, 1)
            self.operation(OF_COLUMNS.get(name, Op.LEAST), column | columns << 4)
        else:
            raise InternalError(f"{self.kind.__name__}: no function of contracts: {name}")

    def _name(self, name: str) -> None:
        found = next((each for each in self.kind.fields if each.name == name and each.kind is FieldKind.NUMBER), None)
        if found is None and name in _OF_NODE:
            self.operation(_OF_NODE[name])
        elif found is not None and found.dtype in _INTEGERS[self.field_bytes] and self.number_of(name) < LESS:
            self.operation(Op.FIELD, leaves=name)
            self.made[-1] += self.number_of(name)
        else:
            raise InternalError(f"{self.kind.__name__} has no number {name} that contracts can read")

    def _number(self, value: int) -> None:
        byte = number_byte(value)
        if byte is not None:
            self.made.append(byte)
        elif (sum_of := _two_numbers(value)) is not None:
            self.made += bytes(sum_of)
        else:
            self.made += bytes((Op.LARGE, *value.to_bytes(4, "little", signed=True)))
        self.texts.append(str(value))

    @property
    def field_bytes(self) -> int:
        """The bytes of a parameter that contracts read: 2 where numbers have 16 bits."""
        return 2 if any(each.dtype is DType.S16 and not each.is_pointer for each in self.kind.fields) else 4

    def number_of(self, name: str) -> int:
        """The number of a field among those of its size in the struct."""
        return self.offset(name) // self.field_bytes

    def offset(self, name: str) -> int:
        """The offset of a field where pointers have 4 bytes."""
        layout = Layout.of(self.kind)
        return dict(zip((each.name for each in self.kind.fields), layout.offsets, strict=True))[name]


_INTEGERS = {4: (DType.S32, DType.U32), 2: (DType.S16,)}


def _one_less(node: ast.expr) -> str:
    """The name of the field that an expression takes 1 from; empty for any other one."""
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Sub) or constant(node.right) != 1:
        return ""
    return node.left.id if isinstance(node.left, ast.Name) else ""


def number_byte(value: int) -> int | None:
    """Returns the byte that pushes a number; None if it takes more."""
    return _BYTES.get(value)


@cache
def _two_numbers(value: int) -> tuple[int, int, int] | None:
    """The bytes that push a number as the sum, difference or product of two of those that one byte pushes; None if none do."""
    for first, byte in _BYTES.items():
        for operation, second in ((Op.ADD, value - first), (Op.SUB, first - value)):
            if second in _BYTES:
                return byte, _BYTES[second], operation
        if first and value % first == 0 and value // first in _BYTES:
            return byte, _BYTES[value // first], Op.MUL
    return None


_BYTES = {mask_value(number): Op.MASK + number for number in range(Op.NUMBER - Op.MASK)} | {
    value: Op.NUMBER + value - LEAST_NUMBER for value in range(LEAST_NUMBER, MOST_NUMBER + 1)
}


def _parts_of(node: ast.expr) -> Iterator[ast.expr]:
    """The expressions in an expression, and itself, each after those in it."""
    call = call_of(node)
    inner = (
        call[1] if call is not None
        else [node.left, node.right] if isinstance(node, ast.BinOp)
        else [node.operand] if isinstance(node, ast.UnaryOp)
        else []
    )  # fmt: skip
    for each in inner:
        yield from _parts_of(each)
    yield node


def _calls_of_arrays(node: ast.expr, known: list[str]) -> Iterator[ast.expr]:
    """The functions of the last array in an expression, but for what is on the stack."""
    if ast.unparse(node) in known[:GETS]:
        return
    call = call_of(node)
    if call is not None and (call[0] in OF_COLUMNS or call[0] == "first"):
        yield node
    elif call is not None:
        for each in call[1]:
            yield from _calls_of_arrays(each, known)
    elif isinstance(node, ast.BinOp):
        yield from _calls_of_arrays(node.left, known)
        yield from _calls_of_arrays(node.right, known)
    elif isinstance(node, ast.UnaryOp):
        yield from _calls_of_arrays(node.operand, known)


def _selection(node: ast.expr) -> tuple[str, str]:
    """The array that a function reads, and how many elements of it: empty for all."""
    call = call_of(node)
    if call is None or not call[1] or not isinstance(call[1][0], ast.Name):
        raise InternalError(f"no function of an array: {ast.unparse(node)}")
    return _selection_of(call[0], call[1][0].id)


def _selection_of(function: str, name: str) -> tuple[str, str]:
    return name, "1" if function == "first" else ""
