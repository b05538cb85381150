"""Steps, the parts of orders by rows: those of each node, what they wait for, and which bytes live from when to when.

Rows that one step makes live and die as one, as `lifetimes` holds them where every tensor is split: here they are called a
slice. A model output is one slice, made by the first step that makes any of its rows, and kept to the end.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate, pairwise
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from kibi.ir import Graph, NodeView, RowAccess, Tensor, overwrites
from kibi.planner.plan import Run

Ints: TypeAlias = NDArray[np.int64]
_Reader: TypeAlias = tuple[int, int, RowAccess]
"""A node that reads a tensor, its steps, and which rows these read."""


@dataclass(frozen=True, slots=True)
class Slices:
    """The slices of one tensor.

    Attributes:
        maker: the node that makes them; -1 for a model input that is there from the beginning.
        made: for each slice, the maker's step that makes it; 0 for a model input.
        size_bytes: for each slice, its size.
        readers: the nodes that read the tensor.
        last_uses: for each reader and slice, the reader's last step that reads it; -1: it does not.
        is_kept: true if it is a model output, which lives to the end.
    """

    maker: int
    made: Ints
    size_bytes: Ints
    readers: tuple[int, ...]
    last_uses: tuple[Ints, ...]
    is_kept: bool


@dataclass(frozen=True)
class RowSteps:
    """The row steps of a graph.

    Attributes:
        steps: for each node, how many it has.
        waits: for each node, and each node whose rows it reads, or that uses bytes of a variable that it overwrites: how many
            of the other's steps each step waits for.
        slices: those of each tensor that takes bytes of the arena.
        scratch: for each node, the bytes of its scratch.
        accumulates: for each node, whether its scratch must live from its first step to its last, never shared.
    """

    steps: tuple[int, ...]
    waits: tuple[tuple[tuple[int, tuple[int, ...]], ...], ...]
    slices: tuple[Slices, ...]
    scratch: tuple[int, ...]
    accumulates: tuple[bool, ...]

    @cached_property
    def touched(self) -> tuple[tuple[int, ...], ...]:
        """Lists for each node the tensors that it makes or reads, as indices in `slices`."""
        found: list[list[int]] = [[] for _ in self.steps]
        for number, each in enumerate(self.slices):
            for node in (each.maker, *each.readers):
                if node >= 0:
                    found[node].append(number)
        return tuple(tuple(numbers) for numbers in found)

    @cached_property
    def last_readers(self) -> tuple[Ints, ...]:
        """Lists for each tensor, as in `slices`, the last node that reads each slice; -1: none does."""
        found = []
        for each in self.slices:
            last = np.full(len(each.made), -1, np.int64)
            for reader, uses in zip(each.readers, each.last_uses, strict=True):
                np.maximum(last, reader, out=last, where=uses >= 0)
            found.append(last)
        return tuple(found)

    @cached_property
    def uses_of(self) -> tuple[dict[int, Ints], ...]:
        """Lists for each tensor, as in `slices`, and each of its readers, the reader's last step that reads each slice."""
        return tuple(dict(zip(each.readers, each.last_uses, strict=True)) for each in self.slices)

    @cached_property
    def followers(self) -> tuple[tuple[int, ...], ...]:
        """Lists for each node the nodes that wait for it."""
        found: list[list[int]] = [[] for _ in self.steps]
        for node, waits in enumerate(self.waits):
            for other, _ in waits:
                found[other].append(node)
        return tuple(tuple(nodes) for nodes in found)

    @cached_property
    def first_followers(self) -> tuple[int, ...]:
        """Lists for each node the first node that waits for it; the number of nodes where none does."""
        return tuple(min(nodes, default=len(self.steps)) for nodes in self.followers)

    @cached_property
    def unread_bytes(self) -> int:
        """Bytes of model inputs that no node reads; they live while the first step runs."""
        unread = 0
        for each in self.slices:
            if each.maker < 0 and not each.is_kept:
                is_read = np.zeros(len(each.made), np.bool_)
                for uses in each.last_uses:
                    is_read |= uses >= 0
                unread += int(each.size_bytes[~is_read].sum())
        return unread

    def in_order(self, nodes: Sequence[int]) -> "RowSteps":
        """The same with nodes renumbered: at place `k` stands what was node `nodes[k]`."""
        if list(nodes) == list(range(len(self.steps))):
            return self
        place = {node: where for where, node in enumerate(nodes)} | {-1: -1}
        return RowSteps(
            tuple(self.steps[node] for node in nodes),
            tuple(tuple((place[other], wanted) for other, wanted in self.waits[node]) for node in nodes),
            tuple(
                replace(each, maker=place[each.maker], readers=tuple(place[reader] for reader in each.readers))
                for each in self.slices
            ),
            tuple(self.scratch[node] for node in nodes),
            tuple(self.accumulates[node] for node in nodes),
        )

    def only(self, nodes: Sequence[int]) -> "RowSteps":
        """The same without other nodes and what they make, renumbered as by `in_order`: no order of it needs more bytes."""
        place = {node: where for where, node in enumerate(nodes)}
        slices = []
        for each in self.slices:
            kept = [k for k, reader in enumerate(each.readers) if reader in place]
            if each.maker in place or (each.maker < 0 and (kept or each.is_kept)):
                readers, uses = tuple(place[each.readers[k]] for k in kept), tuple(each.last_uses[k] for k in kept)
                slices.append(replace(each, maker=place.get(each.maker, -1), readers=readers, last_uses=uses))
        return RowSteps(
            tuple(self.steps[node] for node in nodes),
            tuple(tuple((place[m], wanted) for m, wanted in self.waits[node] if m in place) for node in nodes),
            tuple(slices),
            tuple(self.scratch[node] for node in nodes),
            tuple(self.accumulates[node] for node in nodes),
        )


