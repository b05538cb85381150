"""What a call of a kernel must keep to, as text beside its parameters, and as bytes that a core evaluates.

A contract has a line for each input, output, state and for the scratch, in the order in which the kernel takes them, and lines for
what must hold among the parameters:

    input: kernel_rows x input_width * input_channels
    output: output_width * output_channels
    scratch: 2 * kernel_rows * kernel_width * input_channels
    require: 1 <= stride

An `input` has so many pointers, each to so many elements; `or null` after it allows null pointers, `or some null` all but one.
`inputs: n of count x elements` are n such inputs. `inputs from name: n times k` are n inputs, of which rows of an array with two
columns have pointers and bytes, k times as many (1 without it); `output from name: n times k` is what those of their pointers
give that are not null; `outputs from name: k` are all outputs, whose bytes the array has from element k on. `output` and `state`
count elements, `scratch` bytes (`aligned n` after it). `state: count of bytes` has elements of so many bytes. Numbers are bytes
where the kernel takes `void`. Expressions have fields, whole numbers, `+ - * //`, brackets, and

- `ceil(a, b)`: a divided by b, rounded up; `max(a, b)`, `min(a, b)`; `power(a)`: two to the power of a;
- `node_steps`: of the node; `reads`: how many inputs it has; `pointers`: how many pointers in all;
- `input_bytes`, `output_bytes`: of an element, as the kernel takes it;
- `room(i)`: the bytes at each pointer of input i, counted from 0; `count(i)`: its pointers;
- `least(name, column, columns)`, `most(...)`: of a column of an array that has so many; `first(name)`: its first element;
- `most_sum(name, other)`: of an element and its neighbour in another array, both of 16 bits and of one length;
- `product(name, column, columns)`: of a column; `highest(name, column, columns)`, `lowest(...)`: how far nested loops reach, of
  which the rows have the steps first: the sum of (steps - 1) * what the column has, where that is positive, or negative.

`rest` allows further inputs. `aligned: i to n`: the rows of input i begin at multiples of n bytes. `each: first <= second`:
element by element of two arrays. `input: count x elements of_bytes n` has elements of n bytes, and so has
`output: count of_bytes n`. `[word !other] line` holds for kernels with that word in their names, and without the other one.

The shape in the meaning of an array, `[output_channels][depth]`, says how many elements it has, and `low … high` in a meaning
what range an element or a number has. `array name: elements` replaces the shape, `array name: elements in low … high` the range,
too, and `any name` drops the range of a number.
"""

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import IntEnum

from kibi.dtypes import DType
from kibi.errors import InternalError
from kibi.kernels.params.description import Field, FieldKind, Params
from kibi.kernels.params.layout import Layout

_NUMBER = r"-?\d+(?:\*\*\d+)?(?: [-+] \d+)?"
_RANGE = re.compile(rf"({_NUMBER}) (?:…|to) ({_NUMBER})")
_SHAPE = re.compile(r"(?:\[[^\]]*\])+")
_SIZE = re.compile(r"\[([^\]]*)\]")
_FOR = re.compile(r"(?:\[(?P<words>[\w! ]+)\] +)?(?P<line>.*)")
_BELOW = re.compile(r"below 2\*\*(\d+) in magnitude")
_MOST = (1 << 31) - 1
_NULLABLE = 0x80
REACHES = 0x40
"""In the operand of an input: one pointer of a step must not be null."""


