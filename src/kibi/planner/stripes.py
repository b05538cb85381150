"""Computes stages of a network stripe by stripe: columns of their images, with the borders that neighbouring stripes both need.

A stage is replaced by a copy of its nodes for each stripe, one stripe after another, and a node that joins the stripes of its
output. Copies share their weights. Windows of a copy reach beyond its images only where the whole image ends, so each element has
the bits that it has without stripes; those that two stripes need are computed twice.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from kibi.dtypes import DType
from kibi.errors import PlanError
from kibi.ir import ColumnReach, Graph, Node, NodeView, Tensor, TensorType, verify
from kibi.ops import Concatenation, Slice
from kibi.planner.channel_parts import is_joined_exactly
from kibi.planner.plan import Stripes

MOST_STRIPES = 16
"""Of a stage."""
_IMAGE = 4
"""Axes of an image: `[N, H, W, C]`."""
_WIDTH = 2
"""The axis of columns."""

Columns = tuple[int, int]
"""From which to before which column of an image."""


def striped(graph: Graph, stages: Sequence[Stripes]) -> Graph:
    """Returns the graph whose stages are computed stripe by stripe.

    Args:
        graph: a verified graph, with its inputs and outputs handed over.
        stages: ascending; their nodes are those of this graph.

    Returns:
        The new graph, verified, or the same one where there are no stages. New tensors come after the others.

    Raises:
        PlanError: a stage has nodes that cannot be computed so, or stages overlap.
    """
    if not stages:
        return graph
    ends = [0, *(stage.end for stage in stages)]
    tensors, nodes = list(graph.tensors), list[Node]()
    for before, stage in zip(ends, stages, strict=False):
        problem = "it overlaps the one before" if stage.begin < before else stage_problem(graph, stage)
        if problem:
            raise PlanError(f"nodes {stage.begin} to {stage.end - 1} are no stage for stripes: {problem}. Plan again.")
        nodes += graph.nodes[before : stage.begin]
        nodes += _copies(graph, stage, tensors)
    nodes += graph.nodes[ends[-1] :]
    return verify(replace(graph, tensors=tuple(tensors), nodes=tuple(nodes)))


def stage_problem(graph: Graph, stage: Stripes) -> str:
    """Returns why some nodes cannot be computed stripe by stripe so; empty if they can."""
    if not 0 <= stage.begin < stage.end <= len(graph.nodes):
        return f"there are {len(graph.nodes)} nodes"
    last = graph.tensors[graph.nodes[stage.end - 1].outputs[0]]
    if not is_joined_exactly(last) or len(last.type.shape) != _IMAGE:
        return f"{last.name!r} cannot be joined from stripes"
    inside = frozenset(range(stage.begin, stage.end))
    seen = {*graph.outputs, *(index for node in _others(graph, inside) for index in node.inputs if index is not None)}
    for view in graph.views[stage.begin : stage.end]:
        why = node_problem(view)
        if why:
            return f"{view.node.label} {why}"
        if view.output is not last and view.output.index in seen:
            return f"{view.output.name!r} is read outside of them"
    bounds = (0, *stage.columns, last.type.shape[_WIDTH])
    if len(bounds) > MOST_STRIPES + 1 or any(first >= end for first, end in pairwise(bounds)):
        return f"{last.name!r} has {bounds[-1]} columns, which stripes at {list(stage.columns)} do not divide"
    return _cut_problem(graph, stage)


def node_problem(view: NodeView) -> str:
    """Returns why a node cannot compute some columns of an image alone; empty if it can."""
    if len(view.outputs) != 1 or view.output.is_state or view.output.is_external or view.op.states:
        return "has other outputs than an image in the arena"
    images = [view.output, *(tensor for tensor in view.row_tensors if not tensor.is_constant)]
    if any(len(each.type.shape) != _IMAGE or each.type.row_axis != 1 or not each.type.elements for each in images):
        return "is not one of images with several rows"
    return "" if view.op.columns(view) is not None else "needs more of its input than some columns"


def needed_columns(graph: Graph, stage: Stripes, made: Columns) -> dict[int, Columns]:
    """Returns the columns of each image that some columns of the stage's output need, by tensor.

    Of an image from before the stage they are those that are read; of others those that are computed.
    """
    needed = {graph.nodes[stage.end - 1].outputs[0]: made}
    for view in reversed(graph.views[stage.begin : stage.end]):
        own = needed.get(view.output.index)
        if own is not None:
            for tensor in _images(view):
                first, end = reach_of(view).needed(*own, tensor.type.shape[_WIDTH])
                known = needed.get(tensor.index, (first, end))
                needed[tensor.index] = min(first, known[0]), max(end, known[1])
    return needed


def reach_of(view: NodeView) -> ColumnReach:
    """Returns the columns that a node reads; it must have no `node_problem`."""
    found = view.op.columns(view)
    if found is None:
        raise PlanError(f"{view.node.label} {node_problem(view)}. Plan again.")
    return found


def _others(graph: Graph, inside: frozenset[int]) -> Iterator[Node]:
    return (node for number, node in enumerate(graph.nodes) if number not in inside)


def _images(view: NodeView) -> Iterator[Tensor]:
    return (tensor for tensor in view.row_tensors if not tensor.is_constant)


def _cut_problem(graph: Graph, stage: Stripes) -> str:
    """Returns which image would have to be cut by a SLICE that does not take its type; empty if none has to be."""
    views = graph.views[stage.begin : stage.end]
    for tensor in (tensor for view in views if _must_match(view) for tensor in _images(view)):
        if tensor.type.dtype not in Slice.types:
            return f"{tensor.name!r} cannot be cut"
    return ""


def _must_match(view: NodeView) -> bool:
    """True if a node's inputs must have just the columns of its output: it has no windows that may leave some out."""
    return view.op.on_columns(view, 0, 0) is view.op


