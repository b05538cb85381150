"""What passes that keep the bits share: who makes and reads tensors, and how nodes are taken out of a graph."""

from collections.abc import Callable, Mapping
from dataclasses import replace

from kibi.errors import InternalError
from kibi.ir import Graph, Node, OperatorError, Site, Tensor, verify
from kibi.passes.change import Change

Rule = Callable[[Graph, int], tuple[Graph, str] | None]
"""From a graph and the place of a node to the graph without what the rule finds there, and a sentence on it; or None."""


def apply(graph: Graph, by: str, rule: Rule) -> tuple[Graph, tuple[Change, ...]]:
    """Apply a rule at each node, again and again at the same place until it finds nothing there.

    Args:
        graph: a verified graph.
        by: the pass's name.
        rule: it must make progress: what it gives has fewer nodes, or shorter ways from its inputs.

    Returns:
        The new graph, verified, or the same one where the rule finds nothing; and what was done.
    """
    changes: list[Change] = []
    place = 0
    while place < len(graph.nodes):
        found = rule(graph, place)
        if found is None:
            place += 1
            continue
        after, what = found
        label = graph.nodes[place].label
        saved = graph.macs - after.macs, graph.weights_bytes - after.weights_bytes
        changes.append(Change(by, label, what, *saved))
        graph = after
    return (verify(graph) if changes else graph), tuple(changes)


def readers(graph: Graph, tensor: int) -> tuple[int, ...]:
    """The places of the nodes that read a tensor, ascending."""
    return tuple(place for place, node in enumerate(graph.nodes) if tensor in node.inputs)


def maker(graph: Graph, tensor: int) -> int | None:
    """The place of the node that makes a tensor; None for inputs, constants and variables."""
    return next((place for place, node in enumerate(graph.nodes) if tensor in node.outputs), None)


def is_inner(graph: Graph, tensor: int) -> bool:
    """Whether a node makes it and only nodes can see it: it may vanish."""
    found = graph.tensors[tensor]
    is_seen = tensor in graph.outputs or found.is_supplied or found.is_state
    return not is_seen and maker(graph, tensor) is not None


def same_scale(one: Tensor, other: Tensor) -> bool:
    """Whether the stored numbers of two tensors mean the same: type, scale and zero point are equal, bit by bit."""
    a, b = one.type.quantization, other.type.quantization
    if one.type.dtype is not other.type.dtype or (a is None) != (b is None):
        return False
    return a is None or b is None or (a.scales, a.zero_points) == (b.scales, b.zero_points)


def same_type(one: Tensor, other: Tensor) -> bool:
    """Whether either tensor can stand for the other: shape, element type and scale are equal."""
    return one.type.shape == other.type.shape and same_scale(one, other)


def row_input(node: Node) -> int | None:
    """The one tensor that a node reads by the row; None where there are more, or none."""
    names = [name.rstrip("?") for name in node.op.inputs]
    given = dict(zip(names, node.inputs, strict=False))
    found = [index for name in node.op.row_inputs if (index := given.get(name)) is not None]
    return found[0] if len(found) == 1 else None


def reading(node: Node, old: int, new: int) -> Node:
    """The same node with another tensor in the place of an input."""
    return replace(node, inputs=tuple(new if index == old else index for index in node.inputs))


def is_accepted(graph: Graph, node: Node) -> bool:
    """Whether the operator takes these tensors, and gives what its output is declared as."""
    site = Site.of(graph, node)
    try:
        return node.op.infer(site) == (site.output.type.shape, site.output.type.dtype)
    except OperatorError:
        return False


def rewritten(graph: Graph, nodes: Mapping[int, Node | None]) -> Graph:
    """The graph with other nodes at some places, and without those that are None there; not verified."""
    listed = (nodes.get(place, node) for place, node in enumerate(graph.nodes))
    return replace(graph, nodes=tuple(node for node in listed if node is not None))


def without_unread(graph: Graph, tensor: int) -> Graph:
    """The graph without the node that makes a tensor, where nobody reads it any more and nobody can see it."""
    place = maker(graph, tensor)
    if place is None or readers(graph, tensor) or not is_inner(graph, tensor):
        return graph
    return rewritten(graph, {place: None})


def bypass(graph: Graph, place: int, source: int) -> Graph | None:
    """Take out a node whose output equals a tensor that is there before, in every bit and in what the bits mean.

    Its readers read that tensor instead; where its output can be seen from outside, that tensor's maker makes it.

    Args:
        graph: the graph.
        place: of the node.
        source: the tensor.

    Returns:
        The graph without the node; None where both tensors can be seen, or one is a variable's, which changes at its time.
    """
    node = graph.nodes[place]
    (result,) = node.outputs
    if not same_type(graph.tensors[source], graph.tensors[result]):
        raise InternalError(f"{node.label} cannot be left out: tensors {source} and {result} differ in type")
    if graph.tensors[source].is_state or graph.tensors[result].is_state:
        return None
    changed: dict[int, Node | None]
    if is_inner(graph, result):
        changed = {reader: reading(graph.nodes[reader], result, source) for reader in readers(graph, result)}
        return rewritten(graph, {**changed, place: None})
    made = maker(graph, source)
    if made is None or not is_inner(graph, source):
        return None
    changed = {reader: reading(graph.nodes[reader], source, result) for reader in readers(graph, source)}
    return rewritten(graph, {**changed, made: replace(graph.nodes[made], outputs=(result,)), place: None})
