"""From a graph to its plan: order, lifetimes, placement."""

from collections.abc import Sequence
from time import perf_counter

from kibi.ir import Graph
from kibi.planner.lifetimes import lifetimes
from kibi.planner.order import file_order
from kibi.planner.placement import place
from kibi.planner.plan import Plan, Run
from kibi.targets import Target


def plan(graph: Graph, target: Target, *, runs: Sequence[Run] | None = None, scratch: bool = True) -> Plan:
    """Plan every byte of a model's arena.

    Args:
        graph: a verified graph.
        target: the processor that it is for.
        runs: the order of row steps; None for the file's order, each operator run to completion.
        scratch: whether the arena holds the kernels' scratch. A plan without it shows what activations alone need; it
            cannot run.

    Returns:
        The plan, deterministic but for `solve_seconds`.

    Raises:
        PlanError: the order computes a row twice, never, or before the rows that it reads.
    """
    started = perf_counter()
    order = file_order(graph) if runs is None else tuple(runs)
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
