"""The constants of a plan file, and which steps of an inference read them: found by its contracts and its runs alone."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any
from unittest import mock

from numpy.typing import NDArray

from kibi.planfile.in_numpy import contracts, program
from kibi.planfile.in_numpy.program import Program, programs_of
from kibi.planfile.reader import PlanFile
from kibi.planfile.records import Kind, Memory
from kibi.planfile.run_reader import FileRun

Range = tuple[int, int]
"""The first byte of the file, and the first one after it."""


@dataclass(frozen=True)
class FileConstants:
    """What the steps of an inference read in the file.

    Attributes:
        steps: the ranges that each step reads.
    """

    steps: tuple[frozenset[Range], ...]

    @property
    def ranges(self) -> list[Range]:
        """All ranges that have bytes, in order."""
        return sorted({each for step in self.steps for each in step if each[0] < each[1]})

    def readers(self, first: int, end: int) -> list[int]:
        """The numbers of the steps that read some of the bytes."""
        return [number for number, step in enumerate(self.steps) if any(a < end and first < b for a, b in step)]

    def has(self, byte: int) -> bool:
        """True if a step reads a byte."""
        return any(first <= byte < end for first, end in self.ranges)


def constants_of(file: PlanFile) -> FileConstants:
    """Finds the constants of a plan file."""
    arrays: list[frozenset[Range]] = []
    with mock.patch.object(program, "holds", _recorded(arrays)):
        programs = programs_of(file)
    of_node = iter(arrays)
    by_graph = [
        [frozenset() if node.kind & Kind.RECEIVES else next(of_node) for node in each.nodes] for each in programs
    ]

    def all_of(graph: int) -> frozenset[Range]:
        return frozenset().union(*_steps(graph))

    def _steps(graph: int) -> Iterator[frozenset[Range]]:
        one = programs[graph]
        for run in one.runs:
            bodies = frozenset[Range]().union(*(all_of(each) for each in one.nodes[run.node].bodies.values()))
            for further in range(run.steps):
                yield by_graph[graph][run.node] | bodies | frozenset(_rows(one, run, further))

    return FileConstants(tuple(_steps(0)))


def _rows(one: Program, run: FileRun, further: int) -> Iterator[Range]:
    node, pointer = one.nodes[run.node], 0
    for group in node.groups[: node.reads]:
        for _ in range(group.count):
            memory, place = one.place(run, pointer, further)
            if memory == Memory.FILE:
                yield place, place + group.bytes
            pointer += 1


def _recorded(found: list[frozenset[Range]]) -> Callable[[PlanFile, str, int, contracts.Shape], bool]:
    """`holds`, which notes the arrays that each contract names."""
    original, select = contracts.holds, contracts._Evaluation.select

    def holds(file: PlanFile, kernel: str, params: int, shape: contracts.Shape) -> bool:
        ranges = set[Range]()

        def noted(self: contracts._Evaluation, count: int, operand: int) -> NDArray[Any]:
            place = (self.params + self.number(operand & 31, 4)) & 0xFFFFFFFF
            ranges.add((place, place + (count << (operand >> 6))))
            return select(self, count, operand)

        with mock.patch.object(contracts._Evaluation, "select", noted):
            is_kept = original(file, kernel, params, shape)
        found.append(frozenset(ranges))
        return is_kept

    return holds
