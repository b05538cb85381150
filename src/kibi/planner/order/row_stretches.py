"""Stretches between cuts: in which order their row steps run, and how many bytes live then.

A cut is a moment at which every node before it has finished and none after it has begun. Between two cuts the rows of all
nodes interleave: the last node asks for its next row, and each node computes only what it is asked for. So a row is made as
late as possible, and dies as soon as its last reader has run.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from kibi.planner.order.row_steps import Ints, RowSteps, parted


def pulled(steps: RowSteps, begin: int, end: int, *, eager: bool = True) -> list[int]:
    """The order of the row steps of a stretch, as each step's node: the last node asks for its rows.

    With all steps of the first nodes left out it is an order of the stretch without them.

    Args:
        steps: the row steps of a graph.
        begin: the first node of the stretch; those before have finished.
        end: one after its last node.
        eager: true if other nodes that nobody in the stretch waits for follow as soon as rows allow: the sooner they read,
            the sooner rows die. Else they run when the last one has finished.
    """
    done = [0] * len(steps.steps)
    done[:begin] = steps.steps[:begin]
    ends = drivers(steps, begin, end)
    order: list[int] = []
    for driver in reversed(ends):
        others = [node for node in ends if node != driver] if eager else []
        _drive(steps, driver, others, done, order)
    for node in range(begin, end):  # rows that nobody asks for
        order += [node] * (steps.steps[node] - done[node])
        done[node] = steps.steps[node]
    return order


def drivers(steps: RowSteps, begin: int, end: int) -> list[int]:
    """The nodes of a stretch that nobody in it waits for, ascending: its last node is one of them."""
    return [node for node in range(begin, end) if steps.first_followers[node] >= end]


def _drive(steps: RowSteps, driver: int, others: Sequence[int], done: list[int], order: list[int]) -> None:
    """Add to an order all steps of a node, before each those that it waits for, and after each what others can run then."""
    waits, followers, watched = steps.waits, steps.followers, frozenset(others)
    freed = others  # some may wait for nothing; from the first step on only those that wait for what has just run
    stack = [driver] * (steps.steps[driver] - done[driver])
    while stack:
        node = stack[-1]
        step = done[node]
        for other, wanted in waits[node]:
            if done[other] < wanted[step]:
                stack.append(other)
                break
        else:
            stack.pop()
            done[node] = step + 1
            order.append(node)
            if watched:
                freed = freed or [each for each in followers[node] if each in watched]
                order += _run_ready(steps, freed, done)
                freed = ()


def _run_ready(steps: RowSteps, nodes: Sequence[int], done: list[int]) -> list[int]:
    """The steps of nodes that can run with the rows that are there, each counted as done."""
    ran: list[int] = []
    for node in nodes:
        waits, total, step = steps.waits[node], steps.steps[node], done[node]
        while step < total and all(done[other] >= wanted[step] for other, wanted in waits):
            step += 1
        ran += [node] * (step - done[node])
        done[node] = step
    return ran


def live_at_cuts(steps: RowSteps) -> Ints:
    """The bytes that live at the cut before each node, and after the last."""
    count = len(steps.steps)
    change = np.zeros(count + 2, np.int64)
    for each in steps.slices:
        last = np.full(len(each.made), count if each.is_kept else -1, np.int64)
        for reader, uses in zip(each.readers, each.last_uses, strict=True):
            last = np.maximum(last, np.where(uses >= 0, reader, -1))
        alive = last > each.maker
        change[each.maker + 1] += each.size_bytes[alive].sum()
        np.subtract.at(change, last[alive] + 1, each.size_bytes[alive])
    return np.cumsum(change)[:-1]


@dataclass(slots=True)
class StretchPeaks:
    """The peaks of all stretches with one end, from an order of the longest, the first node moving down.

    Attributes:
        steps: the row steps.
        end: one after the last node.
        places: for each node of the longest stretch, the places of its steps in its order.
        count: steps of the longest stretch.
        base: bytes that live all the time and belong to no tensor that the stretch makes or reads.
        change: by place, how the bytes change that live there.
        shared: bytes of scratch that the nodes share.
        spans: for each tensor that the stretch makes or reads, from where to where each slice lives.
        reads: for each of them, one after the last place in the stretch that reads each slice; 0: none does.
        later: for each of them, which slices live on after the stretch.
    """

    steps: RowSteps
    end: int
    places: dict[int, Ints]
    count: int
    base: int
    change: Ints
    shared: int = 0
    spans: dict[int, tuple[Ints, Ints]] = field(default_factory=dict)
    reads: dict[int, Ints] = field(default_factory=dict)
    later: dict[int, NDArray[np.bool_]] = field(default_factory=dict)

    @staticmethod
    def of(steps: RowSteps, begin: int, end: int, order: Sequence[int], live: int) -> "StretchPeaks":
        """From an order of the stretch's steps; `live` bytes live after it."""
        nodes = np.asarray(order, np.int64)
        parts = parted(np.argsort(nodes, kind="stable"), steps.steps[begin:end])
        places = dict(zip(range(begin, end), parts, strict=True))
        return StretchPeaks(steps, end, places, len(order), live, np.zeros(len(order) + 1, np.int64))

    def extend(self, begin: int) -> None:
        """Take one node more at the beginning; it must be the one before the first so far, or the last of all."""
        for number in self.steps.touched[begin]:
            each = self.steps.slices[number]
            known = self.spans.get(number)
            if known is None:
                self.base -= int(each.size_bytes @ self._is_read_later(number))
            else:
                self._add(known, -each.size_bytes)
            self.spans[number] = self._lives(number, begin)
            self._add(self.spans[number], each.size_bytes)
        if begin == 0:
            self.change[0] += self.steps.unread_bytes
            self.change[1] -= self.steps.unread_bytes
        size = self.steps.scratch[begin]
        if self.steps.accumulates[begin]:
            where = self.places[begin]
            self.change[where[0]] += size
            self.change[where[-1] + 1] -= size
        else:
            self.shared = max(self.shared, size)

    def peak(self) -> int:
        """The most bytes that live at once in the stretch as it is now."""
        return self.base + self.shared + int(np.cumsum(self.change)[:-1].max())

    def _add(self, span: tuple[Ints, Ints], size_bytes: Ints) -> None:
        np.add.at(self.change, span[0], size_bytes)
        np.subtract.at(self.change, span[1], size_bytes)

    def _is_read_later(self, number: int) -> NDArray[np.bool_]:
        """Returns which slices of a tensor live on after the stretch."""
        if number not in self.later:
            later: NDArray[np.bool_] = self.steps.last_readers[number] >= self.end
            self.later[number] = later | self.steps.slices[number].is_kept
        return self.later[number]

    def _lives(self, number: int, begin: int) -> tuple[Ints, Ints]:
        """Returns the half-open range of places at which each slice of a tensor lives; empty if it died before the stretch.

        All nodes after `begin` that read the tensor have been taken before.
        """
        each = self.steps.slices[number]
        uses = self.steps.uses_of[number].get(begin)
        if uses is not None:
            read = np.where(uses >= 0, self.places[begin][uses] + 1, 0)
            self.reads[number] = np.maximum(self.reads[number], read) if number in self.reads else read
        is_made_here = each.maker >= begin
        start = self.places[each.maker][each.made] if is_made_here else np.zeros(len(each.made), np.int64)
        until = start + 1 if is_made_here else start
        if number in self.reads:
            until = np.maximum(until, self.reads[number])
        return start, np.where(self._is_read_later(number), self.count, until)