class Op(IntEnum):
    """The operations of a contract's bytes, on a stack of integers of 32 bits. A number after an operation is its operand."""

    END = 0
    """All inputs, outputs and states must have been named."""
    FIELD = 1
    """Pushes the 32-bit number at an offset: [1 byte]."""
    HALF = 2
    """Pushes the 16-bit number at an offset: [1 byte]."""
    SMALL = 3
    """Pushes a number: [1 byte, signed]."""
    LARGE = 4
    """Pushes a number: [4 bytes, little-endian]."""
    STEPS = 5
    READS = 6
    POINTERS = 7
    ROOM = 8
    """Pushes the bytes at each pointer of an input: [1 byte, its number]."""
    ADD = 9
    SUB = 10
    MUL = 11
    DIV = 12
    """Rounds down; the divisor is at least 1, and the dividend at least 0."""
    CEIL = 13
    MAX = 14
    MIN = 15
    LE = 16
    """Takes two numbers: the first must not be above the second."""
    INPUT = 17
    """Takes pointers, then elements at each: [1 byte: bytes of an element, and 128 where pointers may be null, and 64 where one
    of a step's must not]."""
    INPUTS = 18
    """Takes how many inputs, pointers, elements: [as above]."""
    OUTPUT = 19
    """Takes elements: [1 byte: bytes of one]."""
    STATE = 20
    """Takes elements: [1 byte: bytes of one]."""
    SCRATCH = 21
    """Takes bytes: [1 byte: their alignment]."""
    ARRAY = 22
    """Takes elements of the array whose pointer is at an offset: [1 byte: offset, 1 byte: bytes of an element]."""
    RANGE = 23
    """Takes the least and the most that an element of the last array may be."""
    LEAST = 24
    """Pushes the least number of a column of the last array: [1 byte: columns, 1 byte: which]."""
    MOST = 25
    """Pushes the most: as above."""
    SELECT = 26
    """The array at an offset, which was checked before, is the last one again: [1 byte: offset, 1 byte: bytes of an element]."""
    TABLE_INPUTS = 27
    """Takes a number of inputs, and how often bytes count: row k of the last array, which has two columns, has pointers and bytes
    at each of the next input: [1 byte: 128 where pointers may be null]."""
    TABLE_OUTPUTS = 28
    """Takes a place in the last array: from there on it has the bytes of each output of the node."""
    HIGHEST = 29
    """Pushes how far the loops in the rows of the last array reach up: [1 byte: columns, 1 byte: which]."""
    LOWEST = 30
    """The same down."""
    PRODUCT = 31
    """Pushes the product of a column of the last array: [1 byte: columns, 1 byte: which]."""
    ALIGNED = 32
    """Takes the number of an input, and what its rows' places are multiples of."""
    EACH = 33
    """Takes how many elements: none of the array at one offset is above its neighbour at the other: [1 byte each, 1 byte: size]."""
    REST = 34
    """Further inputs may follow."""
    COUNT = 35
    """Pushes the pointers of an input: [1 byte, its number]."""
    TABLE_OUTPUT = 36
    """Takes a number of inputs, and how often bytes count: what pointers that are not null give in a step, as `TABLE_INPUTS`
    says, is the output."""
    BELOW = 37
    """All elements of the last array, which have 64 bits, are below a power of two in magnitude: [1 byte, its exponent]."""
    NATURAL = 38
    """The 32-bit number at an offset is at least 0: [1 byte]."""
    POSITIVE = 39
    """It is at least 1: [1 byte]."""
    BETWEEN = 40
    """It is in a range: [1 byte: offset, 1 byte each, signed: the least and the most]."""
    POWER = 41
    """Two to the power of the number on the stack, which is 0 to 30, takes its place."""
    MOST_SUM = 42
    """Takes how many elements of arrays of 16 bits, and pushes the most that one at an offset and its neighbour at the other one
    are together: [1 byte each]."""


