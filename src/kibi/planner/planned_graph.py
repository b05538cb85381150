"""The graph that a plan is for: the model's, with its inputs and outputs where the plan wants them."""

from collections.abc import Collection
from dataclasses import replace

from kibi.errors import PlanError
from kibi.ir import Graph
from kibi.passes.stream_inputs import stream_inputs
from kibi.passes.supply_tensors import supply_tensors
from kibi.planner.bodies import with_bodies
from kibi.planner.plan import Handover, Plan


def planned_graph(graph: Graph, plan: Plan) -> Graph:
    """The graph whose nodes and tensors a plan's numbers mean; a graph that is so already is returned as it is.

    Raises:
        PlanError: the plan names a tensor that does not exist, or has no plans for graphs inside of operators.
    """
    unknown = [index for index in plan.supplied if not 0 <= index < len(graph.tensors)]
    if unknown:
        raise PlanError(
            f"the plan leaves tensor {unknown[0]} to the caller, but there are {len(graph.tensors)}. Make it again."
        )
    if graph.is_roomy != plan.is_roomy:
        graph = replace(graph, is_roomy=plan.is_roomy)
    return with_handover(with_bodies(graph, plan.bodies), plan.input, plan.output, plan.supplied)


def with_handover(graph: Graph, inputs: Handover, outputs: Handover, supplied: Collection[int] = ()) -> Graph:
    """The graph with its inputs and outputs handed over in these ways.

    Args:
        graph: a verified graph.
        inputs: of all model inputs.
        outputs: of all model outputs: stored or supplied.
        supplied: further tensors that lie in buffers of the caller's.
    """
    if inputs is Handover.STREAMED:
        graph = stream_inputs(graph)
    elif inputs is Handover.SUPPLIED:
        graph = supply_tensors(graph, graph.inputs)
    own = set(supplied) | (set(graph.outputs) if outputs is Handover.SUPPLIED else set())
    return supply_tensors(graph, own)
