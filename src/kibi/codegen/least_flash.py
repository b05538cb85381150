"""Of a model's plans with different kernels, the one whose library is smallest: the order of steps takes flash, too."""

from collections.abc import Callable, Sequence

from kibi.codegen.emit_context import EmitContext
from kibi.codegen.offsets_c import offsets_text
from kibi.ir import Graph
from kibi.planner import Plan, PlannedModel
from kibi.selection import Goal, choose
from kibi.selection.least_flash import flash_bytes
from kibi.targets import Target
from kibi.text.c import code


def least_flash(graph: Graph, target: Target, make: Callable[[Sequence[str] | None], Plan]) -> Plan:
    """Returns the plan with the kernels that the rules for the least flash choose, or, where it is smaller, with those for balance.

    The chosen kernels take less code and constants. But their plan may have a smaller arena, whose order of steps and places of
    rows take more code than that saves.

    Args:
        graph: the model.
        target: the processor.
        make: makes the plan with these kernels, one for each node of the planned graph, or, with None, with the chosen ones.
    """
    least = make(None)
    planned = PlannedModel.of(graph, least)
    calls = choose(planned.graph.general_calls, target, Goal.BALANCED)
    kernels = tuple(call.kernel for call in calls)
    if kernels == planned.graph.kernels:
        return least
    saved_bytes = flash_bytes(calls, target) - flash_bytes(planned.graph.calls, target)
    order_bytes = _order_bytes(planned, target)
    if order_bytes <= saved_bytes:
        return least
    other = make(kernels)
    return other if _order_bytes(PlannedModel.of(graph, other), target) + saved_bytes < order_bytes else least


def _order_bytes(planned: PlannedModel, target: Target) -> int:
    """Estimated bytes of flash of the order of steps and of the places of rows."""
    b = EmitContext(planned, target)
    total = b.schedule.flash_bytes
    views = b.graph.views
    used = {tensor.index: tensor for view in views for tensor in (*view.row_tensors, *view.outputs)}
    for index, tensor in used.items():
        if tensor.is_constant or not tensor.is_planned or not tensor.type.elements:
            continue
        uses = sum(index in {each.index for each in (*view.row_tensors, *view.outputs)} for view in views)
        total += offsets_text(b.plan.row_offsets(b.graph, index), code("offsets"), uses).flash_bytes
    return total + sum(_order_bytes(body, target) for body in dict.fromkeys(planned.subgraphs))
