"""The memory plan as plain data: which bytes live when, who makes them, and who reads them last."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibi.ir import Graph
from kibi.planner import Plan, PlannedModel
from kibi.planner.lifetimes import places_of
from kibi.planner.placement.stacking import region_bases, stacked
from kibi.planner.plan import Buffer
from kibi.reports.memory_timeline import highest_stretch, holders, percent_at_most, proof_words

_Ints = NDArray[np.int64]


def timeline_record(planned: PlannedModel) -> dict[str, Any]:
    """A plan for the picture of a report.

    `runs` lists the row steps as (node, first step of the node, number of steps). Each of `buffers` is (tensor, first row, rows,
    offset, size in bytes, start, end, nodes, reads): half-open steps of its life; for scratch the tensor is -1 and `nodes` are
    those that use it; `reads` lists (node, the last step at which it reads these rows). Offsets are those of regions one above the
    other, whose `bases` say where each starts. `live_bytes` has the bytes that live at each step.
    """
    graph, plan = planned.graph, stacked(planned.plan)
    last_reads = _last_reads(graph, plan)
    bases = dict(region_bases(planned.plan))
    return {
        "arena_bytes": plan.arena_bytes,
        "lower_bound_bytes": plan.lower_bound_bytes,
        "order_bound_bytes": plan.order_bound_bytes,
        "proven_optimal": plan.proven_optimal,
        "runs": [[run.node, run.first_step, run.steps] for run in plan.runs],
        "buffers": [_buffer(each, last_reads) for each in plan.buffers],
        "live_bytes": list(plan.live_bytes()),
        "regions": [
            {"name": use.name, "base": bases[use.name], "used_bytes": use.used_bytes, "size_bytes": use.size_bytes}
            for use in plan.regions
        ],
        "peak": _peak(plan),
    }


def memory_words(plan: Plan) -> str:
    """Says in one sentence how far the arena is from the least that is possible, or what each memory holds."""
    if plan.regions:
        uses = [f"{use.name} {use.used_bytes:,} of {use.size_bytes:,}" for use in plan.regions]
        return f"The buffers are shared out among the memories of the board, in bytes: {', '.join(uses)}."
    if not plan.arena_bytes:
        return "Nothing is stored in the arena."
    return f"{proof_words(plan).capitalize()}."


def bound_words(plan: Plan) -> tuple[str, ...]:
    """Says what any order of steps needs, and what a longer search could save; empty if neither is known."""
    return tuple(each for each in (_order_words(plan), _effort_words(plan)) if each)


def _order_words(plan: Plan) -> str:
    bound = plan.order_bound_bytes
    if not bound or plan.regions:
        return ""
    if bound > plan.arena_bytes:
        return f"In any order {bound:,} bytes would live at once, but this plan makes rows in the place of others."
    return f"In any order at least {bound:,} bytes live at once, unless rows are made in the place of others."


def _effort_words(plan: Plan) -> str:
    if plan.regions or not (plan.gain_bytes and plan.least_bytes):
        return ""
    share = percent_at_most(plan.gain_bytes / plan.arena_bytes)
    return (
        f"A longer search could save at most {plan.gain_bytes:,} bytes ({share}): kibi plan --effort {4 * plan.effort}."
    )


def _buffer(buffer: Buffer, last_reads: Mapping[int, Sequence[tuple[int, _Ints]]]) -> list[Any]:
    reads = [
        [node, int(rows[buffer.first_row : buffer.first_row + buffer.rows].max(initial=-1))]
        for node, rows in last_reads.get(-1 if buffer.tensor is None else buffer.tensor, ())
    ]
    return [
        -1 if buffer.tensor is None else buffer.tensor,
        buffer.first_row,
        buffer.rows,
        buffer.offset,
        buffer.size_bytes,
        buffer.start,
        buffer.end,
        list(buffer.nodes),
        [[node, step] for node, step in reads if step >= 0],
    ]


def _last_reads(graph: Graph, plan: Plan) -> dict[int, list[tuple[int, _Ints]]]:
    """For each tensor the nodes that read it, each with the last step at which it reads each row; -1 where it reads none."""
    places = places_of(graph, plan.runs)
    found: dict[int, list[tuple[int, _Ints]]] = {}
    for number, view in enumerate(graph.views):
        for tensor, access in zip(view.row_tensors, view.accesses, strict=True):
            if tensor.is_constant:
                continue
            steps = access.last_steps(tensor.type.rows, view.steps)
            used = np.where(steps >= 0, places[number][np.maximum(steps, 0)], -1)
            found.setdefault(tensor.index, []).append((number, used))
    return found


def _peak(plan: Plan) -> dict[str, Any] | None:
    """The first stretch of steps at which the most bytes live, and who holds them, scratch as -1; None without steps."""
    highest = highest_stretch(plan)
    if highest is None:
        return None
    return {
        "step": highest.start,
        "node": highest.node,
        "live_bytes": highest.live_bytes,
        "shared_bytes": highest.shared_bytes,
        "holders": [[-1 if tensor is None else tensor, size] for tensor, size in holders(highest)],
    }
