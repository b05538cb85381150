"""Computes stages of a network stripe by stripe: columns of their images, with the borders that neighbouring stripes both need.

A stage is replaced by a copy of its nodes for each stripe, one stripe after another, and a node that joins the stripes of its
output. Copies share their weights. Windows of a copy reach beyond its images only where the whole image ends, so each element has
the bits that it has without stripes. Elements that two stripes need are computed twice, or kept: of an image that is kept, a node
copies the columns that the next stripe needs, and another one joins them with those that this stripe computes.
"""

from collections.abc import Generator, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from kibi.dtypes import DType
from kibi.errors import PlanError
from kibi.ir import Graph, Node, NodeView, Tensor, TensorType, verify
from kibi.ops import Concatenation, Slice
from kibi.planner.channel_parts import is_joined_exactly
from kibi.planner.plan import Stripes
from kibi.planner.stripe_columns import WIDTH, Columns, Part, Parts, all_parts, bounds, images, kept_images, reach_of

MOST_STRIPES = 16
"""Of a stage."""
_IMAGE = 4
"""Axes of an image: `[N, H, W, C]`."""

Piece = tuple[int, Columns]
"""A tensor that holds some columns of an image, and which."""


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
    tensors, nodes, end = list(graph.tensors), list[Node](), 0
    tiles: list[Piece] = []
    for number, stage in enumerate(stages):
        before = stages[number - 1] if number else None
        problem = "it overlaps the one before" if stage.begin < end else stage_problem(graph, stage, before)
        if problem:
            raise PlanError(f"nodes {stage.begin} to {stage.end - 1} are no stage for stripes: {problem}. Plan again.")
        nodes += graph.nodes[end : stage.begin]
        made = _Copies(graph, stage, tensors, tiles if stage.in_tiles else [])
        nodes += made.nodes()
        tiles, end = made.tiles, stage.end
        if not any(each.in_tiles for each in stages[number + 1 : number + 2]):
            last = graph.nodes[end - 1]
            nodes.append(Node(Concatenation(axis=WIDTH), tuple(index for index, _ in tiles), last.outputs, last.source))
    nodes += graph.nodes[end:]
    return verify(replace(graph, tensors=tuple(tensors), nodes=tuple(nodes)))


def stage_problem(graph: Graph, stage: Stripes, before: Stripes | None = None) -> str:
    """Returns why some nodes cannot be computed stripe by stripe so, after this stage; empty if they can."""
    if not 0 <= stage.begin < stage.end <= len(graph.nodes):
        return f"there are {len(graph.nodes)} nodes"
    last = graph.tensors[graph.nodes[stage.end - 1].outputs[0]]
    if not is_joined_exactly(last) or len(last.type.shape) != _IMAGE:
        return f"{last.name!r} cannot be joined from stripes"
    problem = _reader_problem(graph, stage)
    if problem:
        return problem
    parts = bounds(graph, stage)
    if len(parts) > MOST_STRIPES + 1 or any(first >= end for first, end in pairwise(parts)):
        return f"{last.name!r} has {parts[-1]} columns, which stripes at {list(stage.columns)} do not divide"
    return _kept_problem(graph, stage, before) or _cut_problem(graph, stage)


def node_problem(view: NodeView) -> str:
    """Returns why a node cannot compute some columns of an image alone; empty if it can."""
    if len(view.outputs) != 1 or view.output.is_state or view.output.is_external or view.op.states:
        return "has other outputs than an image in the arena"
    read = [view.output, *images(view)]
    if any(len(each.type.shape) != _IMAGE or each.type.row_axis != 1 or not each.type.elements for each in read):
        return "is not one of images with several rows"
    return "" if view.op.columns(view) is not None else "needs more of its input than some columns"


def can_be_kept(tensor: Tensor) -> bool:
    """True if columns of an image can be copied, and joined with others, without a change of their bits."""
    return is_joined_exactly(tensor) and tensor.type.dtype in Slice.types


def _reader_problem(graph: Graph, stage: Stripes) -> str:
    """Returns which node cannot be computed so, or makes what others read, too; empty if none does."""
    last = graph.tensors[graph.nodes[stage.end - 1].outputs[0]]
    outside = (node for number, node in enumerate(graph.nodes) if not stage.begin <= number < stage.end)
    seen = {*graph.outputs, *(index for node in outside for index in node.inputs if index is not None)}
    for view in graph.views[stage.begin : stage.end]:
        why = node_problem(view)
        if why:
            return f"{view.node.label} {why}"
        if view.output is not last and view.output.index in seen:
            return f"{view.output.name!r} is read outside of them"
    return ""


