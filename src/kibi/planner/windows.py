"""Windows of weights: graphs whose kernels read weights that were fetched from slow memory into the arena."""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property

import numpy as np

from kibi.dtypes import DType
from kibi.ir import KernelCall, Node, NodeView, RowAccess, Tensor, TensorType
from kibi.ops.control.fetch_weights import FetchWeights
from kibi.selection import LoweredGraph

_WORD = 4
"""The alignment in bytes of each constant in a window; 8 where some have larger elements."""
_KEPT_BYTES = 128
"""So few bytes of constants of a node are worth no fetch: they stay in flash."""


@dataclass(frozen=True)
class WindowView(NodeView):
    """A node whose kernel reads its weights from a window, and the window's tensor.

    Each step also reads a row of the window: row 0 at first, and after each `steps / loads` steps the next one.
    """

    weights: Tensor | None = None

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
        """The rows that a step reads of each tensor, that of the window last."""
        return (*self.own.accesses, *(() if self.weights is None else (self._window_access(self.weights),)))

    @cached_property
    def row_names(self) -> tuple[str, ...]:
        """The names of the inputs that are read by the row; the window has none among the operator's."""
        return (*self.own.row_names, *(() if self.weights is None else ("window",)))

    @cached_property
    def row_tensors(self) -> tuple[Tensor, ...]:
        """The tensors that are read by the row, the window last."""
        return (*self.own.row_tensors, *(() if self.weights is None else (self.weights,)))

    def _window_access(self, window: Tensor) -> RowAccess:
        return RowAccess(rows=1, output_rows=self.steps // window.type.rows, stride=0)


@dataclass(frozen=True, kw_only=True)
class WindowedGraph(LoweredGraph):
    """A lowered graph with a FETCH_WEIGHTS node before each node whose kernel reads weights.

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
    return sum(array.nbytes for array in call.constants.values()) > _KEPT_BYTES


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


def with_windows(graph: LoweredGraph, loads: Sequence[int]) -> WindowedGraph:
    """Returns a lowered graph whose nodes read their weights from windows.

    Args:
        graph: the graph with its kernels.
        loads: for each node how often its weights are fetched, which divides its steps; 0 for a node without constants.
    """
    tensors, nodes = list(graph.tensors), list[Node]()
    views, calls = list[NodeView](), list[KernelCall]()
    for view, call, count in zip(graph.views, graph.calls, loads, strict=True):
        node, seen = view.node, view
        if count:
            packed = Packed.of(call)
            words = len(packed.content) // packed.word.size_bytes
            kind = TensorType((1, count, 1, words), packed.word)
            window = Tensor(len(tensors), f"weights of {view.output.name}", kind)
            tensors.append(window)
            fetch = Node(FetchWeights(packed.content), _after(view, nodes), (window.index,), node.source)
            nodes.append(fetch)
            views.append(NodeView(fetch, (("output", window),)))
            calls.append(fetch.op.kernel_call(views[-1]))
            node = Node(node.op, (*node.inputs, window.index), node.outputs, node.source)
            seen = WindowView(node, view.operands, window)
            distances = call.inplace_distance_bytes or (None,) * len(view.row_tensors)
            call = replace(call, inplace_distance_bytes=(*distances, None))  # noqa: PLW2901 - the window is never overwritten
        nodes.append(node)
        views.append(seen)
        calls.append(call)
    facts = {each.name: getattr(graph, each.name) for each in fields(LoweredGraph)}
    facts |= {"tensors": tuple(tensors), "nodes": tuple(nodes), "arenas": ()}
    return WindowedGraph(**facts, made_views=tuple(views), made_calls=tuple(calls))
