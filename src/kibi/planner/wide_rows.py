"""Rows that a plan has one after another, and a kernel makes in one call: as one long row, or two at a time."""

from collections.abc import Sequence

from kibi.ir import KernelCall
from kibi.planner.joined_steps import is_in_one_piece, keeps_distance
from kibi.planner.plan import Plan, Run
from kibi.selection import Goal, LoweredGraph, wide_call


def wide_calls(graph: LoweredGraph, plan: Plan) -> dict[int, KernelCall]:
    """Returns the calls that make all rows of a node at once, by nodes, where the plan has these rows one after another."""
    found = {}
    for node in whole_nodes(graph, plan.runs):
        view = graph.views[node]
        call = wide_call(view, graph.general_calls[node], graph.target, graph.goal, graph.kernels[node])
        if call is None or not all(is_in_one_piece(each, plan) for each in (*view.row_tensors, view.output)):
            continue
        # Each later row of the output must begin below its input, too.
        (tensor,), (distance,) = view.row_tensors, call.inplace_distance_bytes
        may_overlap = view.output.type.row_bytes <= tensor.type.row_bytes
        if keeps_distance(graph, plan, tensor, view.output, distance if may_overlap else None):
            found[node] = call
    return found


def whole_nodes(graph: LoweredGraph, runs: Sequence[Run]) -> list[int]:
    """The nodes that run all their steps, and more than one, one after another, ascending; none where no time is to be saved."""
    if graph.goal is Goal.FLASH or not set(graph.target.kernel_sets) - {"portable", "host"}:
        return []
    steps = {node: view.steps for node, view in enumerate(graph.views) if view.steps > 1}
    return sorted({run.node for run in runs if run.steps == steps.get(run.node)})
