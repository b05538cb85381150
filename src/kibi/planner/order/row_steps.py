"""What orders by rows are made of: the steps of each node, what they wait for, and which bytes live from when to when.

Rows that one step makes live and die as one, as `lifetimes` holds them where every tensor is split: here they are called a
slice. A model output is one slice, made by the first step that makes any of its rows, and kept to the end.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from kibi.ir import Graph, NodeView, Tensor, overwrites
from kibi.planner.plan import Run

Ints: TypeAlias = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Slices:
    """The slices of one tensor.

    Attributes:
        maker: the node that makes them; -1 for a model input that lies there from the beginning.
        made: for each slice, the maker's step that makes it; 0 for a model input.
        size_bytes: for each slice, its size.
        readers: the nodes that read the tensor.
        last_uses: for each reader and slice, the reader's last step that reads it; -1: it does not.
        is_kept: whether it is a model output, which lives to the end.
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
        """For each node, the tensors that it makes or reads, as indices in `slices`."""
        found: list[list[int]] = [[] for _ in self.steps]
        for number, each in enumerate(self.slices):
            for node in (each.maker, *each.readers):
                if node >= 0:
                    found[node].append(number)
        return tuple(tuple(numbers) for numbers in found)

    @cached_property
    def last_readers(self) -> tuple[Ints, ...]:
        """For each tensor, as in `slices`, the last node that reads each slice; -1: none does."""
        found = []
        for each in self.slices:
            last = np.full(len(each.made), -1, np.int64)
            for reader, uses in zip(each.readers, each.last_uses, strict=True):
                np.maximum(last, reader, out=last, where=uses >= 0)
            found.append(last)
        return tuple(found)

    @cached_property
    def uses_of(self) -> tuple[dict[int, Ints], ...]:
        """For each tensor, as in `slices`, and each of its readers, the reader's last step that reads each slice."""
        return tuple(dict(zip(each.readers, each.last_uses, strict=True)) for each in self.slices)

    @cached_property
    def followers(self) -> tuple[tuple[int, ...], ...]:
        """For each node, the nodes that wait for it."""
        found: list[list[int]] = [[] for _ in self.steps]
        for node, waits in enumerate(self.waits):
            for other, _ in waits:
                found[other].append(node)
        return tuple(tuple(nodes) for nodes in found)

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
    made = {index: view.every_made_rows(output) for view in views for output, index in enumerate(view.node.outputs)}
    reads = [_reads(view) for view in views]
    overwritten = overwrites(graph)
    readers: dict[int, list[tuple[int, tuple[tuple[int, ...], ...]]]] = {}
    waits = []
    for number, found in enumerate(reads):
        its_waits: dict[int, list[int]] = {}
        for tensor, needs in found:
            readers.setdefault(tensor.index, []).append((number, needs))
            if tensor.index in makers:
                maker = makers[tensor.index]
                wanted = _wanted(needs, made[tensor.index], tensor.type.rows)
                known = its_waits.get(maker, wanted)
                its_waits[maker] = [max(pair) for pair in zip(wanted, known, strict=True)]
        for other, needed in overwritten[number]:
            known = its_waits.get(other, list(needed))
            its_waits[other] = [max(pair) for pair in zip(needed, known, strict=True)]
        waits.append(tuple((maker, tuple(wanted)) for maker, wanted in its_waits.items()))
    slices = []
    for index in sorted({*graph.inputs, *makers}):
        tensor, maker = graph.tensors[index], makers.get(index, -1)  # a model input that streams has a maker
        if tensor.type.size_bytes and tensor.is_planned:
            is_kept = index in graph.outputs
            rows = _made_slices(tensor, made.get(index), is_kept=is_kept)
            slices.append(_slices(tensor, maker, rows, readers.get(index, []), is_kept=is_kept))
    return RowSteps(
        steps,
        tuple(waits),
        tuple(slices),
        tuple(call.scratch_bytes for call in graph.calls),
        tuple(view.accumulates for view in views),
    )


def runs_of(order: Sequence[int]) -> tuple[Run, ...]:
    """An order, given as each step's node, as runs, as few as possible."""
    runs: list[Run] = []
    done: dict[int, int] = {}
    begin = 0
    for end in range(1, len(order) + 1):
        if end == len(order) or order[end] != order[begin]:
            node, rows = order[begin], end - begin
            runs.append(Run(node, done.get(node, 0), rows))
            done[node] = done.get(node, 0) + rows
            begin = end
    return tuple(runs)


def _reads(view: NodeView) -> tuple[tuple[Tensor, tuple[tuple[int, ...], ...]], ...]:
    """The computed tensors that a node reads, each with the rows that each of its steps reads."""
    accesses = view.accesses
    return tuple(
        (tensor, tuple(access.needs(step) for step in range(view.steps)))
        for tensor, access in zip(view.row_tensors, accesses, strict=True)
        if not tensor.is_constant
    )


def _wanted(needs: Sequence[Sequence[int]], made: Sequence[range], rows: int) -> list[int]:
    """How many steps of the maker each step waits for."""
    step_of = [0] * rows
    for step, its_rows in enumerate(made):
        for row in its_rows:
            step_of[row] = step
    return [step_of[max(rows_read)] + 1 if rows_read else 0 for rows_read in needs]


def _made_slices(tensor: Tensor, made: Sequence[range] | None, *, is_kept: bool) -> list[tuple[int, range]]:
    """The slices of a tensor as (maker's step, rows)."""
    rows = tensor.type.rows
    if made is None:
        return [(0, range(rows))] if is_kept else [(0, range(row, row + 1)) for row in range(rows)]
    found = [(step, its_rows) for step, its_rows in enumerate(made) if len(its_rows)]
    return [(found[0][0], range(rows))] if is_kept else found


def _slices(
    tensor: Tensor,
    maker: int,
    rows: Sequence[tuple[int, range]],
    readers: Sequence[tuple[int, tuple[tuple[int, ...], ...]]],
    *,
    is_kept: bool,
) -> Slices:
    slice_of = np.repeat(np.arange(len(rows)), [len(its_rows) for _, its_rows in rows])
    uses: dict[int, Ints] = {}
    for node, needs in readers:
        last = uses.setdefault(node, np.full(len(rows), -1, np.int64))
        for step, rows_read in enumerate(needs):
            for row in rows_read:
                last[slice_of[row]] = max(last[slice_of[row]], step)
    sizes = [len(its_rows) * tensor.type.row_bytes for _, its_rows in rows]
    made = np.array([step for step, _ in rows], np.int64)
    return Slices(maker, made, np.array(sizes, np.int64), tuple(uses), tuple(uses.values()), is_kept)
