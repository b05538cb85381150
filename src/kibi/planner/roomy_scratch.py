"""Scratch that grows into bytes of the arena that are free while it lives: kernels with more of it read weights less often."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from kibi.planner.plan import Buffer, Plan
from kibi.selection import LoweredGraph, useful_scratch_bytes, with_room


def with_roomy_scratch(graph: LoweredGraph, plan: Plan) -> Plan:
    """Returns the plan with larger scratch where kernels can use it and bytes are free; the arena stays as large as it is.

    Args:
        graph: of the plan's nodes, with kernels that take the scratch that they need.
        plan: of one arena.
    """
    useful, buffers = useful_scratch_bytes(graph), list(plan.buffers)
    for place, buffer in enumerate(buffers):
        wanted = max((useful[node] for node in buffer.nodes), default=0)
        if wanted > buffer.size_bytes:
            buffers[place] = _grown(buffer, wanted, plan.arena_bytes, (*buffers[:place], *buffers[place + 1 :]))
    taken = [call.scratch_bytes for call in with_room(graph, rooms(replace(plan, buffers=tuple(buffers)), graph)).calls]
    trimmed = (_trimmed(old, new, taken) for old, new in zip(plan.buffers, buffers, strict=True))
    return replace(plan, buffers=tuple(trimmed))


def rooms(plan: Plan, graph: LoweredGraph) -> tuple[int, ...]:
    """The bytes of scratch that a plan has for each node."""
    found = (plan.scratch_of(node) for node in range(len(graph.nodes)))
    return tuple(0 if buffer is None else buffer.size_bytes for buffer in found)


def _grown(buffer: Buffer, wanted: int, arena_bytes: int, others: Iterable[Buffer]) -> Buffer:
    """The buffer where most of the wanted bytes are free, the lowest such place; as it was where nothing larger is free."""
    alive = [(each.offset, each.offset + each.size_bytes) for each in others if _live_together(each, buffer)]
    best, low = buffer, 0
    for start, end in sorted([*alive, (arena_bytes, arena_bytes)]):
        offset = low + -low % buffer.alignment
        if min(wanted, start - offset) > best.size_bytes:
            best = replace(buffer, offset=offset, size_bytes=min(wanted, start - offset))
        low = max(low, end)
    return best


def _live_together(one: Buffer, other: Buffer) -> bool:
    return one.start < other.end and other.start < one.end


def _trimmed(old: Buffer, new: Buffer, taken: Sequence[int]) -> Buffer:
    """The grown buffer without what none of its nodes takes."""
    most = max((taken[node] for node in old.nodes), default=0)
    return replace(new, size_bytes=most) if most > old.size_bytes else old
