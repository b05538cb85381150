"""Chooses kernels for a model among those that a core has."""

from kibi.errors import TargetError
from kibi.ir import Graph
from kibi.planfile.core_library import Core
from kibi.planner import PlannedModel
from kibi.planner.handover import with_handover
from kibi.planner.plan import Plan
from kibi.planner.planning import with_kernels
from kibi.selection import select
from kibi.selection.choice import candidates
from kibi.targets import Target


def fitted(graph: Graph, plan: Plan, core: Core, target: Target) -> Plan:
    """Returns a plan with kernels that a core has: where it lacks the plan's, the first that serves the goal, or the general one.

    Args:
        graph: the model.
        plan: its plan with any kernels; what it says of inputs and outputs stays.
        core: the core.
        target: the processor.

    Raises:
        TargetError: the core is for another processor, or has no kernel for some operators; the text lists them.
    """
    if core.target != target.name:
        raise TargetError(
            f"the core is for {core.target}, the model is compiled for {target.name}. Give the same target."
        )
    handed = with_handover(graph, plan.input, plan.output, plan.external_buffers)
    general = select(handed, target, plan.goal, ()).calls
    had, chosen, missing = frozenset(core.names), list[str](), dict[str, list[str]]()
    planned = plan.kernels or tuple(call.kernel for call in general)
    for node, call, wanted in zip(handed.nodes, general, planned, strict=True):
        fitting = (
            [wanted, *(each.kernel for each in candidates(call, target, plan.goal))] if wanted not in had else [wanted]
        )
        found = next((name for name in fitting if name in had or not name), None)
        if found is None:
            missing.setdefault(call.kernel, []).append(node.label)
        chosen.append(found or "")
    if missing:
        raise lacking(missing)
    return plan if tuple(chosen) == plan.kernels else with_kernels(graph, plan, target, plan.goal, chosen)


def check_kernels(planned: PlannedModel, core: Core) -> None:
    """Checks that a core has all kernels of a planned model, and of the graphs inside of its operators.

    Raises:
        TargetError: it lacks some; the text lists them.
    """
    had, missing = frozenset(core.names), dict[str, list[str]]()
    waiting = [planned]
    while waiting:
        each = waiting.pop()
        waiting += each.subgraphs
        for node, call in zip(each.graph.nodes, each.graph.calls, strict=True):
            if call.kernel and call.kernel not in had:
                missing.setdefault(call.kernel, []).append(node.label)
    if missing:
        raise lacking(missing)


def lacking(missing: dict[str, list[str]]) -> TargetError:
    """The error that says which kernels a core lacks, and what to do."""
    lines = [f"  - {kernel}, for {', '.join(dict.fromkeys(nodes))}" for kernel, nodes in sorted(missing.items())]
    listed = "\n".join(lines)
    return TargetError(
        f"the core does not have {len(missing)} of the kernels that the model needs:\n{listed}\n"
        "Make a core that has them (kibi core MODEL..., or --kernels with their names), or compile the model to C."
    )
