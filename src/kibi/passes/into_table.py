"""The pass `into-table`: operators that compute one s8 element from one other become a single table."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from kibi.dtypes import Array, DType
from kibi.ir import Graph, Node, NodeView, Tensor
from kibi.ops import Dequantize, Quantize, is_custom
from kibi.ops.elementwise.broadcast import Broadcast2, Elementwise2
from kibi.ops.elementwise.lookup import Lookup
from kibi.ops.elementwise.table import TableOperator
from kibi.ops.elementwise.unary import RealUnary, Unary
from kibi.passes.change import Change
from kibi.passes.rewriting import Draft, Edit, apply
from kibi.passes.tables import IDENTITY, Table, outputs_for, tables_of

NAME = "into-table"

_OF_FLOATS = (Unary, RealUnary, Broadcast2, Dequantize)
"""Operators whose output elements depend on one element, or on one of each of two inputs."""
_MOST_NODES = 16
"""Nodes before an operator that are looked at on each way to it; a longer chain becomes one table in several steps."""


def join_into_tables(graph: Graph) -> tuple[Graph, tuple[Change, ...]]:
    """Returns the graph with one table in place of several operators, and the changes made.

    An operator on single s8 elements goes together with those that make its inputs, where all of them are functions of one tensor
    of the same shape: a LOGISTIC and the MUL by its input, which are SiLU, or a QUANTIZE after a TANH. The 256 results are computed
    by the operators themselves. At least one of them has a table already, so that none is added; or what is between a DEQUANTIZE
    and a QUANTIZE goes with both, and no floats are left.
    """
    return apply(graph, NAME, _rule)


@dataclass(frozen=True, slots=True)
class _Way:
    """A tensor as a function of one that is needed to make it.

    Attributes:
        source: the index of that tensor.
        table: the function.
        places: of the nodes on the way.
    """

    source: int
    table: Table
    places: tuple[int, ...]


def _rule(graph: Draft, place: int) -> tuple[Edit, str] | None:
    view = graph.view(place)
    if view.output.is_state:
        return None  # the output overwrites its variable, and must be made after the last read of that
    found = _function(graph, place, view) or _function_by_floats(graph, place, view)
    if found is None:
        return None
    labels = " and ".join(graph.node(each).label for each in found.places)
    entries = tuple(found.table.tolist())
    node = graph.node(place)
    after = dict.fromkeys(found.places) | {place: Node(Lookup(entries), (found.source,), node.outputs, node.source)}
    return after, f"{labels} and it together are a table of {len(entries)} entries."


def _function(graph: Draft, place: int, view: NodeView) -> _Way | None:
    """Returns the output of a node as a function of the tensor that lets most other nodes be removed; None if no node can be."""
    return max(
        (way for way in _functions(graph, view) if way.places and _can_go(graph, place, way)),
        key=lambda way: len(way.places),
        default=None,
    )


def _functions(graph: Draft, view: NodeView) -> Iterator[_Way]:
    """Yields the output of a node as a function of each tensor that determines it."""
    single = _single(view)
    if single is not None:
        source, table = single
        for way in _ways(graph, source):
            yield _Way(way.source, table[_positions(way.table)], way.places)
    elif _is_pair(view):
        first, second = view.row_tensors
        others = {way.source: way for way in _ways(graph, second)}
        for way in _ways(graph, first):
            other = others.get(way.source)
            if other is not None:
                places = tuple(sorted({*way.places, *other.places}))
                yield _Way(way.source, outputs_for(view, [way.table, other.table]).astype(np.int8), places)


def _function_by_floats(graph: Draft, place: int, view: NodeView) -> _Way | None:
    """Returns what QUANTIZE makes of floats as a function of the only s8 tensor that they depend on; None if there are others."""
    if not isinstance(view.op, Quantize) or view["input"].type.dtype is not DType.F32:
        return None
    places = _cone_of_floats(graph, view)
    read = [each for made in places for each in graph.view(made).row_tensors if each.type.dtype is DType.S8]
    if not read or any(each.index != read[0].index for each in read):
        return None
    known: dict[int, Array] = {read[0].index: IDENTITY}
    for made in (*places, place):
        node = graph.view(made)
        given = [known[each.index] if each.index in known else _same(each) for each in node.row_tensors]
        known[node.output.index] = outputs_for(node, given)
        if np.isnan(known[node.output.index]).any():
            return None  # no rule says what QUANTIZE makes of it
    way = _Way(read[0].index, known[view.output.index].astype(np.int8), places)
    return way if view.output.type.dtype is DType.S8 and _can_go(graph, place, way) else None


def _cone_of_floats(graph: Draft, view: NodeView) -> tuple[int, ...]:
    """Returns the places of the operators on single elements that make a node's floats, in order; none if others take part."""
    found, waiting, shape = set[int](), [view["input"]], view.output.type.shape
    while waiting:
        tensor = waiting.pop()
        if tensor.is_constant and len(np.unique(np.asarray(tensor.data))) == 1:
            continue
        made = graph.maker(tensor.index)
        if made is None or not graph.is_inner(tensor.index) or len(found) == _MOST_NODES:
            return ()
        maker = graph.view(made)
        if (
            not isinstance(maker.op, _OF_FLOATS)
            or is_custom(maker.op)
            or tensor.type != replace(tensor.type, shape=shape)
        ):
            return ()
        if made not in found:
            found.add(made)
            if not isinstance(maker.op, Dequantize):
                waiting += maker.row_tensors
    return tuple(sorted(found))


