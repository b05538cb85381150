"""The pass `identity`: drops operators that return their input unchanged."""

from kibi.dtypes import DType
from kibi.ir import Graph, NodeView
from kibi.ops import Pad, Quantize, is_custom
from kibi.ops.windows.pooling import Pool2D
from kibi.passes.change import Change
from kibi.passes.rewriting import Draft, Edit, apply, bypass, same_type
from kibi.passes.tables import IDENTITY, tables_of

NAME = "identity"


def drop_identities(graph: Graph) -> tuple[Graph, tuple[Change, ...]]:
    """Returns the graph without operators that change no element, and the changes made.

    Such an operator is an addition of zeros, a multiplication by ones or an activation that maps each of the 256 values to itself,
    a padding by nothing, or a pooling of single elements. Input and output must have the same shape and scale.
    """
    return apply(graph, NAME, _rule)


def _rule(graph: Draft, place: int) -> tuple[Edit, str] | None:
    view = graph.view(place)
    source = _source(graph, view)
    if source is None or not same_type(graph.tensors[source], view.output):
        return None
    reason = _reason(view)
    after = bypass(graph, place, source) if reason else None
    return None if after is None else (after, reason)


def _source(graph: Draft, view: NodeView) -> int | None:
    """Returns the only input that is read by the row and is no constant; None if there is no such input, or several."""
    found = [tensor.index for tensor in view.row_tensors if not graph.tensors[tensor.index].is_constant]
    return found[0] if len(found) == 1 else None


def _reason(view: NodeView) -> str:
    """Returns why the output equals the input; an empty text if it does not, or if another pass handles the case."""
    if is_custom(view.op):
        return ""
    if isinstance(view.op, Pad):
        return "It pads by nothing." if not view.constant("paddings").any() else ""
    if isinstance(view.op, Pool2D):
        if view.output.type.dtype is not DType.S8:
            return ""
        clamps = view.op.activation.limits(DType.S8, view.output.quantization) != DType.S8.limits
        is_one = view.op.kernel == view.op.stride == (1, 1)
        return "Its windows hold one element each." if is_one and not clamps else ""
    tables = () if isinstance(view.op, Quantize) else tables_of(view)
    if tables and all((table == IDENTITY).all() for table in tables):
        return "It maps each of the 256 values to itself."
    return ""
