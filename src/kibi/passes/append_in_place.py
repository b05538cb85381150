"""The pass `append-in-place`: a variable and the rows that are appended to it become one variable, which moves along."""

from dataclasses import replace

from kibi.errors import ModelError
from kibi.ir import Graph, NodeView, Tensor, TensorType, in_order, verify
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
    """
    return apply_to_graph(graph, _rule)


def _rule(graph: Graph, place: int) -> tuple[Graph, Change] | None:
    """Returns the graph in which a concatenation moves a variable along, and the change; None if it does not."""
    view = graph.views[place]
    if not isinstance(view.op, Concatenation) or is_custom(view.op) or view.op.skip or len(view.row_tensors) != 2:
        return None
    variable, new = view.row_tensors
    both = view.output
    axis = view.op.axis % len(both.type.shape)
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
    nodes[place] = replace(nodes[place], op=replace(view.op, skip=new.type.shape[axis]))
    ordered = in_order(tensors, [node for number, node in enumerate(nodes) if number != keeper])
    if ordered is None:
        return None
    try:
        after = verify(replace(graph, tensors=tuple(tensors), nodes=ordered))
    except ModelError:
        return None
    what = f"The variable holds the new rows, too; {graph.nodes[keeper].label} is left out."
    return after, Change(NAME, view.node.label, what)


def _is_appended(view: NodeView, axis: int) -> bool:
    """True if rows of one batch are appended to a variable's, at most half as many bytes, into an inner tensor."""
    variable, new = view.row_tensors
    both = view.output
    if not variable.is_variable or new.is_state or both.is_state or both.is_external:
        return False
    is_one_batch = axis == both.type.row_axis and all(size == 1 for size in both.type.shape[:axis])
    return is_one_batch and 2 * new.type.size_bytes <= variable.type.size_bytes


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
    if not isinstance(view.op, StridedCopy) or is_custom(view.op) or view.output.updates != variable.index:
        return False
    source, kept = view["input"].type.shape, variable.type.shape
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
