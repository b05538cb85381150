"""The pass `assign-in-place`: an operator writes its output directly to the variable to which it is assigned."""

from dataclasses import replace

from kibi.errors import ModelError
from kibi.ir import Graph, Tensor, in_order, verify
from kibi.ops import AssignVariable, is_custom
from kibi.passes.change import Change
from kibi.passes.rewriting import apply_to_graph, reading, same_type

NAME = "assign-in-place"


def assign_in_place(graph: Graph) -> tuple[Graph, tuple[Change, ...]]:
    """Returns the graph without ASSIGN_VARIABLE where the operator before it can write to the variable, and the changes made.

    It can where nobody needs the old value afterwards, and its kernel may overwrite its own input.
    """
    return apply_to_graph(graph, _rule)


def _rule(graph: Graph, place: int) -> tuple[Graph, Change] | None:
    """Returns the graph without the assignment at a place, and the change; None if the assignment must stay."""
    view = graph.views[place]
    if not isinstance(view.op, AssignVariable) or is_custom(view.op):
        return None
    value, version = view["input"], view.output
    if not same_type(value, version) or not _is_inner(graph, value):
        return None
    tensors = [replace(each, updates=value.index) if each.updates == version.index else each for each in graph.tensors]
    tensors[value.index] = replace(value, updates=version.updates)
    tensors[version.index] = replace(version, updates=None)
    nodes = in_order(
        tensors,
        [reading(node, version.index, value.index) for number, node in enumerate(graph.nodes) if number != place],
    )
    if nodes is None:
        return None
    try:
        after = verify(replace(graph, tensors=tuple(tensors), nodes=nodes))
    except ModelError:
        return None
    maker = next(node for node in nodes if value.index in node.outputs)
    what = f"{maker.label} writes to the variable itself, when nobody needs its old value any more."
    return after, Change(NAME, view.node.label, what)


def _is_inner(graph: Graph, tensor: Tensor) -> bool:
    """True if a tensor may be removed: a node makes it and only nodes read it."""
    is_seen = tensor.index in graph.outputs or tensor.is_external or tensor.is_state
    return not is_seen and any(tensor.index in node.outputs for node in graph.nodes)
