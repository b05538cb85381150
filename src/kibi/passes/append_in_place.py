"""The pass `append-in-place`: a variable and the rows that are appended to it become one variable, which moves along."""

from dataclasses import replace

from kibi.errors import ModelError
from kibi.ir import Graph, Node, NodeView, Tensor, TensorType, in_order, verify
from kibi.ops import Concatenation, is_custom
from kibi.ops.movement.strided_copy import StridedCopy
from kibi.passes.change import Change
from kibi.passes.rewriting import apply_to_graph

NAME = "append-in-place"


def append_in_place(graph: Graph) -> tuple[Graph, tuple[Change, ...]]:
    """Returns the graph with larger variables that are copied less, and the changes made.

    New rows are appended to a variable, and the last rows of both are its next value. Then a variable of both can replace it: its
    rows move along by as many as are new, in its own bytes. What read both reads the variable. So each row is copied once, not
    twice, and both take no bytes of the arena. That is done where the new rows have at most half as many bytes as the variable.

    A variable that loses its first rows before as many new ones are appended to it has room for both already: it moves along, too.
    """
    return apply_to_graph(graph, _rule)


def _rule(graph: Graph, place: int) -> tuple[Graph, Change] | None:
    """Returns the graph in which a concatenation moves a variable along, and the change; None if it does not."""
    view = graph.views[place]
    if not isinstance(view.op, Concatenation) or is_custom(view.op) or view.op.skip or len(view.row_tensors) != 2:
        return None
    return (_grown_variable if view.output.updates is None else _own_variable)(graph, place, view.op)


def _grown_variable(graph: Graph, place: int, op: Concatenation) -> tuple[Graph, Change] | None:
    """The rule for a variable that is the first input, and whose next value is the last rows of both."""
    view = graph.views[place]
    variable, new = view.row_tensors
    both = view.output
    axis = op.axis % len(both.type.shape)
    if not _is_appended(view, axis) or _users(graph, variable) != [place]:
        return None
    keeper = next((each for each in _readers(graph, both) if _keeps_last(graph.views[each], axis, variable)), None)
    if keeper is None or len(_readers(graph, both)) == 1:
        return None
    kept = graph.views[keeper].output
    if _users(graph, kept) != [keeper] or any(each.updates == kept.index for each in graph.tensors):
        return None
    tensors = list(graph.tensors)
    tensors[variable.index] = _grown(variable, both)
    tensors[both.index] = replace(both, updates=variable.index)
    tensors[kept.index] = replace(kept, updates=None)
    nodes = list(graph.nodes)
    nodes[place] = replace(nodes[place], op=replace(op, skip=new.type.shape[axis]))
    what = f"The variable holds the new rows, too; {graph.nodes[keeper].label} is left out."
    return _changed(graph, tensors, [*nodes[:keeper], *nodes[keeper + 1 :]], view, what)


def _own_variable(graph: Graph, place: int, op: Concatenation) -> tuple[Graph, Change] | None:
    """The rule for a variable whose last rows are the first input, and whose next value is the output."""
    view = graph.views[place]
    kept, new = view.row_tensors
    axis = op.axis % len(view.output.type.shape)
    variable = next(each for each in graph.tensors if each.index == view.output.updates)
    keeper = next((number for number, node in enumerate(graph.nodes) if kept.index in node.outputs), None)
    if keeper is None or not _is_one_batch(view, axis) or not _selects_last(graph.views[keeper], axis):
        return None
    if graph.views[keeper]["input"] != variable or _users(graph, variable) != [keeper]:
        return None
    if new.is_state or _users(graph, kept) != sorted((keeper, place)):
        return None
    nodes = list(graph.nodes)
    inputs = tuple(variable.index if each == kept.index else each for each in nodes[place].inputs)
    nodes[place] = replace(nodes[place], inputs=inputs, op=replace(op, skip=new.type.shape[axis]))
    what = f"The variable's rows move along in its own bytes; {graph.nodes[keeper].label} is left out."
    return _changed(graph, list(graph.tensors), [*nodes[:keeper], *nodes[keeper + 1 :]], view, what)


def _changed(
    graph: Graph, tensors: list[Tensor], nodes: list[Node], view: NodeView, what: str
) -> tuple[Graph, Change] | None:
    """Returns a graph of these parts, with the change of a node; None if the variable would be written before it is read."""
    ordered = in_order(tensors, nodes)
    if ordered is None:
        return None
    try:
        after = verify(replace(graph, tensors=tuple(tensors), nodes=ordered))
    except ModelError:
        return None
    return after, Change(NAME, view.node.label, what)


def _is_appended(view: NodeView, axis: int) -> bool:
    """True if rows of one batch are appended to a variable's, at most half as many bytes, into an inner tensor."""
    variable, new = view.row_tensors
    both = view.output
    if not variable.is_variable or new.is_state or both.is_state or both.is_external:
        return False
    return _is_one_batch(view, axis) and 2 * new.type.size_bytes <= variable.type.size_bytes


def _is_one_batch(view: NodeView, axis: int) -> bool:
    """True if a concatenation is along the rows of one batch."""
    shape = view.output.type
    return axis == shape.row_axis and all(size == 1 for size in shape.shape[:axis])


def _users(graph: Graph, tensor: Tensor) -> list[int]:
    """The nodes that read or make a tensor; -1 for who sees it from outside."""
    found = [number for number, node in enumerate(graph.nodes) if tensor.index in (*node.inputs, *node.outputs)]
    return [*found, *([-1] if tensor.index in (*graph.outputs, *graph.inputs) else [])]


def _readers(graph: Graph, tensor: Tensor) -> list[int]:
    """The nodes that read a tensor; none where it is seen from outside."""
    users = _users(graph, tensor)
    return [] if -1 in users else [each for each in users if tensor.index in graph.nodes[each].inputs]


def _keeps_last(view: NodeView, axis: int, variable: Tensor) -> bool:
    """True if a node assigns the last rows of its input to a variable."""
    return view.output.updates == variable.index and _selects_last(view, axis)


def _selects_last(view: NodeView, axis: int) -> bool:
    """True if a node copies the last rows of its input."""
    if not isinstance(view.op, StridedCopy) or is_custom(view.op):
        return False
    source, kept = view["input"].type.shape, view.output.type.shape
    found = view.op.selection(view)
    whole = [(number, 1, kept[axis] if number == axis else size) for number, size in enumerate(source)]
    first = [source[axis] - kept[axis] if number == axis else 0 for number in range(len(source))]
    return [(each.source, each.step, each.size) for each in found.axes] == whole and list(found.first) == first


def _grown(variable: Tensor, both: Tensor) -> Tensor:
    """Returns a variable with room for new rows before its own."""
    kind = TensorType(both.type.shape, variable.type.dtype, variable.type.quantization)
    initial = variable.initial
    if initial is not None:
        missing = kind.elements - variable.type.elements
        flat = initial.reshape(-1)
        # What is there before the first rows is never read; a value that is there already makes no new bytes.
        initial = flat[[0] * missing + list(range(len(flat)))].reshape(kind.shape)
        initial.setflags(write=False)
    return replace(variable, type=kind, initial=initial)
