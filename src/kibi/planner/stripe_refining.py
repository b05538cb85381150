"""Further stages near the peak: stripes whose rows alternate.

A stage of few nodes need not make one stripe after another. Where its stripes alternate by the row, too, only one of them holds
all rows under its windows at a time, and the others those that their next rows need again. So no image has to be complete before
or after it. Which order is better shows only in an order of the whole graph, so each stage is tried in it.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from kibi.ir import Graph
from kibi.planner.order.row_cuts import CutSearch
from kibi.planner.order.row_levels import live_levels, lives
from kibi.planner.order.row_steps import RowSteps, parted, row_steps
from kibi.planner.plan import Stripes
from kibi.planner.stripe_search import Found
from kibi.planner.stripes import stage_problem, striped
from kibi.selection import LoweredGraph

_ROUNDS = 6
"""Stages that are added to one result."""
_COUNTS = (2, 3, 4)
"""Stripes of such a stage."""


def refined(graph: Graph, found: Found, most_macs: int, lowered: Callable[[Graph], LoweredGraph]) -> tuple[Found, ...]:
    """Returns better and better stages, which are those that were found and more of them.

    Args:
        graph: the model with its inputs and outputs handed over.
        found: stages of it.
        most_macs: the most multiply-accumulates that may be computed a second time.
        lowered: chooses the kernels of a graph.
    """
    better: list[Found] = []
    best = _Try.of(graph, found.stages, lowered)
    for _ in range(_ROUNDS):
        tries = [
            _Try.of(graph, stages, lowered)
            for stages in _more(graph, best)
            if striped(graph, stages).macs - graph.macs <= most_macs
        ]
        new = min(tries, key=lambda each: each.rank, default=best)
        if new.rank[:2] >= best.rank[:2]:
            break
        best = new
        better.append(best.found)
    return tuple(better)


def counted(graph: Graph, stages: tuple[Stripes, ...], lowered: Callable[[Graph], LoweredGraph]) -> Found:
    """Returns the stages with what they need in the first order of the whole graph that is found; arguments as of `refined`."""
    return _Try.of(graph, stages, lowered).found


@dataclass(frozen=True, slots=True)
class _Try:
    """Stages in the first order of the whole graph that is found.

    Attributes:
        found: the stages, with what they need in it.
        steps: at how many steps it is that much.
        widest: the nodes of the striped graph whose rows live at the first of these, those of the widest rows first.
        made: the striped graph.
    """

    found: Found
    steps: int
    widest: tuple[int, ...]
    made: Graph

    @staticmethod
    def of(graph: Graph, stages: tuple[Stripes, ...], lowered: Callable[[Graph], LoweredGraph]) -> "_Try":
        made = striped(graph, stages)
        steps = row_steps(lowered(made))
        order = CutSearch(steps).best(0).order
        levels = live_levels(steps, order)
        peak, place = int(levels.max()), int(np.argmax(levels))
        alive = sorted(_alive(steps, order, place), key=lambda node: (-made.views[node].output.type.row_bytes, node))
        found = Found(stages, peak, made.macs - graph.macs)
        return _Try(found, int((levels == peak).sum()), tuple(alive), made)

    @property
    def rank(self) -> tuple[int, int, int]:
        """What it is judged by; lower is better."""
        return self.found.peak_bytes, self.steps, self.found.extra_macs


def _alive(steps: RowSteps, order: Sequence[int], place: int) -> set[int]:
    """Returns the nodes of which rows live at a place of an order."""
    places = parted(np.argsort(np.asarray(order, np.int64), kind="stable"), steps.steps)
    spans = ((each.maker, *lives(each, places, len(order))) for each in steps.slices)
    return {maker for maker, start, end in spans if maker >= 0 and ((start <= place) & (place < end)).any()}


def _more(graph: Graph, best: _Try) -> Iterator[tuple[Stripes, ...]]:
    """Yields the stages with one more each, around the image with the widest rows that is in none yet."""
    stages, made = best.found.stages, best.made
    places = {node.source: number for number, node in reversed(list(enumerate(graph.nodes)))}
    readers: dict[int, int] = {}
    for number, node in enumerate(graph.nodes):
        readers |= {index: number for index in node.inputs if index is not None}
    for number in best.widest:
        begin = places.get(made.nodes[number].source, -1)
        if begin < 0 or graph.nodes[begin].outputs != made.nodes[number].outputs:
            continue  # it is a part of a stage, or joins one
        reader = readers.get(graph.nodes[begin].outputs[0], begin)
        tries = [
            Stripes(begin, end, _even(graph, end, count))
            for end in (reader + 1, reader + 2)
            for count in _COUNTS
            if begin < reader and end <= len(graph.nodes)
        ]
        fitting = [each for each in tries if _is_free(each, stages) and not stage_problem(graph, each)]
        if fitting:
            yield from (tuple(sorted((*stages, each), key=lambda one: one.begin)) for each in fitting)
            return


def _is_free(stage: Stripes, stages: tuple[Stripes, ...]) -> bool:
    return all(stage.end <= other.begin or other.end <= stage.begin for other in stages)


def _even(graph: Graph, end: int, count: int) -> tuple[int, ...]:
    """Returns the borders of stripes of about one width."""
    shape = graph.tensors[graph.nodes[end - 1].outputs[0]].type.shape
    width = shape[2] if len(shape) > 2 else 1
    return tuple(width * part // count for part in range(1, count))
