"""Orders by rows: where to cut, and how row steps interleave between cuts.

A cut is a moment at which every node before it has finished and none behind it has begun. Between two cuts the rows of all
nodes interleave: the last node asks for its next row, and each node computes only what it is asked for. So a row is made as
late as possible, and dies as soon as its last reader has run.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from kibi.ir import Graph, RowAccess, Site, Tensor
from kibi.planner.order import file_order
from kibi.planner.plan import Run


@dataclass(frozen=True, slots=True)
class RowOrder:
    """An order by rows.

    Attributes:
        runs: the row steps.
        cuts: the first node of each stretch between cuts.
        peak_bytes: the most bytes of rows and scratch that live at once in this order.
    """

    runs: tuple[Run, ...]
    cuts: tuple[int, ...]
    peak_bytes: int


def row_order(graph: Graph) -> RowOrder:
    """The order with the smallest peak among all choices of cuts, in the graph's order of nodes.

    Dynamic programming: the best order of the nodes before a cut does not depend on what follows it, because there only
    finished tensors live. A stretch is given up as soon as its peak reaches that of an order that is known.
    """
    story = _Story(graph)
    count = len(graph.nodes)
    best = [0] + [1 << 62] * count
    previous = [0] * (count + 1)
    for end in range(1, count + 1):
        for begin in range(end - 1, -1, -1):
            if best[begin] >= best[end] or story.floor(begin, end) >= best[end]:
                continue
            peak = max(best[begin], story.peak(begin, end, best[end]))
            if peak < best[end]:
                best[end], previous[end] = peak, begin
    cuts, end = [], count
    while end:
        end = previous[end]
        cuts.append(end)
    cuts.reverse()
    bounds = [*cuts, count]
    runs = [run for begin, end in pairwise(bounds) for run in _runs(story.steps(begin, end))]
    return RowOrder(tuple(runs), tuple(cuts), best[count])


def whole_order(graph: Graph) -> RowOrder:
    """The file's order, each operator run to completion, rows dying one by one all the same."""
    story = _Story(graph)
    count = len(graph.nodes)
    peak = max((story.peak(node, node + 1, 1 << 62) for node in range(count)), default=0)
    return RowOrder(file_order(graph), tuple(range(count)), peak)


def _runs(steps: Iterator[tuple[int, int]]) -> Iterator[Run]:
    """Steps as runs, as few as possible."""
    node, first, rows = -1, 0, 0
    for its_node, step in steps:
        if its_node == node:
            rows += 1
            continue
        if rows:
            yield Run(node, first, rows)
        node, first, rows = its_node, step, 1
    if rows:
        yield Run(node, first, rows)