def row_steps(graph: Graph) -> RowSteps:
    """The row steps of a verified graph."""
    views = graph.views
    steps = tuple(view.steps for view in views)
    makers = {index: number for number, node in enumerate(graph.nodes) for index in node.outputs}
    made = {index: view.made_by(output) for view in views for output, index in enumerate(view.node.outputs)}
    overwritten = overwrites(graph)
    readers: dict[int, list[_Reader]] = {}
    waits = []
    for number, view in enumerate(views):
        its_waits: dict[int, Ints] = {}
        for tensor, access in _reads(view):
            readers.setdefault(tensor.index, []).append((number, view.steps, access))
            if tensor.index in makers:
                maker = makers[tensor.index]
                wanted = _wanted(access.last_rows(view.steps), made[tensor.index])
                its_waits[maker] = np.maximum(wanted, its_waits.get(maker, wanted))
        for other, needed in overwritten[number]:
            wanted = np.array(needed, np.int64)
            its_waits[other] = np.maximum(wanted, its_waits.get(other, wanted))
        waits.append(tuple((maker, tuple(wanted.tolist())) for maker, wanted in its_waits.items()))
    slices = []
    for index in sorted({*graph.inputs, *makers}):
        tensor, maker = graph.tensors[index], makers.get(index, -1)  # a model input that streams has a maker
        if tensor.type.size_bytes and tensor.is_planned:
            is_kept = index in graph.outputs
            slices.append(_slices(tensor, maker, made.get(index), readers.get(index, []), is_kept=is_kept))
    return RowSteps(
        steps,
        tuple(waits),
        tuple(slices),
        tuple(call.scratch_bytes for call in graph.calls),
        tuple(view.accumulates for view in views),
    )


def parted(numbers: Ints, counts: Sequence[int]) -> list[Ints]:
    """Returns an array in parts of so many elements each."""
    return [numbers[begin:end] for begin, end in pairwise([0, *accumulate(counts)])]


def runs_of(order: Sequence[int]) -> tuple[Run, ...]:
    """An order, given as each step's node, as runs, as few as possible."""
    if not order:
        return ()
    nodes = np.asarray(order, np.int64)
    begins = np.flatnonzero(np.diff(nodes, prepend=-1))
    rows = np.diff(np.append(begins, len(nodes)))
    runs: list[Run] = []
    done: dict[int, int] = {}
    for node, count in zip(nodes[begins].tolist(), rows.tolist(), strict=True):
        first = done.get(node, 0)
        runs.append(Run(node, first, count))
        done[node] = first + count
    return tuple(runs)


def _reads(view: NodeView) -> Iterator[tuple[Tensor, RowAccess]]:
    """The computed tensors that a node reads, and how."""
    for tensor, access in zip(view.row_tensors, view.accesses, strict=True):
        if not tensor.is_constant:
            yield tensor, access


def _wanted(last_rows: Ints, made_by: Ints) -> Ints:
    """Returns for each step that needs rows up to a last one how many steps of the maker it waits for."""
    wanted: Ints = np.where(last_rows >= 0, made_by[last_rows] + 1, 0)
    return wanted


def _slices(tensor: Tensor, maker: int, made_by: Ints | None, readers: Sequence[_Reader], *, is_kept: bool) -> Slices:
    """The slices of a tensor whose rows are made by these steps; None: all of them are there from the beginning."""
    rows = tensor.type.rows
    if is_kept:
        made, slice_of = np.zeros(1, np.int64) if made_by is None else made_by[:1], np.zeros(rows, np.int64)
    elif made_by is None:
        made, slice_of = np.zeros(rows, np.int64), np.arange(rows)
    else:
        made, slice_of = np.unique(made_by, return_inverse=True)
    uses: dict[int, Ints] = {}
    for node, steps, access in readers:
        last = uses.setdefault(node, np.full(len(made), -1, np.int64))
        np.maximum.at(last, slice_of, access.last_steps(rows, steps))
    sizes = np.bincount(slice_of, minlength=len(made)) * tensor.type.row_bytes
    return Slices(maker, made, sizes, tuple(uses), tuple(uses.values()), is_kept)