@dataclass
class _Compiler:
    """Writes the bytes of one kernel's contract.

    Attributes:
        kernel: its name.
        kind: the class of its parameters.
        input_bytes, output_bytes: of an element.
        made: the bytes so far.
        arrays: the elements of each array that was written, as text.
    """

    kernel: str
    kind: type[Params]
    input_bytes: int
    output_bytes: int
    made: bytearray = field(default_factory=bytearray)
    arrays: dict[str, str] = field(default_factory=dict)

    def written(self) -> bytes:
        """Returns the bytes."""
        lines = _lines(self.kind, self.kernel)
        dropped = {line.removeprefix("any ").strip() for line in lines if line.startswith("any ")}
        given = dict(line.removeprefix("array ").split(":", 1) for line in lines if line.startswith("array "))
        for each in self.kind.fields:
            if each.kind is FieldKind.NUMBER and each.name not in dropped:
                self._range_of(each)
        arrays = [each for each in self.kind.fields if each.kind is FieldKind.ARRAY]
        for each in sorted(arrays, key=lambda each: _needs_array(given.get(each.name, ""))):
            self._array(each, given.pop(each.name, None))
        if given:
            raise InternalError(f"{self.kind.__name__} has no array called {', '.join(given)}")
        for line in lines:
            if not line.startswith(("any ", "array ")):
                self._line(line)
        return bytes((*self.made, Op.END))

    def _range_of(self, each: Field) -> None:
        found = None if each.dtype is DType.F32 else _range(each.meaning)
        if found is not None:
            self._requirement(f"{found[0]} <= {each.name} <= {found[1]}")

    def _array(self, each: Field, given: str | None) -> None:
        """Writes the elements and the range of an array."""
        limits = None if each.is_packed else _range(each.meaning)
        if given is not None:
            count, _, text = given.partition(" in ")
            limits = _range(text) if text else limits
        else:
            shape = _SHAPE.match(each.meaning)
            if shape is None:
                raise InternalError(f"{self.kind.__name__}.{each.name}: no shape; add `array {each.name}: elements`")
            count = " * ".join(f"({size.replace(' / ', ' // ')})" for size in _SIZE.findall(shape[0]))
        self._push(count)
        size = 1 if each.dtype is None else each.dtype.size_bytes
        self.made += bytes((Op.ARRAY, self._offset(each.name), size))
        self.arrays[each.name] = count
        below = _BELOW.search(each.meaning)
        if below is not None and size == 8:
            self.made += bytes((Op.BELOW, int(below[1])))
        if limits is not None and each.dtype is not None and each.dtype is not DType.F32 and size <= 4:
            self._push(limits[0])
            self._push(limits[1])
            self.made.append(Op.RANGE)

    def _line(self, line: str) -> None:
        if line == "rest":
            self.made.append(Op.REST)
            return
        key, _, text = line.partition(":")
        if " from " in key:
            role, _, name = key.partition(" from ")
            self._from_table(role, name, text.strip())
            return
        writers = {
            "input": self._input, "inputs": self._input, "output": self._output, "state": self._state, "scratch": self._scratch,
            "require": self._requirement, "aligned": self._aligned, "each": self._each,
        }  # fmt: skip
        if key not in writers or not text:
            raise InternalError(f"{self.kind.__name__}: no line of a contract: {line}")
        writers[key](text.strip())

    def _input(self, text: str) -> None:
        nullable = _NULLABLE if text.endswith(" null") else 0
        nullable |= REACHES if text.endswith(" some null") else 0
        text = text.removesuffix(" null").removesuffix(" or some").removesuffix(" or")
        text, _, size = text.partition(" of_bytes ")
        several, between, count = text.rpartition(" of ")
        pointers, _, elements = count.partition(" x ")
        operation = Op.INPUT
        if between:
            self._push(several)
            operation = Op.INPUTS
        self._push(pointers)
        self._push(elements)
        self.made += bytes((operation, int(size or self.input_bytes) | nullable))

    def _output(self, text: str) -> None:
        count, _, size = text.partition(" of_bytes ")
        self._push(count)
        self.made += bytes((Op.OUTPUT, int(size or self.output_bytes)))

    def _state(self, text: str) -> None:
        count, _, size = text.partition(" of ")
        self._push(count)
        self.made += bytes((Op.STATE, int(size or 1)))

    def _scratch(self, text: str) -> None:
        count, _, alignment = text.partition(" aligned ")
        self._push(count)
        self.made += bytes((Op.SCRATCH, self.output_bytes if alignment == "output_bytes" else int(alignment or 1)))

    def _aligned(self, text: str) -> None:
        number, _, alignment = text.partition(" to ")
        self._push(number)
        self._push(alignment)
        self.made.append(Op.ALIGNED)

    def _each(self, text: str) -> None:
        first, _, second = (word.strip() for word in text.partition("<="))
        size = next(each.dtype.size_bytes for each in self.kind.fields if each.name == first and each.dtype is not None)
        self._push(self.arrays[first])
        self.made += bytes((Op.EACH, self._offset(first), self._offset(second), size))

    def _from_table(self, role: str, name: str, text: str) -> None:
        """Writes the inputs or outputs whose sizes an array has."""
        nullable = _NULLABLE if text.endswith(" or null") else 0
        count, _, times = text.removesuffix(" or null").partition(" times ")
        self._push(count)
        if role != "outputs":
            self._push(times or "1")
        self._select(name)
        if role == "inputs":
            self.made += bytes((Op.TABLE_INPUTS, nullable))
        elif role == "outputs":
            self.made.append(Op.TABLE_OUTPUTS)
        elif role == "output":
            self.made.append(Op.TABLE_OUTPUT)
        else:
            raise InternalError(f"{self.kind.__name__}: no line of a contract: {role} from {name}")

    def _select(self, name: str, count: str = "") -> None:
        """Writes that an array, which was checked before, or its first elements, is the last one again."""
        if name not in self.arrays:
            raise InternalError(f"{self.kind.__name__} has no array {name}")
        each = next(each for each in self.kind.fields if each.name == name)
        self._push(count or self.arrays[name])
        self.made += bytes((Op.SELECT, self._offset(name), 1 if each.dtype is None else each.dtype.size_bytes))

    def _requirement(self, text: str) -> None:
        tree = ast.parse(text.strip(), mode="eval").body
        if not isinstance(tree, ast.Compare):
            raise InternalError(f"{self.kind.__name__}: no comparison: {text}")
        if self._is_range(tree):
            return
        left = tree.left
        for sign, right in zip(tree.ops, tree.comparators, strict=True):
            self._below(left, right, sign)
            if isinstance(sign, ast.Eq):
                self._below(right, left, sign)
            left = right

    def _below(self, low: ast.expr, high: ast.expr, sign: ast.cmpop) -> None:
        """Writes that one expression is not above another one, or is below it."""
        self._expression(low)
        self._expression(high)
        if isinstance(sign, ast.Lt):
            self._number(1)
            self.made.append(Op.SUB)
        self.made.append(Op.LE)

    def _is_range(self, tree: ast.Compare) -> bool:
        """Writes a range of a 32-bit number, `low <= field` or `low <= field <= high`, in few bytes; False if it is none."""
        names = [each for each in (tree.left, *tree.comparators) if isinstance(each, ast.Name)]
        words = {each.name for each in self.kind.fields if each.kind is FieldKind.NUMBER and each.dtype is DType.S32}
        if len(names) != 1 or tree.comparators[0] is not names[0] or names[0].id not in words:
            return False
        low = _constant(tree.left)
        high = _MOST if len(tree.comparators) == 1 else _constant(tree.comparators[-1])
        if (
            low is None
            or high is None
            or len(tree.comparators) > 2
            or not all(isinstance(each, ast.LtE) for each in tree.ops)
        ):
            return False
        offset = self._offset(names[0].id)
        if high == _MOST and low in (0, 1):
            self.made += bytes((Op.POSITIVE if low else Op.NATURAL, offset))
        elif low >= -128 and high < 128:
            self.made += bytes((Op.BETWEEN, offset, low & 0xFF, high & 0xFF))
        else:
            return False
        return True

    def _push(self, text: str) -> None:
        self._expression(ast.parse(text.strip(), mode="eval").body)

    def _expression(self, node: ast.expr) -> None:
        """Writes the operations that push an expression."""
        binary = {ast.Add: Op.ADD, ast.Sub: Op.SUB, ast.Mult: Op.MUL, ast.FloorDiv: Op.DIV}
        constant = _constant(node)
        if constant is not None:
            self._number(constant)
        elif isinstance(node, ast.Name):
            self._name(node.id)
        elif isinstance(node, ast.BinOp) and type(node.op) in binary:
            self._expression(node.left)
            self._expression(node.right)
            self.made.append(binary[type(node.op)])
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            self._number(0)
            self._expression(node.operand)
            self.made.append(Op.SUB)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            self._call(node.func.id, node.args)
        else:
            raise InternalError(f"{self.kind.__name__}: no part of a contract: {ast.unparse(node)}")

    def _call(self, name: str, arguments: list[ast.expr]) -> None:
        operations = {"ceil": Op.CEIL, "max": Op.MAX, "min": Op.MIN}
        if name in operations and len(arguments) == 2:
            for each in arguments:
                self._expression(each)
            self.made.append(operations[name])
            return
        if name == "most_sum" and all(isinstance(each, ast.Name) and each.id in self.arrays for each in arguments):
            first, second = (ast.unparse(each) for each in arguments)
            self._push(self.arrays[first])
            self.made += bytes((Op.MOST_SUM, self._offset(first), self._offset(second)))
            return
        if name == "power" and len(arguments) == 1:
            self._expression(arguments[0])
            self.made.append(Op.POWER)
            return
        numbers = [_constant(each) for each in arguments]
        if name in ("room", "count") and numbers[0] is not None:
            self.made += bytes((Op.ROOM if name == "room" else Op.COUNT, numbers[0]))
            return
        array = arguments[0]
        if name == "first" and isinstance(array, ast.Name):
            self._select(array.id, "1")
            self.made += bytes((Op.LEAST, 1, 0))
            return
        if (
            name not in _OF_COLUMNS
            or not isinstance(array, ast.Name)
            or array.id not in self.arrays
            or None in numbers[1:]
        ):
            raise InternalError(f"{self.kind.__name__}: no function of contracts: {name}")
        self._select(array.id)
        self.made += bytes((_OF_COLUMNS[name], numbers[2] or 1, numbers[1] or 0))

    def _name(self, name: str) -> None:
        words = {"node_steps": Op.STEPS, "reads": Op.READS, "pointers": Op.POINTERS}
        fields = {each.name: each for each in self.kind.fields if each.kind is FieldKind.NUMBER}
        if name in fields:
            dtype = fields[name].dtype
            if dtype not in (DType.S32, DType.S16, DType.U32):
                raise InternalError(f"{self.kind.__name__}.{name} is no integer that contracts can read")
            self.made += bytes((Op.HALF if dtype is DType.S16 else Op.FIELD, self._offset(name)))
        elif name in words:
            self.made.append(words[name])
        elif name in ("input_bytes", "output_bytes"):
            self._number(self.input_bytes if name == "input_bytes" else self.output_bytes)
        else:
            raise InternalError(f"{self.kind.__name__} has no number {name}")

    def _number(self, value: int) -> None:
        if -128 <= value < 128:
            self.made += bytes((Op.SMALL, value & 0xFF))
        else:
            self.made += bytes((Op.LARGE, *value.to_bytes(4, "little", signed=True)))

    def _offset(self, name: str) -> int:
        """The offset of a field where pointers have 4 bytes."""
        layout = Layout.of(self.kind)
        return dict(zip((each.name for each in self.kind.fields), layout.offsets, strict=True))[name]


