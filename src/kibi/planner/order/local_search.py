"""Better orders of operators where exact search would take too long: beam search, cuts at the peak, exact search in windows."""

from collections.abc import Iterator

from kibi.planner.order.min_cut_bound import least_context
from kibi.planner.order.order_search import Stretch, beam, search

_BEAM_WORK = 25_000
"""Beam width times nodes."""
_WINDOWS = (10, 20, 40)
_WINDOW_STATES = 2_000
_ROUNDS = 60


def improve(stretch: Stretch, order: tuple[int, ...], bound: int, effort: int = 1) -> tuple[int, ...]:
    """A better order of a stretch, or the same one.

    Args:
        stretch: what is ordered.
        order: an order of it.
        bound: no order has a smaller peak; one that meets it ends the search.
        effort: how many times the usual work may be done.
    """
    width = max(2, effort * _BEAM_WORK // len(order))
    candidates = [order, beam(stretch, bound, width, effort) or order]
    best = min(
        (_improve(stretch, each, bound, effort) for each in dict.fromkeys(candidates)),
        key=lambda each: _rank(stretch, each),
    )
    return best if _rank(stretch, best) < _rank(stretch, order) else order


def _rank(stretch: Stretch, order: tuple[int, ...]) -> tuple[int, int]:
    """Orders are better with a smaller peak, then with fewer nodes at it."""
    costs = stretch.problem.costs(order, stretch.begin, stretch.live)
    return max(costs), costs.count(max(costs))


def _improve(stretch: Stretch, order: tuple[int, ...], bound: int, effort: int) -> tuple[int, ...]:
    """Repeat both kinds of steps while one of them helps."""
    for _ in range(effort * _ROUNDS):
        rank = _rank(stretch, order)
        if rank[0] <= bound:
            break
        better = next((each for each in _steps(stretch, order, bound, effort) if _rank(stretch, each) < rank), None)
        if better is None:
            break
        order = better
    return order


def _steps(stretch: Stretch, order: tuple[int, ...], bound: int, effort: int) -> Iterator[tuple[int, ...]]:
    """Changes at the first node where the peak is."""
    problem = stretch.problem
    costs = problem.costs(order, stretch.begin, stretch.live)
    place = costs.index(max(costs))
    context = least_context(stretch, order[place], effort).before
    early = [node for node in order if context >> node & 1]
    yield (*early, order[place], *(node for node in order if not context >> node & 1 and node != order[place]))
    for length in _WINDOWS:
        for lead in (length // 2, length // 4, 3 * length // 4):
            first = max(0, place - lead)
            window = order[first : first + length]
            part = stretch.within(order[:first], window)
            found = search(part, bound, max(costs[first : first + length]), effort * _WINDOW_STATES)
            if found.nodes is not None:
                yield (*order[:first], *found.nodes, *order[first + length :])
