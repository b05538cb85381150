"""The pass `unused`: nodes whose results nobody reads."""

from kibi.ir import Graph
from kibi.passes.change import Change
from kibi.passes.rewriting import Draft, Edit, apply

NAME = "unused"


def drop_unused(graph: Graph) -> tuple[Graph, tuple[Change, ...]]:
    """Returns the graph without nodes whose results nobody reads, directly or through other such nodes, and the changes made.

    Nodes that use variables stay: the next inference may see their effect. Model inputs stay, used or not. Constants
    that nobody reads any more cost nothing: only what a kernel reads is written into a library.
    """
    return apply(graph, NAME, _rule, from_the_end=True)


def _rule(graph: Draft, place: int) -> tuple[Edit, str] | None:
    node = graph.node(place)
    touched = [graph.tensors[index] for index in (*node.inputs, *node.outputs) if index is not None]
    if node.op.receives or any(tensor.is_state for tensor in touched):
        return None
    if any(graph.readers(index) or not graph.is_inner(index) for index in node.outputs):
        return None
    return {place: None}, "Nobody reads what it makes, and it is no output of the model."
