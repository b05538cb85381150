"""Chooses kernels for a model among those that a core has."""

from kibi.errors import TargetError
from kibi.ir import Graph, KernelCall
from kibi.kernels.params.needed_parts import needed_parts
from kibi.planfile.core_library import Core
from kibi.planfile.kernel_ids import CORE_PARTS, EXTERNALS, HALVES, SPACED, STATES, STREAMS, WIDE
from kibi.planfile.reader import PlanFile
from kibi.planner import PlannedModel
from kibi.planner.handover import as_planned
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
    handed = as_planned(graph, plan)
    general = select(handed, target, plan.goal, ()).calls
    chosen, missing = list[str](), dict[str, list[str]]()
    planned = plan.kernels or tuple(call.kernel for call in general)
    for node, call, wanted in zip(handed.nodes, general, planned, strict=True):
        fitting = candidates(call, target, plan.goal)
        named = candidates(call, target, plan.goal, on_request=True)
        wished = [each for each in named if each.kernel == wanted] or [call]
        found = next((each for each in (*wished, *fitting, call) if has(core, each)), None)
        if found is None:
            missing.setdefault(_missing(core, call), []).append(node.label)
        chosen.append("" if found is None else found.kernel)
    if missing:
        raise lacking(missing)
    return plan if tuple(chosen) == plan.kernels else with_kernels(graph, plan, target, plan.goal, chosen)


def check_kernels(planned: PlannedModel, core: Core) -> None:
    """Checks that a core has all kernels of a planned model, and of the graphs inside of its operators.

    Raises:
        TargetError: it lacks some; the text lists them.
    """
    missing = dict[str, list[str]]()
    waiting = [planned]
    while waiting:
        each = waiting.pop()
        waiting += each.subgraphs
        for node, call in zip(each.graph.nodes, each.graph.calls, strict=True):
            if not has(core, call):
                missing.setdefault(_missing(core, call), []).append(node.label)
    if missing:
        raise lacking(missing)


def has(core: Core, call: KernelCall) -> bool:
    """True if a core has the kernel of a call, and all parts of it that the call needs; also where a call has no kernel."""
    return not call.kernel or (call.kernel in core.names and not _left_out(core, call))


def _left_out(core: Core, call: KernelCall) -> frozenset[str]:
    """The parts that a call needs and that a core leaves out, by their macros."""
    return frozenset() if call.params is None else needed_parts(call.params) & frozenset(core.without)


def _missing(core: Core, call: KernelCall) -> str:
    """What a core lacks for a call: the kernel, or parts of it."""
    parts = sorted(_left_out(core, call)) if call.kernel in core.names else []
    return f"{call.kernel} with {', '.join(parts)}" if parts else call.kernel


def check_parts(file: PlanFile, core: Core) -> None:
    """Checks that a core has all parts of its own that a file needs: for inputs by the row, for variables, for large arenas.

    Raises:
        TargetError: it lacks one; the text says which.
    """
    reasons = {
        STREAMS: "inputs by the row",
        STATES: "variables",
        EXTERNALS: "external buffers",
        HALVES: "an order with numbers beyond a byte",
        WIDE: "an arena of more than 64 KiB",
        SPACED: "rows that are evenly spaced",
    }
    missing = {part: [reasons[part]] for part in sorted(file.parts & CORE_PARTS & set(core.without))}
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
