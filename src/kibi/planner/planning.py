"""From a graph to its plan: order, lifetimes, placement."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from enum import StrEnum
from functools import cache, partial
from time import perf_counter

from kibi.errors import PlanError
from kibi.ir import Graph
from kibi.planner.bodies import planned_once, with_bodies
from kibi.planner.handover import with_handover
from kibi.planner.in_place import in_place_rules
from kibi.planner.lifetimes import lifetimes
from kibi.planner.limits import check_limits, why_whole
from kibi.planner.order.by_row import plan_by_row
from kibi.planner.order.orders import completed
from kibi.planner.order.row_order import WholeOrder, order_within
from kibi.planner.order.topological import smallest_peak_order
from kibi.planner.placement.placing import place
from kibi.planner.plan import Handover, Plan, Run
from kibi.planner.regions.file import Region
from kibi.planner.regions.planning import cheapest_in_regions
from kibi.selection import Goal, select
from kibi.targets import Target

_SHARES = (1.0, 0.95, 0.85)
"""Of the bytes that are allowed, what may live at once: placement may need a little more."""


class Granularity(StrEnum):
    """What a plan orders and places.

    TENSOR: each operator runs to completion, each tensor is one buffer. ROW: row steps of operators take turns between
    cuts, and rows live and die one by one, wherever that lowers the peak.
    """

    TENSOR = "tensor"
    ROW = "row"


def handover_named(name: str, *, is_output: bool = False) -> Handover:
    """The way of handing over inputs, or of getting at outputs, of that name.

    Raises:
        PlanError: there is none; the text lists those that exist.
    """
    known = [each for each in Handover if not (is_output and each is Handover.STREAMED)]
    if name in known:
        return Handover(name)
    side = "outputs" if is_output else "inputs"
    raise PlanError(f"{side} cannot be {name!r}. They can be: {', '.join(known)}.")


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
    inputs: Handover = Handover.STORED,
    outputs: Handover = Handover.STORED,
    supplied: Sequence[int] = (),
    goal: Goal = Goal.BALANCED,
    kernels: Sequence[str] | None = None,
    ram_bytes: int | None = None,
    regions: Sequence[Region] | None = None,
    place_weights: bool = False,
    bodies: tuple[Plan, ...] | None = None,
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
        inputs: how the caller hands over the model's inputs. Where they stream, `runs` counts the nodes of `with_handover`.
        outputs: how the caller gets at the outputs: stored or supplied.
        supplied: further tensors that lie in buffers of the caller's, by index.
        goal: what the code is to be good at: the fewest instructions, with whole tensors; or the smallest arena, with balanced
            code or the least of it.
        kernels: C names of the kernels, one for each node of the planned graph; None: the rules of the goal choose.
        ram_bytes: the most bytes that the arena may have: of the plans that fit, the fastest; None: no limit.
        regions: the memories of the board, among which buffers are shared out; None: one arena.
        place_weights: whether constants are assigned to regions, too.
        bodies: the plans of the graphs inside of operators, where they are made already.

    Returns:
        The plan, deterministic but for `solve_seconds`.

    Raises:
        PlanError: the order computes a row twice, never, or before the rows that it reads; or no plan fits.
    """
    started = perf_counter()
    if (regions is None and place_weights) or (regions is not None and ram_bytes is not None):
        what = (
            "weights are placed in regions" if regions is None else "a limit of RAM is for one arena, not for regions"
        )
        raise PlanError(f"{what}. Give {'regions' if regions is None else 'each region its bytes'}, or leave it out.")
    check_limits(graph)
    if bodies is None:
        bodies = planned_bodies(graph, target, scratch=scratch, granularity=granularity, goal=goal)
    handed = with_handover(graph, inputs, outputs, supplied)
    # What is packed for a variant is no longer the constant that regions are asked to hold.
    chosen = () if place_weights else kernels
    wanted = with_bodies(select(handed, target, goal, chosen), bodies)
    if runs is not None or granularity is Granularity.TENSOR or (goal is Goal.SPEED and ram_bytes is None):
        by_row = runs is not None and granularity is Granularity.ROW
        best = plan_by_row(wanted, target, runs=runs) if by_row else _plan_by_tensor(wanted, target, runs, scratch)
    else:
        best = _smallest(wanted, target, scratch, ram_bytes)
    if regions is not None:
        made = [best]
        if granularity is Granularity.ROW and runs is None and goal is not Goal.SPEED:
            made.append(_plan_by_tensor(wanted, target, None, scratch))
        best = cheapest_in_regions(wanted, target, made, regions, place_weights=place_weights)
    if ram_bytes is not None and best.arena_bytes > ram_bytes:
        raise PlanError(_too_large(best, inputs, ram_bytes))
    return replace(
        best,
        input=inputs,
        output=outputs,
        supplied=tuple(sorted(supplied)),
        goal=goal,
        kernels=() if place_weights else wanted.kernels,
        bodies=bodies,
        solve_seconds=perf_counter() - started,
    )