def contract_bytes(kernel: str, kind: type[Params], input_bytes: int, output_bytes: int) -> bytes:
    """Returns the contract of a kernel as bytes.

    Args:
        kernel: its name.
        kind: the class of its parameters.
        input_bytes: of an element that its rows have; 1 where it takes `void`.
        output_bytes: the same of its output.

    Raises:
        InternalError: a line is none, or names what there is not.
    """
    return _Compiler(kernel, kind, input_bytes, output_bytes).written()


def has_contract(kind: type[Params]) -> bool:
    """True if a contract was written for a kernel's parameters; one without any line names no input."""
    return any(_lines(kind, kernel) for kernel in kind.kernels)


def _lines(kind: type[Params], kernel: str) -> list[str]:
    """The lines that hold for a kernel, without the words that say for which they do."""
    found = (_FOR.fullmatch(line.strip()) for line in kind.contract.splitlines())
    return [each["line"] for each in found if each and each["line"] and _is_for(kernel, each["words"] or "")]


def _is_for(kernel: str, words: str) -> bool:
    """True if a kernel's name has all of the words, but none of those that have a `!` before them."""
    return all((word.lstrip("!") in kernel) != word.startswith("!") for word in words.split())


def _needs_array(count: str) -> bool:
    """True if an array's elements follow from another array, which is checked first then."""
    return any(f"{name}(" in count for name in (*_OF_COLUMNS, "first", "most_sum"))


