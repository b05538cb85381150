"""From a graph to its plan: order, lifetimes, placement."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from time import perf_counter
from typing import TypeAlias

from kibi.errors import PlanError
from kibi.ir import Graph
from kibi.planner.effort import Watch, best_of_efforts, check_effort
from kibi.planner.granularity import Granularity
from kibi.planner.handover import as_planned, with_handover
from kibi.planner.joined_steps import separate_runs, with_joined, with_steps_joined
from kibi.planner.limits import check_limits
from kibi.planner.pixel_rows import with_pixel_rows, with_wider_rows
from kibi.planner.plan import Handover, PixelRows, Plan, Run, Stripes
from kibi.planner.plan_request import LIVE_SHARES, PlanRequest
from kibi.planner.read_ahead import Asked, planned_ahead
from kibi.planner.recomputation import MOST_PLANS, best_recomputed, check_recompute
from kibi.planner.regions.file import Region
from kibi.planner.roomy_scratch import with_roomy_scratch
from kibi.planner.scratch_by_run import is_worth_it, reads_more, with_scratch_by_run
from kibi.planner.slow_weights import check_slow, lowered_for, named_kernels
from kibi.planner.staged_weights import with_room_for_copies
from kibi.planner.stripes import striped
from kibi.planner.subgraphs import planned_once
from kibi.planner.weights_option import ReadWeights
from kibi.planner.window_search import Windows, WindowSearch, fitting
from kibi.renames import renamed_value
from kibi.selection import PARTS, Goal, LoweredGraph, Weights, coded_weights, frugal_kernels, select
from kibi.targets import Target

_ROOMY_PARTS = 6
"""The part of an arena that the scratch of a run may have where it has a place of its own."""
_BestOf: TypeAlias = Callable[[Callable[[int], Plan], Callable[[Plan], tuple[float, ...]]], Plan]


def handover_named(name: str, *, is_output: bool = False) -> Handover:
    """The way of handing over inputs, or of getting at outputs, of that name.

    Raises:
        PlanError: no such name exists; the text lists those that do.
    """
    name = renamed_value(name, {"supplied": "external"})
    known = [each for each in Handover if not (is_output and each is Handover.STREAMED)]
    if name in known:
        return Handover(name)
    side = "outputs" if is_output else "inputs"
    raise PlanError(f"{side} cannot be {name!r}. They can be: {', '.join(known)}.")


def plan(
    graph: Graph,
    target: Target,
    *,
    runs: Sequence[Run] | None = None,
    scratch: bool = True,
    granularity: Granularity = Granularity.TENSOR,
    inputs: Handover = Handover.STORED,
    outputs: Handover = Handover.STORED,
    external_buffers: Sequence[int] = (),
    goal: Goal = Goal.BALANCED,
    kernels: Sequence[str] | None = None,
    ram_bytes: int | None = None,
    regions: Sequence[Region] | None = None,
    place_weights: bool = False,
    weights: Weights | ReadWeights = Weights.FLASH,
    bandwidth: int | None = None,
    recompute: float = 1.0,
    stripes: Sequence[Stripes] = (),
    pixel_rows: Sequence[PixelRows] | None = None,
    subgraphs: tuple[Plan, ...] | None = None,
    effort: int = 1,
    seconds: float | None = None,
    watch: Watch | None = None,
) -> Plan:
    """Plan every byte of a model's arena.

    Args:
        graph: a verified graph.
        target: the processor that it is for.
        runs: the order of row steps; None for the best order of operators that each run to completion, or, by the row, for
            the best that is found.
        scratch: true if the arena holds the kernels' scratch. A plan without it shows what activations alone need; it
            cannot run.
        granularity: what is placed, tensors or rows; with `runs`, rows of tensors that interleave are placed in any case.
        inputs: how the caller hands over the model's inputs. Where they stream, `runs` counts the nodes of `with_handover`.
        outputs: how the caller gets at the outputs: stored or external.
        external_buffers: further tensors that are stored in caller-owned buffers, by index.
        goal: what the code is to be good at: the least time, with whole tensors; or the smallest arena, with balanced
            code or the least of it.
        kernels: C names of the kernels, one for each node of the planned graph; None: the rules of the goal choose.
        ram_bytes: the most bytes that the arena may have: of the plans that fit, the fastest; None: no limit.
        regions: the memories of the board, among which buffers are shared out; None: one arena.
        place_weights: true if constants are assigned to regions, too.
        weights: how the weights of the model's own nodes are stored, or the function of the application that reads them from slow
            memory.
        bandwidth: bytes that this function reads in a second. With `ram_bytes` the windows are those with the fewest bytes fetched
            that fit; without, the smallest for which further fetches take little time.
        recompute: the most multiply-accumulates that the plan may compute, as a multiple of the model's: above 1, stages are
            computed stripe by stripe where that lowers the arena, or, with `ram_bytes`, where nothing else fits.
        stripes: the stages that are computed so, as of a plan; `runs` and `kernels` are for the nodes that they leave.
        pixel_rows: the pointwise convolutions that compute several rows of one pixel as one, as of a plan; `runs` and `kernels` are
            for the nodes that they leave. None: none with these two, or where something else is asked for; else those for which
            the arena grows by no more than the price of speed.
        subgraphs: the plans of the graphs inside of operators, where they are made already.
        effort: how many times the usual work may be done; the same effort gives the same plan on every machine.
        seconds: a time limit; larger efforts are tried while there is time. The plan depends on the machine then.
        watch: is told what has been found while the search goes on.

    Returns:
        The plan, deterministic but for `solve_seconds` unless there is a time limit.

    Raises:
        PlanError: the order computes a row twice, never, or before the rows that it reads; or no plan fits.
    """
    started = perf_counter()
    check_effort(effort, seconds)
    _check_regions(regions, ram_bytes, weights if place_weights else None)
    check_limits(graph)
    if subgraphs is None:
        subgraphs = planned_bodies(graph, target, scratch=scratch, granularity=granularity, goal=goal, effort=effort)
    plain = striped(with_handover(graph, inputs, outputs, external_buffers), stripes)
    handed = with_pixel_rows(plain, pixel_rows or ())
    read = weights if isinstance(weights, ReadWeights) else None
    is_whole = granularity is Granularity.TENSOR or (goal is Goal.SPEED and ram_bytes is None)
    is_alone = runs is None and regions is None and kernels is None
    check_recompute(recompute, is_alone=is_alone and read is None and not (stripes or pixel_rows), is_whole=is_whole)
    if recompute > 1:
        made = partial(
            plan, graph, target, runs=runs, scratch=scratch, granularity=granularity, inputs=inputs, outputs=outputs,
            external_buffers=external_buffers, goal=goal, ram_bytes=ram_bytes, weights=weights, subgraphs=subgraphs, effort=effort,
            watch=watch,
        )  # fmt: skip
        share = None if seconds is None else seconds / MOST_PLANS
        lower = partial(lowered_for, slow=None, target=target, goal=goal, kernels=None, subgraphs=subgraphs)
        best = best_recomputed(handed, recompute, lambda stages: made(stripes=stages, seconds=share), lower, ram_bytes)
        return replace(best, solve_seconds=perf_counter() - started)
    check_slow(read, bandwidth, is_alone=is_alone)
    # What is packed for a variant is no longer the constant that regions are asked to hold.
    chosen = () if place_weights else kernels
    if weights is Weights.RICE:
        chosen = coded_weights(select(handed, target, goal, chosen)).kernels
    order = None if runs is None else tuple(runs)
    lower = partial(lowered_for, handed, target=target, goal=goal, subgraphs=subgraphs)
    ways: Iterable[tuple[Windows | None, LoweredGraph]] = _plain_ways(lower, chosen, ram_bytes)
    if read is not None and bandwidth is not None:
        search = WindowSearch(handed, target, goal, read, bandwidth, subgraphs, is_whole)
        found = fitting(search, ram_bytes, LIVE_SHARES)
        ways = ((windows, lower(slow=windows.slow, kernels=chosen)) for windows in found)
    best_of = partial(best_of_efforts, effort=effort, seconds=seconds, watch=watch)
    for windows, lowered in ways:
        slow = None if windows is None else windows.slow
        by_run = scratch and regions is None and slow is None and not stripes and goal is not Goal.SPEED
        request = PlanRequest(
            lowered, target, order, scratch, granularity, goal, ram_bytes, regions, place_weights, bool(stripes), by_run
        )
        best = best_of(request.planned, request.rank)
        if windows is not None and windows.ahead and (ram_bytes is None or best.arena_bytes <= ram_bytes):
            slow = replace(windows.slow, ahead=True)
            request = replace(request, graph=lower(slow=slow, kernels=chosen))
            place = partial(request.reordered, best)
            best = planned_ahead(
                lowered, request.graph, best, slow, target, Asked(ram_bytes, windows.most_seconds), place
            )
        if scratch and regions is None and slow is None:
            best = _with_scratch_placed(request, best, best_of)
        if ram_bytes is None or best.arena_bytes <= ram_bytes:
            break
    else:
        raise PlanError(_too_large(best, inputs, ram_bytes or 0))
    if scratch and regions is None and slow is None:
        if inputs is not Handover.STREAMED:
            best = with_room_for_copies(request.graph, best, goal, ram_bytes)
    elif order is None:
        best = with_steps_joined(request.graph, best)
    best = replace(
        best,
        input=inputs,
        output=outputs,
        external_buffers=tuple(sorted(external_buffers)),
        goal=goal,
        kernels=() if place_weights else named_kernels(request.graph),
        subgraphs=subgraphs,
        slow_weights=slow,
        stripes=tuple(stripes),
        pixel_rows=tuple(pixel_rows or ()),
        solve_seconds=perf_counter() - started,
    )
    if pixel_rows is None and is_alone and scratch and not is_whole and _is_plain(stripes, read, weights, goal):
        made = partial(
            plan, graph, target, granularity=granularity, inputs=inputs, outputs=outputs, external_buffers=external_buffers,
            goal=goal, ram_bytes=ram_bytes, subgraphs=subgraphs, effort=best.effort,
        )  # fmt: skip
        choose = partial(lowered_for, slow=None, target=target, goal=goal, kernels=None, subgraphs=subgraphs)
        most_bytes = best.arena_bytes + best.arena_bytes // PARTS if ram_bytes is None else ram_bytes
        best = with_wider_rows(handed, best, most_bytes, lambda rows: made(pixel_rows=rows), choose)
        best = replace(best, solve_seconds=perf_counter() - started)
    return best


def _is_plain(stripes: Sequence[Stripes], read: ReadWeights | None, weights: Weights | ReadWeights, goal: Goal) -> bool:
    """True for a plan of the balanced goal without stripes, with weights that are read in place."""
    return not stripes and read is None and weights is Weights.FLASH and goal is Goal.BALANCED


def planned_bodies(
    graph: Graph,
    target: Target,
    *,
    scratch: bool = True,
    granularity: Granularity = Granularity.TENSOR,
    goal: Goal = Goal.BALANCED,
    effort: int = 1,
) -> tuple[Plan, ...]:
    """A plan for each graph inside of a graph's operators, in the order of nodes; arguments as of `plan`."""

    def make(body: Graph, subgraphs: tuple[Plan, ...]) -> Plan:
        made = plan(
            body, target, scratch=scratch, granularity=granularity, goal=goal, subgraphs=subgraphs, effort=effort
        )
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
        PlanError: the plan does not fit the model, or its weights are in slow memory.
        InputError: a kernel cannot run its node.
    """
    if made.slow_weights is not None:
        raise PlanError("kernels are not changed in a plan whose weights are in slow memory. Plan without --weights.")
    handed = as_planned(graph, made)
    runs = separate_runs(handed, made)
    by_row = any(run.steps < handed.views[run.node].steps for run in runs)
    after = plan(
        graph, target, runs=runs, granularity=Granularity.ROW if by_row else Granularity.TENSOR, inputs=made.input,
        outputs=made.output, external_buffers=made.external_buffers, goal=goal, kernels=kernels, stripes=made.stripes,
        pixel_rows=made.pixel_rows, subgraphs=made.subgraphs,
    )  # fmt: skip
    lowered = lowered_for(handed, None, target, goal, kernels, made.subgraphs)
    return with_steps_joined(lowered, after) if made.joined else after


def _with_scratch_placed(request: PlanRequest, made: Plan, best_of: _BestOf) -> Plan:
    """Returns the plan with scratch as of `_with_scratch_chosen`, or that of a settled order if it is smaller.

    Arguments as of that function.
    """
    found, calm = _with_scratch_chosen(request, made, best_of), request.settled(made)
    if calm is None:
        return found
    other = _with_scratch_chosen(request, calm, best_of)
    return other if other.arena_bytes < found.arena_bytes else found


def _with_scratch_chosen(request: PlanRequest, made: Plan, best_of: _BestOf) -> Plan:
    """Returns the plan with its steps joined, and with as much scratch as is of use where bytes are free.

    Scratch has a place for each run of its node where that is asked for, and is worth its price or needed to fit. There is as
    much of it as is of use, or as little as gives the smallest arena, if what is read more often is worth that.

    Args:
        request: what is asked of the plan; the graph is of its nodes.
        made: of one arena.
        best_of: finds the best plan of those that efforts make.
    """
    one, each = _scratch_placed(request, made)
    if not request.by_run or request.ram_bytes is not None:
        return each
    # Runs may have more scratch than what all of them have room for at one place: then constants are read less often.
    room_bytes = one.arena_bytes // _ROOMY_PARTS
    if each is not one and reads_more(request.graph, each, room_bytes):
        joined = with_joined(request.graph, one.joined)
        roomy = with_scratch_by_run(joined, one, one.effort, room_bytes=room_bytes)
        if roomy is not one and not is_worth_it(request.graph, roomy, each):
            return roomy
    if is_worth_it(request.graph, one, each):
        return each
    # The order was searched for scratch with a place for each run; another may be better for one place.
    alone = replace(request, by_run=False)
    one, _ = _scratch_placed(alone, best_of(alone.planned, alone.rank))
    return each if is_worth_it(request.graph, one, each) else one


def _scratch_placed(request: PlanRequest, made: Plan) -> tuple[Plan, Plan]:
    """Returns two plans with scratch: with one place for all runs of a node, and with one for each where that is asked for."""
    one = with_roomy_scratch(
        request.graph, made if request.runs is not None else with_steps_joined(request.graph, made)
    )
    if not request.by_run:
        return one, one
    return one, with_scratch_by_run(with_joined(request.graph, one.joined), one, one.effort)


def _check_regions(
    regions: Sequence[Region] | None, ram_bytes: int | None, placed: Weights | ReadWeights | None
) -> None:
    """Checks that regions, a limit of RAM, and the way of storing weights that are placed in regions go together.

    Raises:
        PlanError: they do not.
    """
    if (regions is None and placed is not None) or (regions is not None and ram_bytes is not None):
        what = (
            "weights are placed in regions" if regions is None else "a limit of RAM is for one arena, not for regions"
        )
        raise PlanError(f"{what}. Give {'regions' if regions is None else 'each region its bytes'}, or leave it out.")
    if placed is Weights.RICE:
        raise PlanError("weights that are placed in regions are stored as they are. Place none, or code none.")


def _plain_ways(
    lower: Callable[..., LoweredGraph], kernels: Sequence[str] | None, ram_bytes: int | None
) -> Iterator[tuple[None, LoweredGraph]]:
    """Yields the graph with its kernels; where bytes are limited, also with none that takes a part of the arena for speed."""
    wanted = lower(slow=None, kernels=kernels)
    yield None, wanted
    if ram_bytes is None or kernels is not None:
        return
    frugal = frugal_kernels(wanted)
    if frugal != wanted.kernels:
        yield None, lower(slow=None, kernels=frugal)


def _too_large(best: Plan, inputs: Handover, ram_bytes: int) -> str:
    """Returns why nothing fits, and what to do."""
    proof = "proven for its order of steps" if best.proven_optimal else f"at best {best.lower_bound_bytes} in its order"
    what = f"no plan for {best.model} fits {ram_bytes} bytes: the smallest that was found needs {best.arena_bytes} ({proof})"
    ways = ["Allow that much", *([] if inputs is Handover.STREAMED else ["let the inputs stream"])]
    ways += ["give the search more effort"] if best.least_bytes <= ram_bytes else []
    return f"{what}. {', or '.join(ways)}."
