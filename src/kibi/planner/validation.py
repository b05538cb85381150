"""The naive validator: the order, each buffer by itself, each pair of buffers, and at last the steps one by one.

It is meant to be believed because it is simple, and shares no code with what makes plans.
"""

from collections.abc import Iterator, Mapping
from itertools import pairwise

import numpy as np

from kibi.errors import PlanError, TargetError, listed
from kibi.ir import Graph, early_exits
from kibi.planner.plan import Buffer, Handover, Plan, buffer_name
from kibi.planner.planned_model import PlannedModel
from kibi.planner.regions.check import check_region_uses, region_sizes, side_by_side
from kibi.planner.roomy_scratch import may_vary
from kibi.planner.simulation import simulate
from kibi.selection import LoweredGraph
from kibi.targets import target

_SHOWN_PROBLEMS = 20
_MOST_BYTES = 1 << 28
"""Of an arena with gaps."""
_MOST_ALIGNMENT = 1 << 12


def validate(graph: Graph, plan: Plan, *, scratch: bool = True) -> PlannedModel:
    """Check that a plan is right for a graph.

    Args:
        graph: a verified graph.
        plan: any plan, from the planner, by hand or from a file.
        scratch: true if the plan must hold the kernels' scratch; a plan without it cannot run.

    Returns:
        The model with its plan.

    Raises:
        PlanError: with all problems found at the first stage that found some: the order, the buffers by themselves, the
            regions, the buffers in pairs, what happens when the steps run.
    """
    planned = PlannedModel.of(graph, plan)
    _validate(planned, scratch, set())
    return planned


def _validate(planned: PlannedModel, scratch: bool, done: set[int]) -> None:
    """The same; `done` holds those, by identity, that were found right: operators may share subgraphs."""
    if id(planned) in done:
        return
    done.add(id(planned))
    graph, plan = planned.graph, planned.plan
    for body in planned.subgraphs:
        _validate(body, scratch, done)
    for stage in (_order, _transfers, _buffers, _regions, _overlaps, _simulated):
        problems = list(stage(graph, plan, scratch))
        if problems:
            head = f"the plan for {plan.model!r} is wrong; make it again with `kibi plan`"
            raise PlanError("\n".join([head, *listed(problems, _SHOWN_PROBLEMS)]))


def _order(graph: Graph, plan: Plan, scratch: bool) -> Iterator[str]:
    """The runs hold each row step of each node once, ascending."""
    del scratch
    if plan.model != graph.name:
        yield f"it is for model {plan.model!r}, the model is {graph.name!r}"
    if not graph.nodes:
        yield "the model has no operator"
    if plan.output is Handover.STREAMED:
        yield "outputs do not stream; they are stored or external"
    next_row = [0] * len(graph.nodes)
    for place, run in enumerate(plan.runs):
        if not 0 <= run.node < len(graph.nodes):
            yield f"run {place}: there is no node {run.node}, only {len(graph.nodes)}"
            continue
        if run.steps < 1 or run.first_step != next_row[run.node]:
            what = f"run {place}: {run.steps} row steps from step {run.first_step} of {_label(graph, run.node)}"
            yield f"{what}, whose next is {next_row[run.node]}"
        next_row[run.node] = run.first_step + run.steps
    for node, (view, reached) in enumerate(zip(graph.views, next_row, strict=True)):
        if reached != view.steps:
            yield f"{_label(graph, node)}: {reached} row steps run, it has {view.steps}"


def _transfers(graph: Graph, plan: Plan, scratch: bool) -> Iterator[str]:
    """One transfer of weights runs at a time; it is waited for before an operator may end the inference, and at the end."""
    del scratch
    ends = frozenset((*early_exits(graph), *graph.loops))
    running: tuple[int, int] | None = None  # the tensor of the window, and its row
    for step, (node, row) in enumerate(plan.steps):
        view = graph.views[node]
        where = f"step {step}, row {row} of {_label(graph, node)}"
        if view.op.starts:
            if running is not None:
                yield f"{where}: starts a transfer while that of {_window(graph, running)} runs; one may run at a time"
            running = view.output.index, row
        elif view.op.waits:
            its = view.row_tensors[0].index, row
            if running != its:
                runs = "none runs" if running is None else f"that of {_window(graph, running)} runs"
                yield f"{where}: waits for the transfer of {_window(graph, its)}, but {runs}"
            running = None
        elif running is not None and node in ends:
            yield f"{where}: may end the inference while the transfer of {_window(graph, running)} runs"
    if running is not None:
        yield f"at the end: nothing has waited for the transfer of {_window(graph, running)}"


