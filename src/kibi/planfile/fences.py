"""The fences of a plan file: which of its constants may be written while it is open, and which runs read them."""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from kibi.codegen.emit_context import EmitContext
from kibi.errors import InputError
from kibi.planfile.records import FENCE
from kibi.planfile.runs import GraphRuns

_MOST_END = 1 << 24
"""Weights end before it: the byte before the digest of a file is 0."""
_MOST_FENCES = 0xFFFF
_NEVER = 0xFFFFFFFF


@dataclass
class Weights:
    """The constants of a file that may be written: they come first, after its header.

    Attributes:
        sizes: bytes of each constant that has some, by its offset.
        arrays: the offset of each array of parameters, by its graph, node and name.
        end: the offset of the first byte after them.
    """

    sizes: dict[int, int] = field(default_factory=dict)
    arrays: dict[tuple[int, int, str], int] = field(default_factory=dict)
    end: int = 0

    def add(self, offset: int, size: int) -> int:
        """Notes a constant, and returns its offset."""
        if size:
            self.sizes[offset] = max(size, self.sizes.get(offset, 0))
        return offset

    def of(self, places: Iterable[int]) -> frozenset[int]:
        """The offsets of the constants in which bytes of the file are."""
        starts = sorted(self.sizes)
        found = ((place, starts[bisect_right(starts, place) - 1]) for place in places if starts and place >= starts[0])
        return frozenset(start for place, start in found if place < start + self.sizes[start])


@dataclass
class _Readers:
    """The runs that read a constant: the byte of the first, the end of the last, and the steps up to it."""

    first: int = _NEVER
    last: int = 0
    until: int = 0

    @property
    def values(self) -> tuple[int, int, int]:
        return self.first, self.last, self.until


def fence_records(main: EmitContext, weights: Weights, runs: dict[int, GraphRuns]) -> list[bytes]:
    """Returns the fences of a file: neighbours that the same runs read share one.

    Args:
        main: the model.
        weights: its constants.
        runs: those of the model and of the graphs inside of its operators, by the identity of their contexts.

    Raises:
        InputError: there are too many of them, or too many bytes.
    """
    if not weights.sizes:
        return []
    inner: dict[int, frozenset[int]] = {}
    readers = {offset: _Readers() for offset in weights.sizes}
    end = steps = 0
    for run in runs[id(main)].runs:
        begin, end, steps = end, end + run.bytes, steps + run.steps
        if run.node not in inner:
            inner[run.node] = frozenset().union(*(_all_of(each, weights, runs) for each in _bodies(main, run.node)))
        for offset in _arrays(main, run.node, weights) | weights.of(run.constants) | inner[run.node]:
            each = readers[offset]
            readers[offset] = _Readers(min(each.first, begin), end, steps)
    found = list[tuple[tuple[int, int, int], int]]()
    for offset in sorted(readers):
        values = readers[offset].values
        found = found[:-1] if found and found[-1][0] == values else found
        found.append((values, offset + weights.sizes[offset]))
    if weights.end >= _MOST_END or len(found) > _MOST_FENCES:
        raise InputError(
            f"a plan file with fences has less than {_MOST_END:,} bytes of weights and at most {_MOST_FENCES:,} fences; "
            f"this one has {weights.end:,} bytes and {len(found):,} fences. Leave fences out."
        )
    return [FENCE.packed(first=first, last=last, until=until, end=end) for (first, last, until), end in found]


def _arrays(b: EmitContext, node: int, weights: Weights) -> frozenset[int]:
    """The arrays of a node's parameters."""
    names = b.calls[node].constants
    found = (weights.arrays.get((id(b), node, name)) for name in names)
    return frozenset(each for each in found if each in weights.sizes)


def _bodies(b: EmitContext, node: int) -> Sequence[EmitContext]:
    """The graphs that a node runs, and those inside of them."""
    names = b.graph.views[node].op.subgraph_names
    return [each for name in names for each in b.body(node, name).with_subgraphs]


def _all_of(b: EmitContext, weights: Weights, runs: dict[int, GraphRuns]) -> frozenset[int]:
    """All that the nodes of a graph read, without the graphs inside of them."""
    arrays = (_arrays(b, node, weights) for node in range(len(b.graph.views)))
    return frozenset().union(*arrays, *(weights.of(run.constants) for run in runs[id(b)].runs))
