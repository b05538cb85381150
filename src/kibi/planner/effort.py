"""The effort of searches, counted in work, not in seconds: the same effort gives the same plan on every machine.

Each search has an amount of work at which it stops with the best that it found: states, row steps that are looked at, pairs of
buffers, visits of an item. Effort 1 is that amount, chosen so that a plan takes a few seconds at most; effort N is N times as
much, after half of it, a quarter and so on: more effort never finds a worse plan.
"""

from collections.abc import Callable
from dataclasses import replace
from time import perf_counter

from kibi.errors import PlanError
from kibi.planner.plan import Plan

MOST_EFFORT = 1 << 16
_DOUBLED = 2.5
"""How many times as long a plan of twice the effort may take."""

Watch = Callable[[str], None]
"""Is told in a few words what has been found so far."""


def check_effort(effort: int, seconds: float | None) -> None:
    """Refuse what is no amount of search.

    Raises:
        PlanError: the effort is no whole number from 1 to `MOST_EFFORT`, or the time limit no number from 0 on.
    """
    if not 1 <= effort <= MOST_EFFORT:
        raise PlanError(
            f"effort {effort} is out of range. Give a whole number from 1, the usual one, to {MOST_EFFORT}."
        )
    if seconds is not None and not seconds >= 0:
        raise PlanError(f"a plan cannot take {seconds} seconds. Give a number from 0 on, or an effort.")


def best_of_efforts(
    make: Callable[[int], Plan],
    rank: Callable[[Plan], tuple[float, ...]],
    effort: int,
    seconds: float | None,
    watch: Watch | None = None,
) -> Plan:
    """The best plan that efforts 1, 2, 4 … up to one find, or as many of them as probably end within a time limit.

    Args:
        make: plans with an effort.
        rank: plans that rank lower are better; of equal ones that of the least effort is taken.
        effort: the largest; 1 with a time limit: as large as there is time for.
        seconds: about how long the search may go on; None: as long as it takes. What is found depends on the machine only in how
            many efforts were tried.
        watch: is told of what is known before each but the first.

    Returns:
        The plan; its `effort` is the largest that was tried, with which the same plan is found again.
    """
    started = perf_counter()
    largest = effort if seconds is None or effort > 1 else MOST_EFFORT
    best, tried = make(1), 1
    took = perf_counter() - started
    while tried < largest and not is_finished(best) and (seconds is None or _is_time(started, seconds, took)):
        tried = min(2 * tried, largest)
        if watch is not None:
            watch(f"{best.arena_bytes:,} bytes so far, {best.least_bytes:,} may be possible; effort {tried}")
        began = perf_counter()
        best = min(best, make(tried), key=rank)
        took = perf_counter() - began
    return replace(best, effort=tried)


def is_finished(plan: Plan) -> bool:
    """True if no effort finds a better plan."""
    return not plan.limited and plan.gain_bytes == 0


def _is_time(started: float, seconds: float, took: float) -> bool:
    """True if a plan of twice the effort probably ends in time."""
    return perf_counter() - started + _DOUBLED * took <= seconds