def _window(graph: Graph, place: tuple[int, int]) -> str:
    tensor, row = place
    return f"row {row} of {graph.tensors[tensor].name!r}"


def _buffers(graph: Graph, plan: Plan, scratch: bool) -> Iterator[str]:
    """Each buffer has a right size and place, and together they hold each row once."""
    if not 0 <= plan.lower_bound_bytes <= plan.arena_bytes:
        yield f"the lower bound is {plan.lower_bound_bytes} bytes, the arena only {plan.arena_bytes}"
    together = sum(max(buffer.size_bytes, 0) + max(buffer.alignment, 1) for buffer in plan.buffers)
    # Offsets that a model file gives may leave gaps; nothing may make the arena larger than any device's.
    top = max((buffer.offset + buffer.size_bytes for buffer in plan.buffers), default=0)
    if plan.arena_bytes > max(together, min(top, _MOST_BYTES)):
        yield f"the arena has {plan.arena_bytes} bytes, though its buffers side by side need at most {together}"
    if plan.proven_optimal and plan.lower_bound_bytes != plan.arena_bytes:
        yield f"it claims to be optimal, with {plan.arena_bytes} bytes and a lower bound of {plan.lower_bound_bytes}"
    try:
        target(plan.target)
    except TargetError as error:
        yield str(error)
        return
    computed = set(graph.inputs) | {index for node in graph.nodes for index in node.outputs}
    owned = {index for index in computed if not (graph.tensors[index].is_external or graph.tensors[index].is_state)}
    held: dict[int, list[int]] = {index: [] for index in owned}
    steps, sizes = sum(run.steps for run in plan.runs), region_sizes(plan)
    for place, buffer in enumerate(plan.buffers):
        if buffer.tensor is None:
            known = bool(buffer.nodes) and all(0 <= node < len(graph.nodes) for node in buffer.nodes)
        else:
            known = buffer.node is None and buffer.tensor in owned
        if not known:
            yield f"buffer {place} is neither rows of a tensor in the arena nor scratch of an operator"
            continue
        yield from (f"{buffer_name(graph, buffer)}: {what}" for what in _place(graph, plan, buffer, steps, sizes))
        if buffer.tensor is not None:
            held[buffer.tensor] += range(buffer.first_row, buffer.first_row + min(buffer.rows, 1 << 20))
    for index, rows in held.items():
        if sorted(rows) != list(range(graph.tensors[index].type.rows)):
            name, count = graph.tensors[index].name, graph.tensors[index].type.rows
            yield f"{name}: its buffers hold rows {_ranges(rows)}, it has rows 0 to {count - 1}, to be held once each"
    yield from _scratch_sizes(graph, plan, scratch)


def _place(graph: Graph, plan: Plan, buffer: Buffer, steps: int, sizes: Mapping[str, int]) -> Iterator[str]:
    """Size, alignment, region, offset and declared lifetime of one buffer, in so many steps and regions of these sizes."""
    alignment = max((graph.calls[node].scratch_alignment for node in buffer.nodes), default=1)
    if buffer.tensor is not None:
        kind = graph.tensors[buffer.tensor].type
        alignment = kind.dtype.size_bytes
        if buffer.size_bytes != buffer.rows * kind.row_bytes:
            yield f"{buffer.rows} rows of {kind.row_bytes} bytes in a buffer of {buffer.size_bytes} bytes"
    if buffer.alignment < 1 or buffer.alignment % alignment or buffer.offset % alignment:
        yield f"offset {buffer.offset}, declared alignment {buffer.alignment}; it must be aligned to {alignment}"
    elif buffer.alignment > _MOST_ALIGNMENT or buffer.alignment & (buffer.alignment - 1):
        yield f"declared alignment {buffer.alignment} is no power of two up to {_MOST_ALIGNMENT}"
    elif buffer.offset % buffer.alignment:
        yield f"offset {buffer.offset} is no multiple of its alignment {buffer.alignment}"
    size = sizes.get(buffer.region)
    if size is None:
        yield f"there is no region {buffer.region!r}, only {', '.join(map(repr, sizes))}"
    elif buffer.offset < 0 or buffer.size_bytes < 0 or buffer.offset + buffer.size_bytes > size:
        where = f"region {buffer.region!r}, of which the plan takes" if plan.regions else "an arena of"
        yield f"bytes {buffer.offset} to {buffer.offset + buffer.size_bytes - 1} in {where} {size}"
    if not 0 <= buffer.start < buffer.end <= steps:
        yield f"lives from step {buffer.start} to {buffer.end}, of {steps} steps"


