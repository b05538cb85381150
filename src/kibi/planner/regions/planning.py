"""Regions: a plan whose buffers, and if asked constants, are in the memories of a board, at the least cost of their use."""

from collections.abc import Sequence
from dataclasses import replace

from kibi.errors import PlanError
from kibi.ir import Graph
from kibi.planner.in_place import in_place_rules
from kibi.planner.placement.placing import Placement, Status
from kibi.planner.plan import Buffer, Plan, RegionUse
from kibi.planner.regions.access import Accesses, count_accesses
from kibi.planner.regions.file import Region, check_regions
from kibi.planner.regions.problem import Fits, RegionProblem, Unit, buffers_only, chosen, members_of, place_units
from kibi.planner.regions.search import search
from kibi.planner.regions.shortfall import shortfall
from kibi.targets import Target

_PLACE_SECONDS = 0.25


def cheapest_in_regions(
    graph: Graph, target: Target, made: Sequence[Plan], regions: Sequence[Region], *, place_weights: bool = False
) -> Plan:
    """The cheapest of several plans with one arena, when their buffers are in regions; of equally cheap ones the smallest.

    Args:
        graph: the graph that the plans' numbers mean.
        target: the processor that they are for.
        made: plans, at least one.
        regions: the memories.
        place_weights: as for `assign_regions`.

    Raises:
        PlanError: as from `assign_regions`, for the first plan, if no plan fits.
    """
    found: list[Plan] = []
    first: PlanError | None = None
    for each in made:
        try:
            found.append(assign_regions(graph, target, each, regions, place_weights=place_weights))
        except PlanError as error:
            first = first or error
    if first is not None and not found:
        raise first
    return min(found, key=lambda plan: (plan.cost, plan.arena_bytes))


def assign_regions(
    graph: Graph, target: Target, made: Plan, regions: Sequence[Region], *, place_weights: bool = False
) -> Plan:
    """The same order of steps, with every buffer in a region such that all capacities hold and the cost is low.

    The cost is the sum, over buffers and assigned constants, of the bytes that one inference reads and writes there, times
    the region's cost of a byte; `region_access` says how bytes are counted. All rows of a tensor go to one region. Where all
    buffers fit the cheapest region together, they are there as in the plan that is given.

    Args:
        graph: the graph that the plan's numbers mean.
        target: the processor that it is for.
        made: a plan with one arena.
        regions: the memories.
        place_weights: true if the constants that kernels read are assigned, too, to regions that hold weights.

    Returns:
        The plan with regions, its cost, and a lower bound of the cost of any assignment of these buffers.

    Raises:
        PlanError: the regions do not go together, or nothing was found that fits; the text says how much is missing where.
    """
    accesses = count_accesses(graph)
    problem = _problem(graph, target, made, check_regions(regions), accesses if place_weights else None)
    if place_weights and accesses.weights and not any(region.holds_weights for region in problem.regions):
        what = f"no region may hold the weights of {graph.name}: {', '.join(region.name for region in problem.regions)}"
        raise PlanError(f"{what}. Write `weights = true` for one of them, or do not place weights.")
    fits = Fits.of(problem)
    found = search(problem, fits)
    if found.regions is None:
        raise PlanError(shortfall(graph, problem, is_proven=found.is_proven))
    members = [members_of(found.regions, at) for at in range(len(problem.regions))]
    placements = [_placement(problem, fits, at, its) for at, its in enumerate(members)]
    plan = replace(
        made,
        buffers=_merged(problem, members, placements),
        regions=tuple(_use(problem, at, its, placements[at]) for at, its in enumerate(members)),
        weight_regions=tuple(
            (unit.weight, problem.regions[at].name)
            for unit, at in zip(problem.units, found.regions, strict=True)
            if unit.weight is not None
        ),
    )
    arena_bytes = sum(use.used_bytes for use in plan.regions)
    bound_bytes = sum(use.lower_bound_bytes for use in plan.regions)
    bound = plan.cost if found.is_proven else min(plan.cost, found.bound * problem.price_unit)
    return replace(
        plan,
        arena_bytes=arena_bytes,
        lower_bound_bytes=bound_bytes,
        proven_optimal=arena_bytes == bound_bytes,
        cost_lower_bound=bound,
    )


