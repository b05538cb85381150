"""Constants that are copied into the arena before a node runs: its kernel then reads them as often as it likes without waits.

The copy is part of the node's scratch. So its lifetime, its place and its checks are those of any scratch, and a plan says by the
size of a scratch which nodes have one.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace

from kibi.ir import KernelCall
from kibi.kernels.params import FieldKind
from kibi.planner.plan import Buffer, Plan, Run
from kibi.planner.roomy_scratch import rooms
from kibi.planner.wide_rows import whole_nodes, wide_calls
from kibi.selection import Goal, LoweredGraph, RoomyGraph, call_without_copy, times_read, with_room

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
    wide = wide_calls(graph, plan)
    first_forms = set[int]()
    for node in whole_nodes(graph, plan.runs):
        buffer = plan.scratch_of(node)
        if buffer is None or buffer.alignment < _ALIGNMENT:
            continue
        for is_second, call in enumerate(_forms(graph, node, graph.calls[node], wide.get(node))):
            left = buffer.size_bytes - _copy_bytes(call)
            if node not in copies and _can_be_copied(graph, node, call) and left >= _aligned(call.scratch_bytes):
                room[node], copies[node] = left, _copy_bytes(call)
                first_forms |= set() if is_second else {node}
    roomy = with_room(graph, room)
    stored = {
        node: call_without_copy(graph, node, call)
        for node, call in enumerate(roomy.calls)
        if node not in first_forms and node not in wide and call.constant_bytes > _LEAST_BYTES
    }
    if not (copies or wide) and all(call is roomy.calls[node] for node, call in stored.items()):
        return roomy
    wide = {node: call for node, call in wide.items() if call.scratch_bytes <= room[node]}
    calls = {**dict(enumerate(roomy.calls)), **stored, **wide}
    calls |= {node: _with_copy(calls[node], copy_bytes) for node, copy_bytes in copies.items()}
    facts = {each.name: getattr(graph, each.name) for each in fields(LoweredGraph)}
    facts["wide_calls"] = tuple((node, calls[node]) for node in wide)
    narrow = {node: _in_scratch_of(calls[node], roomy.calls[node]) for node in wide}
    return RoomyGraph(**facts, made_calls=tuple((calls | narrow).values()))


def with_room_for_copies(graph: LoweredGraph, plan: Plan, goal: Goal, ram_bytes: int | None) -> Plan:
    """Returns the plan with scratch for copies of constants, those that are read most first, and for rows that are made at once.

    It takes bytes that are free. Where speed is the goal, the arena may grow: to `ram_bytes`, or else to twice its size.

    Args:
        graph: of the plan's nodes, with kernels that take the scratch that they need.
        plan: of one arena.
        goal: what the code is good at.
        ram_bytes: the most bytes that the arena may have; None: no limit.
    """
    most_bytes = plan.arena_bytes
    if goal is Goal.SPEED:
        most_bytes = _GROWTH * most_bytes if ram_bytes is None else max(most_bytes, ram_bytes)
    first_steps = _first_steps(plan.runs)
    buffers, arena_bytes = list(plan.buffers), plan.arena_bytes
    for wanted in sorted(_wishes(graph, plan), key=lambda each: -each.gain_bytes):
        own = next((each for each in buffers if wanted.node in each.nodes), None)
        if own is not None and (own.shared_by or own.size_bytes >= wanted.size_bytes):
            continue
        start = first_steps[wanted.node]
        end = start + graph.views[wanted.node].steps
        made = Buffer(None, wanted.node, 0, 0, 0, wanted.size_bytes, wanted.alignment, start, end)
        others = [each for each in buffers if wanted.node not in each.nodes]
        made = replace(made, offset=_lowest(made, others))
        if made.offset + wanted.size_bytes <= most_bytes:
            buffers = [*others, made]
            arena_bytes = max(arena_bytes, made.offset + wanted.size_bytes)
    is_proven = plan.proven_optimal and arena_bytes == plan.arena_bytes
    return replace(plan, buffers=tuple(buffers), arena_bytes=arena_bytes, proven_optimal=is_proven)


@dataclass(frozen=True, slots=True)
class _Wish:
    """A scratch that would be of use.

    Attributes:
        node: whose it is.
        size_bytes, alignment: of the scratch.
        gain_bytes: constants that are then not read from flash.
    """

    node: int
    size_bytes: int
    alignment: int
    gain_bytes: int


def _wishes(graph: LoweredGraph, plan: Plan) -> Iterator[_Wish]:
    """The scratch that copies and rows which are made at once would take, by nodes."""
    calls, wide = with_room(graph, rooms(plan, graph)).calls, wide_calls(graph, plan)
    for node in whole_nodes(graph, plan.runs):
        own = wide.get(node, calls[node])
        scratch_bytes = _aligned(max(own.scratch_bytes, calls[node].scratch_bytes))
        for call in _forms(graph, node, calls[node], wide.get(node)):
            times = times_read(call) * (1 if node in wide else graph.views[node].steps)
            if times >= _LEAST_READS and _can_be_copied(graph, node, call):
                copy_bytes = _copy_bytes(call)
                yield _Wish(node, scratch_bytes + copy_bytes, _ALIGNMENT, times * copy_bytes)
        if node in wide:
            yield _Wish(node, scratch_bytes, own.scratch_alignment, 0)


def _forms(graph: LoweredGraph, node: int, call: KernelCall, wide: KernelCall | None) -> tuple[KernelCall, ...]:
    """The calls whose constants may be copied: that of all rows, or a node's own, then the one that runs it without a copy."""
    if wide is not None:
        return (wide,)
    other = call_without_copy(graph, node, call)
    return (call,) if other is call else (call, other)


def _with_copy(call: KernelCall, copy_bytes: int) -> KernelCall:
    return replace(
        call,
        scratch_bytes=_aligned(call.scratch_bytes) + copy_bytes,
        scratch_alignment=max(call.scratch_alignment, _ALIGNMENT),
        staged_bytes=copy_bytes,
    )


def _in_scratch_of(wide: KernelCall, call: KernelCall) -> KernelCall:
    """The call of single rows with as much scratch as that of all rows: a library has one of both."""
    scratch_bytes = max(wide.scratch_bytes, call.scratch_bytes)
    return replace(call, scratch_bytes=scratch_bytes, scratch_alignment=wide.scratch_alignment)


def _can_be_copied(graph: LoweredGraph, node: int, call: KernelCall) -> bool:
    """True if the constants of a node's call are worth a copy, and its struct begins with the pointers to them."""
    view = graph.views[node]
    arrays = call.constants.values()
    if call.params is None or call.takes_step or view.window is not None or view.op.subgraph_names:
        return False
    pointers = [field.is_pointer for field in call.params.fields if field.kind is not FieldKind.SUBGRAPH]
    return (
        call.constant_bytes > _LEAST_BYTES
        and all(array.nbytes and array.dtype.itemsize <= _MOST_ELEMENT_BYTES for array in arrays)
        and pointers == sorted(pointers, reverse=True)
        and sum(pointers) == len(arrays)
    )


def _copy_bytes(call: KernelCall) -> int:
    """Bytes that a copy of the struct and of its constants takes at most on any machine; a multiple of its alignment."""
    fields_of_struct = () if call.params is None else call.params.fields
    struct_bytes = sum(each.size_bytes(_POINTER_BYTES) for each in fields_of_struct) + _ALIGNMENT
    return _aligned(struct_bytes + call.constant_bytes + 3 * len(call.constants))


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
