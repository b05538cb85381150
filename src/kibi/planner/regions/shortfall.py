"""The reasons why nothing fits: for each region, how many bytes are missing, and what would fit."""

from dataclasses import replace

from kibi.ir import Graph
from kibi.planner.plan import buffer_name
from kibi.planner.regions.file import LARGEST_BYTES
from kibi.planner.regions.problem import Fits, RegionProblem, Unit, bits, buffers_only, members_of, place_units
from kibi.planner.regions.search import filled_last

_SHOWN_UNITS = 3
_NAME_LENGTH = 48


def shortfall(graph: Graph, problem: RegionProblem, *, is_proven: bool) -> str:
    """The text of the error.

    Args:
        graph: names tensors and operators.
        problem: what does not fit.
        is_proven: true if it is proven that nothing fits.
    """
    head = f"{graph.name} does not fit its memory regions" + (
        "" if is_proven else ", as far as a limited search can tell"
    )
    packed = problem.packed
    need = f"Its buffers take {packed.peak_bytes} bytes in one region (at least {packed.lower_bound_bytes})"
    weights_bytes = sum(unit.size_bytes for unit in problem.units if unit.weight is not None)
    if weights_bytes:
        need += f", its weights {weights_bytes}"
    largest = sorted(problem.units, key=lambda unit: -unit.size_bytes)[:_SHOWN_UNITS]
    named = ", ".join(f"{_name(graph, problem, unit)} with {unit.size_bytes}" for unit in largest)
    needed = {region: needed_bytes(problem, at) for at, region in enumerate(problem.regions)}
    lines = [f"{head}. {need}; the largest are {named}. Enlarge one region:"]
    for region, its in needed.items():
        if its is None:
            lines.append(f"  - {region.name} has {region.size_bytes} bytes; more of it alone would not do")
        else:
            lines.append(
                f"  - {region.name} has {region.size_bytes} bytes; {its - region.size_bytes} are missing, {its} would do"
            )
    lines.append("Or add a region; or plan by the row, or let the inputs stream, where that is not done yet.")
    return "\n".join(lines)


def needed_bytes(problem: RegionProblem, at: int) -> int | None:
    """The smallest size found with which a region, the others as they are, makes everything fit; None: no size does."""
    region = problem.regions[at]
    highest = problem.packed.peak_bytes + sum(unit.size_bytes for unit in problem.units if unit.weight is not None)
    highest = min(region.size_bytes + highest + problem.alignment_bytes, LARGEST_BYTES)
    found = _bytes_with(problem, at, highest)
    if found is None:
        return None
    lowest = region.size_bytes + 1
    while lowest < found:  # greedy orders are not monotonous: what is found is right, if not always the least
        middle = (lowest + found) // 2
        better = _bytes_with(problem, at, middle)
        if better is None:
            lowest = middle + 1
        else:
            found = better
    return found


def _bytes_with(problem: RegionProblem, at: int, size_bytes: int) -> int | None:
    """Returns the bytes in use of a region that has so many bytes; None if nothing was found that fits."""
    regions = list(problem.regions)
    regions[at] = replace(regions[at], size_bytes=size_bytes)
    larger = replace(problem, regions=tuple(regions))
    if not all(larger.allowed):
        return None
    fits = Fits.of(larger)
    assigned = filled_last(larger, fits, at)
    if assigned is None:
        return None
    members = members_of(assigned, at)
    weights = sum(
        problem.units[number].size_bytes for number in bits(members) if problem.units[number].weight is not None
    )
    if not buffers_only(problem, members):
        return weights
    _, placement = fits.look(at, members)
    peak = placement.peak_bytes if placement is not None else place_units(larger, members, None, seconds=0).peak_bytes
    aligned = -(-peak // problem.alignment_bytes) * problem.alignment_bytes if weights else peak
    return aligned + weights


def _name(graph: Graph, problem: RegionProblem, unit: Unit) -> str:
    weight = unit.weight
    name = buffer_name(graph, problem.buffers[unit.buffers[0]]) if weight is None else graph.tensors[weight].name
    return name if len(name) <= _NAME_LENGTH else f"{name[: _NAME_LENGTH - 1]}…"
