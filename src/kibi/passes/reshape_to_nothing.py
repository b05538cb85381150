"""The pass `reshape-to-nothing`: drops a RESHAPE whose neighbours do not depend on the shape."""

from dataclasses import replace

from kibi.ir import Graph, Node, NodeView, Operator, Tensor
from kibi.ops import FullyConnected, Mean, Reshape, Softmax, is_custom
from kibi.passes.change import Change
from kibi.passes.rewriting import Draft, Edit, apply, bypass, is_accepted, reading, row_input, same_scale
from kibi.passes.tables import is_unary

NAME = "reshape-to-nothing"
_LEAST_PIECE = 96
"""The least elements per row for row-by-row sums: below, the calls cost more than the RESHAPE, and little memory is saved."""


def drop_reshapes(graph: Graph) -> tuple[Graph, tuple[Change, ...]]:
    """Returns the graph with fewer RESHAPEs, and the changes made.

    A RESHAPE vanishes where all its readers ignore the shape: a fully connected layer, which may then add up row
    by row, if rows are not too short for that; another RESHAPE; an operator on single elements or on vectors along the last
    axis, if rows stay rows. It also vanishes where its producer can write the new shape. Model inputs and outputs keep theirs.
    """
    return apply(graph, NAME, _rule)


def _rule(graph: Draft, place: int) -> tuple[Edit, str] | None:
    view = graph.view(place)
    if not isinstance(view.op, Reshape) or is_custom(view.op):
        return None
    source, result = view["input"], view.output
    if result.is_state or source.is_constant or not same_scale(source, result):
        return None
    if source.is_state:
        return None if _is_overwritten(graph, source.index) else _before_readers(graph, place, source.index)
    if source.type.shape == result.type.shape:
        after = bypass(graph, place, source.index)
        return None if after is None else (after, "It keeps the shape.")
    return _before_readers(graph, place, source.index) or _behind_maker(graph, place, source.index)


def _is_overwritten(graph: Draft, tensor: int) -> bool:
    """True if the bytes of a variable get another value in the same inference: then reads keep their places."""
    return any(each.updates == tensor for each in graph.tensors)


def _before_readers(graph: Draft, place: int, source: int) -> tuple[Edit, str] | None:
    """Returns the edit that drops a RESHAPE and lets its readers read its input; None if a reader cannot."""
    (result,) = graph.node(place).outputs
    places = graph.readers(result)
    if not places or not graph.is_inner(result):
        return None
    changed: dict[int, Node | None] = {place: None}
    for reader in places:
        node = graph.node(reader)
        if row_input(node) != result or node.inputs.count(result) > 1:
            return None
        operator = _flat_reader(graph.view(reader), graph.tensors[source].type.shape)
        if operator is None or _is_chopped(graph.view(reader), graph.tensors[source]):
            return None
        changed[reader] = replace(reading(node, result, source), op=operator)
        if not is_accepted(graph, replace(reading(node, result, source), op=operator)):
            return None
    names = ", ".join(graph.node(reader).label for reader in places)
    return changed, f"{names} take{'s' if len(places) == 1 else ''} the elements in order, in any shape."


def _behind_maker(graph: Draft, place: int, source: int) -> tuple[Edit, str] | None:
    """Returns the edit that drops a RESHAPE and lets its producer write its output; None if the producer cannot."""
    made = graph.maker(source)
    if made is None or not graph.is_inner(source) or graph.readers(source) != (place,):
        return None
    outputs = graph.node(place).outputs
    operator = _flat_writer(graph.view(made), graph.tensors[outputs[0]].type.shape)
    if operator is None:
        return None
    node = replace(graph.node(made), op=operator, outputs=outputs)
    if not is_accepted(graph, node):
        return None
    what = f"{graph.node(made).label} writes the elements in the same order, in any shape."
    return {made: node, place: None}, what


def _flat_reader(view: NodeView, shape: tuple[int, ...]) -> Operator | None:
    """Returns the operator that reads the same elements in another shape with the same result; None if it cannot."""
    if is_custom(view.op):
        return None
    if isinstance(view.op, Softmax):
        return view.op if shape[-1:] == view["input"].type.shape[-1:] else None
    return _flat(view)


def _is_chopped(view: NodeView, source: Tensor) -> bool:
    """True if a fully connected layer would have to take its vectors in small pieces. A variable is in one piece."""
    if not isinstance(view.op, FullyConnected) or source.type.rows == 1 or source.is_state:
        return False
    return source.type.row_elements < min(_LEAST_PIECE, view["filter"].type.shape[1])


def _flat_writer(view: NodeView, shape: tuple[int, ...]) -> Operator | None:
    """Returns the operator that writes the same elements in another shape; None if it cannot."""
    if is_custom(view.op):
        return None
    if isinstance(view.op, Mean):
        return replace(view.op, keep_dims=not view.op.keep_dims)
    if isinstance(view.op, Softmax):
        return view.op if shape[-1:] == view.output.type.shape[-1:] else None
    return _flat(view)


def _flat(view: NodeView) -> Operator | None:
    """Returns the operator if it uses neither its input's nor its output's shape; else None."""
    if isinstance(view.op, FullyConnected):
        return replace(view.op, keep_dims=False)
    return view.op if isinstance(view.op, Reshape) or is_unary(view) else None
