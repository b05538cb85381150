"""How a model's inputs and outputs are handed over, in its graph."""

from collections.abc import Collection

from kibi.ir import Graph
from kibi.passes.stream_inputs import stream_inputs
from kibi.passes.supply_tensors import supply_tensors
from kibi.planner.plan import Handover


def with_handover(graph: Graph, inputs: Handover, outputs: Handover, supplied: Collection[int] = ()) -> Graph:
    """The graph with its inputs and outputs handed over in these ways.

    Args:
        graph: a verified graph.
        inputs: of all model inputs.
        outputs: of all model outputs: stored or supplied.
        supplied: further tensors that are stored in caller-owned buffers.
    """
    if inputs is Handover.STREAMED:
        graph = stream_inputs(graph)
    elif inputs is Handover.SUPPLIED:
        graph = supply_tensors(graph, graph.inputs)
    own = set(supplied) | (set(graph.outputs) if outputs is Handover.SUPPLIED else set())
    return supply_tensors(graph, own)