def _copies(graph: Graph, stage: Stripes, tensors: list[Tensor]) -> Iterator[Node]:
    """Yields the nodes of all stripes, and the one that joins them; their tensors are added to those of the graph."""
    last = graph.nodes[stage.end - 1]
    output = graph.tensors[last.outputs[0]]
    joined = []
    for number, made in enumerate(pairwise((0, *stage.columns, output.type.shape[_WIDTH]))):
        stripe = _Stripe(graph, stage, number, made, tensors)
        yield from stripe.nodes()
        joined.append(stripe.copies[output.index])
    yield Node(Concatenation(axis=_WIDTH), tuple(joined), last.outputs, last.source)


class _Stripe:
    """The copy of a stage that makes some columns of its output.

    Attributes:
        copies: for each image of the stage that it has made so far, the index of its part.
    """

    def __init__(self, graph: Graph, stage: Stripes, number: int, made: Columns, tensors: list[Tensor]) -> None:
        self.copies: dict[int, int] = {}
        self._views = graph.views[stage.begin : stage.end]
        self._needed = needed_columns(graph, stage, made)
        self._number = number
        self._tensors = tensors
        self._cut: dict[tuple[int, Columns], int] = {}

    def nodes(self) -> Iterator[Node]:
        """Yields its nodes, in their order."""
        for view in self._views:
            own = self._needed.get(view.output.index)
            if own is not None:
                yield from self._node(view, own)

    def _node(self, view: NodeView, own: Columns) -> Iterator[Node]:
        """Yields the copy of a node, and before it those that cut its inputs."""
        op, inputs = view.op, {index: self.copies.get(index, index) for index in view.node.inputs if index is not None}
        for tensor in _images(view):
            given = self._given(tensor)
            if _must_match(view):
                if given != own:
                    yield from self._cut_node(view, tensor, given, own)
                    inputs[tensor.index] = self._cut[tensor.index, own]
            else:
                op = view.op.on_columns(view, *reach_of(view).outside(*own, given))
        made = self._add(view.output, own[1] - own[0], "stripe")
        self.copies[view.output.index] = made
        wanted = tuple(None if index is None else inputs[index] for index in view.node.inputs)
        yield replace(view.node, op=op, inputs=wanted, outputs=(made,))

    def _given(self, tensor: Tensor) -> Columns:
        """The columns that there are of an image: all of one from before the stage."""
        return self._needed[tensor.index] if tensor.index in self.copies else (0, tensor.type.shape[_WIDTH])

    def _cut_node(self, view: NodeView, tensor: Tensor, given: Columns, own: Columns) -> Iterator[Node]:
        """Yields the node that copies some columns of an image, unless there is one already."""
        if (tensor.index, own) in self._cut:
            return
        begin, size = (0, 0, own[0] - given[0], 0), (-1, -1, own[1] - own[0], -1)
        made = self._add(tensor, own[1] - own[0], "cut")
        constants = [
            self._constant(f"{self._tensors[made].name}_{what}", numbers)
            for what, numbers in (("begin", begin), ("size", size))
        ]
        self._cut[tensor.index, own] = made
        yield Node(Slice(), (self.copies.get(tensor.index, tensor.index), *constants), (made,), view.node.source)

    def _add(self, tensor: Tensor, width: int, what: str) -> int:
        """Adds a tensor with so many columns of another one; returns its index."""
        shape = tensor.type.shape
        kind = replace(tensor.type, shape=(*shape[:_WIDTH], width, *shape[_WIDTH + 1 :]))
        self._tensors.append(Tensor(len(self._tensors), f"{tensor.name}_{what}{self._number}", kind))
        return len(self._tensors) - 1

    def _constant(self, name: str, numbers: tuple[int, ...]) -> int:
        data = np.array(numbers, np.int32)
        data.setflags(write=False)
        self._tensors.append(Tensor(len(self._tensors), name, TensorType(data.shape, DType.S32), data))
        return len(self._tensors) - 1
