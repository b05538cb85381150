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
from kibi.planfile.in_numpy.program import Line, Node, Program, Read, Tensor, programs_of, variables_of, wrong
from kibi.planfile.in_numpy.registry import Kernel, numpy_kernels
from kibi.planfile.reader import PlanFile
from kibi.planfile.records import DIGEST_BYTES, PORT, Kind

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
        port = self._file.record(PORT, self._file.header[f"{role}s"] + number * PORT.size_bytes)
        if port["tensor"] >= len(run.program.tensors):
            raise wrong(f"{role} {number} is a tensor that there is not")
        tensor = run.program.tensors[port["tensor"]]
        return view(_pointer(run, tensor, 0), tensor.rows * tensor.row_bytes, np.dtype(np.uint8))

    def _follow(self, run: _Running, received: Sequence[Iterator[Bytes]] = ()) -> bool:
        """Follows the order to its end; True if a node ended it early.

        Raises:
            LimitError: a loop reached its limit.
        """
        nodes = run.program.nodes
        done = [0] * len(nodes)
        for line, turn in _turns(run.program):
            begin = line.step + turn * line.further
            for number in range(line.start, line.last + 1):
                node = nodes[number]
                end = min(begin + line.steps, node.steps)
                for step in range(max(begin, 0), end):
                    if step != done[number]:
                        raise wrong(f"the order has step {step} of a node after {done[number]} steps")
                    done[number] += 1
                    if Kind.RECEIVES in node.kind:
                        if number >= len(received):
                            raise wrong("a node receives the rows of an input that there is not")
                        _receive(run, node, step, received[number])
                    else:
                        self._step(run, node, step)
                if Kind.EXITS in node.kind and end == node.steps > max(begin, 0):
                    if node.outputs >= len(node.writes):
                        raise wrong("a node without variables may end the inference")
                    state = run.program.tensors[node.writes[node.outputs][0]]
                    if view(_pointer(run, state, 0), 1, np.dtype("<i4"))[0]:
                        return True
        return False

    def _step(self, run: _Running, node: Node, step: int) -> None:
        """Calls a kernel for one step."""
        self._steps_inside += run.depth > 0
        if self._steps_inside > While.most_steps:
            raise LimitError(f"a loop of {self._file.name}, in NumPy,", While.most_turns, self._steps_inside)
        tensors = run.program.tensors
        made = 0 if Kind.ACCUMULATES in node.kind else step
        writes = [_pointer(run, tensors[number], made * rows) for number, rows in node.writes]
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
            [pointer for read in node.reads for pointer in _fetched(run, read, step)],
            writes[: node.outputs],
            writes[node.outputs :],
            scratch,
            step,
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


def _turns(program: Program) -> Iterator[tuple[Line, int]]:
    """Yields the lines that name nodes, as often as they are repeated, each with the number of its turn.

    Raises:
        PlanError: lines repeat what they may not, or more often than there are steps.
    """
    left = sum(4 * node.steps + 64 for node in program.nodes)
    place = turn = plain = 0
    while place < len(program.lines):
        line = program.lines[place]
        if line.start >= len(program.nodes):
            if not 0 < line.last <= plain or left < line.last:
                raise wrong("a line of the order repeats lines that it may not")
            turn += 1
            if turn < line.steps:
                place, plain = place - line.last, plain - line.last
            else:
                place, turn, plain = place + 1, 0, 0
            continue
        if not line.start <= line.last < len(program.nodes) or left <= line.last - line.start:
            raise wrong("a line of the order names nodes that there are not, or comes too often")
        left -= line.last - line.start + 1
        yield line, turn
        place, plain = place + 1, plain + 1


def _rows(array: Array, rows: int) -> Iterator[Bytes]:
    return iter(np.frombuffer(array.tobytes(), np.uint8).reshape(rows, -1))


def _pointer(run: _Running, tensor: Tensor, row: int) -> Pointer:
    if not 0 <= row < tensor.rows or tensor.memory >= len(run.memories):
        raise wrong(f"a step needs row {row} of {tensor.rows}, or a memory that there is not")
    return run.memories[tensor.memory], tensor.place(row)


def _receive(run: _Running, node: Node, step: int, rows: Iterator[Bytes]) -> None:
    """Stores the next row of an input."""
    number, made = node.writes[0]
    row = next(rows, None)
    tensor = run.program.tensors[number]
    if row is None or len(row) != tensor.row_bytes:
        raise wrong("a node receives more rows than its input has, or rows of another size")
    _store(view(_pointer(run, tensor, step * made), tensor.row_bytes, np.dtype(np.uint8)), row)


def _store(place: Array, data: Bytes) -> None:
    """Writes what the caller gives."""
    if not place.flags.writeable or len(place) != len(data):
        raise wrong("an input has another size than its tensor, or lies in the file")
    place[:] = data


def _fetched(run: _Running, read: Read, step: int) -> Iterator[Pointer | None]:
    """Yields the pointers of a step to the rows of an input."""
    tensor = run.program.tensors[read.tensor]
    batch, step = divmod(step, read.steps)
    first = 0 if read.is_shared else batch * read.rows
    part_bytes = tensor.row_bytes // read.parts
    for k in range(read.count):
        row = read.start + read.stride * step + read.dilation * k
        if 0 <= row < read.rows:
            whole, part = divmod(first + row, read.parts)
            memory, place = _pointer(run, tensor, whole)
            yield memory, place + part * part_bytes
        else:
            yield (run.memories[2], read.filler) if read.filler else None