def _scratch_sizes(graph: Graph, plan: Plan, scratch: bool) -> Iterator[str]:
    of_node: dict[int, list[Buffer]] = {}
    for buffer in plan.buffers:
        for node in dict.fromkeys(buffer.nodes if buffer.tensor is None else ()):
            of_node.setdefault(node, []).append(buffer)
    narrow = {node: call.scratch_bytes for node, call in graph.narrow_calls} if isinstance(graph, LoweredGraph) else {}
    for node, call in enumerate(graph.calls):
        buffers = of_node.get(node, [])
        needed = call.scratch_bytes if scratch else 0
        varies = len({(each.region, each.offset, each.size_bytes) for each in buffers}) > 1
        if varies and (len({each.region for each in buffers}) > 1 or not may_vary(graph, node)):
            yield f"{_label(graph, node)}: {len(buffers)} scratch buffers that are not the same bytes"
        if len(buffers) > 1 and graph.views[node].accumulates:
            yield f"{_label(graph, node)}: {len(buffers)} scratch buffers, though it adds up in one"
        needed = narrow.get(node, needed) if scratch else needed
        given = min((buffer.size_bytes for buffer in buffers), default=0)
        if given < needed:
            yield f"{_label(graph, node)}: needs {needed} bytes of scratch, has {given}"


def _regions(graph: Graph, plan: Plan, scratch: bool) -> Iterator[str]:
    """The regions hold what they claim to hold."""
    del scratch
    yield from check_region_uses(graph, plan)


def _overlaps(graph: Graph, plan: Plan, scratch: bool) -> Iterator[str]:
    """No two buffers share bytes while both declare to live; rows and what a node makes of them are left to the simulation."""
    del scratch
    in_place = {(t.index, out) for view in graph.views for t in view.row_tensors for out in view.node.outputs}
    bounds = [(each.start, each.end, each.offset, each.offset + each.size_bytes) for each in plan.buffers]
    start, end, bottom, top = np.array(bounds, np.int64).reshape(-1, 4).T
    names = list(plan.region_names)
    region = np.array([names.index(each.region) for each in plan.buffers], np.int64)
    met: list[tuple[int, int]] = []
    alive = np.zeros(0, np.int64)
    for number in np.argsort(start, kind="stable"):
        alive = alive[end[alive] > start[number]]
        others = alive[
            (bottom[alive] < top[number]) & (top[alive] > bottom[number]) & (region[alive] == region[number])
        ]
        met += [(max(int(number), other), min(int(number), other)) for other in others.tolist()]
        alive = np.append(alive, number)
    for index, other in sorted(met):
        its_start, its_end, its_bottom, its_top = bounds[index]
        tensors = (plan.buffers[other].tensor, plan.buffers[index].tensor)
        if tensors in in_place or tensors[::-1] in in_place:
            continue
        both = f"{_rows(graph, plan.buffers[other])} and {_rows(graph, plan.buffers[index])}"
        first, last = max(its_bottom, int(bottom[other])), min(its_top, int(top[other])) - 1
        since, until = max(its_start, int(start[other])), min(its_end, int(end[other])) - 1
        yield f"{both} share bytes {first} to {last} during steps {since} to {until}"


def _simulated(graph: Graph, plan: Plan, scratch: bool) -> Iterator[str]:
    """The steps find what they read."""
    del scratch
    yield from simulate(graph, side_by_side(plan))


def _label(graph: Graph, node: int) -> str:
    return graph.nodes[node].label


def _rows(graph: Graph, buffer: Buffer) -> str:
    name = buffer_name(graph, buffer)
    return (
        name
        if buffer.tensor is None
        else f"rows {buffer.first_row} to {buffer.first_row + buffer.rows - 1} of {name!r}"
    )


def _ranges(rows: list[int]) -> str:
    """Rows as people write them: `0 to 3, 5`."""
    ordered = np.sort(np.array(rows, np.int64))
    cuts = [0, *(np.flatnonzero(np.diff(ordered) != 1) + 1).tolist(), len(ordered)] if len(ordered) else [0]
    parts = [
        str(ordered[first]) if end == first + 1 else f"{ordered[first]} to {ordered[end - 1]}"
        for first, end in pairwise(cuts)
    ]
    return ", ".join(parts) or "none"
