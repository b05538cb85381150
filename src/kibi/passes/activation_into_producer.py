"""The pass `activation-into-producer`: operators that merely clamp become the clamp of the operator before them."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from kibi.dtypes import DType
from kibi.errors import InternalError
from kibi.ir import Graph, Node, NodeView, OperatorError
from kibi.ops import Activation, Conv2D, DepthwiseConv2D, FullyConnected, is_custom
from kibi.ops.elementwise.broadcast import Elementwise2
from kibi.ops.windows.pooling import Pool2D
from kibi.passes.change import Change
from kibi.passes.rewriting import Draft, Edit, apply, same_type
from kibi.passes.tables import Table, tables_of

NAME = "activation-into-producer"

Clamping = Conv2D | DepthwiseConv2D | FullyConnected | Pool2D | Elementwise2
"""Operators whose field `activation` is the last thing that happens to an element: a clamp of a 32-bit number."""

Numbers = NDArray[np.int64]
_BEYOND: Numbers = np.arange(-256, 257, dtype=np.int64)
"""Numbers before the clamp: the s8 range, and some beyond each end that represent all others there."""


def fuse_activations(graph: Graph) -> tuple[Graph, tuple[Change, ...]]:
    """Returns the graph with RELU, RELU6 and other clamps fused into the operators before them, and the changes made.

    An operator on single elements goes into its producer's fused activation where one of the activations gives the same for
    every number that the producer may find before it clamps. Scale and zero point of what goes in and what comes out must
    be equal, and nobody else may read what goes in.
    """
    return apply(graph, NAME, _rule)


def limits_of(view: NodeView) -> tuple[int, int] | None:
    """Returns the closed range to which an operator finally clamps its s8 outputs; None for operators that do not clamp."""
    if not isinstance(view.op, Clamping) or is_custom(view.op) or view.output.type.dtype is not DType.S8:
        return None
    return view.op.activation.limits(DType.S8, view.output.quantization)


def _rule(graph: Draft, place: int) -> tuple[Edit, str] | None:
    node, view = graph.node(place), graph.view(place)
    source = next((tensor for tensor in view.row_tensors if not tensor.is_constant), None)
    if source is None or not same_type(source, view.output) or not graph.is_inner(source.index):
        return None
    if view.output.is_state:
        return None  # the output overwrites its input, and must be made after the last read of that
    made = graph.maker(source.index)
    if made is None or graph.readers(source.index) != (place,) or node.inputs.count(source.index) > 1:
        return None
    tables = tables_of(view) if limits_of(graph.view(made)) else ()
    activation = _activation(graph.view(made), tables[0]) if len(tables) == 1 else None
    if activation is None:
        return None
    after = {made: _clamped(graph.node(made), activation, node.outputs), place: None}
    what = "which gives the same for each number before it clamps"
    return after, f"{graph.node(made).label} has it as its activation {activation.value}, {what}."


def _clamped(node: Node, activation: Activation, outputs: tuple[int, ...]) -> Node:
    if not isinstance(node.op, Clamping):
        raise InternalError(f"{node.label} has no activation")
    return replace(node, op=replace(node.op, activation=activation), outputs=outputs)


def _activation(view: NodeView, table: Table) -> Activation | None:
    """Returns the activation that equals the operator's own followed by the table; its own if that suffices."""
    own = limits_of(view)
    if own is None:
        return None
    wanted = table[_clamp(_BEYOND, own) + 128]
    for activation in Activation:
        try:
            limits = activation.limits(DType.S8, view.output.quantization)
        except OperatorError:
            continue
        if (_clamp(_BEYOND, limits) == wanted).all():
            return activation
    return None


def _clamp(numbers: Numbers, limits: tuple[int, int]) -> Numbers:
    """Clamps; the upper bound wins if the range is empty, as in the kernels."""
    low, high = limits
    return np.minimum(np.maximum(numbers, low), high)
