"""Follows the order of a plan file's graphs, step by step."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np

from kibi.dtypes import Array
from kibi.errors import LimitError
from kibi.ops import While
from kibi.planfile.in_numpy.call import Body, Bytes, Call, Pointer, view
from kibi.planfile.in_numpy.program import Node, Place, Program, port_of, programs_of, variables_of, wrong
from kibi.planfile.in_numpy.registry import Kernel, numpy_kernels
from kibi.planfile.reader import PlanFile
from kibi.planfile.records import DIGEST_BYTES, Kind, Memory
from kibi.planfile.run_reader import FileRun

_DEPTH = 32
"""The most graphs inside one another."""


@dataclass(frozen=True, slots=True)
class _Running:
    """A graph that runs: the numbers of its memories are those of plan files."""

    program: Program
    memories: tuple[Bytes, ...]
    depth: int


class Machine:
    """A plan file with memories of its own.

    Args:
        file: the plan file.

    Raises:
        PlanError: the file is wrong, or asks for more memory than there is.
    """

    def __init__(self, file: PlanFile) -> None:
        self._file = file
        self._programs = programs_of(file)
        if not self._programs:
            raise wrong("it has no graph")
        nodes = [node for program in self._programs for node in program.nodes]
        self._kernels: Mapping[str, Kernel] = numpy_kernels({*file.kernels, *(each.kernel for each in nodes)} - {""})
        self._numbers = {id(node): SimpleNamespace(**node.numbers) for node in nodes}
        self._kept: dict[int, list[Any]] = {place: [] for place in self._numbers}
        constants = np.frombuffer(file.data, np.uint8)[:-DIGEST_BYTES]
        sizes = (file.arena_bytes, file.state_bytes, *file.externals)
        try:
            arena, state, *external = (np.zeros(size, np.uint8) for size in sizes)
        except MemoryError:
            raise wrong(f"it asks for {sum(sizes)} bytes of memory, more than there are") from None
        self._memories = (arena, state, constants, *external)
        self._steps_inside = 0
        self.reset()

    def reset(self) -> None:
        """Gives variables their first values."""
        for each in variables_of(self._file):
            self._memories[1][each.place : each.place + len(each.initial)] = np.frombuffer(each.initial, np.uint8)

    def run(self, inputs: Sequence[Array]) -> list[Array]:
        """Runs one inference; without outputs if an operator ended it early.

        Raises:
            PlanError: the file asks for what no model may.
            LimitError: a loop took too many iterations.
        """
        run = _Running(self._programs[0], self._memories, 0)
        self._steps_inside = 0
        received = list[Iterator[Bytes]]()
        if self._file.streams:
            received = [_rows(array, port.rows) for array, port in zip(inputs, self._file.inputs, strict=True)]
        else:
            for number, array in enumerate(inputs):
                _store(self._port(run, "input", number), np.frombuffer(array.tobytes(), np.uint8))
        if self._follow(run, received):
            return []
        return [
            self._port(run, "output", number).view(port.dtype.numpy).reshape(port.shape).copy()
            for number, port in enumerate(self._file.outputs)
        ]

    def _port(self, run: _Running, role: str, number: int) -> Array:
        """The bytes of an input or an output."""
        port = port_of(self._file, number + (0 if role == "input" else self._file.header["input_count"]))
        pointer = _pointer(run, (port["memory"], port["place"]))
        if pointer is None:
            raise wrong(f"{role} {number} is nowhere")
        return view(pointer, port["bytes"], np.dtype(np.uint8))

    def _follow(self, run: _Running, received: Sequence[Iterator[Bytes]] = ()) -> bool:
        """Follows the runs to their end; True if a node ended it early.

        Raises:
            LimitError: a loop reached its limit.
        """
        left = sum(node.steps for node in run.program.nodes)
        done = [0] * len(run.program.nodes)
        for each in run.program.runs:
            node, left = run.program.nodes[each.node], left - each.steps
            if left < 0 or each.first + each.steps > node.steps:
                raise wrong("a run has more steps than its node")
            if Kind.COUNTS in node.kind and each.first != done[each.node]:
                raise wrong(f"the order has step {each.first} of a node after {done[each.node]} steps")
            done[each.node] += each.steps
            for further in range(each.steps):
                if Kind.RECEIVES not in node.kind:
                    self._step(run, node, each, further)
                elif each.node >= len(received):
                    raise wrong("a node receives the rows of an input that there is not")
                else:
                    _receive(run, node, each, received[each.node])
            if Kind.EXITS in node.kind and each.first + each.steps == node.steps and _ends(run, node, each):
                return True
        return False

    def _step(self, run: _Running, node: Node, each: FileRun, further: int) -> None:
        """Calls a kernel for one step."""
        self._steps_inside += run.depth > 0
        if self._steps_inside > While.most_steps:
            raise LimitError(f"a loop of {self._file.name}, in NumPy,", While.most_turns, self._steps_inside)
        pointers = [_pointer(run, run.program.place(each, number, further)) for number in range(len(each.entries))]
        rows = sum(group.count for group in node.groups[: node.reads])
        written = [pointer for pointer in pointers[rows:] if pointer is not None]
        if len(written) != len(pointers) - rows:
            raise wrong("an output is a null pointer")
        arena, scratch = run.memories[0], None
        if node.scratch is not None:
            if node.scratch + node.scratch_bytes > len(arena):
                raise wrong("a scratch is outside of the arena")
            scratch = arena[node.scratch : node.scratch + node.scratch_bytes]
        call = Call(
            node.kernel,
            self._numbers[id(node)],
            node.pointers,
            run.memories[2],
            pointers[:rows],
            written[node.states :],
            written[: node.states],
            scratch,
            each.first + further,
            {name: self._body(run, number) for name, number in node.bodies.items()},
            self._kept[id(node)],
        )
        try:
            with np.errstate(all="ignore"):
                self._kernels[node.kernel](call)
        except (ValueError, IndexError, ZeroDivisionError, OverflowError, MemoryError) as error:
            raise wrong(f"{node.kernel} cannot do what its parameters say ({error})") from error
        if Kind.LOOPS in node.kind and scratch is not None and len(scratch) and scratch[0]:
            raise LimitError(f"a loop of {self._file.name}, in NumPy,", While.most_turns)

    def _body(self, run: _Running, number: int) -> Body:
        if number >= len(self._programs) or run.depth >= _DEPTH:
            raise wrong("an operator runs a graph that there is not, or graphs run one another too deeply")
        program = self._programs[number]

        def run_in(arena: Bytes) -> bool:
            if len(arena) < program.arena_bytes:
                raise wrong("a graph does not fit into the scratch of its operator")
            try:
                self._follow(_Running(program, (arena, *run.memories[1:]), run.depth + 1))
            except LimitError:
                return False
            return True

        return Body(run_in, program.inputs, program.outputs)


def _rows(array: Array, rows: int) -> Iterator[Bytes]:
    return iter(np.frombuffer(array.tobytes(), np.uint8).reshape(rows, -1))


def _pointer(run: _Running, place: Place) -> Pointer | None:
    """Returns where a place is; None for a null pointer."""
    memory, byte = place
    if memory == Memory.NULL:
        return None
    if memory >= len(run.memories) or not 0 <= byte <= len(run.memories[memory]):
        raise wrong(f"a step needs byte {byte} of memory {memory}, which is not there")
    return run.memories[memory], byte


def _ends(run: _Running, node: Node, each: FileRun) -> bool:
    """True if the first number of a node's first variable says that the inference ends."""
    rows = sum(group.count for group in node.groups[: node.reads])
    state = _pointer(run, run.program.place(each, rows, each.steps - 1)) if node.states else None
    if state is None:
        raise wrong("a node without variables may end the inference")
    return bool(view(state, 1, np.dtype("<i4"))[0])


def _receive(run: _Running, node: Node, each: FileRun, rows: Iterator[Bytes]) -> None:
    """Stores the next row of an input."""
    row, place = next(rows, None), _pointer(run, run.program.place(each, 0, 0))
    if row is None or place is None or len(row) != node.groups[0].bytes:
        raise wrong("a node receives more rows than its input has, or rows of another size")
    _store(view(place, len(row), np.dtype(np.uint8)), row)


def _store(place: Array, data: Bytes) -> None:
    """Writes what the caller gives."""
    if not place.flags.writeable:
        raise wrong("an input's bytes are in the file, where nobody can write them")
    if len(place) != len(data):
        raise wrong(f"an input has {len(data)} bytes, and the file has room for {len(place)}")
    place[:] = data
