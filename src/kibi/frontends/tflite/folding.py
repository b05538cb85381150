"""Numbers about shapes, computed ahead of time: converters write chains of operators for shapes that are known all along.

Only small integer tensors are folded. Larger ones would trade arena for flash, and activations stay what the model says.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from kibi.dtypes import Array, DType
from kibi.errors import ModelError
from kibi.ir import Graph, Node, NodeView, Tensor, evaluation, verify

_DTYPES = (DType.S32, DType.S64)
_MOST_ELEMENTS = 64
MOST_READ = 1 << 24
"""Elements of constants that folding reads in all: many operators may read one large constant."""


def fold(
    source: str, tensors: Mapping[int, Tensor], nodes: Sequence[Node], outputs: Sequence[int]
) -> tuple[dict[int, Tensor], list[Node]]:
    """Nodes with known small integer outputs become constants, in the order of the nodes.

    A SHAPE is known whatever its input; another operator where all its inputs are constants. What breaks a rule stays, for
    `verify` to say so, and so do the model's outputs, and what would read too much.

    Args:
        source: the model file's name.
        tensors: by index.
        nodes: in order.
        outputs: of the model.

    Returns:
        The tensors, some of them constants now, and the nodes that are left.
    """
    known, left = dict(tensors), []
    to_read = MOST_READ
    for node in nodes:
        data = None
        if set(node.outputs).isdisjoint(outputs) and is_known(known, node):
            to_read -= constant_elements(known, node)
            data = evaluated(source, known, node) if to_read >= 0 else None
        if data is None:
            left.append(node)
        else:
            known[node.outputs[0]] = replace(known[node.outputs[0]], data=data)
    return known, left


def constant_elements(tensors: Mapping[int, Tensor], node: Node) -> int:
    """Returns how many elements the constants have that a node reads."""
    inputs = [tensors[index] for index in node.inputs if index is not None]
    return sum(tensor.type.elements for tensor in inputs if tensor.is_constant)


def is_known(tensors: Mapping[int, Tensor], node: Node) -> bool:
    """True if the output of a node follows from constants, and is small."""
    inputs = [tensors[index] for index in node.inputs if index is not None]
    if len(node.outputs) != 1 or not inputs:
        return False
    output = tensors[node.outputs[0]]
    is_small = output.type.dtype in _DTYPES and output.type.elements <= _MOST_ELEMENTS
    # One that ignores its inputs' elements gives the same for zeros, which `_elements` makes.
    is_known = node.op.ignores_elements or all(tensor.is_constant for tensor in inputs)
    return is_small and is_known and not (output.is_constant or output.is_state)


def evaluated(source: str, tensors: Mapping[int, Tensor], node: Node) -> Array | None:
    """The elements of a node's one output, from constants; None where it breaks a rule or accumulates.

    Of inputs that are no constants, all elements count as zeros.
    """
    view = _site(source, tensors, node)
    if view is None or view.op.subgraphs or view.op.states:
        return None
    read = {tensor.index: _elements(tensor) for tensor in view.row_tensors}
    with np.errstate(all="ignore"):
        (data,) = evaluation(view)(read)
    data.flags.writeable = False
    return data


def _site(source: str, tensors: Mapping[int, Tensor], node: Node) -> NodeView | None:
    """Returns the node in its own graph; None if it breaks a rule."""
    try:
        return verify(graph_of(source, tensors, node)).views[0]
    except ModelError:
        return None


def graph_of(source: str, tensors: Mapping[int, Tensor], node: Node) -> Graph:
    """Returns a graph of one node, which is not verified."""
    places = {
        index: place for place, index in enumerate(dict.fromkeys((*filter(_is_there, node.inputs), *node.outputs)))
    }
    alone = tuple(replace(tensors[index], index=place) for index, place in places.items() if index is not None)
    inputs = tuple(None if index is None else places[index] for index in node.inputs)
    outputs = tuple(places[index] for index in node.outputs)
    free = tuple(dict.fromkeys(place for place in inputs if place is not None and not alone[place].is_constant))
    return Graph("node", source, alone, (replace(node, inputs=inputs, outputs=outputs),), free, outputs)


def _is_there(index: int | None) -> bool:
    return index is not None


def _elements(tensor: Tensor) -> Array:
    """The elements of a constant; zeros for a tensor whose elements do not matter."""
    return np.zeros(tensor.type.shape, tensor.type.dtype.numpy) if tensor.data is None else tensor.data
