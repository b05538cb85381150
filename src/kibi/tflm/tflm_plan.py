"""Plans for TensorFlow Lite Micro: the plan of its own planner, and the smallest plan that it can follow.

TFLM places whole tensors, at multiples of 16 bytes; an operator's output never shares bytes with its input. Offsets that a
model file gives are taken as they are; what has none, and the scratch that kernels ask for, is placed around them
afterwards, largest first, each at the lowest free place.

Source: TFLM `memory_planner/greedy_memory_planner.cc`, `micro_allocation_info.cc` and `micro_arena_constants.h`.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate

from kibi.ir import Graph
from kibi.planner.order.orders import file_order
from kibi.planner.order.topological import smallest_peak_order
from kibi.planner.placement.items import Item
from kibi.planner.placement.placing import place_items
from kibi.planner.plan import Buffer, Plan, Run

ALIGNMENT_BYTES = 16
"""The alignment of each tensor and scratch buffer: offsets and sizes are multiples of it."""
_ONLINE = -1
_TARGET = "host"


def tflm_plan(
    graph: Graph,
    *,
    before: Sequence[tuple[int, int]] = (),
    reorders: bool = True,
    scratch_bytes: Mapping[int, int] | None = None,
) -> Plan:
    """The smallest plan of whole tensors that TFLM can follow.

    Args:
        graph: a verified graph, or the outline of a file.
        before: pairs of nodes of which the first runs before the second, though no tensor says so.
        reorders: True if operators may run in another order; they do only where that needs less.
        scratch_bytes: the scratch of TFLM's kernels, by node, which depends on the build. The plan leaves room for it.

    Returns:
        The plan; its lower bound is for its order. Tensors that take none of the arena have no buffer.

    Raises:
        PlanError: a pair of `before` contradicts the graph's order of nodes.
    """
    scratch = scratch_bytes or {}
    best = _placed(graph, file_order(graph), scratch)
    if not reorders:
        return best
    found = smallest_peak_order(graph, scratch=False, granule_bytes=ALIGNMENT_BYTES, before=before)
    runs = tuple(Run(node, 0, graph.views[node].steps) for node in found.nodes)
    if runs != best.runs and found.peak_bytes < best.arena_bytes:
        other = _placed(graph, runs, scratch)
        best = other if other.arena_bytes < best.arena_bytes else best
    return best


def tflm_own_plan(graph: Graph, offsets: Sequence[int] | None = None) -> Plan:
    """The plan that TFLM makes by itself, for the operators in the file's order, but for the kernels' scratch.

    Tensors go from the largest to the smallest, of equal ones the later first, each to the lowest place that is free
    throughout its life. Those with an offset of their own come before all others, and go there whatever is in the way.

    Args:
        graph: as for `tflm_plan`.
        offsets: the file's offset of each tensor in bytes, or -1; None: the file has no plan.
    """
    runs = file_order(graph)
    buffers = tflm_buffers(graph, runs)
    given = offsets or (_ONLINE,) * len(graph.tensors)
    wanted = [_ONLINE if buffer.tensor is None else given[buffer.tensor] for buffer in buffers]
    placed = {
        index: replace(buffer, offset=offset)
        for index, (buffer, offset) in enumerate(zip(buffers, wanted, strict=True))
        if offset != _ONLINE
    }
    online = (index for index in range(len(buffers)) if index not in placed)
    for index in sorted(online, key=lambda index: (-_rounded(buffers[index]), -index)):
        placed[index] = replace(buffers[index], offset=_lowest(buffers[index], placed.values()))
    peak_bytes = max((each.offset + _rounded(each) for each in placed.values()), default=0)
    bound = place_items([_item(each) for each in buffers], time_limit_seconds=0).lower_bound_bytes
    return _plan(graph, runs, [placed[index] for index in range(len(buffers))], peak_bytes, bound)


def tflm_buffers(graph: Graph, runs: Sequence[Run]) -> tuple[Buffer, ...]:
    """The tensors that TFLM places, for an order of operators that each run to completion; all at offset 0.

    Args:
        graph: as for `tflm_plan`.
        runs: one for each node.

    Returns:
        Ascending by tensor. Each lives from the operator that makes it (model inputs: from the beginning) through the last one
        that reads it (model outputs: to the end).
    """
    ends = list(accumulate(run.steps for run in runs))
    last = max(ends, default=1)
    lives = dict.fromkeys(graph.inputs, (0, 1))
    for run, end in zip(runs, ends, strict=True):
        node = graph.nodes[run.node]
        for index in node.outputs:
            start, _ = lives.get(index, (end - run.steps, end))
            lives[index] = (start, end)
        for read in node.inputs:
            if read is not None and read in lives:
                lives[read] = (lives[read][0], end)
    lives |= {index: (lives[index][0], last) for index in graph.outputs if index in lives}
    return tuple(
        Buffer(
            tensor=index,
            node=None,
            first_row=0,
            rows=graph.tensors[index].type.rows,
            offset=0,
            size_bytes=graph.tensors[index].type.size_bytes,
            alignment=ALIGNMENT_BYTES,
            start=start,
            end=end,
        )
        for index, (start, end) in sorted(lives.items())
        if graph.tensors[index].is_planned and graph.tensors[index].type.size_bytes
    )


def offsets_of(plan: Plan, tensors: int) -> tuple[int, ...]:
    """Returns the offset of each tensor of a graph in a plan by the tensor; -1 for tensors without one."""
    offsets = [_ONLINE] * tensors
    for buffer in plan.buffers:
        if buffer.tensor is not None:
            offsets[buffer.tensor] = buffer.offset
    return tuple(offsets)


def _placed(graph: Graph, runs: Sequence[Run], scratch: Mapping[int, int]) -> Plan:
    """The best places for an order."""
    buffers = [*tflm_buffers(graph, runs), *_scratch_buffers(runs, scratch)]
    found = place_items([_item(buffer) for buffer in buffers])
    placed = [replace(buffer, offset=offset) for buffer, offset in zip(buffers, found.offsets or (), strict=True)]
    return _plan(graph, runs, _settled(placed), found.peak_bytes, found.lower_bound_bytes)


def _settled(buffers: Sequence[Buffer]) -> list[Buffer]:
    """The buffers, each as low as those below it allow: what TFLM adds by itself finds the free bytes in one piece above."""
    settled: dict[int, Buffer] = {}
    for index in sorted(range(len(buffers)), key=lambda index: (buffers[index].offset, index)):
        settled[index] = replace(buffers[index], offset=_lowest(buffers[index], settled.values()))
    return [settled[index] for index in range(len(buffers))]


def _lowest(buffer: Buffer, placed: Iterable[Buffer]) -> int:
    """The lowest offset that is free of the others throughout a buffer's life."""
    offset = 0
    together = [other for other in placed if other.start < buffer.end and buffer.start < other.end]
    for other in sorted(together, key=lambda other: other.offset):
        if other.offset - offset >= _rounded(buffer):
            break
        offset = max(offset, other.offset + _rounded(other))
    return offset


def _scratch_buffers(runs: Sequence[Run], scratch: Mapping[int, int]) -> Iterator[Buffer]:
    """Yields the scratch buffers, which live while one operator runs and are not in the file."""
    step = 0
    for run in runs:
        size_bytes = scratch.get(run.node, 0)
        if size_bytes:
            yield Buffer(None, run.node, 0, 0, 0, size_bytes, ALIGNMENT_BYTES, step, step + run.steps)
        step += run.steps


def _item(buffer: Buffer) -> Item:
    return Item(buffer.start, buffer.end, _rounded(buffer), ALIGNMENT_BYTES)


def _rounded(buffer: Buffer) -> int:
    return buffer.size_bytes + -buffer.size_bytes % ALIGNMENT_BYTES


def _plan(graph: Graph, runs: Sequence[Run], buffers: Sequence[Buffer], peak_bytes: int, bound: int) -> Plan:
    return Plan(graph.name, _TARGET, tuple(runs), tuple(buffers), peak_bytes, bound, peak_bytes == bound)
