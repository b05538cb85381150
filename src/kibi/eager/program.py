"""Recorded programs: what a program by hand did with tensors and operators, as data, of which C can be made.

    with Context(ram=4096), record("edges") as program:
        ...                                    # tensors, operators, writes
    print(program.steps)

`kibi.compile_eager("build/", program=program)` writes the same program in C.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary, finalize

import numpy as np

from kibi.dtypes import Array
from kibi.eager.memory import HandleArena
from kibi.eager.notes import only, recorders
from kibi.eager.tensors import BufferTensor, CameraTensor, RamTensor, RomTensor, TensorInterface
from kibi.errors import InputError
from kibi.ir import Operator, TensorType
from kibi.text.c import name_problem

_KINDS: Mapping[str, type[TensorInterface]] = {
    "ram": RamTensor,
    "rom": RomTensor,
    "buffer": BufferTensor,
    "camera": CameraTensor,
}


@dataclass(frozen=True, slots=True, eq=False)
class RecordedTensor:
    """A tensor of a program.

    Attributes:
        number: how many tensors were made before it.
        name: its name in messages.
        type: shape, element type, quantization.
        kind: `ram`, `rom`, `buffer` or `camera`; else the name of its class.
        data: the elements of a `rom` tensor; None of others.
        keep: rows that a `camera` keeps; 0 of others.
    """

    number: int
    name: str
    type: TensorType
    kind: str
    data: Array | None = None
    keep: int = 0

    def to_array(self) -> Array:
        """The elements of a `rom` tensor, `[…shape]`; zeros of others, which may have any."""
        return np.zeros(self.type.shape, self.type.dtype.numpy) if self.data is None else self.data


@dataclass(frozen=True, slots=True)
class Made:
    """A tensor was made.

    Attributes:
        tensor: the tensor.
    """

    tensor: RecordedTensor


@dataclass(frozen=True, slots=True)
class Written:
    """The program has replaced bytes of a tensor.

    Attributes:
        tensor: the tensor.
        offset: from its first element on, in bytes.
        data: the bytes.
    """

    tensor: RecordedTensor
    offset: int
    data: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Evaluated:
    """An operator has been evaluated.

    Attributes:
        op: the operator.
        operands: its tensors, by the operator's names for them.
    """

    op: Operator
    operands: Mapping[str, RecordedTensor]


@dataclass(frozen=True, slots=True)
class Called:
    """An operator that is a function of tensors has been called: one of `kibi.eager.pools`, `legacy` or `normalization`.

    Attributes:
        name: the function's name.
        operands: its tensors, by the function's names for them; without those that are left out.
        options: its other arguments.
    """

    name: str
    operands: Mapping[str, RecordedTensor]
    options: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Freed:
    """A tensor was freed, or nobody had it any more.

    Attributes:
        tensor: the tensor.
    """

    tensor: RecordedTensor


@dataclass(frozen=True, slots=True)
class Rebalanced:
    """The program has had the blocks of the RAM arena moved together."""


@dataclass(frozen=True, slots=True)
class Stepped:
    """The program has called steps of an operator one by one.

    Attributes:
        op: the operator.
    """

    op: Operator


Step = Made | Written | Evaluated | Called | Freed | Rebalanced | Stepped
"""What a program does."""


@dataclass(slots=True)
class Program:
    """What a program did between the beginning and the end of a recording.

    Attributes:
        name: the name of the program, and of its function in C.
        steps: in their order.
    """

    name: str
    steps: tuple[Step, ...] = ()


class _Recording:
    """Writes the steps of a program down, without keeping any of its tensors alive."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._steps: list[Step | int] = []  # a number: the tensor was made here, and is described once it is used
        self._numbers: WeakKeyDictionary[TensorInterface, int] = WeakKeyDictionary()
        self._described: dict[int, RecordedTensor] = {}
        self._freed: set[int] = set()
        self._arenas: list[object] = []

    def created(self, tensor: TensorInterface) -> None:
        """Counts a tensor."""
        number = self._numbers[tensor] = sum(isinstance(step, int) for step in self._steps)
        self._steps.append(number)
        finalize(tensor, self._end, number).atexit = False

    def written(self, tensor: TensorInterface, offset: int, data: bytes) -> None:
        """Notes what was written to the RAM arena; buffers are the caller's, who writes to them there, too."""
        if not isinstance(tensor, RamTensor):
            return
        described, last = self._describe(tensor), self._steps[-1]
        if isinstance(last, Written) and last.tensor is described and last.offset + len(last.data) == offset:
            self._steps[-1] = Written(
                described, last.offset, last.data + data
            )  # rows that are written one after another
        else:
            self._steps.append(Written(described, offset, data))

    def freed(self, tensor: TensorInterface) -> None:
        """Notes the end of a tensor."""
        if tensor in self._numbers:
            self._describe(tensor)
            self._end(self._numbers[tensor])

    def evaluated(self, op: Operator, operands: Mapping[str, Any]) -> None:
        """Notes an operator with its operands."""
        self._steps.append(Evaluated(op, {name: self._describe(tensor) for name, tensor in operands.items()}))

    def called(self, name: str, arguments: Mapping[str, Any]) -> None:
        """Notes a function of tensors with its arguments."""
        tensors = {key: value for key, value in arguments.items() if isinstance(value, TensorInterface)}
        options = {key: value for key, value in arguments.items() if key not in tensors}
        self._steps.append(Called(name, {key: self._describe(each) for key, each in tensors.items()}, options))

    def stepped(self, op: Operator) -> None:
        """Notes a step."""
        self._steps.append(Stepped(op))

    def rebalanced(self, arena: HandleArena) -> None:
        """Notes a rebalance."""
        del arena
        self._steps.append(Rebalanced())

    def finish(self) -> None:
        """Hands the steps over; tensors that nothing was done with are left out."""
        for tensor in tuple(self._numbers):
            self._describe(tensor)
        steps: list[Step] = []
        for step in self._steps:
            if not isinstance(step, int):
                steps.append(step)
            elif step in self._described:
                steps.append(Made(self._described[step]))
        self._program.steps = tuple(steps)

    def _end(self, number: int) -> None:
        if number in self._described and number not in self._freed:
            self._freed.add(number)
            self._steps.append(Freed(self._described[number]))

    def _describe(self, tensor: TensorInterface) -> RecordedTensor:
        """The tensor as data.

        Raises:
            InputError: it was made before the recording began.
        """
        number = self._numbers.get(tensor)
        if number is None:
            raise InputError(
                f"the tensor {tensor.name!r} was made before the recording began. Make it inside the with-block of record()."
            )
        if number not in self._described:
            kind = next((name for name, each in _KINDS.items() if type(tensor) is each), type(tensor).__name__)
            data = np.array(tensor.to_array()) if kind == "rom" else None
            keep = tensor.keep if isinstance(tensor, CameraTensor) else 0
            self._described[number] = RecordedTensor(number, tensor.name, tensor.type, kind, data, keep)
        return self._described[number]


@contextmanager
def record(name: str = "program") -> Iterator[Program]:
    """Writes down what a with-block does with tensors, for `kibi.compile_eager`.

    Recorded are the tensors that are made, what the program writes to those in the RAM arena, operators that are evaluated, what
    is freed, and rebalances; not what the program reads, and not what it writes to buffers, which are the caller's. What raises
    an error is not recorded. Steps are there when the block ends.

    Args:
        name: of the program, and of its function in C: letters, digits and underscores.

    Raises:
        InputError: the name is no such name, or a tensor is used that was made before.
    """
    problem = name_problem(name)
    if problem:
        raise InputError(f"the program's name {name!r} {problem}")
    program = Program(name)
    recording = _Recording(program)
    with only((*recorders(), recording)):
        yield program
    recording.finish()
