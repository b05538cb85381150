"""The handover of a model's inputs and outputs, in its graph."""

from collections.abc import Collection

from kibi.ir import Graph
from kibi.passes.external_buffers import with_external_buffers
from kibi.passes.stream_inputs import stream_inputs
from kibi.planner.pixel_rows import with_pixel_rows
from kibi.planner.plan import Handover, Plan
from kibi.planner.stripes import striped


def with_handover(graph: Graph, inputs: Handover, outputs: Handover, external_buffers: Collection[int] = ()) -> Graph:
    """The graph with its inputs and outputs handed over in these ways.

    Args:
        graph: a verified graph.
        inputs: of all model inputs.
        outputs: of all model outputs: stored or external.
        external_buffers: further tensors that are stored in caller-owned buffers.
    """
    if inputs is Handover.STREAMED:
        graph = stream_inputs(graph)
    elif inputs is Handover.EXTERNAL:
        graph = with_external_buffers(graph, graph.inputs)
    own = set(external_buffers) | (set(graph.outputs) if outputs is Handover.EXTERNAL else set())
    return with_external_buffers(graph, own)


def as_planned(graph: Graph, plan: Plan) -> Graph:
    """The graph of a plan's operators: inputs and outputs handed over, stages in stripes, rows of several pixels.

    Windows for weights are not in it yet.

    Args:
        graph: the model.
        plan: its plan.

    Raises:
        PlanError: the plan has stripes, or rows of several pixels, of what cannot be computed so.
    """
    handed = with_handover(graph, plan.input, plan.output, plan.external_buffers)
    return with_pixel_rows(striped(handed, plan.stripes), plan.pixel_rows)
