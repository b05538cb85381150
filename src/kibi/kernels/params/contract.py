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
where the kernel takes `void`. Expressions have fields, whole numbers, `+ - * // %`, brackets, and

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
too, and `any name` drops the range of a number. A zero point of 32 bits without a range is below 2**30, and at least -2**30.
"""

import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import combinations

from kibi.dtypes import DType
from kibi.errors import InternalError
from kibi.kernels.params.contract_operations import INPUT, NULLS, OUTPUT, SOME_NULLS, STATE, Op
from kibi.kernels.params.contract_stack import OF_COLUMNS, Stack, number_byte
from kibi.kernels.params.contract_text import call_of, constant, least_of, lines_of, parsed, range_of
from kibi.kernels.params.description import Field, FieldKind, Params

_SHAPE = re.compile(r"(?:\[[^\]]*\])+")
_SIZE = re.compile(r"\[([^\]]*)\]")
_BELOW = re.compile(r"below 2\*\*(\d+) in magnitude")
_LEAST, _MOST = -(1 << 31), (1 << 31) - 1
_ZERO_POINT = (-(1 << 30), (1 << 30) - 1)
"""The range of zero points that have none: elements are subtracted from them."""


@dataclass(frozen=True, slots=True)
class _Array:
    """An array of the parameters: how many elements it has, and their range; None for any."""

    of: Field
    count: ast.expr
    limits: tuple[ast.expr, ast.expr] | None


@dataclass
class _Compiler:
    """Writes the bytes of one kernel's contract.

    Attributes:
        kernel: its name.
        kind: the class of its parameters.
        input_bytes, output_bytes: of an element.
        without: the parts of its files that are left out.
        stack: the bytes, and what they leave on the stack.
        ranges: of parameters whose least or most value is a number.
        others: comparisons that are not ranges.
    """

    kernel: str
    kind: type[Params]
    input_bytes: int
    output_bytes: int
    without: frozenset[str]
    stack: Stack
    ranges: dict[str, tuple[int, int]] = field(default_factory=dict)
    others: list[ast.Compare] = field(default_factory=list)

    def written(self) -> bytes:
        """Returns the bytes: ranges of parameters, arrays, groups, and all other lines."""
        lines = lines_of(self.kind, self.kernel)
        absent = (needs for part, needs in self.kind.parts.items() if part in self.without)
        lines += [f"require: {each}" for needs in absent for each in needs]
        dropped = {line.removeprefix("any ").strip() for line in lines if line.startswith("any ")}
        given = dict(line.removeprefix("array ").split(":", 1) for line in lines if line.startswith("array "))
        for each in self.kind.fields:
            if each.kind is FieldKind.NUMBER and each.name not in dropped:
                self._range_of(each)
        for line in lines:
            if line.startswith("require:"):
                self._requirement(line.removeprefix("require:"))
        self._ranges()
        self._arrays(given)
        roles = ("input", "rest", "state", "output")  # as groups are in a file; then all other lines
        kept = [line for line in lines if not line.startswith(("any ", "array ", "require:"))]
        for line in sorted(
            kept, key=lambda line: next((k for k, role in enumerate(roles) if line.startswith(role)), 4)
        ):
            self._line(line)
        remainders = [each.left for each in self.others if _is_no_remainder(each)]
        if remainders:  # none is negative: the sum is 0 if each is, and else it is not, or too large
            self._below(_sum(remainders), ast.Constant(0))
        for tree in self.others:
            if not _is_no_remainder(tree):
                self._comparison(tree)
        return bytes((self.stack.field_bytes, *self.stack.made, Op.END))

    def _parsed(self, text: str) -> ast.expr:
        """Returns an expression, in which the bytes of elements are numbers."""
        for name, size in (("input_bytes", self.input_bytes), ("output_bytes", self.output_bytes)):
            text = re.sub(rf"\b{name}\b", str(size), text)
        return parsed(text)

    # Ranges of parameters.

    def _range_of(self, each: Field) -> None:
        found = None if each.dtype is DType.F32 else range_of(each.meaning)
        if found is not None:
            self._requirement(f"{found[0]} <= {each.name} <= {found[1]}")
        elif "zero_point" in each.name and each.dtype is DType.S32:
            self._limit(each.name, *_ZERO_POINT)

    def _limit(self, name: str, low: int, high: int) -> None:
        found = self.ranges.get(name, (_LEAST, _MOST))
        self.ranges[name] = max(found[0], low), min(found[1], high)

    def _requirement(self, text: str) -> None:
        """Notes a comparison as the range of a parameter, or for later: `low <= min(field, ...)` is the range of each."""
        tree = self._parsed(text)
        if not isinstance(tree, ast.Compare):
            raise InternalError(f"{self.kind.__name__}: no comparison: {text}")
        signed = {
            each.name
            for each in self.kind.fields
            if each.kind is FieldKind.NUMBER and each.dtype in (DType.S32, DType.S16)
        }
        parts = [tree.left, *tree.comparators]
        is_chain = any(constant(each) is None for each in parts[:1] + parts[2:]) and len(parts) > 2
        for low, sign, high in zip(parts, tree.ops, parts[1:], strict=False):
            least, most, strict = constant(low), constant(high), int(isinstance(sign, ast.Lt))
            if is_chain or isinstance(sign, ast.Eq):  # a comparison leaves what the next one begins with
                self.others.append(ast.Compare(low, [sign], [high]))
            elif least is not None and least_of(high) and signed.issuperset(least_of(high)):
                for name in least_of(high):
                    self._limit(name, least + strict, _MOST)
            elif most is not None and isinstance(low, ast.Name) and low.id in signed:
                self._limit(low.id, _LEAST, most - strict)
            else:
                self.others.append(ast.Compare(low, [sign], [high]))

    def _ranges(self) -> None:
        """Writes the ranges of parameters: those of many as a mask, those of few as comparisons."""
        self.stack.limited = {name for name, (low, _) in self.ranges.items() if low != _LEAST}
        for low, high, names in _planned(self.ranges):
            numbers = [self.stack.number_of(name) for name in names]
            if _chain_bytes(low, high) * len(names) <= _mask_bytes(low, high) or max(numbers) >= 32:
                for name in names:
                    self._chain(low, name, high)
                continue
            self.stack.top(ast.Constant(high))
            self.stack.push(ast.Constant(low))
            self.stack.operation(Op.FIELDS, *sum(1 << number for number in numbers).to_bytes(4, "little"))
            self.stack.selected = ("", "")

    def _chain(self, low: int, name: str, high: int) -> None:
        """Writes the range of one parameter as comparisons."""
        if low != _LEAST:
            self._below(ast.Constant(low), ast.Name(name))
        if high != _MOST:
            self._below(ast.Name(name), ast.Constant(high))

    # Arrays.

    def _arrays(self, given: dict[str, str]) -> None:
        """Writes the elements and the ranges of all arrays: of those with as many elements, those without a range come first."""
        arrays = [
            self._array(each, given.pop(each.name, None)) for each in self.kind.fields if each.kind is FieldKind.ARRAY
        ]
        if given:
            raise InternalError(f"{self.kind.__name__} has no array called {', '.join(given)}")
        counts = list(dict.fromkeys(ast.unparse(each.count) for each in arrays))
        for each in sorted(
            arrays,
            key=lambda each: (
                _needs_array(each.count), counts.index(ast.unparse(each.count)), each.limits is not None,
            ),
        ):  # fmt: skip
            if each.limits is not None:
                self.stack.prepare(*each.limits)
            self.stack.arrays[each.of.name] = each.count
            self.stack.array(each.of.name, each.count)
            below = _BELOW.search(each.of.meaning)
            if below is not None and each.of.dtype is DType.S64:
                self.stack.operation(Op.BELOW, int(below[1]))
            if each.limits is not None:
                self._within(*each.limits)

    def _array(self, each: Field, given: str | None) -> _Array:
        limits = None if each.is_packed else range_of(each.meaning)
        if given is not None:
            count, _, text = given.partition(" in ")
            low, _, high = text.partition(" … ")
            limits = (low, high) if text else limits
        else:
            shape = _SHAPE.match(each.meaning)
            if shape is None:
                raise InternalError(f"{self.kind.__name__}.{each.name}: no shape; add `array {each.name}: elements`")
            count = " * ".join(f"({size.replace(' / ', ' // ')})" for size in _SIZE.findall(shape[0]))
        has_range = (
            limits is not None and each.dtype is not None and each.dtype is not DType.F32 and each.dtype.size_bytes <= 4
        )
        return _Array(
            each,
            self._parsed(count),
            (self._parsed(limits[0]), self._parsed(limits[1])) if has_range and limits else None,
        )

    def _within(self, low: ast.expr, high: ast.expr) -> None:
        """Writes the range of the last array."""
        self.stack.push(high)
        self.stack.push(low)
        self.stack.operation(Op.RANGE)

    # Lines.

    def _line(self, line: str) -> None:
        key, _, text = line.partition(":")
        if line == "rest":
            self.stack.operation(Op.REST)
            return
        if " from " in key:
            role, _, name = key.partition(" from ")
            self._from_table(role, name, text.strip())
            return
        writers = {
            "input": self._input, "inputs": self._input, "output": self._output, "state": self._state, "scratch": self._scratch,
            "aligned": self._aligned, "each": self._each,
        }  # fmt: skip
        if key not in writers or not text:
            raise InternalError(f"{self.kind.__name__}: no line of a contract: {line}")
        writers[key](text.strip())

    def _input(self, text: str) -> None:
        nullable = 0
        if text.endswith(" or some null"):
            nullable = SOME_NULLS
        elif text.endswith(" or null"):
            nullable = NULLS
        text = text.removesuffix(" or some null").removesuffix(" or null")
        text, _, size = text.partition(" of_bytes ")
        several, _, count = text.rpartition(" of ")
        pointers, _, elements = count.partition(" x ")
        self._group(several, pointers, elements, int(size or self.input_bytes), INPUT | nullable)

    def _output(self, text: str) -> None:
        count, _, size = text.partition(" of_bytes ")
        self._group("", "1", count, int(size or self.output_bytes), OUTPUT)

    def _state(self, text: str) -> None:
        count, _, size = text.partition(" of ")
        self._group("", "1", count, int(size or 1), STATE)

    def _group(self, several: str, pointers: str, elements: str, size: int, kind: int) -> None:
        nodes = [self._parsed(each) for each in (several, elements, pointers) if each]
        self.stack.prepare(*nodes)
        self.stack.top(nodes[0])
        for node in nodes[1:]:
            self.stack.push(node)
        self.stack.operation(Op.GROUPS if several else Op.GROUP, size.bit_length() - 1 | kind)

    def _scratch(self, text: str) -> None:
        count, _, alignment = text.partition(" aligned ")
        self._pushed(self._parsed(count))
        size = self.output_bytes if alignment == "output_bytes" else int(alignment or 1)
        self.stack.operation(Op.SCRATCH, size - 1)

    def _aligned(self, text: str) -> None:
        number, _, alignment = text.partition(" to ")
        self._pushed(self._parsed(number), self._parsed(alignment))
        self.stack.operation(Op.ALIGNED)

    def _each(self, text: str) -> None:
        first, _, second = (word.strip() for word in text.partition("<="))
        self._pushed(self.stack.arrays[first])
        self.stack.operation(Op.EACH, self.stack.packed(first), self.stack.packed(second))
        self.stack.selected = ("", "")

    def _from_table(self, role: str, name: str, text: str) -> None:
        """Writes the inputs or outputs whose sizes an array has."""
        nullable = NULLS if text.endswith(" or null") else 0
        count, _, times = text.removesuffix(" or null").partition(" times ")
        if role == "output":
            self.stack.operation(Op.TABLE_OUTPUT)
            return
        nodes = [self._parsed(count), *([] if role == "outputs" else [self._parsed(times or "1")])]
        self.stack.prepare(*nodes)
        self.stack.select(name)
        for node in nodes:
            self.stack.push(node)
        if role == "inputs":
            self.stack.operation(Op.TABLE_INPUTS, INPUT | nullable)
        elif role == "outputs":
            self.stack.operation(Op.TABLE_OUTPUTS)
        else:
            raise InternalError(f"{self.kind.__name__}: no line of a contract: {role} from {name}")

    def _pushed(self, *nodes: ast.expr) -> None:
        self.stack.prepare(*nodes)
        for node in nodes:
            self.stack.push(node)

    # Comparisons.

    def _comparison(self, tree: ast.Compare) -> None:
        """Writes that one expression is not above another one, or is below it, or equals it."""
        low, sign, high = tree.left, tree.ops[0], tree.comparators[0]
        if isinstance(sign, ast.Eq) and constant(high) is not None:
            low, high = high, low
        least, call = constant(low), call_of(high)
        if isinstance(sign, ast.Lt):
            self._strictly_below(low, high)
        elif call is not None and least is not None and (call[0] == "first" or (call[0] == "least" and least <= 0)):
            # The least of no elements is 0.
            if len(call[1]) != (1 if call[0] == "first" else 3) or (call[0] == "least" and constant(call[1][2]) != 1):
                raise InternalError(f"{self.kind.__name__}: no function of contracts: {ast.unparse(high)}")
            self.stack.prepare(high)
            self._within(low, ast.Constant(_MOST))
        elif constant(high) == _MOST:  # larger numbers are refused as soon as they are computed
            self._pushed(low)
        else:
            self._below(low, high)
            if isinstance(sign, ast.Eq):
                self.stack.push(low)
                self.stack.operation(Op.LE, leaves=ast.unparse(low))

    def _strictly_below(self, low: ast.expr, high: ast.expr) -> None:
        least, most = constant(low), constant(high)
        if most is not None:
            self._below(low, ast.Constant(most - 1))
        elif least is not None:
            self._below(ast.Constant(least + 1), high)
        else:
            self._below(low, ast.BinOp(high, ast.Sub(), ast.Constant(1)))

    def _below(self, low: ast.expr, high: ast.expr) -> None:
        self.stack.prepare(low, high)
        self.stack.top(low)
        self.stack.push(high)
        self.stack.operation(Op.LE, leaves=ast.unparse(high))


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
    first = Stack(kind)
    shortest, named = _Compiler(kernel, kind, input_bytes, output_bytes, without, first).written(), tuple[str, ...]()
    repeated = [each for each in first.sizes if first.parts[each] > 1 and first.sizes[each] > 1]
    for each in sorted(repeated, key=lambda each: (first.parts[each] - 1) * (first.sizes[each] - 1), reverse=True):
        tried = (*named, each)
        made = _Compiler(kernel, kind, input_bytes, output_bytes, without, Stack(kind, tried)).written()
        if len(made) < len(shortest):
            shortest, named = made, tried
    return shortest


def _planned(ranges: Mapping[str, tuple[int, int]]) -> list[tuple[int, int, list[str]]]:
    """Returns ranges with their parameters, so that they take few bytes.

    Parameters that share their least value alone may be in one range, and their most values in others.
    """
    lows = sorted({low for low, _ in ranges.values() if low != _LEAST})
    plans = (_divided(ranges, shared) for count in range(len(lows) + 1) for shared in combinations(lows, count))
    return min(plans, key=lambda plan: sum(_range_bytes(*each) for each in plan))


def _divided(ranges: Mapping[str, tuple[int, int]], shared: tuple[int, ...]) -> list[tuple[int, int, list[str]]]:
    """The ranges, where parameters with those least values share one range for each."""
    groups: dict[tuple[int, int], list[str]] = {}
    for name, limits in ranges.items():
        groups.setdefault(limits, []).append(name)
    for (low, high), names in list(groups.items()):
        if low in shared and high != _MOST and _range_bytes(_LEAST, high, names) < _range_bytes(low, high, names):
            groups.setdefault((low, _MOST), []).extend(names)
            groups.setdefault((_LEAST, high), []).extend(groups.pop((low, high)))
    return sorted(((*limits, names) for limits, names in groups.items()), key=lambda each: (-each[1], -each[0]))


def _range_bytes(low: int, high: int, names: list[str]) -> int:
    """The bytes of the range of some parameters, about."""
    return min(_mask_bytes(low, high), _chain_bytes(low, high) * len(names))


def _mask_bytes(low: int, high: int) -> int:
    """The bytes of a mask of parameters in a range; most masks have the same most value, which is pushed once."""
    return 5 + _bytes(low) + (_bytes(high) if high != _MOST else 0)


def _chain_bytes(low: int, high: int) -> int:
    """The bytes of the range of one parameter as comparisons."""
    has_low, has_high = low != _LEAST, high != _MOST
    return (has_low or has_high) + has_low * (1 + _bytes(low)) + has_high * (1 + _bytes(high))


def _bytes(value: int) -> int:
    """The bytes that push a number, about."""
    return 1 if number_byte(value) is not None else 3


def _is_no_remainder(tree: ast.Compare) -> bool:
    """True if a comparison says that a remainder is 0."""
    left = tree.left
    is_remainder = isinstance(left, ast.BinOp) and isinstance(left.op, ast.Mod)
    return is_remainder and isinstance(tree.ops[0], ast.Eq) and constant(tree.comparators[0]) == 0


def _sum(nodes: list[ast.expr]) -> ast.expr:
    found = nodes[0]
    for node in nodes[1:]:
        found = ast.BinOp(found, ast.Add(), node)
    return found


def _needs_array(count: ast.expr) -> bool:
    """True if an array's elements follow from another array, which is checked first then."""
    calls = (call_of(each) for each in ast.walk(count) if isinstance(each, ast.expr))
    return any(call is not None and call[0] in (*OF_COLUMNS, "first", "most_sum") for call in calls)
