"""Drawn models with resource variables: one of each operator, and networks that read and assign variables in any order."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from kibi.dtypes import Array, DType
from kibi.frontends.tflite.builder import ModelBuilder
from tests.support.case import Case, drawn_shape
from tests.support.choices import Choices, Seeded, elements, flip, scale, zero_point
from tests.support.moving_models import data_of

_DTYPES = (DType.S8, *DType)


def handle(b: ModelBuilder, name: str) -> int:
    """A VAR_HANDLE, and the tensor that it makes."""
    index = b.tensor([], "RESOURCE")
    b.operator("VAR_HANDLE", [], [index], container="", shared_name=name)
    return index


def initialized(b: ModelBuilder, outputs: Sequence[int], values: Mapping[str, Array]) -> bytes:
    """The file, with a second subgraph that assigns first values; the main one called it in front."""
    b.end_subgraph(outputs)
    for name, value in values.items():
        variable = handle(b, name)
        b.operator("ASSIGN_VARIABLE", [variable, b.constant(value)], [])
    return b.finish(outputs=[], inputs=[])


def call_once(b: ModelBuilder) -> None:
    """The call of the subgraph behind this one."""
    b.operator("CALL_ONCE", [], [], init_subgraph_index=1)


def variable(c: Choices) -> Case:
    """A variable with or without a first value: its old value and its new one are the outputs."""
    b, shape, dtype = ModelBuilder(), drawn_shape(c, c.integer(1, 4)), c.one_of(_DTYPES)
    data, has_first = data_of(c, shape, dtype), flip(c)
    if has_first:
        call_once(b)
    quantization = (scale(c), 0 if dtype is DType.S16 else zero_point(c)) if dtype in (DType.S8, DType.S16) else ()
    x, old, new = b.input(shape, dtype, *quantization), b.tensor(shape, dtype), b.tensor(shape, dtype)
    place = handle(b, "state")
    b.operator("READ_VARIABLE", [place], [old])
    b.operator("ASSIGN_VARIABLE", [place, x], [])
    b.operator("READ_VARIABLE", [place], [new])
    if has_first:
        return Case("VARIABLE", initialized(b, [old, new], {"state": data_of(c, shape, dtype)}), (data,))
    return Case("VARIABLE", b.finish([old, new]), (data,))


VARIABLE_MODELS: Mapping[str, Callable[[Choices], Case]] = {"ASSIGN_VARIABLE": variable, "READ_VARIABLE": variable}
"""How models of these operators are drawn."""

_QUANTIZATION = (0.0625, -3)


@dataclass(slots=True)
class _Stream:
    """A network while it is drawn.

    Attributes:
        c: decisions.
        shape: of all values.
        values: what has been computed, of that shape.
        handles: of the variables.
        read, assigned: variables that were.
    """

    c: Choices
    shape: tuple[int, ...]
    b: ModelBuilder = field(default_factory=ModelBuilder)
    values: list[int] = field(default_factory=list)
    handles: dict[str, int] = field(default_factory=dict)
    read: set[str] = field(default_factory=set)
    assigned: set[str] = field(default_factory=set)

    def tensor(self, shape: Sequence[int] = ()) -> int:
        """Another tensor of s8; all have the same scale, but for some that are read with another one."""
        return self.b.tensor(shape or self.shape, DType.S8, *_QUANTIZATION)

    def read_one(self) -> int:
        """Read a variable."""
        name = self.c.one_of(tuple(self.handles))
        is_odd = self.c.integer(0, 5) == 0
        output = self.b.tensor(self.shape, DType.S8, 0.125, 1) if is_odd else self.tensor()
        self.b.operator("READ_VARIABLE", [self.handles[name]], [output])
        self.read.add(name)
        if is_odd:  # what wants equal scales cannot take it
            odd, output = output, self.tensor()
            self.b.operator("ADD", [odd, self.c.one_of(self.values)], [output])
        return output

    def assign(self, name: str) -> None:
        """Assign a variable what is there."""
        self.b.operator("ASSIGN_VARIABLE", [self.handles[name], self.c.one_of(self.values)], [])
        self.assigned.add(name)

    def ring(self) -> int:
        """The last rows of two values one behind the other."""
        rows, more = self.shape[1], list(self.shape)
        more[1] = 2 * rows
        both, output = self.tensor(more), self.tensor()
        first = self.c.integer(0, rows)
        self.b.operator("CONCATENATION", [self.c.one_of(self.values), self.c.one_of(self.values)], [both], axis=1)
        bounds = [[0, first, 0, 0], [self.shape[0], first + rows, *self.shape[2:]], [1, 1, 1, 1]]
        constants = [self.b.constant(np.array(each, np.int32)) for each in bounds]
        self.b.operator("STRIDED_SLICE", [both, *constants], [output])
        return output

    def combine(self) -> int:
        """Two values, element by element."""
        name, output = self.c.one_of(("ADD", "MAXIMUM", "ADD")), self.tensor()
        self.b.operator(name, [self.c.one_of(self.values), self.c.one_of(self.values)], [output])
        return output

    def step(self) -> None:
        """One operator, or two."""
        what = self.c.one_of(("read", "assign", "ring", "combine", "read", "assign"))
        if what == "assign":
            self.assign(self.c.one_of(tuple(self.handles)))
        else:
            made = {"read": self.read_one, "ring": self.ring, "combine": self.combine}[what]
            self.values.append(made())


def stream(c: Choices, runs: int = 4) -> tuple[bytes, list[list[Array]]]:
    """A network of a few variables that are read and assigned in any order, and the inputs of several runs."""
    drawn = _Stream(c, (1, c.integer(1, 4), c.integer(1, 2), c.integer(1, 3)))
    b, first = drawn.b, {}
    names = [f"v{number}" for number in range(c.integer(1, 3))]
    has_first = flip(c)
    if has_first:
        call_once(b)
        first = {name: elements(c, drawn.shape) for name in names if flip(c)}
    drawn.values.append(b.input(drawn.shape, DType.S8, *_QUANTIZATION))
    drawn.handles.update({name: handle(b, name) for name in names})
    for _ in range(c.integer(3, 12)):
        drawn.step()
    for name in sorted(drawn.read - drawn.assigned - set(first)):
        drawn.assign(name)
    last = drawn.tensor()
    b.operator("ADD", [drawn.values[-1], c.one_of(drawn.values)], [last])
    outputs = [last, *([drawn.values[-1]] if len(drawn.values) > 1 and flip(c) else [])]
    inputs: list[list[Array]] = [[elements(Seeded(run), drawn.shape)] for run in range(runs)]
    return (initialized(b, outputs, first) if has_first else b.finish(outputs)), inputs