def _range(meaning: str) -> tuple[str, str] | None:
    """The range that a meaning states; None if it states none, or one that holds sometimes."""
    found = _RANGE.search(meaning)
    return None if found is None or " where " in meaning[found.end() :][:8] else (found[1], found[2])


def _constant(node: ast.expr) -> int | None:
    """The value of an expression of whole numbers alone."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, int) else None
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        value = _constant(node.operand)
        return None if value is None else -value
    if not isinstance(node, ast.BinOp):
        return None
    left, right = _constant(node.left), _constant(node.right)
    if left is None or right is None:
        return None
    if isinstance(node.op, ast.Pow):
        return left**right if 0 <= right <= 63 else None
    results = {ast.Add: left + right, ast.Sub: left - right, ast.Mult: left * right}
    return results.get(type(node.op))


def operations(data: bytes) -> Iterator[tuple[Op, bytes]]:
    """Yields the operations of a contract with their operands."""
    place = 0
    while place < len(data):
        operation = Op(data[place])
        count = _OPERANDS.get(operation, 0)
        yield operation, data[place + 1 : place + 1 + count]
        place += 1 + count


_OF_COLUMNS = {
    "least": Op.LEAST,
    "most": Op.MOST,
    "product": Op.PRODUCT,
    "highest": Op.HIGHEST,
    "lowest": Op.LOWEST,
}
"""The operations of the functions of an array's columns."""
_OPERANDS: Mapping[Op, int] = {
    **dict.fromkeys(
        (Op.FIELD, Op.HALF, Op.SMALL, Op.ROOM, Op.TABLE_INPUTS, Op.INPUT, Op.INPUTS, Op.OUTPUT, Op.STATE, Op.SCRATCH), 1
    ),
    **dict.fromkeys((Op.COUNT, Op.BELOW), 1),
    **dict.fromkeys((Op.ARRAY, Op.SELECT, Op.LEAST, Op.MOST, Op.PRODUCT, Op.HIGHEST, Op.LOWEST, Op.MOST_SUM), 2),
    **dict.fromkeys((Op.NATURAL, Op.POSITIVE), 1),
    **dict.fromkeys((Op.EACH, Op.BETWEEN), 3),
    Op.LARGE: 4,
}
"""Bytes of operands after each operation; none after all others."""