def _kept_problem(graph: Graph, stage: Stripes, before: Stripes | None) -> str:
    """Returns which image cannot be kept, or taken from the stripes of the stage before; empty if all can."""
    if list(stage.kept) != sorted({*stage.kept}) or not all(stage.begin <= each < stage.end - 1 for each in stage.kept):
        return f"the images of the nodes {list(stage.kept)} cannot be kept"
    for index in sorted(kept_images(graph, stage)):
        if not can_be_kept(graph.tensors[index]):
            return f"{graph.tensors[index].name!r} cannot be kept"
    if not stage.in_tiles:
        return ""
    if before is None or before.end != stage.begin:
        return "no stage ends where it begins"
    index = graph.nodes[stage.begin - 1].outputs[0]
    later = (each for node in graph.nodes[stage.end :] for each in node.inputs)
    return f"{graph.tensors[index].name!r} is read after it" if index in (*graph.outputs, *later) else ""


def _cut_problem(graph: Graph, stage: Stripes) -> str:
    """Returns which image would have to be cut by a SLICE that does not take its type; empty if none has to be."""
    views = graph.views[stage.begin : stage.end]
    for tensor in (tensor for view in views if _must_match(view) for tensor in images(view)):
        if tensor.type.dtype not in Slice.types:
            return f"{tensor.name!r} cannot be cut"
    return ""


def _must_match(view: NodeView) -> bool:
    """True if a node's inputs must have just the columns of its output: it has no windows that may leave some out."""
    return view.op.on_columns(view, 0, 0) is view.op


class _Copies:
    """The nodes of all stripes of a stage.

    Attributes:
        tiles: the parts of the output that they have made so far.
    """

    def __init__(self, graph: Graph, stage: Stripes, tensors: list[Tensor], given: Sequence[Piece]) -> None:
        """Begins.

        Args:
            graph: the graph.
            stage: the stage.
            tensors: those of the graph; new ones are added.
            given: the stripes of the stage before, which is the input of this one where it reads them.
        """
        self.tiles: list[Piece] = []
        self._parts = list(all_parts(graph, stage))
        self._kept = kept_images(graph, stage)
        self._views = graph.views[stage.begin : stage.end]
        self._tensors = tensors
        self._given = given
        self._input = graph.nodes[stage.begin - 1].outputs[0] if stage.in_tiles else -1

    def nodes(self) -> Iterator[Node]:
        """Yields them, in their order."""
        kept: dict[int, Piece] = {}
        for number, (parts, after) in enumerate(zip(self._parts, (*self._parts[1:], {}), strict=True)):
            stripe = _Stripe(self._tensors, number, parts, kept, self._kept)
            for view in self._views:
                if parts.get(view.output.index, _NOTHING).is_made:
                    yield from self._taken(view, stripe, after)
                    yield from stripe.copy(view)
                yield from stripe.keep(view.output, view.node.source, after)
            self.tiles.append(stripe.held[self._views[-1].output.index])
            kept = stripe.kept

    def _taken(self, view: NodeView, stripe: "_Stripe", after: Parts) -> Iterator[Node]:
        """Yields the nodes that take columns from the stage before, before the first node of a stripe that reads them."""
        for tensor in images(view):
            if tensor.index == self._input and tensor.index not in stripe.held:
                yield from stripe.take(tensor, self._given, view.node.source)
                yield from stripe.keep(tensor, view.node.source, after)


_NOTHING = Part(0, 0, 0)


