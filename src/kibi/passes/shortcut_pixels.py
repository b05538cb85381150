"""The pass `shortcut-pixels`: on a shortcut, a pointwise convolution that leaves out pixels reads a copy of those that it uses.

Its output waits until the longer branch has been computed. Where it has more channels than its input, the pixels that it uses
take fewer bytes, so that they wait in its place, and it runs last. Residual networks have such shortcuts wherever their rows
get narrower.
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from kibi.dtypes import DType
from kibi.ir import Graph, Node, NodeView, Tensor, TensorType, verify
from kibi.ops import Conv2D, StridedSlice, is_custom
from kibi.passes.change import Change
from kibi.passes.rewriting import Draft, apply_to_graph, is_accepted, row_input

NAME = "shortcut-pixels"
_LEAST_GAIN = 2
"""The output must be at least so many times as large as the pixels."""
_LONGEST = 64
"""The most operators of a branch that are followed."""


def copy_shortcut_pixels(graph: Graph) -> tuple[Graph, tuple[Change, ...]]:
    """Returns the graph with copies of the pixels that pointwise convolutions on shortcuts use, and the changes made.

    A window of one element with a stride reads each element that it reads once, and no other: a copy of these gives the same sums.
    """
    return apply_to_graph(graph, _copied)


def may_apply(graph: Graph) -> bool:
    """True if the graph has a convolution for which the pass looks."""
    return any(_leaves_out_pixels(view) for view in graph.views)


def _copied(graph: Graph, place: int) -> tuple[Graph, Change] | None:
    """Returns the graph with a copy before a convolution; None if it needs none."""
    view = graph.views[place]
    if not _leaves_out_pixels(view):
        return None
    source, output, op = view["input"], view.output, view.op
    draft = Draft(graph)
    if not isinstance(op, Conv2D) or not _waits(draft, place):
        return None
    shape = (*output.type.shape[:3], source.type.shape[3])
    tensors = list(graph.tensors)
    bounds = [_constant(tensors, name, values) for name, values in _bounds(source, op)]
    pixels = Tensor(len(tensors), f"{source.name}, pixels used", replace(source.type, shape=shape))
    if _LEAST_GAIN * pixels.type.size_bytes > output.type.size_bytes:
        return None
    old = view.node
    copy = Node(StridedSlice(), (source.index, *bounds), (pixels.index,), old.source)
    node = replace(
        old,
        op=replace(op, stride=(1, 1)),
        inputs=tuple(pixels.index if index == source.index else index for index in old.inputs),
    )
    nodes = (*graph.nodes[:place], copy, node, *graph.nodes[place + 1 :])
    wide = replace(graph, tensors=(*tensors, pixels), nodes=nodes)
    if not all(is_accepted(Draft(wide), each) for each in (copy, node)):
        return None
    added = -sum(wide.tensors[index].type.size_bytes for index in bounds)
    what = "A copy of the pixels that it uses waits in the place of its output, which is larger."
    return verify(wide), Change(NAME, old.label, what, 0, added)


def _leaves_out_pixels(view: NodeView) -> bool:
    """True for a convolution with a window of one element, inside of the input, and a stride."""
    op = view.op
    if not isinstance(op, Conv2D) or is_custom(op) or op.stride == (1, 1) or view["filter"].type.shape[1:3] != (1, 1):
        return False
    if view["input"].is_state or view.node.inputs.count(view["input"].index) > 1:
        return False
    window = op.window(view)
    return window.pad_rows == window.pad_width == 0


def _waits(draft: Draft, place: int) -> bool:
    """True if the output of a convolution is read together with that of a longer branch, which has read several rows at once."""
    view = draft.view(place)
    readers = draft.readers(view.output.index)
    if not draft.is_inner(view.output.index) or len(readers) != 1:
        return False
    others = [each.index for each in draft.view(readers[0]).row_tensors if each.index != view.output.index]
    for other in others:
        branch = list(_back(draft, other))
        leads_here = any(row_input(each.node) == view["input"].index for each in branch)
        if leads_here and any(each.accesses[0].count > 1 for each in branch if each.accesses):
            return True
    return False


def _back(draft: Draft, tensor: int) -> Iterator[NodeView]:
    """Yields the operators that make a tensor, the last one first, while each reads one tensor by the row."""
    for _ in range(_LONGEST):
        maker = draft.maker(tensor)
        before = None if maker is None else row_input(draft.node(maker))
        if maker is None or before is None:
            return
        yield draft.view(maker)
        tensor = before


def _bounds(source: Tensor, op: Conv2D) -> tuple[tuple[str, tuple[int, ...]], ...]:
    """The names and values of a copy's constants: from the first pixel to the end, by the strides."""
    return (
        ("first pixel", (0, 0, 0, 0)),
        ("end of pixels", source.type.shape),
        ("distances of pixels", (1, *op.stride, 1)),
    )


def _constant(tensors: list[Tensor], name: str, values: tuple[int, ...]) -> int:
    """Adds a constant to tensors; returns its index."""
    data = np.array(values, np.int32)
    data.setflags(write=False)
    tensors.append(Tensor(len(tensors), name, TensorType(data.shape, DType.S32, None), data))
    return len(tensors) - 1