def planned_bodies(
    graph: Graph,
    target: Target,
    *,
    scratch: bool = True,
    granularity: Granularity = Granularity.TENSOR,
    goal: Goal = Goal.BALANCED,
) -> tuple[Plan, ...]:
    """A plan for each graph inside of a graph's operators, in the order of nodes; arguments as of `plan`."""

    def make(body: Graph, bodies: tuple[Plan, ...]) -> Plan:
        made = plan(body, target, scratch=scratch, granularity=granularity, goal=goal, bodies=bodies)
        return replace(made, solve_seconds=0.0)

    return planned_once(graph, make)


def with_kernels(graph: Graph, made: Plan, target: Target, goal: Goal, kernels: Sequence[str]) -> Plan:
    """Returns the plan of the same order for other kernels, in one arena.

    Args:
        graph: the model.
        made: its plan.
        target: the processor.
        goal: what the kernels are for.
        kernels: C names, one for each node of the planned graph.

    Raises:
        PlanError: the plan does not fit the model.
        InputError: a kernel cannot run its node.
    """
    handed = with_handover(graph, made.input, made.output, made.supplied)
    by_row = any(run.rows < handed.sites[run.node].steps for run in made.runs)
    return plan(
        graph, target, runs=made.runs, granularity=Granularity.ROW if by_row else Granularity.TENSOR, inputs=made.input,
        outputs=made.output, supplied=made.supplied, goal=goal, kernels=kernels, bodies=made.bodies,
    )  # fmt: skip


def _smallest(graph: Graph, target: Target, scratch: bool, ram_bytes: int | None) -> Plan:
    """The plan by the row, unless whole tensors, which are faster, need no more or fit as well, or rows are too many."""
    limited = why_whole(graph)
    if limited:
        return replace(_plan_by_tensor(graph, target, None, scratch, ram_bytes), limited=limited)
    if ram_bytes is not None:
        fast = _fastest_first(graph, target, scratch, ram_bytes)
        fitting = next((plan for plan in fast if plan.arena_bytes <= ram_bytes), None)
        if fitting is not None:
            return fitting
    whole = cache(partial(smallest_peak_order, graph))
    by_row = plan_by_row(graph, target, whole=whole)
    by_tensor = _plan_by_tensor(graph, target, None, scratch, by_row.arena_bytes, whole)
    return by_row if by_row.arena_bytes < by_tensor.arena_bytes else by_tensor


def _fastest_first(graph: Graph, target: Target, scratch: bool, ram_bytes: int) -> Iterator[Plan]:
    """Plans that may fit: whole tensors; then by the row, but with as few runs as the bytes allow."""
    yield _plan_by_tensor(graph, target, None, scratch, ram_bytes)
    for share in _SHARES:
        allowed = int(ram_bytes * share)
        order = order_within(graph, allowed)
        if order is not None:
            yield plan_by_row(graph, target, runs=order.runs, floor=allowed)


def _plan_by_tensor(
    graph: Graph,
    target: Target,
    runs: Sequence[Run] | None,
    scratch: bool,
    capacity: int | None = None,
    whole: WholeOrder | None = None,
) -> Plan:
    found = partial(smallest_peak_order, graph) if whole is None else whole
    best = None if runs is not None else found()
    order = tuple(runs or ()) if best is None else completed(graph, best.nodes)
    buffers = lifetimes(graph, order, scratch=scratch)
    placement = place(buffers, rules=in_place_rules(graph, order, buffers), capacity=capacity)
    bound = 0 if best is None else best.lower_bound_bytes
    return placement.plan(graph.name, target.name, order, order_bound_bytes=bound)


def _too_large(best: Plan, inputs: Handover, ram_bytes: int) -> str:
    """Why nothing fits, and what to do."""
    proof = "proven for its order of steps" if best.proven_optimal else f"at best {best.lower_bound_bytes} in its order"
    what = f"no plan for {best.model} fits {ram_bytes} bytes: the smallest that was found needs {best.arena_bytes} ({proof})"
    ways = "Allow that much" if inputs is Handover.STREAMED else "Allow that much, or let the inputs stream"
    return f"{what}. {ways}."