def _same(constant: Tensor) -> Array:
    """The elements of a constant whose elements are equal, one for each entry of a table."""
    return np.full(len(IDENTITY), np.asarray(constant.data).reshape(-1)[0])


def _ways(graph: Draft, tensor: Tensor) -> Iterator[_Way]:
    """Yields a tensor as a function of itself, of what it is made of, and so on."""
    way = _Way(tensor.index, IDENTITY, ())
    yield way
    for _ in range(_MOST_NODES):
        made = graph.maker(way.source)
        single = None if made is None or not graph.is_inner(way.source) else _single(graph.view(made))
        if made is None or single is None:
            return
        source, table = single
        way = _Way(source.index, way.table[_positions(table)], (made, *way.places))
        yield way


def _single(view: NodeView) -> tuple[Tensor, Table] | None:
    """Returns the only s8 tensor of the output's shape of which a node is a function, and that; None if it is no such node."""
    sources = [tensor for tensor in view.row_tensors if not tensor.is_constant]
    if len(sources) != 1 or not _is_alike(sources[0], view.output):
        return None
    tables = tables_of(view)
    return (sources[0], tables[0]) if len(tables) == 1 else None


def _is_pair(view: NodeView) -> bool:
    """True if each element of a node's output depends on those of two s8 tensors at its place."""
    if not isinstance(view.op, Elementwise2) or is_custom(view.op):
        return False
    return not any(each.is_constant or not _is_alike(each, view.output) for each in view.row_tensors)


def _is_alike(source: Tensor, output: Tensor) -> bool:
    return source.type.dtype is output.type.dtype is DType.S8 and source.type.shape == output.type.shape


def _can_go(graph: Draft, place: int, way: _Way) -> bool:
    """True if nobody else reads what is made on a way, and one of its nodes, or the last one, has a table."""
    if graph.tensors[way.source].is_state:
        return False  # its value changes with time
    nodes = {*way.places, place}
    made = [index for each in way.places for index in graph.node(each).outputs]
    if not all(set(graph.readers(index)) <= nodes for index in made):
        return False
    return any(isinstance(graph.node(each).op, TableOperator | Quantize) for each in nodes)


def _positions(table: Table) -> NDArray[np.int64]:
    """Returns where a table's results are in another one."""
    return table.astype(np.int64) + len(IDENTITY) // 2
