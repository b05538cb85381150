"""What a kernel is called with: its parameters, and views of the bytes that it reads and writes, each checked."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from types import SimpleNamespace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from kibi.dtypes import DType
from kibi.kernels.params import PARAMS
from kibi.planfile.in_numpy.program import wrong

Bytes = NDArray[np.uint8]
Numbers = NDArray[Any]
"""Elements, or what is made of them: s64 or f32."""
Pointer = tuple[Bytes, int]
"""A memory, and the byte in it."""
Made = TypeVar("Made")
_TAGS = {dtype.value for dtype in DType}


def view(pointer: Pointer, count: int, dtype: np.dtype[Any]) -> NDArray[Any]:
    """Returns so many elements at a pointer, which are not copied.

    Raises:
        PlanError: they are not all in the memory.
    """
    memory, place = pointer
    size = count * dtype.itemsize
    if count < 0 or not 0 <= place <= len(memory) - size:
        raise wrong(f"a kernel needs bytes {place} to {place + size} of {len(memory)}")
    return memory[place : place + size].view(dtype)


@cache
def types_of(kernel: str) -> tuple[DType, DType]:
    """Returns the first and the last element type that a kernel's name has: of its input and its output."""
    tags = [DType(part) for part in kernel.split("_") if part in _TAGS]
    return tags[0], tags[-1]


@dataclass(frozen=True, slots=True)
class Body:
    """A graph that a kernel runs.

    Attributes:
        run: one inference in an arena; False if a loop inside of it reached its limit.
        inputs, outputs: the byte of the arena at which each begins.
    """

    run: Callable[[Bytes], bool]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]


@dataclass(slots=True)
class Call:
    """One step of a node.

    Attributes:
        kernel: the kernel's name.
        numbers: of its parameters, as attributes: `call.numbers.elements`.
        pointers: offsets of its constants, by name.
        file: the memory of constants.
        rows: pointers to the rows of all inputs, one after another; None: the row is outside, and nothing replaces it.
        outputs, states: pointers to the rows that it writes, and to its variables.
        scratch: its own memory; None: it has none.
        step: its number.
        bodies: the graphs that it runs.
        kept: of its node: what the kernel made of constants, once for all steps.
    """

    kernel: str
    numbers: SimpleNamespace
    pointers: Mapping[str, int]
    file: Bytes
    rows: list[Pointer | None]
    outputs: list[Pointer]
    states: list[Pointer]
    scratch: Bytes | None
    step: int
    bodies: Mapping[str, Body]
    kept: list[Any]

    def once(self, make: Callable[[], Made]) -> Made:
        """Returns what a function makes of the node's constants, which is made at the first step."""
        if not self.kept:
            self.kept.append(make())
        found: Made = self.kept[0]
        return found

    def array(self, name: str, *shape: int) -> NDArray[Any]:
        """Returns the constants of a field, of the type that the struct declares, in a shape."""
        field = next(each for each in PARAMS[self.kernel].fields if each.name == name)
        if field.dtype is None:
            raise wrong(f"{name} of {self.kernel} is no array")
        size = int(np.prod(shape, dtype=np.float64)) if all(each >= 0 for each in shape) else -1
        return view((self.file, self.pointers[name]), size, field.dtype.numpy).reshape(shape)

    def row(self, number: int, count: int, dtype: str) -> NDArray[Any]:
        """Returns elements at the pointer of a number."""
        found = self.optional(number, count, dtype)
        if found is None:
            raise wrong(f"{self.kernel} reads a row that is not there")
        return found

    def optional(self, number: int, count: int, dtype: str) -> NDArray[Any] | None:
        """The same; None if the row is outside."""
        if not 0 <= number < len(self.rows):
            raise wrong(f"{self.kernel} has {len(self.rows)} rows, and reads row {number}")
        pointer = self.rows[number]
        return None if pointer is None else view(pointer, count, np.dtype(dtype))

    def output(self, count: int, dtype: str, number: int = 0) -> NDArray[Any]:
        """Returns elements of an output, to be written."""
        return view(self.outputs[number], count, np.dtype(dtype))

    def write(self, values: NDArray[Any], number: int = 0) -> None:
        """Writes elements to an output, all after they were computed: it may overlap inputs."""
        elements = np.ascontiguousarray(values).reshape(-1)
        self.output(elements.size, elements.dtype.str, number)[:] = elements

    def state(self, number: int, count: int, dtype: str) -> NDArray[Any]:
        """Returns elements of a variable, to be read and written."""
        if number >= len(self.states):
            raise wrong(f"{self.kernel} has {len(self.states)} variables, and uses variable {number}")
        return view(self.states[number], count, np.dtype(dtype))

    def work(self, count: int, dtype: str, place: int = 0) -> NDArray[Any]:
        """Returns elements of the scratch."""
        if self.scratch is None:
            raise wrong(f"{self.kernel} has no scratch")
        return view((self.scratch, place), count, np.dtype(dtype))
