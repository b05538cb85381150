"""From a graph to its plan: order, lifetimes, placement."""

from collections.abc import Sequence
from enum import StrEnum
from time import perf_counter

from kibi.errors import PlanError
from kibi.ir import Graph
from kibi.planner.by_row import plan_by_row
from kibi.planner.lifetimes import lifetimes
from kibi.planner.order import completed_order
from kibi.planner.placement import place
from kibi.planner.plan import Plan, Run
from kibi.targets import Target


class Granularity(StrEnum):
    """What a plan orders and places.

    TENSOR: each operator runs to completion, each tensor is one buffer. ROW: row steps of operators take turns between
    cuts, and rows live and die one by one, wherever that lowers the peak.
    """

    TENSOR = "tensor"
    ROW = "row"


def granularity_named(name: str) -> Granularity:
    """The granularity of that name.

    Raises:
        PlanError: there is none; the text lists those that exist.
    """
    try:
        return Granularity(name)
    except ValueError:
        raise PlanError(f"unknown granularity {name!r}. There are: {', '.join(Granularity)}.") from None


def plan(
    graph: Graph,
    target: Target,
    *,
    runs: Sequence[Run] | None = None,
    scratch: bool = True,
    granularity: Granularity = Granularity.TENSOR,
) -> Plan:
    """Plan every byte of a model's arena.

    Args:
        graph: a verified graph.
        target: the processor that it is for.
        runs: the order of row steps; None for the best order of operators that each run to completion, or, by the row, for
            the best that is found.
        scratch: whether the arena holds the kernels' scratch. A plan without it shows what activations alone need; it
            cannot run.
        granularity: whether tensors or rows are placed; with `runs`, rows of tensors that interleave are placed in any case.

    Returns:
        The plan, deterministic but for `solve_seconds`.

    Raises:
        PlanError: the order computes a row twice, never, or before the rows that it reads.
    """
    if granularity is Granularity.ROW:
        return plan_by_row(graph, target, runs=runs)
    started = perf_counter()
    order = completed_order(graph) if runs is None else tuple(runs)
    placement = place(lifetimes(graph, target, order, scratch=scratch))
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
