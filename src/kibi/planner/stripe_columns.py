"""Which columns of its images each stripe of a stage computes, and which it has from the stripes before it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from kibi.errors import PlanError
from kibi.ir import ColumnReach, Graph, NodeView, Tensor
from kibi.planner.plan import Stripes

WIDTH = 2
"""The axis of columns of an image `[N, H, W, C]`."""

Columns = tuple[int, int]
"""From which to before which column of an image."""


@dataclass(frozen=True, slots=True)
class Part:
    """The columns of an image that a stripe reads.

    Attributes:
        first, end: from which to before which column it reads.
        made: the first column that it computes, or, of an image from before the stage, takes from there. It has those from
            `first` on from the stripe before.
    """

    first: int
    made: int
    end: int

    @property
    def is_made(self) -> bool:
        """True if the stripe computes, or takes, any column."""
        return self.made < self.end


Parts = Mapping[int, Part]
"""The part of each image that a stripe reads, and of the stage's output, by tensor."""


def bounds(graph: Graph, stage: Stripes) -> tuple[int, ...]:
    """Returns the columns of the output at which stripes begin, and its width."""
    return (0, *stage.columns, graph.tensors[graph.nodes[stage.end - 1].outputs[0]].type.shape[WIDTH])


def all_parts(graph: Graph, stage: Stripes) -> Iterator[Parts]:
    """Yields for each stripe of a stage the parts of its images."""
    kept = kept_images(graph, stage)
    done: dict[int, int] = {}
    for own in pairwise(bounds(graph, stage)):
        parts = parts_of(graph.views[stage.begin : stage.end], kept, own, done)
        yield parts
        done |= {index: max(done.get(index, 0), parts[index].end) for index in kept if index in parts}


def parts_of(views: Sequence[NodeView], kept: frozenset[int], own: Columns, done: Mapping[int, int]) -> Parts:
    """Returns the parts of the images of a stage for some columns of its output.

    Args:
        views: the nodes of the stage.
        kept: the images of which columns are kept, by tensor.
        own: the columns of the output.
        done: before which column the stripes before have made each image that is kept.
    """
    needed = {views[-1].output.index: own}
    parts: dict[int, Part] = {}
    for view in reversed(views):
        index = view.output.index
        if index not in needed:
            continue
        parts[index] = part = _part(needed[index], done.get(index, 0) if index in kept else 0)
        if part.is_made:
            for tensor in images(view):
                first, end = reach_of(view).needed(part.made, part.end, tensor.type.shape[WIDTH])
                known = needed.get(tensor.index, (first, end))
                needed[tensor.index] = min(first, known[0]), max(end, known[1])
    outside = needed.keys() - parts.keys()
    return parts | {index: _part(needed[index], done.get(index, 0) if index in kept else 0) for index in outside}


def kept_images(graph: Graph, stage: Stripes) -> frozenset[int]:
    """Returns the images of a stage of which columns are kept for the next stripe, by tensor; that of the stage before, too."""
    numbers = (*stage.kept, *((stage.begin - 1,) if stage.in_tiles else ()))
    return frozenset(graph.nodes[number].outputs[0] for number in numbers)


def images(view: NodeView) -> Iterator[Tensor]:
    """Yields the images that a node reads."""
    return (tensor for tensor in view.row_tensors if not tensor.is_constant)


def reach_of(view: NodeView) -> ColumnReach:
    """Returns the columns that a node reads.

    Raises:
        PlanError: it cannot compute some columns alone.
    """
    found = view.op.columns(view)
    if found is None:
        raise PlanError(f"{view.node.label} needs more of its input than some columns. Plan again.")
    return found


def _part(needed: Columns, done: int) -> Part:
    first, end = needed
    return Part(first, min(max(first, done), end), end)
