"""A plan as plain data: its saved form, and further facts for other tools."""

from dataclasses import asdict
from typing import Any

from kibi.ir import Graph
from kibi.planner import Plan, PlannedModel, buffer_name, peak_steps
from kibi.planner.plan import FORMAT
from kibi.reports.fetches import fetches_record
from kibi.reports.recomputation import recomputation_record


def plan_record(planned: PlannedModel) -> dict[str, Any]:
    """A plan for JSON; `Plan.from_json` reads it back.

    Beside the saved form it has `steps`, the row steps that the buffers' `start` and `end` count in, each with the
    operator, its row and the bytes that live; `tensors`, the names of those in the arena by their indices; and `peak`,
    the first step at which the most bytes live, with who holds them; bytes that two hold, one made in the place of the
    other, are its `shared_bytes`. An operator's number is that in the model file; a
    negative one receives a row of a model input, -1 of the first. `gain_bytes` is the most that more effort might save; null where
    that is not known. `variable_bytes` are in no arena: see docs/state.md. With weights in slow memory,
    `fetches` says what one inference fetches; with stages in stripes, `recomputation` says what is computed twice.
    """
    graph, plan = planned.graph, planned.plan
    levels = plan.live_bytes()
    steps = [
        {"operator": graph.nodes[node].source, "op": graph.nodes[node].op.name, "row": row, "live_bytes": live}
        for (node, row), live in zip(plan.steps, levels, strict=True)
    ]
    placed = sorted({buffer.tensor for buffer in plan.buffers if buffer.tensor is not None})
    return {
        "format": FORMAT,
        **asdict(plan),
        "gain_bytes": plan.gain_bytes if plan.least_bytes else None,
        "steps": steps,
        "variable_bytes": sum(graph.tensors[index].type.size_bytes for index in graph.variables),
        "tensors": [{"index": index, "name": graph.tensors[index].name} for index in placed],
        "peak": _peak(graph, plan),
        **fetches_record(planned),
        **recomputation_record(planned),
    }


def _peak(graph: Graph, plan: Plan) -> dict[str, Any] | None:
    step = next(peak_steps(plan), None)
    if step is None:
        return None
    node, live_bytes = graph.nodes[plan.steps[step][0]], plan.live_bytes()[step]
    held: dict[str, int] = {}
    for buffer in plan.buffers:
        if buffer.start <= step < buffer.end:
            name = buffer_name(graph, buffer)
            held[name] = held.get(name, 0) + buffer.size_bytes
    holders = [{"name": name, "size_bytes": size} for name, size in sorted(held.items(), key=lambda item: -item[1])]
    return {
        "step": step,
        "operator": node.source,
        "op": node.op.name,
        "live_bytes": live_bytes,
        "shared_bytes": sum(held.values()) - live_bytes,
        "holders": holders,
    }
