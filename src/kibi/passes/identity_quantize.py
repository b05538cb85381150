"""The pass `identity-quantize`: drops changes of scale that change nothing, and joins chains of them into one."""

from kibi.dtypes import DType
from kibi.ir import Graph, Node, NodeView
from kibi.ops import Dequantize, Quantize, is_custom
from kibi.passes.change import Change
from kibi.passes.rewriting import Draft, Edit, apply, bypass, is_accepted, reading, same_type, without_unread
from kibi.passes.tables import IDENTITY, Table, answers, table_of

NAME = "identity-quantize"


def join_quantizations(graph: Graph) -> tuple[Graph, tuple[Change, ...]]:
    """Returns the graph with fewer changes of scale, and the changes made.

    A QUANTIZE from s8 to s8 that maps each of the 256 values to itself, into an equal scale, is left out, and so is a
    DEQUANTIZE with the QUANTIZE after it. Two changes of scale in a row become one where that gives the same result for
    each of the 256 values.
    """
    return apply(graph, NAME, _rule)


def _rule(graph: Draft, place: int) -> tuple[Edit, str] | None:
    view = graph.view(place)
    if not isinstance(view.op, Quantize) or is_custom(view.op) or view.output.type.dtype is not DType.S8:
        return None
    source = view["input"]
    if source.type.dtype is DType.S8 and _is_identity(view, table_of(view), source.index, graph):
        after = bypass(graph, place, source.index)
        return None if after is None else (after, "It maps each of the 256 values to itself, at an equal scale.")
    return _joined(graph, place)


def _is_identity(view: NodeView, table: Table, source: int, graph: Draft) -> bool:
    return same_type(graph.tensors[source], view.output) and bool((table == IDENTITY).all())


def _joined(graph: Draft, place: int) -> tuple[Edit, str] | None:
    """Joins the change of scale at a place with the one before it."""
    node, view = graph.node(place), graph.view(place)
    between = view["input"].index
    made = graph.maker(between)
    first = None if made is None else graph.view(made)
    if first is None or is_custom(first.op) or not isinstance(first.op, Dequantize | Quantize):
        return None
    if first["input"].type.dtype is not DType.S8:
        return None
    if isinstance(first.op, Quantize) and not (graph.is_inner(between) and graph.readers(between) == (place,)):
        return None  # the first one stays in any case, and its input would have to live longer
    source = first["input"]
    if source.is_state:
        return None
    table = table_of(view, answers(first, IDENTITY))
    both = f"{first.node.label} and it together"
    if _is_identity(view, table, source.index, graph):
        after = bypass(graph, place, source.index)
        what = f"{both} map each of the 256 values to itself, at an equal scale."
        return None if after is None else (without_unread(graph, between, after), what)
    direct = reading(node, between, source.index)
    if not is_accepted(graph, direct) or not _agrees(graph, direct, table):
        return None
    after = without_unread(graph, between, {place: direct})
    return after, f"It alone maps each of the 256 values as {both} do."


def _agrees(graph: Draft, node: Node, table: Table) -> bool:
    return bool((table_of(graph.view_of(node)) == table).all())
