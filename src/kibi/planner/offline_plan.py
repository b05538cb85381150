"""Plans with given offsets: whole tensors, some of them at the offsets that a model file states.

What has no offset of its own, the kernels' scratch included, is placed around the others. Unlike TFLM, which takes offsets as
they are, this looks whether they are in one another's way.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from time import perf_counter

from kibi.errors import PlanError
from kibi.ir import Graph
from kibi.planner.in_place import in_place_rules
from kibi.planner.lifetimes import lifetimes
from kibi.planner.order.orders import file_order
from kibi.planner.placement.items import Item, PairRule
from kibi.planner.placement.placing import Placement, Status, place_items
from kibi.planner.plan import Buffer, Plan
from kibi.planner.planning import planned_bodies
from kibi.planner.subgraphs import with_subgraphs
from kibi.selection import Goal, select
from kibi.targets import Target

_ONLINE = -1
_SHOWN_PROBLEMS = 20
_MOST_BYTES = 1 << 28
"""Far beyond any microcontroller."""
_REMEDY = "Make the offsets again with `kibi plan --write-embedded-plan`, or plan without them"


def plan_offline(graph: Graph, target: Target, offsets: Sequence[int]) -> Plan:
    """Plans a model whose tensors have given offsets.

    Args:
        graph: a verified graph; its nodes run in their own order, which is the one that offsets are for.
        target: the processor that it is for.
        offsets: for each tensor its offset in the arena, in bytes, or -1 to find one. Those of constants mean nothing.

    Returns:
        The plan. Its lower bound is that of the same buffers without given offsets: the file may ask for more.

    Raises:
        PlanError: there are more or fewer offsets than tensors, or an offset is negative or not aligned, or tensors that live
            together share bytes; with all that are wrong.
    """
    started = perf_counter()
    if len(offsets) != len(graph.tensors):
        what = f"{graph.source} has {len(graph.tensors)} tensors, but {len(offsets)} offsets are given"
        raise PlanError(f"{what}. Give one for each, -1 to find one.")
    subgraphs = planned_bodies(graph, target)
    graph = lowered = with_subgraphs(select(graph, target, Goal.BALANCED), subgraphs)
    runs = file_order(graph)
    buffers = lifetimes(graph, runs)
    fixed = [_offset_of(buffer, offsets) for buffer in buffers]
    problems = list(_problems(graph, buffers, fixed))
    if problems:
        shown = [f"  - {problem}" for problem in problems[:_SHOWN_PROBLEMS]]
        more = [f"  - and {len(problems) - len(shown)} more"] if len(problems) > len(shown) else []
        raise PlanError("\n".join([f"the offsets given for {graph.source} cannot be. {_REMEDY}:", *shown, *more]))
    rules = [
        rule for rule in in_place_rules(graph, runs, buffers) if fixed[rule.first] is None or fixed[rule.second] is None
    ]
    placement = _place(buffers, fixed, rules)
    made = placement.plan(graph.name, target.name, runs)
    return replace(made, kernels=lowered.kernels, subgraphs=subgraphs, solve_seconds=perf_counter() - started)


def _offset_of(buffer: Buffer, offsets: Sequence[int]) -> int | None:
    """Returns the offset that a buffer must have; None if any will do."""
    if buffer.tensor is None or offsets[buffer.tensor] == _ONLINE:
        return None
    return offsets[buffer.tensor]


def _problems(graph: Graph, buffers: Sequence[Buffer], fixed: Sequence[int | None]) -> Iterator[str]:
    """Yields what is wrong with given offsets, with the tensors' names."""
    given = [(buffer, offset) for buffer, offset in zip(buffers, fixed, strict=True) if offset is not None]
    for buffer, offset in given:
        if offset < 0 or offset % buffer.alignment:
            rule = f"offsets are multiples of {buffer.alignment}" if offset >= 0 else "offsets are not negative"
            yield f"tensor {_name(graph, buffer)} is at {offset}; {rule} here"
        elif offset + buffer.size_bytes > _MOST_BYTES:
            yield f"tensor {_name(graph, buffer)} is at {offset}; no arena has more than {_MOST_BYTES} bytes"
    for (one, low), (other, high) in combinations(given, 2):
        lives = range(max(one.start, other.start), min(one.end, other.end))
        shared = range(max(low, high), min(low + one.size_bytes, high + other.size_bytes))
        if lives and shared:
            both = f"tensors {_name(graph, one)} (at {low}) and {_name(graph, other)} (at {high})"
            where = f"bytes {shared.start} to {shared.stop - 1}"
            yield f"{both} share {where} while both live, in steps {lives.start} to {lives.stop - 1}"


def _name(graph: Graph, buffer: Buffer) -> str:
    return repr(graph.tensors[buffer.tensor or 0].name)


def _place(buffers: Sequence[Buffer], fixed: Sequence[int | None], rules: Sequence[PairRule]) -> Placement:
    """Places the buffers without given offsets around those with offsets."""
    items = [
        Item(buffer.start, buffer.end, buffer.size_bytes, buffer.alignment, offset)
        for buffer, offset in zip(buffers, fixed, strict=True)
    ]
    found = place_items(items, rules=rules)
    offsets = found.offsets or ()
    free = [Item(item.start, item.end, item.size_bytes, item.alignment) for item in items]
    bound = place_items(free, rules=rules, time_limit_seconds=0).lower_bound_bytes
    placed = tuple(replace(buffer, offset=offset) for buffer, offset in zip(buffers, offsets, strict=True))
    is_best = found.peak_bytes == bound
    return Placement(placed, found.peak_bytes, bound, Status.OPTIMAL if is_best else Status.FEASIBLE)
