"""The arena: one block of bytes, with canaries in the bytes that no buffer uses."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from kibi.eager.memory import HandleArena, Kind, LinearArena, Recording, WritableBuffer
from kibi.eager.memory.lent import NotBytesError, lent_bytes
from kibi.errors import ArenaError, InternalError
from kibi.ir import Graph
from kibi.planner.plan import Plan
from kibi.runtime.lease import Lease

CANARY = 0xC5
"""The value of each byte that no live buffer owns."""


class Arena:
    """A writable block of bytes with the plan's buffers in it.

    Args:
        graph: the model.
        plan: the plan, which has the places of buffers.
        memory: the caller's bytes; None: a bytearray of the size that the plan needs.
        guard: True if bytes that no buffer uses hold canaries, checked by `check`.

    Raises:
        ArenaError: the memory is too small, read-only or misaligned.
    """

    def __init__(self, graph: Graph, plan: Plan, memory: WritableBuffer | None = None, *, guard: bool = True) -> None:
        alignment = max((buffer.alignment for buffer in plan.buffers), default=1)
        if memory is None:
            room = np.zeros(plan.arena_bytes + alignment, np.uint8)
            skip = -room.ctypes.data % alignment
            self.bytes: NDArray[np.uint8] = room[skip : skip + plan.arena_bytes]
        else:
            self.bytes = _view(graph, plan, memory, alignment)
        linear = LinearArena(self.bytes, alignment=alignment) if plan.arena_bytes else None
        self.allocator = Recording(linear or HandleArena(1, alignment=1), Kind.PLANNED)
        if linear is not None:
            linear.resize_planned(plan.arena_bytes)
        self.lease = Lease(self.bytes, graph.source)
        self._guard = guard
        self._plan = plan
        self._freed = _freed(plan) if guard else {}
        self._changes = _changes(plan) if guard else {}
        self._owners = np.zeros(len(self.bytes) if guard else 0, np.int32)
        self._moment = -1

    def start(self) -> None:
        """Takes the bytes, and writes canaries everywhere, before the first step."""
        self.lease.take()
        if self._guard:
            self.bytes[:] = CANARY
            self._owners[:] = 0
            self._moment = -1

    def release(self, step: int) -> None:
        """Writes canaries where buffers have just died, after a step."""
        if self._guard:
            for start, end in self._freed.get(step + 1, ()):
                self.bytes[start:end] = CANARY

    def check(self, step: int) -> None:
        """Checks that every byte that no buffer owns after this step still holds its canary.

        Raises:
            InternalError: one does not; the text names it.
        """
        if not self._guard:
            return
        for moment in range(self._moment + 1, step + 2):
            for start, end, by in self._changes.get(moment, ()):
                self._owners[start:end] += by
        self._moment = step + 1
        broken = np.flatnonzero((self._owners == 0) & (self.bytes != CANARY))
        if broken.size:
            raise InternalError(f"step {step} wrote to arena byte {int(broken[0])}, which no buffer owns")


def side_by_side(plan: Plan) -> Plan:
    """The same plan with its regions one after another in one arena; the plan itself if it has one arena."""
    if not plan.regions:
        return plan
    alignment = max((buffer.alignment for buffer in plan.buffers), default=1)
    bases, end = {}, 0
    for use in plan.regions:
        bases[use.name] = -(-end // alignment) * alignment
        end = bases[use.name] + use.used_bytes
    moved = (replace(each, offset=bases[each.region] + each.offset, region="arena") for each in plan.buffers)
    return replace(plan, buffers=tuple(moved), regions=(), weight_regions=(), arena_bytes=end)


def _changes(plan: Plan) -> dict[int, list[tuple[int, int, int]]]:
    """Returns, for each step, the half-open byte ranges that have one owner more (1) or fewer (-1) from then on.

    Buffers that live to the end are never released: the caller reads them.
    """
    changes: dict[int, list[tuple[int, int, int]]] = {}
    for buffer in plan.buffers:
        place = buffer.offset, buffer.offset + buffer.size_bytes
        changes.setdefault(buffer.start, []).append((*place, 1))
        if buffer.end < len(plan.steps):
            changes.setdefault(buffer.end, []).append((*place, -1))
    return changes


def _freed(plan: Plan) -> dict[int, list[tuple[int, int]]]:
    """Returns, for each step, the half-open byte ranges of buffers that died before it, without bytes that others own by then.

    Buffers that live to the end are left out: the caller reads them. A later buffer may live in the place of a dead one.
    """
    freed: dict[int, list[tuple[int, int]]] = {}
    bounds = [(each.start, each.end, each.offset, each.offset + each.size_bytes) for each in plan.buffers]
    since, until, bottom, top = np.array(bounds, np.int64).reshape(-1, 4).T
    for dead in plan.buffers:
        if dead.end == len(plan.steps):
            continue
        free = [(dead.offset, dead.offset + dead.size_bytes)]
        owns = (since < dead.end) & (dead.end < until) & (bottom < dead.offset + dead.size_bytes) & (top > dead.offset)
        for heir in np.flatnonzero(owns):
            low, high = int(bottom[heir]), int(top[heir])
            parts = [part for start, end in free for part in ((start, min(end, low)), (max(start, high), end))]
            free = [(start, end) for start, end in parts if start < end]
        freed.setdefault(dead.end, []).extend(free)
    return freed


def check_size(graph: Graph, plan: Plan, memory: WritableBuffer) -> NDArray[np.uint8]:
    """Returns the caller's memory as an array, if the plan fits.

    Raises:
        ArenaError: it is no block of bytes, read-only or too small.
    """
    try:
        array = lent_bytes(memory)
    except NotBytesError as error:
        raise ArenaError(f"the arena is no block of bytes ({error})", plan.arena_bytes, 0) from None
    if not array.flags.writeable:
        raise ArenaError("the arena is read-only", plan.arena_bytes, len(array))
    if len(array) < plan.arena_bytes:
        raise ArenaError("the arena is too small", plan.arena_bytes, len(array), plan.largest(graph))
    return array


def _view(graph: Graph, plan: Plan, memory: WritableBuffer, alignment: int) -> NDArray[np.uint8]:
    array = check_size(graph, plan, memory)
    if array.ctypes.data % alignment:
        raise ArenaError(f"the arena does not start at a multiple of {alignment} bytes", plan.arena_bytes, len(array))
    return array[: plan.arena_bytes]
