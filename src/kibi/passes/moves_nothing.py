"""The pass `moves-nothing`: replaces operators that only move elements, if they keep the order."""

from dataclasses import replace

from kibi.ir import Graph, NodeView
from kibi.ops import Reshape, is_custom
from kibi.ops.movement.concat_like import ConcatLike
from kibi.ops.movement.strided_copy import StridedCopy
from kibi.passes.change import Change
from kibi.passes.rewriting import Draft, Edit, apply

NAME = "moves-nothing"


def name_reshapes(graph: Graph) -> tuple[Graph, tuple[Change, ...]]:
    """Returns the graph in which a RESHAPE replaces each operator that keeps all elements in their order.

    Such are a slice of everything, a concatenation of one input, a transposition while all axes but one have size 1. The pass
    `reshape-to-nothing` then leaves out the RESHAPE where it can.
    """
    return apply(graph, NAME, _rule)


def _rule(graph: Draft, place: int) -> tuple[Edit, str] | None:
    view, node = graph.view(place), graph.node(place)
    if is_custom(view.op) or not _keeps_order(view):
        return None
    if view.row_tensors[0].is_state or view.output.is_state:
        return None  # a variable's value changes with time, so reads and assignments keep their places
    after = replace(node, op=Reshape(), inputs=(view.row_tensors[0].index,))
    return {place: after}, "It moves nothing."


def _keeps_order(view: NodeView) -> bool:
    """True if the output has the same elements as the one row input, in the same order."""
    if isinstance(view.op, ConcatLike):
        return len(view.row_tensors) == 1
    if not isinstance(view.op, StridedCopy):
        return type(view.op) is not Reshape and isinstance(view.op, Reshape)
    shape = view["input"].type.shape
    wanted = [(source, 1, size) for source, size in enumerate(shape) if size > 1]
    found = [(axis.source, axis.step, axis.size) for axis in view.op.selection(view).axes if axis.size > 1]
    return found == wanted