def _problem(
    graph: Graph, target: Target, made: Plan, regions: tuple[Region, ...], weights: Accesses | None
) -> RegionProblem:
    accesses = weights or count_accesses(graph)
    elements = {weights.alignment_bytes if weights else 1, *(buffer.alignment for buffer in made.buffers)}
    alignment = max({target.arena_alignment_bytes, *elements})
    units = [*_tensor_units(made, accesses), *_scratch_units(made, accesses)]
    for index, sizes in (weights.weight_sizes if weights else {}).items():
        size_bytes = sum(-(-size // alignment) * alignment for size in sizes)
        units.append(Unit((), index, size_bytes, accesses.weights[index]))
    status = Status.OPTIMAL if made.proven_optimal else Status.FEASIBLE
    packed = Placement(made.buffers, made.arena_bytes, made.lower_bound_bytes, status)
    rules = in_place_rules(graph, made.runs, made.buffers)
    return RegionProblem(regions, tuple(units), packed, rules, alignment)


def _tensor_units(made: Plan, accesses: Accesses) -> list[Unit]:
    positions: dict[int, list[int]] = {}
    for position, buffer in enumerate(made.buffers):
        if buffer.tensor is not None:
            positions.setdefault(buffer.tensor, []).append(position)
    return [
        Unit(tuple(its), None, _most_live([made.buffers[position] for position in its]), accesses.tensors[tensor])
        for tensor, its in sorted(positions.items())
    ]


def _scratch_units(made: Plan, accesses: Accesses) -> list[Unit]:
    positions: dict[tuple[int, ...], list[int]] = {}
    for position, buffer in enumerate(made.buffers):
        if buffer.tensor is None:
            positions.setdefault(buffer.nodes, []).append(position)
    return [
        Unit(tuple(its), None, made.buffers[its[0]].size_bytes, sum(accesses.scratch[node] for node in nodes))
        for nodes, its in positions.items()
    ]


def _most_live(buffers: Sequence[Buffer]) -> int:
    """The most bytes of some buffers that live at once."""
    changes = [(buffer.start, buffer.size_bytes) for buffer in buffers]
    changes += [(buffer.end, -buffer.size_bytes) for buffer in buffers]
    live = most = 0
    for _, change in sorted(changes):  # what dies at a step comes before what is made there
        live += change
        most = max(most, live)
    return most


def _placement(problem: RegionProblem, fits: Fits, region: int, members: int) -> Placement | None:
    """The lowest placement found of what is assigned to a region; None where nothing is."""
    _, fitting = fits.look(region, members)
    if fitting is None or fitting is problem.packed or fitting.proven_optimal:
        return fitting
    lowest = place_units(problem, members, None, seconds=_PLACE_SECONDS)
    return lowest if lowest.peak_bytes <= fitting.peak_bytes else fitting


def _merged(
    problem: RegionProblem, members: Sequence[int], placements: Sequence[Placement | None]
) -> tuple[Buffer, ...]:
    """All buffers in the plan's order, each in its region."""
    merged = list(problem.buffers)
    for region, its, placement in zip(problem.regions, members, placements, strict=True):
        positions = sorted(position for unit in chosen(problem, its) for position in unit.buffers)
        for position, buffer in zip(positions, () if placement is None else placement.buffers, strict=True):
            merged[position] = replace(buffer, region=region.name)
    return tuple(merged)


def _use(problem: RegionProblem, at: int, members: int, placement: Placement | None) -> RegionUse:
    region, units = problem.regions[at], chosen(problem, members)
    has_buffers = placement is not None and bool(buffers_only(problem, members))
    return RegionUse(
        name=region.name,
        size_bytes=region.size_bytes,
        used_bytes=placement.peak_bytes if has_buffers and placement else 0,
        lower_bound_bytes=placement.lower_bound_bytes if has_buffers and placement else 0,
        weights_bytes=sum(unit.size_bytes for unit in units if unit.weight is not None),
        accessed_bytes=sum(unit.accessed_bytes for unit in units),
        cost=float(region.cost),
    )
