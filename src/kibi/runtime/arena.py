"""The arena: one block of bytes, and the canaries in what no buffer uses."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from kibi.errors import ArenaError, InternalError
from kibi.ir import Graph
from kibi.planner.plan import Buffer, Plan

CANARY = 0xC5
"""What every byte holds that no live buffer owns."""

WritableBuffer = bytearray | memoryview | NDArray[np.uint8]


class Arena:
    """A writable block of bytes with the plan's buffers in it.

    Args:
        graph: the model.
        plan: where its buffers lie.
        memory: the caller's bytes; None: a bytearray of the size that the plan needs.
        guard: whether bytes that no buffer uses hold canaries, checked by `check`.

    Raises:
        ArenaError: the memory is too small, read-only or misaligned.
    """

    def __init__(self, graph: Graph, plan: Plan, memory: WritableBuffer | None = None, *, guard: bool = True) -> None:
        alignment = max((buffer.alignment for buffer in plan.buffers), default=1)
        if memory is None:
            room = np.frombuffer(bytearray(plan.arena_bytes + alignment), np.uint8)
            skip = -room.ctypes.data % alignment
            self.bytes: NDArray[np.uint8] = room[skip : skip + plan.arena_bytes]
        else:
            self.bytes = _view(graph, plan, memory, alignment)
        self._guard = guard
        self._plan = plan
        self._dying: dict[int, list[Buffer]] = {}
        for buffer in plan.buffers:
            if buffer.end < len(plan.steps):  # what lives to the end is for the caller to read
                self._dying.setdefault(buffer.end, []).append(buffer)

    def start(self) -> None:
        """Before the first step: canaries everywhere."""
        if self._guard:
            self.bytes[:] = CANARY

    def release(self, step: int) -> None:
        """After a step: canaries where buffers have just died."""
        if self._guard:
            for buffer in self._dying.get(step + 1, ()):
                self.bytes[buffer.offset : buffer.offset + buffer.size_bytes] = CANARY

    def check(self, step: int) -> None:
        """Every byte that no buffer owns behind this step still holds its canary.

        Raises:
            InternalError: one does not; the text names it.
        """
        if not self._guard:
            return
        is_free = np.ones(len(self.bytes), dtype=bool)
        for buffer in self._plan.buffers:
            if buffer.start <= step + 1 and (buffer.end > step + 1 or buffer.end == len(self._plan.steps)):
                is_free[buffer.offset : buffer.offset + buffer.size_bytes] = False
        broken = np.flatnonzero(is_free & (self.bytes != CANARY))
        if broken.size:
            raise InternalError(f"step {step} wrote to arena byte {int(broken[0])}, which no buffer owns")


def _view(graph: Graph, plan: Plan, memory: WritableBuffer, alignment: int) -> NDArray[np.uint8]:
    try:
        array: NDArray[np.uint8] = np.frombuffer(memory, np.uint8)
    except (TypeError, ValueError, BufferError) as error:
        raise ArenaError(f"the arena is no block of bytes ({error})", plan.arena_bytes, 0) from None
    if not array.flags.writeable:
        raise ArenaError("the arena is read-only", plan.arena_bytes, len(array))
    if len(array) < plan.arena_bytes:
        raise ArenaError("the arena is too small", plan.arena_bytes, len(array), plan.largest(graph))
    if array.ctypes.data % alignment:
        raise ArenaError(f"the arena does not start at a multiple of {alignment} bytes", plan.arena_bytes, len(array))
    return array[: plan.arena_bytes]


def row_views(graph: Graph, plan: Plan, arena: Arena, tensor: int) -> Sequence[NDArray[np.generic]]:
    """Each row of a tensor as an array over its planned bytes, or over its constant data."""
    kind = graph.tensors[tensor].type
    data = graph.tensors[tensor].data
    if data is not None:
        return list(data.reshape(kind.rows, -1))
    rows = plan.row_offsets(graph, tensor)
    return [arena.bytes[offset : offset + kind.row_bytes].view(kind.dtype.numpy) for offset in rows]