class _Stripe:
    """The copy of a stage that makes some columns of its output.

    Attributes:
        held: for each image of the stage that it has made so far, the tensor with the columns that its nodes read.
        kept: for each image that is kept, the tensor with the columns that the next stripe reads.
    """

    def __init__(
        self, tensors: list[Tensor], number: int, parts: Parts, before: dict[int, Piece], keeps: frozenset[int]
    ) -> None:
        self.held: dict[int, Piece] = {}
        self.kept: dict[int, Piece] = {}
        self._tensors = tensors
        self._number = number
        self._parts = parts
        self._before = before
        self._keeps = keeps
        self._cuts: dict[Piece, int] = {}

    def copy(self, view: NodeView) -> Iterator[Node]:
        """Yields the copy of a node, and before it those that cut its inputs."""
        part, op, inputs = self._parts[view.output.index], view.op, dict[int, int]()
        own = part.made, part.end
        for tensor in images(view):
            piece = self.held.get(tensor.index, (tensor.index, (0, tensor.type.shape[WIDTH])))
            if _must_match(view):
                piece = yield from self._cut(tensor, piece, own, view.node.source)
            else:
                op = view.op.on_columns(view, *reach_of(view).outside(*own, piece[1]))
            inputs[tensor.index] = piece[0]
        made = self._add(view.output, own[1] - own[0], "stripe")
        wanted = tuple(None if index is None else inputs.get(index, index) for index in view.node.inputs)
        yield replace(view.node, op=op, inputs=wanted, outputs=(made,))
        self.held[view.output.index] = made, own

    def take(self, tensor: Tensor, given: Sequence[Piece], source: int) -> Iterator[Node]:
        """Yields the nodes that put together the columns that the stripe reads of an image in parts."""
        part = self._parts[tensor.index]
        pieces: list[Piece] = []
        inside = [(max(part.made, begin), min(part.end, end)) for _, (begin, end) in given]
        for piece, own in zip(given, inside, strict=True):
            if own[0] < own[1]:
                pieces.append((yield from self._cut(tensor, piece, own, source)))
        if pieces:
            yield from self._join(tensor, pieces, source)
        else:
            self.held[tensor.index] = self._before[tensor.index]

    def keep(self, tensor: Tensor, source: int, after: Parts) -> Iterator[Node]:
        """Yields the nodes that join an image's columns from the stripe before with the own ones, and copy those for the next.

        Args:
            tensor: an image of the stage.
            source: the operator that makes it in the model file.
            after: the parts of the next stripe.
        """
        index = tensor.index
        if index not in self._keeps or index not in self._parts:
            return
        if index in self.held:
            yield from self._join(tensor, [self.held[index]], source)
        else:
            self.held[index] = self._before[index]
        following = after.get(index, _NOTHING)
        if following.first < following.made:
            own = following.first, following.made
            self.kept[index] = yield from self._cut(tensor, self.held[index], own, source)

    def _join(self, tensor: Tensor, pieces: list[Piece], source: int) -> Iterator[Node]:
        """Yields the node that joins some columns of an image, after those that were kept; the stripe's nodes read the whole."""
        part = self._parts[tensor.index]
        if part.first < part.made and pieces[0][1][0] == part.made:
            pieces = [self._before[tensor.index], *pieces]
        if len(pieces) == 1:
            (self.held[tensor.index],) = pieces
            return
        made = self._add(tensor, part.end - part.first, "joined")
        yield Node(Concatenation(axis=WIDTH), tuple(index for index, _ in pieces), (made,), source)
        self.held[tensor.index] = made, (part.first, part.end)

    def _cut(self, tensor: Tensor, piece: Piece, own: Columns, source: int) -> Generator[Node, None, Piece]:
        """Yields the node that copies some columns of a piece, unless these are all or there is one already; returns the copy."""
        index, (first, end) = piece
        if own == (first, end):
            return piece
        if (index, own) not in self._cuts:
            begin, size = (0, 0, own[0] - first, 0), (-1, -1, own[1] - own[0], -1)
            made = self._cuts[index, own] = self._add(tensor, own[1] - own[0], "cut")
            constants = [
                self._constant(f"{self._tensors[made].name}_{what}", numbers)
                for what, numbers in (("begin", begin), ("size", size))
            ]
            yield Node(Slice(), (index, *constants), (made,), source)
        return self._cuts[index, own], own

    def _add(self, tensor: Tensor, width: int, what: str) -> int:
        """Adds a tensor with so many columns of another one; returns its index."""
        shape = tensor.type.shape
        kind = replace(tensor.type, shape=(*shape[:WIDTH], width, *shape[WIDTH + 1 :]))
        self._tensors.append(Tensor(len(self._tensors), f"{tensor.name}_{what}{self._number}", kind))
        return len(self._tensors) - 1

    def _constant(self, name: str, numbers: tuple[int, ...]) -> int:
        data = np.array(numbers, np.int32)
        data.setflags(write=False)
        self._tensors.append(Tensor(len(self._tensors), name, TensorType(data.shape, DType.S32), data))
        return len(self._tensors) - 1
