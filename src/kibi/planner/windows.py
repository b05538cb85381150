"""Windows of weights: graphs whose kernels read weights that were fetched from slow memory into the arena."""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from itertools import pairwise

import numpy as np

from kibi.dtypes import DType
from kibi.ir import KernelCall, Node, NodeView, RowAccess, Tensor, TensorType
from kibi.ops.control.fetch_weights import FetchWeights, StartWeights, WaitWeights
from kibi.selection import LoweredGraph

_WORD = 4
"""The alignment in bytes of each constant in a window; 8 where some have larger elements."""
_KEPT_BYTES = 128
"""So few bytes of constants of a node are worth no fetch: they stay in flash."""


@dataclass(frozen=True)
class WindowView(NodeView):
    """A node whose kernel reads its weights from a window, and the window's tensor.

    Each step also reads a row of the window: row 0 at first, and after each `steps / loads` steps the next one. Where windows
    are read ahead, it reads the row of the arrival, too, which has no bytes.
    """

    weights: Tensor | None = None
    arrival: Tensor | None = None

    @property
    def window(self) -> Tensor | None:
        """The window."""
        return self.weights

    @cached_property
    def own(self) -> NodeView:
        """The view without the window."""
        return NodeView(self.node, self.operands)

    @cached_property
    def accesses(self) -> tuple[RowAccess, ...]:
        """The rows that a step reads of each tensor, those of the window and its arrival last."""
        return (*self.own.accesses, *map(self._further_access, self._further))

    @cached_property
    def row_names(self) -> tuple[str, ...]:
        """The names of the inputs that are read by the row; the window has none among the operator's."""
        return (*self.own.row_names, *("window", "arrival")[: len(self._further)])

    @cached_property
    def row_tensors(self) -> tuple[Tensor, ...]:
        """The tensors that are read by the row, the window and its arrival last."""
        return (*self.own.row_tensors, *self._further)

    @property
    def _further(self) -> tuple[Tensor, ...]:
        """The window, and the arrival where there is one."""
        return tuple(tensor for tensor in (self.weights, self.arrival) if tensor is not None)

    def _further_access(self, tensor: Tensor) -> RowAccess:
        return RowAccess(rows=1, output_rows=self.steps // tensor.type.rows, stride=0)


@dataclass(frozen=True, kw_only=True)
class WindowedGraph(LoweredGraph):
    """A lowered graph with a FETCH_WEIGHTS node before each node whose kernel reads weights, or START_WEIGHTS and WAIT_WEIGHTS.

    Attributes:
        made_views: each node with its tensors.
        made_calls: the call of each node's kernel; that of one with a window has its constants for reference.
    """

    made_views: tuple[NodeView, ...]
    made_calls: tuple[KernelCall, ...]

    @property
    def views(self) -> tuple[NodeView, ...]:
        """Each node with its tensors."""
        return self.made_views

    @property
    def general_calls(self) -> tuple[KernelCall, ...]:
        """The calls of the kernels that run: no other can read these windows."""
        return self.made_calls

    @property
    def calls(self) -> tuple[KernelCall, ...]:
        """The call of the kernel that runs each node."""
        return self.made_calls


@dataclass(frozen=True, slots=True)
class Packed:
    """The constants of a kernel's call, side by side.

    Attributes:
        content: their bytes, in whole words.
        offsets: where each begins, by the name of its field.
        word: s32, or s64 where some elements have eight bytes.
    """

    content: bytes
    offsets: dict[str, int]
    word: DType

    @staticmethod
    def of(call: KernelCall) -> "Packed":
        """The constants of a call, each at a multiple of a word."""
        arrays = call.constants
        unit = max((_WORD, *(array.dtype.itemsize for array in arrays.values())))
        content, offsets = bytearray(), {}
        for name, array in arrays.items():
            offsets[name] = len(content)
            content += np.ascontiguousarray(array).tobytes()
            content += bytes(-len(content) % unit)
        return Packed(bytes(content), offsets, DType.S64 if unit > _WORD else DType.S32)


def has_weights(call: KernelCall) -> bool:
    """True if a call's kernel reads more constants than are kept in flash."""
    return call.constant_bytes > _KEPT_BYTES


def window_bytes(call: KernelCall) -> int:
    """Returns the bytes of a call's constants in a window; 0: it has none, or so few that they stay in flash."""
    return len(Packed.of(call).content) if has_weights(call) else 0


def _after(view: NodeView, nodes: Sequence[Node]) -> tuple[int, ...]:
    """The tensors that are complete before a window is filled, where each operator runs to completion: it is needed no sooner.

    They live then in any case: what the node reads, and, of a part of a layer, the output of the part before. So the search for
    orders has no more to choose than without windows.
    """
    read = [tensor.index for tensor in view.row_tensors if not tensor.is_constant]
    siblings = nodes[-1:] if nodes and nodes[-1].op == view.op and nodes[-1].source == view.node.source else ()
    return tuple(dict.fromkeys((*read, *(index for node in siblings for index in node.outputs))))


@dataclass(frozen=True, slots=True)
class Place:
    """A node of a graph with windows.

    Attributes:
        kind: the operator that is put before a node with weights, or None for the node itself.
        node: the node's number in the graph without windows.
    """

    kind: type[FetchWeights | WaitWeights] | None
    node: int


def places(loads: Sequence[int], *, ahead: bool = False) -> tuple[Place, ...]:
    """Returns the nodes of a graph with windows, in their order.

    Each node with weights comes after the one that fills its window. Where windows are read ahead, that is WAIT_WEIGHTS; the
    START_WEIGHTS of the next window comes between it and the node, so that orders by rows have the nodes side by side.

    Args:
        loads: for each node how often its weights are fetched; 0: it has none.
        ahead: True if windows are read ahead.
    """
    fetching = [node for node, count in enumerate(loads) if count]
    following = dict(pairwise(fetching))
    found: list[Place] = []
    for node, count in enumerate(loads):
        if count and not ahead:
            found.append(Place(FetchWeights, node))
        elif count:
            found += [Place(StartWeights, node)] if node == fetching[0] else []
            found.append(Place(WaitWeights, node))
            found += [Place(StartWeights, following[node])] if node in following else []
        found.append(Place(None, node))
    return tuple(found)


@dataclass(frozen=True, slots=True)
class _Window:
    """The window of a node: its bytes, its tensor, and the tensor that says that they have arrived, where it is read ahead."""

    content: bytes
    tensor: Tensor
    arrival: Tensor | None


def _windows(graph: LoweredGraph, loads: Sequence[int], *, ahead: bool) -> dict[int, _Window]:
    """The window of each node that has one; their tensors come after the graph's, all arrivals last."""
    fetching = [node for node, count in enumerate(loads) if count]
    first, found = len(graph.tensors), dict[int, _Window]()
    for number, node in enumerate(fetching):
        packed, name, count = Packed.of(graph.calls[node]), graph.views[node].output.name, loads[node]
        words = len(packed.content) // packed.word.size_bytes
        window = Tensor(first + number, f"weights of {name}", TensorType((1, count, 1, words), packed.word))
        index, kind = first + len(fetching) + number, TensorType((1, count, 1, 0), DType.S8)
        found[node] = _Window(packed.content, window, Tensor(index, f"arrival at {name}", kind) if ahead else None)
    return found


def _made_view(place: Place, window: _Window, source: int, after: tuple[int, ...]) -> NodeView:
    """A node that fills a window, or a part of that, with its tensors.

    Args:
        place: of the node.
        window: what it fills.
        source: the number of the operator in the model file.
        after: the tensors after which FETCH_WEIGHTS runs.
    """
    index = window.tensor.index
    if place.kind is WaitWeights and window.arrival is not None:
        node = Node(WaitWeights(window.content), (index,), (window.arrival.index,), source)
        return NodeView(node, (("window", window.tensor), ("output", window.arrival)))
    if place.kind is StartWeights:
        return NodeView(Node(StartWeights(window.content), (), (index,), source), (("output", window.tensor),))
    return NodeView(Node(FetchWeights(window.content), after, (index,), source), (("output", window.tensor),))


def _reading(view: NodeView, call: KernelCall, window: _Window) -> tuple[NodeView, KernelCall]:
    """A node that reads its weights from a window, and its call: neither the window nor the arrival is ever overwritten."""
    further = (window.tensor.index, *(() if window.arrival is None else (window.arrival.index,)))
    node = Node(view.node.op, (*view.node.inputs, *further), view.node.outputs, view.node.source)
    distances = call.inplace_distance_bytes or (None,) * len(view.row_tensors)
    kept = replace(call, inplace_distance_bytes=(*distances, *(None,) * len(further)))
    return WindowView(node, view.operands, window.tensor, window.arrival), kept


def with_windows(graph: LoweredGraph, loads: Sequence[int], *, ahead: bool = False) -> WindowedGraph:
    """Returns a lowered graph whose nodes read their weights from windows.

    Args:
        graph: the graph with its kernels.
        loads: for each node how often its weights are fetched, which divides its steps; 0 for a node without constants.
        ahead: True if a window's transfer is started by one node and waited for by another.
    """
    windows = _windows(graph, loads, ahead=ahead)
    nodes, views, calls = list[Node](), list[NodeView](), list[KernelCall]()
    for place in places(loads, ahead=ahead):
        view, call, window = graph.views[place.node], graph.calls[place.node], windows.get(place.node)
        if window is not None and place.kind is not None:
            view = _made_view(place, window, view.node.source, _after(view, nodes))
            call = view.op.kernel_call(view)
        elif window is not None:
            view, call = _reading(view, call, window)
        nodes.append(view.node)
        views.append(view)
        calls.append(call)
    made = (*(each.tensor for each in windows.values()), *(each.arrival for each in windows.values() if each.arrival))
    facts = {each.name: getattr(graph, each.name) for each in fields(LoweredGraph)}
    facts |= {"tensors": (*graph.tensors, *made), "nodes": tuple(nodes), "arenas": ()}
    return WindowedGraph(**facts, made_views=tuple(views), made_calls=tuple(calls))
