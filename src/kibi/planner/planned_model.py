"""A model, its kernels and its plan as one: what engines run, writers write, and reports show."""

from dataclasses import dataclass

from kibi.errors import InputError, PlanError, TargetError
from kibi.ir import Graph
from kibi.planner.handover import as_planned
from kibi.planner.joined_steps import with_joined
from kibi.planner.plan import Plan
from kibi.planner.roomy_scratch import with_narrow_calls
from kibi.planner.slow_weights import lowered_for
from kibi.planner.staged_weights import with_copies
from kibi.planner.subgraphs import bodies_of
from kibi.selection import LoweredGraph
from kibi.targets import target


@dataclass(frozen=True, eq=False)
class PlannedModel:
    """A lowered graph and its plan, which fit each other. `PlannedModel.of` makes it.

    Attributes:
        model: the graph that the caller gave.
        plan: its plan.
        graph: the lowered graph of the plan's node and tensor numbers, with inputs and outputs as the plan hands them over.
        subgraphs: the planned subgraphs of its nodes, in the order of nodes; one that several nodes run is one object.
    """

    model: Graph
    plan: Plan
    graph: LoweredGraph
    subgraphs: "tuple[PlannedModel, ...]" = ()

    @staticmethod
    def of(model: Graph, plan: Plan) -> "PlannedModel":
        """Returns the planned model; `validate` also checks the plan.

        Raises:
            PlanError: the plan names a tensor that does not exist, a kernel that cannot run its node, or has no plans for graphs
                inside of operators; or there is no such target.
        """
        return _planned(model, plan, {})


def _planned(model: Graph, plan: Plan, known: dict[tuple[int, int], PlannedModel]) -> PlannedModel:
    """The same; `known` holds what is made already, by the identities of graph and plan: operators may share subgraphs."""
    key = id(model), id(plan)
    if key not in known:
        unknown = [index for index in plan.external_buffers if not 0 <= index < len(model.tensors)]
        if unknown:
            raise PlanError(
                f"the plan leaves tensor {unknown[0]} to the caller, but there are {len(model.tensors)}. Make it again."
            )
        handed = as_planned(model, plan)
        try:
            graph = lowered_for(handed, plan.slow_weights, target(plan.target), plan.goal, plan.kernels, plan.subgraphs)
            if plan.kernels and plan.slow_weights is None:
                graph = with_narrow_calls(with_copies(graph, plan), graph, plan)
            graph = with_joined(graph, plan.joined)
            if plan.kernels:
                graph.calls  # noqa: B018 - whether the kernels that the plan names can run
        except (InputError, TargetError) as error:
            raise PlanError(f"the plan does not fit: {error} Make it again with `kibi plan`.") from None
        inner = tuple(_planned(body, each, known) for body, each in zip(bodies_of(graph), plan.subgraphs, strict=True))
        known[key] = PlannedModel(model, plan, graph, inner)
    return known[key]