class _Story:
    """What the search asks of a graph, worked out once."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.sites = graph.sites
        self.maker = {index: number for number, node in enumerate(graph.nodes) for index in node.outputs}
        self.reads = [self._reads(site) for site in graph.sites]
        self.readers: dict[int, list[int]] = {}
        for number, reads in enumerate(self.reads):
            for tensor, _ in reads:
                self.readers.setdefault(tensor.index, []).append(number)
        self.scratch = [site.op.bind(site).scratch_bytes for site in graph.sites]
        self.is_accumulator = [site.op.accumulates(site) for site in graph.sites]

    @staticmethod
    def _reads(site: Site) -> tuple[tuple[Tensor, tuple[tuple[int, ...], ...]], ...]:
        """The tensors in the arena that a node reads, each with the rows that each of its steps reads."""
        accesses: Sequence[RowAccess] = site.op.accesses(site)
        return tuple(
            (tensor, tuple(access.needs(step) for step in range(site.steps)))
            for tensor, access in zip(site.row_tensors, accesses, strict=True)
            if not tensor.is_constant
        )

    @cached_property
    def tensors(self) -> tuple[Tensor, ...]:
        """Everything that lives in the arena."""
        computed = {*self.graph.inputs, *self.maker}
        return tuple(self.graph.tensors[index] for index in sorted(computed))

    def last_reader(self, tensor: Tensor) -> int:
        """The last node that reads a tensor; one behind the last node for a model output."""
        if tensor.index in self.graph.outputs:
            return len(self.graph.nodes)
        return max(self.readers.get(tensor.index, [-1]))

    def made_by(self, tensor: Tensor) -> int:
        """The node that makes a tensor; -1 for a model input."""
        return self.maker.get(tensor.index, -1)

    def carried(self, begin: int, end: int) -> int:
        """Bytes of finished tensors that live through a whole stretch: made before it, read behind it."""
        return sum(t.type.size_bytes for t in self.tensors if self.made_by(t) < begin and self.last_reader(t) >= end)

    def floor(self, begin: int, end: int) -> int:
        """A bound on the peak of a stretch that needs no search: what it begins with, and what it leaves."""
        entering = sum(t.type.size_bytes for t in self.tensors if self.made_by(t) < begin <= self.last_reader(t))
        leaving = sum(t.type.size_bytes for t in self.tensors if self.made_by(t) < end <= self.last_reader(t))
        return max(entering, leaving)

    def steps(self, begin: int, end: int) -> Iterator[tuple[int, int]]:
        """The row steps of a stretch: the last node asks for its rows; other ends of the stretch follow as rows allow."""
        done = [0] * (end - begin)
        made = {t.index: 0 for t in self.tensors if begin <= self.made_by(t) < end}
        ends = [node for node in range(begin, end) if self._is_end(node, begin, end)]
        for driver in (*reversed(ends), *range(begin, end)):  # at last, rows that nobody asks for
            while done[driver - begin] < self.sites[driver].steps:
                for step in self._ask(driver, done, made, begin):
                    yield step
                    yield from self._follow(ends, driver, done, made, begin)

    def _is_end(self, node: int, begin: int, end: int) -> bool:
        """Whether no node of the stretch reads what this one makes."""
        return not any(
            begin <= reader < end for index in self.graph.nodes[node].outputs for reader in self.readers.get(index, ())
        )

    def _ask(self, node: int, done: list[int], made: dict[int, int], begin: int) -> Iterator[tuple[int, int]]:
        """One step of a node, behind all steps that it waits for."""
        step = done[node - begin]
        for tensor, needs in self.reads[node]:
            wanted = needs[step][-1] + 1 if needs[step] else 0
            while made.get(tensor.index, wanted) < wanted:
                yield from self._ask(self.maker[tensor.index], done, made, begin)
        yield self._run(node, done, made, begin)

    def _follow(
        self, ends: list[int], driver: int, done: list[int], made: dict[int, int], begin: int
    ) -> Iterator[tuple[int, int]]:
        """The steps of other ends that can run with the rows that are there: the sooner they read, the sooner rows die."""
        for node in ends:
            while node != driver and done[node - begin] < self.sites[node].steps:
                step = done[node - begin]
                missing = any(
                    needs[step] and made.get(tensor.index, needs[step][-1] + 1) <= needs[step][-1]
                    for tensor, needs in self.reads[node]
                )
                if missing:
                    break
                yield self._run(node, done, made, begin)

    def _run(self, node: int, done: list[int], made: dict[int, int], begin: int) -> tuple[int, int]:
        step = done[node - begin]
        done[node - begin] += 1
        for index in self.graph.nodes[node].outputs:
            made[index] += len(self.sites[node].made_rows(step))
        return node, step

    def peak(self, begin: int, end: int, limit: int) -> int:
        """The most bytes that live at once in a stretch; anything from `limit` on once it is reached."""
        live = self.carried(begin, end) + self._scratch(begin, end)
        rows: dict[tuple[int, int], int] = {}  # (tensor, row) to readers' steps that are still to come
        for tensor in self.tensors:
            if self.made_by(tensor) < begin <= self.last_reader(tensor) < end:
                live += tensor.type.size_bytes
        for node in range(begin, end):
            for tensor, needs in self.reads[node]:
                if self.last_reader(tensor) < end:
                    for row in (row for step in needs for row in step):
                        rows[tensor.index, row] = rows.get((tensor.index, row), 0) + 1
        # Rows of finished inputs that nobody in the stretch reads die at once.
        highest = live
        for node, step in self.steps(begin, end):
            live += self._born(node, step)
            highest = max(highest, live)
            if highest >= limit:
                return highest
            live -= self._died(node, step, rows)
        return highest

    def _scratch(self, begin: int, end: int) -> int:
        """Bytes of scratch in a stretch: its accumulators, and the largest of what the others share."""
        nodes = range(begin, end)
        shared = max((self.scratch[node] for node in nodes if not self.is_accumulator[node]), default=0)
        return shared + sum(self.scratch[node] for node in nodes if self.is_accumulator[node])

    def _born(self, node: int, step: int) -> int:
        """Bytes of the rows that a step makes; a model output is one array, whole from its first row on."""
        made = self.sites[node].made_rows(step)
        born = 0
        for index in self.graph.nodes[node].outputs:
            kind = self.graph.tensors[index].type
            is_whole = index in self.graph.outputs
            born += (kind.size_bytes if made and made[0] == 0 else 0) if is_whole else len(made) * kind.row_bytes
        return born

    def _died(self, node: int, step: int, rows: dict[tuple[int, int], int]) -> int:
        """Bytes of rows whose last reader was this step, and of rows that were made for nobody."""
        died = 0
        for tensor, needs in self.reads[node]:
            for row in needs[step]:
                key = (tensor.index, row)
                if key in rows:
                    rows[key] -= 1
                    died += tensor.type.row_bytes if rows[key] == 0 else 0
        for index in self.graph.nodes[node].outputs:
            if index not in self.readers and index not in self.graph.outputs:
                died += len(self.sites[node].made_rows(step)) * self.graph.tensors[index].type.row_bytes
        return died
