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
too, and `any name` drops the range of a number. A zero point of 32 bits without a range is at most 2**30 in magnitude.
"""

import ast
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from kibi.dtypes import DType
from kibi.errors import InternalError
from kibi.kernels.params.contract_operations import LEAST_NUMBER, MOST_NUMBER, NAMES, Op
from kibi.kernels.params.description import Field, FieldKind, Params
from kibi.kernels.params.layout import Layout

_NUMBER = r"-?\d+(?:\*\*\d+)?(?: [-+] \d+)?"
_RANGE = re.compile(rf"({_NUMBER}) (?:…|to) ({_NUMBER})")
_SHAPE = re.compile(r"(?:\[[^\]]*\])+")
_SIZE = re.compile(r"\[([^\]]*)\]")
_FOR = re.compile(r"(?:\[(?P<words>[\w! ]+)\] +)?(?P<line>.*)")
_BELOW = re.compile(r"below 2\*\*(\d+) in magnitude")
_MOST = (1 << 31) - 1
_NULLABLE, _SOME_NULLABLE, _STATE, _OUTPUT = 4, 8, 16, 32
"""In the operand of `Op.GROUP`, beside the exponent of an element's bytes."""


@dataclass
class _Compiler:
    """Writes the bytes of one kernel's contract.

    Attributes:
        kernel: its name.
        kind: the class of its parameters.
        input_bytes, output_bytes: of an element.
        without: the parts of its files that are left out.
        named: expressions that are computed once.
        made: the bytes so far.
        arrays: the elements of each array that was written, as text.
        least: the parameters, as bits, that are at least 0, and at least 1.
        bounded: the parameters, as bits, that are at most 2**30 in magnitude: zero points, from which elements are subtracted.
        parts: how often each expression came, and
        sizes: the bytes that it took.
        known: expressions that were named so far.
    """

    kernel: str
    kind: type[Params]
    input_bytes: int
    output_bytes: int
    without: frozenset[str] = frozenset()
    named: tuple[str, ...] = ()
    made: bytearray = field(default_factory=bytearray)
    arrays: dict[str, str] = field(default_factory=dict)
    least: dict[int, int] = field(default_factory=lambda: {0: 0, 1: 0})
    bounded: int = 0
    parts: Counter[str] = field(default_factory=Counter)
    sizes: dict[str, int] = field(default_factory=dict)
    known: set[str] = field(default_factory=set)

    def written(self) -> bytes:
        """Returns the bytes."""
        lines = _lines(self.kind, self.kernel)
        absent = (needs for part, needs in self.kind.parts.items() if part in self.without)
        lines += [f"require: {each}" for needs in absent for each in needs]
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
        roles = ("input", "rest", "state", "output")  # as groups are in a file; then all other lines
        for line in sorted(
            lines, key=lambda line: next((k for k, role in enumerate(roles) if line.startswith(role)), 4)
        ):
            if not line.startswith(("any ", "array ")):
                self._line(line)
        return bytes((*self._limits(), *self.made, Op.END))

    def _limits(self) -> Iterator[int]:
        """The operations that say which parameters are at least 0, and at least 1."""
        for operation, mask in (
            (Op.NATURAL, self.least[0]), (Op.POSITIVE, self.least[1]), (Op.BOUNDED, self.bounded),
        ):  # fmt: skip
            if mask:
                yield from (operation, *mask.to_bytes(4, "little"))

    def _range_of(self, each: Field) -> None:
        found = None if each.dtype is DType.F32 else _range(each.meaning)
        if found is not None:
            self._requirement(f"{found[0]} <= {each.name} <= {found[1]}")
        elif "zero_point" in each.name and each.dtype is DType.S32:
            self.bounded |= 1 << self._word(each.name)

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
        self.made += bytes((Op.ARRAY, self._word(each.name), size))
        self.arrays[each.name] = count
        below = _BELOW.search(each.meaning)
        if below is not None and size == 8:
            self.made += bytes((Op.BELOW, int(below[1])))
        if limits is not None and each.dtype is not None and each.dtype is not DType.F32 and size <= 4:
            if (limits[0], _value(limits[1])) == ("0", _MOST):
                self.made.append(Op.WHOLE)
                return
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
        nullable = 0
        if text.endswith(" or some null"):
            nullable = _SOME_NULLABLE
        elif text.endswith(" or null"):
            nullable = _NULLABLE
        text = text.removesuffix(" or some null").removesuffix(" or null")
        text, _, size = text.partition(" of_bytes ")
        several, between, count = text.rpartition(" of ")
        pointers, _, elements = count.partition(" x ")
        if between:
            self._push(several)
        self._group(Op.GROUPS if between else Op.GROUP, pointers, elements, int(size or self.input_bytes), nullable)

    def _output(self, text: str) -> None:
        count, _, size = text.partition(" of_bytes ")
        self._group(Op.GROUP, "1", count, int(size or self.output_bytes), _OUTPUT)

    def _state(self, text: str) -> None:
        count, _, size = text.partition(" of ")
        self._group(Op.GROUP, "1", count, int(size or 1), _STATE)

    def _group(self, operation: Op, pointers: str, elements: str, size: int, kind: int) -> None:
        self._push(pointers)
        self._push(elements)
        self.made += bytes((operation, size.bit_length() - 1 | kind))

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
        self.made += bytes((Op.EACH, self._word(first), self._word(second), size))

    def _from_table(self, role: str, name: str, text: str) -> None:
        """Writes the inputs or outputs whose sizes an array has."""
        nullable = _NULLABLE if text.endswith(" or null") else 0
        count, _, times = text.removesuffix(" or null").partition(" times ")
        if role == "output":
            self.made.append(Op.TABLE_OUTPUT)
            return
        self._push(count)
        if role != "outputs":
            self._push(times or "1")
        self._select(name)
        if role == "inputs":
            self.made += bytes((Op.TABLE_INPUTS, nullable))
        elif role == "outputs":
            self.made.append(Op.TABLE_OUTPUTS)
        else:
            raise InternalError(f"{self.kind.__name__}: no line of a contract: {role} from {name}")

    def _select(self, name: str, count: str = "") -> None:
        """Writes that an array, which was checked before, or its first elements, is the last one again."""
        if name not in self.arrays:
            raise InternalError(f"{self.kind.__name__} has no array {name}")
        each = next(each for each in self.kind.fields if each.name == name)
        self._push(count or self.arrays[name])
        self.made += bytes((Op.ARRAY, self._word(name), 1 if each.dtype is None else each.dtype.size_bytes))

    def _requirement(self, text: str) -> None:
        tree = self._parsed(text)
        if not isinstance(tree, ast.Compare):
            raise InternalError(f"{self.kind.__name__}: no comparison: {text}")
        if self._is_range(tree) or self._is_multiple(tree):
            return
        left = tree.left
        for sign, right in zip(tree.ops, tree.comparators, strict=True):
            self._below(left, right, sign)
            if isinstance(sign, ast.Eq):
                self._below(right, left, sign)
            left = right

    def _is_multiple(self, tree: ast.Compare) -> bool:
        """Writes `a == a // b * b`: one is a multiple of the other; False if it says something else."""
        right = tree.comparators[0]
        if (
            len(tree.ops) != 1
            or not isinstance(tree.ops[0], ast.Eq)
            or not isinstance(right, ast.BinOp)
            or not isinstance(right.op, ast.Mult)
            or not isinstance(right.left, ast.BinOp)
            or not isinstance(right.left.op, ast.FloorDiv)
            or ast.unparse(right.left.left) != ast.unparse(tree.left)
            or ast.unparse(right.left.right) != ast.unparse(right.right)
        ):
            return False
        self._expression(tree.left)
        self._expression(right.right)
        self.made.append(Op.MULTIPLE)
        return True

    def _below(self, low: ast.expr, high: ast.expr, sign: ast.cmpop) -> None:
        """Writes that one expression is not above another one, or is below it."""
        self._expression(low)
        self._expression(high)
        if isinstance(sign, ast.Lt):
            self.made.append(Op.LESS)
        self.made.append(Op.LE)

    def _is_range(self, tree: ast.Compare) -> bool:
        """Writes a range of 32-bit numbers, `low <= field` or `low <= field <= high`, in few bytes; False if it is none.

        `low <= min(field, ...)` is a range of each of them.
        """
        words = {each.name for each in self.kind.fields if each.kind is FieldKind.NUMBER and each.dtype is DType.S32}
        names = _least_of(tree.comparators[0])
        low = _constant(tree.left)
        high = _MOST if len(tree.comparators) == 1 else _constant(tree.comparators[-1])
        if (
            not names
            or not words.issuperset(names)
            or low is None
            or high is None
            or len(tree.comparators) > 2
            or (len(tree.comparators) == 2 and len(names) != 1)
            or not all(isinstance(each, ast.LtE) for each in tree.ops)
        ):
            return False
        numbers = [self._word(name) for name in names]
        if high == _MOST and low in self.least and max(numbers) < 32:
            for number in numbers:
                self.least[low] |= 1 << number
        elif low >= -128 and high < 128:
            self.made += bytes((Op.BETWEEN, numbers[0], low & 0xFF, high & 0xFF))
        else:
            return False
        return True

    def _push(self, text: str) -> None:
        self._expression(self._parsed(text))

    def _parsed(self, text: str) -> ast.expr:
        """Returns an expression, in which the bytes of elements are numbers."""
        for name, size in (("input_bytes", self.input_bytes), ("output_bytes", self.output_bytes)):
            text = re.sub(rf"\b{name}\b", str(size), text)
        return ast.parse(text.strip(), mode="eval").body

    def _expression(self, node: ast.expr) -> None:
        """Writes the operations that push an expression; one that has a name is computed once."""
        text = ast.unparse(node)
        if text in self.known:
            self.made.append(Op.GET + self.named.index(text))
            return
        begin = len(self.made)
        self._computed(node)
        self.parts[text] += 1
        self.sizes[text] = len(self.made) - begin
        if text in self.named:
            self.made.append(Op.SET + self.named.index(text))
            self.known.add(text)

    def _computed(self, node: ast.expr) -> None:
        binary = {ast.Add: Op.ADD, ast.Sub: Op.SUB, ast.Mult: Op.MUL, ast.FloorDiv: Op.DIV}
        constant = _constant(node)
        if constant is not None:
            self._number(constant)
        elif isinstance(node, ast.Name):
            self._name(node.id)
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub) and _constant(node.right) == 1:
            self._expression(node.left)
            self.made.append(Op.LESS)
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
            self.made += bytes((Op.MOST_SUM, self._word(first), self._word(second)))
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
            if dtype is DType.S16:
                self.made.append(Op.HALF + self._offset(name) // 2)
            else:
                self.made.append(Op.WORD + self._word(name))
        elif name in words:
            self.made.append(words[name])
        else:
            raise InternalError(f"{self.kind.__name__} has no number {name}")

    def _number(self, value: int) -> None:
        exponent = max(abs(value), abs(value + 1)).bit_length() - 1
        if LEAST_NUMBER <= value <= MOST_NUMBER:
            self.made.append(Op.NUMBER + value - LEAST_NUMBER)
        elif -128 <= value < 128:
            self.made += bytes((Op.SMALL, value & 0xFF))
        elif value in (1 << exponent, (1 << exponent) - 1) and exponent <= 30:
            self.made += bytes((Op.NUMBER + exponent - LEAST_NUMBER, Op.POWER))
            self.made += bytes((Op.LESS,)) if value & 1 else b""
        elif value == -1 << exponent and exponent <= 30:
            self._number(0)
            self._number(-value)
            self.made.append(Op.SUB)
        else:
            self.made += bytes((Op.LARGE, *value.to_bytes(4, "little", signed=True)))

    def _word(self, name: str) -> int:
        """The number of a field among the 32-bit words of the struct."""
        return self._offset(name) // 4

    def _offset(self, name: str) -> int:
        """The offset of a field where pointers have 4 bytes."""
        layout = Layout.of(self.kind)
        return dict(zip((each.name for each in self.kind.fields), layout.offsets, strict=True))[name]


def contract_bytes(
    kernel: str, kind: type[Params], input_bytes: int, output_bytes: int, without: frozenset[str] = frozenset()
) -> bytes:
    """Returns the contract of a kernel as bytes.

    Args:
        kernel: its name.
        kind: the class of its parameters.
        input_bytes: of an element that its rows have; 1 where it takes `void`.
        output_bytes: the same of its output.
        without: the parts of its files that are left out: calls that need one do not keep to the contract.

    Raises:
        InternalError: a line is none, or names what there is not.
    """
    first = _Compiler(kernel, kind, input_bytes, output_bytes, without)
    shortest, named = first.written(), tuple[str, ...]()
    repeated = [each for each in first.sizes if first.parts[each] > 1 and first.sizes[each] > 1]
    for each in sorted(repeated, key=lambda each: (first.parts[each] - 1) * (first.sizes[each] - 1), reverse=True):
        tried = (*named, each)
        made = _Compiler(kernel, kind, input_bytes, output_bytes, without, tried).written()
        if len(made) < len(shortest) and len(tried) <= NAMES:
            shortest, named = made, tried
    return shortest


def needed_parts(params: Params) -> frozenset[str]:
    """Returns the macros of the parts of a kernel's files that a call with these parameters needs."""
    integers = (DType.S32, DType.S16, DType.U32)
    numbers = {
        each.name: int(getattr(params, each.name))
        for each in params.fields
        if each.dtype in integers and not each.is_pointer
    }
    return frozenset(
        part for part, requirements in params.parts.items() if not all(_holds(each, numbers) for each in requirements)
    )


def _holds(text: str, numbers: Mapping[str, int]) -> bool:
    """True if a comparison of two expressions is true."""
    tree = ast.parse(text, mode="eval").body
    if not isinstance(tree, ast.Compare) or len(tree.ops) != 1:
        raise InternalError(f"no comparison of two expressions: {text}")
    low, high = (_computed(each, numbers) for each in (tree.left, tree.comparators[0]))
    sign = tree.ops[0]
    return low == high if isinstance(sign, ast.Eq) else low < high if isinstance(sign, ast.Lt) else low <= high


def _computed(node: ast.expr, numbers: Mapping[str, int]) -> int:
    """The value of an expression of numbers that have names."""
    if isinstance(node, ast.Name):
        return numbers[node.id]
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("max", "min"):
        values = [_computed(each, numbers) for each in node.args]
        return max(values) if node.func.id == "max" else min(values)
    if not isinstance(node, ast.BinOp):
        found = _constant(node)
        if found is None:
            raise InternalError(f"no part of a requirement: {ast.unparse(node)}")
        return found
    left, right = _computed(node.left, numbers), _computed(node.right, numbers)
    if isinstance(node.op, ast.FloorDiv):
        return left // right
    return {ast.Add: left + right, ast.Sub: left - right, ast.Mult: left * right}[type(node.op)]


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


def _value(text: str) -> int | None:
    """The value of a text of whole numbers alone."""
    return _constant(ast.parse(text, mode="eval").body)


def _least_of(node: ast.expr) -> list[str]:
    """The names whose least one is meant: one, or those of `min(...)`; none for anything else."""
    if isinstance(node, ast.Name):
        return [node.id]
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "min":
        names = [_least_of(each) for each in node.args]
        return [name for each in names for name in each] if all(names) else []
    return []


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


_OF_COLUMNS = {
    "least": Op.LEAST,
    "most": Op.MOST,
    "product": Op.PRODUCT,
    "highest": Op.HIGHEST,
    "lowest": Op.LOWEST,
}
"""The operations of the functions of an array's columns."""
