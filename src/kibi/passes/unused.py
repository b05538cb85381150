"""The pass `unused`: nodes whose results nobody reads."""

from kibi.ir import Graph
from kibi.passes.change import Change
from kibi.passes.rewriting import apply, is_inner, readers, rewritten

NAME = "unused"


def drop_unused(graph: Graph) -> tuple[Graph, tuple[Change, ...]]:
    """The graph without nodes that nobody reads, directly or through others that nobody reads; and what was done.

    Nodes that touch variables stay: what they do may be seen in the next inference. Model inputs stay, used or not. Constants
    that nobody reads any more cost nothing: only what a kernel reads is written into a library.
    """
    changes: tuple[Change, ...] = ()
    while True:
        graph, found = apply(graph, NAME, _rule)
        if not found:
            return graph, changes
        changes = (*changes, *found)


def _rule(graph: Graph, place: int) -> tuple[Graph, str] | None:
    node = graph.nodes[place]
    touched = [graph.tensors[index] for index in (*node.inputs, *node.outputs) if index is not None]
    if node.op.receives or any(tensor.is_state for tensor in touched):
        return None
    if any(readers(graph, index) or not is_inner(graph, index) for index in node.outputs):
        return None
    return rewritten(graph, {place: None}), "Nobody reads what it makes, and it is no output of the model."
