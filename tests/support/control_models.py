"""Drawn models of operators that run subgraphs: branches and turns that copy, add, clip, and run such operators again."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from kibi.dtypes import Array, DType
from kibi.frontends.tflite.builder import ModelBuilder
from tests.support.case import Case, drawn_shape
from tests.support.choices import Choices, elements, flip

_MOST_TURNS = 4
_DEEPEST = 2
_QUANTIZATION = {DType.S8: (0.1, 3), DType.S16: (0.01, 0)}


@dataclass(frozen=True, slots=True)
class _Value:
    """The type of a tensor that is passed around."""

    shape: tuple[int, ...]
    dtype: DType

    def add_to(self, b: ModelBuilder, *, is_input: bool = False) -> int:
        """A tensor of this type."""
        quantization = _QUANTIZATION.get(self.dtype, (None, None))
        return (b.input if is_input else b.tensor)(self.shape, self.dtype, *quantization)

    def constant(self, c: Choices, b: ModelBuilder) -> int:
        """A constant of this type."""
        return b.constant(_data(c, self), *_QUANTIZATION.get(self.dtype, (None, None)))


_FLAGS = _Value((1, _MOST_TURNS), DType.BOOL)
_ADDED = (DType.S8, DType.S16, DType.S32, DType.F32)


@dataclass(slots=True)
class _Subgraphs:
    """The subgraphs that are still to be written: an operator names them by their numbers, which count from the main one."""

    c: Choices
    b: ModelBuilder = field(default_factory=ModelBuilder)
    waiting: list[Callable[[], Sequence[int]]] = field(default_factory=list)
    count: int = 1

    def later(self, inputs: Sequence[_Value], write: Callable[[list[int]], Sequence[int]]) -> int:
        """The number of a subgraph of these inputs; `write` makes its operators and gives its outputs."""
        self.waiting.append(lambda: write([value.add_to(self.b, is_input=True) for value in inputs]))
        self.count += 1
        return self.count - 1

    def finish(self, outputs: Sequence[int]) -> bytes:
        """Write what waits, and the file."""
        while self.waiting:
            self.b.end_subgraph(outputs)
            outputs = self.waiting.pop(0)()
        return self.b.finish(outputs)


def conditional(c: Choices) -> Case:
    """IF with branches of any operators."""
    s, values = _Subgraphs(c), _values(c)
    shape = c.one_of(((), (1,), (1, 1)))
    condition = s.b.input(shape, DType.BOOL)
    inputs = [value.add_to(s.b, is_input=True) for value in values]
    outputs = _if(s, values, _some(c, values), condition, inputs, 1)
    return Case("IF", s.finish(outputs), (np.full(shape, flip(c)), *(_data(c, each) for each in values)))


def loop(c: Choices) -> Case:
    """WHILE of up to four turns."""
    s, values = _Subgraphs(c), _values(c)
    flags = _FLAGS.add_to(s.b, is_input=True)
    inputs = [value.add_to(s.b, is_input=True) for value in values]
    outputs = _while(s, values, flags, inputs, 1)
    turns = np.arange(_MOST_TURNS)[None, :] < c.integer(0, _MOST_TURNS)
    return Case("WHILE", s.finish(outputs), (turns, *(_data(c, each) for each in values)))


def _values(c: Choices) -> list[_Value]:
    """Types of up to three tensors, some of them the same."""
    values: list[_Value] = []
    for _ in range(c.integer(1, 3)):
        kind = c.one_of((DType.S8, *DType))
        new = _Value(drawn_shape(c, c.integer(0, 4), 4), kind)
        values.append(c.one_of((new, *values)))
    return values


def _data(c: Choices, value: _Value) -> Array:
    """Small whole numbers, which no sum makes too large."""
    data = elements(c, value.shape)
    return data > 0 if value.dtype is DType.BOOL else data.astype(value.dtype.numpy)


def _some(c: Choices, values: Sequence[_Value]) -> list[_Value]:
    """Some of them, at least one."""
    return [value for value in values if flip(c)] or [values[0]]


def _if(
    s: _Subgraphs, values: Sequence[_Value], given: Sequence[_Value], condition: int, inputs: Sequence[int], depth: int
) -> list[int]:
    """An IF whose branches take values and give others of the same types."""
    outputs = [value.add_to(s.b) for value in given]
    branches = [s.later(values, lambda passed: _made(s, values, given, passed, depth)) for _ in range(2)]
    numbers = {"then_subgraph_index": branches[0], "else_subgraph_index": branches[1]}
    s.b.operator("IF", [condition, *inputs], outputs, numbers)
    return outputs


def _while(s: _Subgraphs, values: Sequence[_Value], flags: int, inputs: Sequence[int], depth: int) -> list[int]:
    """A WHILE that carries flags, the first of which says whether another turn follows, and values."""
    carried = [_FLAGS, *values]

    def is_next(passed: list[int]) -> list[int]:
        first = s.b.tensor([1, 1], DType.BOOL)
        s.b.operator("STRIDED_SLICE", [passed[0], *_slice(s.b, 0, 1)], [first])
        return [first]

    def turn(passed: list[int]) -> list[int]:
        rest, shifted = s.b.tensor([1, _MOST_TURNS - 1], DType.BOOL), _FLAGS.add_to(s.b)
        s.b.operator("STRIDED_SLICE", [passed[0], *_slice(s.b, 1, _MOST_TURNS)], [rest])
        s.b.operator("CONCATENATION", [rest, s.b.constant(np.zeros((1, 1), bool))], [shifted], axis=1)
        return [shifted, *_made(s, values, values, passed[1:], depth)]

    outputs = [value.add_to(s.b) for value in carried]
    numbers = {"cond_subgraph_index": s.later(carried, is_next), "body_subgraph_index": s.later(carried, turn)}
    s.b.operator("WHILE", [flags, *inputs], outputs, numbers)
    return outputs[flip(s.c) :]


def _slice(b: ModelBuilder, begin: int, end: int) -> list[int]:
    """Begin, end and strides of flags."""
    return [b.constant(np.array(each, np.int32)) for each in ([0, begin], [1, end], [1, 1])]


def _made(
    s: _Subgraphs, values: Sequence[_Value], wanted: Sequence[_Value], passed: Sequence[int], depth: int
) -> list[int]:
    """Tensors of the wanted types from those that are passed: themselves, sums, constants, or what nested operators give."""
    there = dict(zip(passed, values, strict=True))
    if depth < _DEEPEST and flip(s.c):
        condition = s.b.constant(np.array([flip(s.c)]))
        given = _some(s.c, values)
        there |= dict(zip(_if(s, values, given, condition, passed, depth + 1), given, strict=True))
    return [_one(s, value, [index for index, kind in there.items() if kind == value]) for value in wanted]


def _one(s: _Subgraphs, value: _Value, same: Sequence[int]) -> int:
    """A tensor of a type."""
    how = s.c.one_of(("sum", "sum", "same", "constant"))
    if how == "constant":
        return value.constant(s.c, s.b)
    source = s.c.one_of(same)
    if how == "same" or value.dtype not in _ADDED:
        return source
    output = value.add_to(s.b)
    s.b.operator("ADD", [source, value.constant(s.c, s.b)], [output])
    return output


CONTROL_MODELS: Mapping[str, Callable[[Choices], Case]] = {"IF": conditional, "WHILE": loop}
"""How models of each operator are drawn."""
