"""Constants that are copied into the arena before a node runs: its kernel then reads them as often as it likes without waits.

The copy is part of the node's scratch. So its lifetime, its place and its checks are those of any scratch, and a plan says by the
size of a scratch which nodes have one.
"""

from collections.abc import Iterator, Sequence
from dataclasses import fields, replace

from kibi.ir import KernelCall
from kibi.kernels.params import FieldKind
from kibi.planner.plan import Buffer, Plan, Run
from kibi.planner.roomy_scratch import rooms
from kibi.selection import Goal, LoweredGraph, RoomyGraph, times_read, with_room

_LEAST_READS = 16
"""So often constants must be read in an inference: then a copy adds less than a hundredth to the node's instructions."""
_LEAST_BYTES = 192
"""So few constants stay in a small cache."""
_ALIGNMENT = 8
"""Of a copy: that of pointers in the struct, on any machine."""
_POINTER_BYTES = 8
_MOST_ELEMENT_BYTES = 4
_GROWTH = 2
"""Where speed is the goal, an arena may grow to so many times its size for copies."""


def with_copies(graph: LoweredGraph, plan: Plan) -> LoweredGraph:
    """Returns the graph whose kernels take what scratch a plan has for them, and read copies of their constants where it has room.

    Args:
        graph: with kernels that take the scratch that they need.
        plan: its plan.
    """
    room, copies = list(rooms(plan, graph)), dict[int, int]()
    for node in _candidates(graph, plan.runs):
        buffer, needed = plan.scratch_of(node), _copy_bytes(graph.calls[node])
        if buffer is not None and buffer.alignment >= _ALIGNMENT:
            left = buffer.size_bytes - needed
            if left >= _aligned(graph.calls[node].scratch_bytes):
                room[node], copies[node] = left, needed
    roomy = with_room(graph, room)
    if not copies:
        return roomy
    calls = (_with_copy(call, copies[node]) if node in copies else call for node, call in enumerate(roomy.calls))
    facts = {each.name: getattr(graph, each.name) for each in fields(LoweredGraph)}
    return RoomyGraph(**facts, made_calls=tuple(calls))


def with_room_for_copies(graph: LoweredGraph, plan: Plan, goal: Goal, ram_bytes: int | None) -> Plan:
    """Returns the plan with scratch for copies of constants, those that are read most first.

    They take bytes that are free. Where speed is the goal, the arena may grow: to `ram_bytes`, or else to twice its size.

    Args:
        graph: of the plan's nodes, with kernels that take the scratch that they need.
        plan: of one arena.
        goal: what the code is good at.
        ram_bytes: the most bytes that the arena may have; None: no limit.
    """
    most_bytes = plan.arena_bytes
    if goal is Goal.SPEED:
        most_bytes = _GROWTH * most_bytes if ram_bytes is None else max(most_bytes, ram_bytes)
    calls, first_steps = with_room(graph, rooms(plan, graph)).calls, _first_steps(plan.runs)
    reads = {node: times_read(calls[node]) * graph.views[node].steps for node in _candidates(graph, plan.runs)}
    wanted = [node for node, times in reads.items() if times >= _LEAST_READS]
    buffers, arena_bytes = list(plan.buffers), plan.arena_bytes
    for node in sorted(wanted, key=lambda node: -reads[node] * _copy_bytes(calls[node])):
        own = plan.scratch_of(node)
        if own is not None and own.shared_by:
            continue
        start, end = first_steps[node], first_steps[node] + graph.views[node].steps
        size_bytes = _aligned(calls[node].scratch_bytes) + _copy_bytes(calls[node])
        made = Buffer(None, node, 0, 0, 0, size_bytes, _ALIGNMENT, start, end)
        others = [each for each in buffers if node not in each.nodes]
        made = replace(made, offset=_lowest(made, others))
        if made.offset + size_bytes <= most_bytes:
            buffers = [*others, made]
            arena_bytes = max(arena_bytes, made.offset + size_bytes)
    is_proven = plan.proven_optimal and arena_bytes == plan.arena_bytes
    return replace(plan, buffers=tuple(buffers), arena_bytes=arena_bytes, proven_optimal=is_proven)


def _candidates(graph: LoweredGraph, runs: Sequence[Run]) -> Iterator[int]:
    """The nodes that run all their steps one after another, and have constants that are worth a copy, ascending."""
    if graph.goal is Goal.FLASH or not set(graph.target.kernel_sets) - {"portable", "host"}:
        return
    steps = {node: view.steps for node, view in enumerate(graph.views) if view.steps > 1}
    whole = {run.node for run in runs if run.steps == steps.get(run.node)}
    yield from (node for node in sorted(whole) if _can_be_copied(graph, node))


def _with_copy(call: KernelCall, copy_bytes: int) -> KernelCall:
    return replace(
        call,
        scratch_bytes=_aligned(call.scratch_bytes) + copy_bytes,
        scratch_alignment=max(call.scratch_alignment, _ALIGNMENT),
        staged_bytes=copy_bytes,
    )


def _can_be_copied(graph: LoweredGraph, node: int) -> bool:
    """True if a node's constants are worth a copy, and its struct begins with the pointers to them."""
    view, call = graph.views[node], graph.calls[node]
    arrays = list(call.constants.values())
    if call.params is None or call.takes_step or view.window is not None or view.op.subgraph_names:
        return False
    pointers = [field.is_pointer for field in call.params.fields if field.kind is not FieldKind.SUBGRAPH]
    return (
        sum(array.nbytes for array in arrays) > _LEAST_BYTES
        and all(array.nbytes and array.dtype.itemsize <= _MOST_ELEMENT_BYTES for array in arrays)
        and pointers == sorted(pointers, reverse=True)
        and sum(pointers) == len(arrays)
    )


def _copy_bytes(call: KernelCall) -> int:
    """Bytes that a copy of the struct and of its constants takes at most on any machine; a multiple of its alignment."""
    fields_of_struct = () if call.params is None else call.params.fields
    struct_bytes = sum(each.size_bytes(_POINTER_BYTES) for each in fields_of_struct) + _ALIGNMENT
    return _aligned(struct_bytes + sum(array.nbytes + 3 for array in call.constants.values()))


def _aligned(count: int) -> int:
    return count + -count % _ALIGNMENT


def _first_steps(runs: Sequence[Run]) -> dict[int, int]:
    """The step of the order at which each node's last run begins."""
    found, step = {}, 0
    for run in runs:
        found[run.node] = step
        step += run.steps
    return found


def _lowest(buffer: Buffer, others: Sequence[Buffer]) -> int:
    """The lowest offset at which a buffer shares no byte with those that live at the same time."""
    low = 0
    alive = (each for each in others if each.start < buffer.end and buffer.start < each.end)
    for other in sorted(alive, key=lambda each: each.offset):
        if low + buffer.size_bytes <= other.offset:
            break
        low = max(low, other.offset + other.size_bytes)
        low += -low % buffer.alignment
    return low
