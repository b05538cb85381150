"""Plans by the row: which tensors to hold row by row, and where."""

from collections.abc import Sequence
from time import perf_counter

import numpy as np

from kibi.ir import Graph
from kibi.planner.lifetimes import lifetimes
from kibi.planner.placement import place
from kibi.planner.plan import Buffer, Plan, Run
from kibi.planner.row_order import row_order
from kibi.targets import Target

_SEARCH_SECONDS = 0.25
"""About how long placement may search; an amount of work, so that the plan does not depend on the machine."""


def plan_by_row(graph: Graph, target: Target, *, runs: Sequence[Run] | None = None) -> Plan:
    """A plan whose rows each have a place and a lifetime of their own, wherever that lowers the peak.

    Args:
        graph: a verified graph.
        target: the processor that it is for.
        runs: the order of row steps; None: the best found by `row_order`.

    Raises:
        PlanError: the order is impossible.
    """
    started = perf_counter()
    order = row_order(graph).runs if runs is None else tuple(runs)
    buffers = lifetimes(graph, target, order, split=worth_splitting(graph, target, order))
    placement = place(buffers, time_limit_seconds=_SEARCH_SECONDS)
    return Plan(
        model=graph.name,
        target=target.name,
        runs=order,
        buffers=placement.buffers,
        arena_bytes=placement.peak_bytes,
        lower_bound_bytes=placement.lower_bound_bytes,
        proven_optimal=placement.proven_optimal,
        solve_seconds=perf_counter() - started,
    )


def worth_splitting(graph: Graph, target: Target, runs: Sequence[Run]) -> frozenset[int]:
    """The tensors that must be held row by row for the smallest peak; all others may be one buffer.

    A buffer for each row costs a table of offsets in flash. Starting from rows everywhere, each tensor, the largest first,
    is joined again where the peak does not rise.
    """
    steps = sum(run.rows for run in runs)
    everything = frozenset(tensor.index for tensor in graph.tensors if tensor.type.rows > 1)
    split = _by_tensor(lifetimes(graph, target, runs, split=everything))
    whole = _by_tensor(lifetimes(graph, target, runs))
    profiles = {tensor: _levels(buffers, steps) for tensor, buffers in split.items()}
    levels = np.sum(list(profiles.values()), axis=0)
    peak = int(levels.max())
    kept = set()
    candidates = [tensor for tensor in split if tensor is not None and split[tensor] != whole[tensor]]
    for tensor in sorted(candidates, key=lambda index: (-graph.tensors[index].type.size_bytes, index)):
        joined = levels - profiles[tensor] + _levels(whole[tensor], steps)
        if int(joined.max()) <= peak:
            levels = joined
        else:
            kept.add(tensor)
    return frozenset(kept)


def _by_tensor(buffers: Sequence[Buffer]) -> dict[int | None, list[Buffer]]:
    """The buffers of each tensor; all scratch under None."""
    found: dict[int | None, list[Buffer]] = {}
    for buffer in buffers:
        found.setdefault(buffer.tensor, []).append(buffer)
    return found


def _levels(buffers: Sequence[Buffer], steps: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Bytes that live during each step."""
    change = np.zeros(steps + 1, np.int64)
    for buffer in buffers:
        change[buffer.start] += buffer.size_bytes
        change[buffer.end] -= buffer.size_bytes
    levels: np.ndarray[tuple[int], np.dtype[np.int64]] = np.cumsum(change)[:-1]
    return levels
