"""The memory of an interpreter: the arena, the descriptors of tensors, and the places of everything else."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from kibi.eager.context import Context
from kibi.eager.handlers import Handler
from kibi.eager.memory import BlockArena, Handle, HandleArena, Kind, Recording, WritableBuffer
from kibi.eager.memory.lent import lent_bytes, shared_names
from kibi.eager.tensors import BufferTensor, RomTensor, RowTensor
from kibi.eager.tensors.interface import TensorInterface
from kibi.errors import InputError
from kibi.ir import Graph, Tensor
from kibi.planner import Plan
from kibi.runtime.arena import Arena
from kibi.runtime.program import Program

_DESCRIPTOR_BYTES = 48
"""Room in the metadata arena for one tensor: the largest descriptor with the arena's header."""


@dataclass(frozen=True, slots=True)
class Request:
    """What an interpreter needs memory for.

    Attributes:
        graph: the graph that the plan is for.
        plan: with one arena.
        memory: the caller's bytes for the arena; None: of the context, or new ones.
        guard: True if canaries in free bytes are kept and checked.
        registered: the caller's buffers, by tensor.
        context: the context whose arenas have the arena and the descriptors; None: they are the interpreter's own.
        handler: receives events.
    """

    graph: Graph
    plan: Plan
    memory: WritableBuffer | None
    guard: bool
    registered: Mapping[int, WritableBuffer]
    context: Context | None
    handler: Handler


@dataclass(frozen=True, slots=True)
class Allocated:
    """The memory of an interpreter.

    Attributes:
        program: the steps over it.
        metadata: the interpreter's own arena of descriptors; None: they are in the context's.
        block: the arena's block in the context's RAM, which lives as long as this handle; None: it is elsewhere.
    """

    program: Program
    metadata: Recording | None
    block: Handle | None

    @property
    def metadata_bytes(self) -> int:
        """Bytes of descriptors."""
        if self.metadata is not None:
            return self.metadata.live_bytes
        return sum(tensor.metadata_bytes for tensor in self.program.tensors.values())

    @property
    def allocations(self) -> int:
        """The number of blocks: that of the arena, and those of descriptors."""
        own = len(self.program.tensors) if self.metadata is None else self.metadata.allocations
        return self.program.arena.allocator.allocations + own


def allocated(given: Request) -> Allocated:
    """Allocates everything that a model needs.

    Raises:
        ArenaError: the caller's bytes are too few, read-only or misaligned.
        InputError: registered buffers and the arena share bytes, or this machine has not that many bytes.
        EventError: the context's arenas have no room.
    """
    graph, plan = given.graph, given.plan
    block = None
    memory = given.memory
    if given.context is not None and memory is None and plan.arena_bytes:
        block, memory = _claimed(given.context, plan)
    arena = Arena(graph, plan, memory, guard=given.guard)
    _check_apart(arena, graph, given.registered)
    used = [
        tensor
        for tensor in graph.tensors
        if tensor.is_constant
        or tensor.is_external
        or (plan.buffers_of(tensor.index) and tensor.type.elements)  # an arrival at a window has no bytes
        or (tensor.is_state and graph.variable_of(tensor.index) in graph.variables)
    ]
    own = {index: np.zeros(graph.tensors[index].type.size_bytes, np.uint8) for index in graph.variables}
    buffers = own | dict(given.registered)
    metadata, context = _contexts(given, arena, len(used))
    tensors = {tensor.index: _described(tensor, given, arena, buffers, context) for tensor in used}
    return Allocated(Program(graph, plan, arena, tensors), metadata, block)


def _claimed(context: Context, plan: Plan) -> tuple[Handle, WritableBuffer]:
    """A block for the arena in a context's RAM, and its bytes, which do not move while they are in use."""
    alignment = max((buffer.alignment for buffer in plan.buffers), default=1)
    ram = context.ram.allocator if isinstance(context.ram, Recording) else context.ram
    known = ram.alignment if isinstance(ram, BlockArena) else 1
    block = context.claim_ram(plan.arena_bytes + (alignment - 1 if known % alignment else 0), Kind.PLANNED)
    memory = block.hold()
    return block, memory[-memory.ctypes.data % alignment :]


def _contexts(given: Request, arena: Arena, tensors: int) -> tuple[Recording | None, Context]:
    """The interpreter's own arena of descriptors, if it has one, and the context of its tensors."""
    followed = given.context
    if followed is None:
        metadata = Recording(HandleArena(max(1024, _DESCRIPTOR_BYTES * tensors), alignment=4))
        return metadata, Context(metadata=metadata, ram=arena.allocator, handler=given.handler)
    if followed.byteorder == "little":
        return None, followed
    # Rows are computed in this machine's byte order, whatever the device's.
    return None, Context(metadata=followed.metadata, ram=arena.allocator, handler=given.handler)


def _check_apart(arena: Arena, graph: Graph, registered: Mapping[int, WritableBuffer]) -> None:
    """Checks that no two of arena and registered buffers share bytes.

    Raises:
        InputError: two do.
    """
    tensors = [(graph.tensors[index], lent_bytes(buffer)) for index, buffer in registered.items()]
    places = {f"the buffer for {each.name!r}": memory[: each.type.size_bytes] for each, memory in tensors}
    shared = shared_names({"the arena": arena.bytes, **places})
    if shared is not None:
        raise InputError(f"{shared[0]} and {shared[1]} share bytes. Give each bytes of its own.")


def _described(
    tensor: Tensor, given: Request, arena: Arena, buffers: Mapping[int, WritableBuffer], context: Context
) -> TensorInterface:
    """A tensor with its descriptor, which says where its bytes are."""
    kind, name, graph = tensor.type, tensor.name, given.graph
    if tensor.data is not None:
        return RomTensor(kind, tensor.data, name=name, context=context, constant_type=True)
    if tensor.is_state:
        state = buffers[graph.variable_of(tensor.index)]
        return BufferTensor(kind, state, name=name, context=context, constant_type=True)
    if tensor.is_external:
        buffer = buffers.get(tensor.index)
        own = np.zeros(kind.size_bytes, np.uint8) if buffer is None else buffer
        return BufferTensor(kind, own, name=name, context=context, constant_type=True)
    offsets = given.plan.row_offsets(graph, tensor.index)
    return RowTensor(kind, offsets=offsets, memory=arena.bytes, name=name, context=context, constant_type=True)
