"""Allocators: blocks of real bytes, under one protocol, with handles that stay valid when blocks move."""

from kibi.eager.memory.allocator import Allocator, Observable, Observer
from kibi.eager.memory.block_arena import BlockArena
from kibi.eager.memory.blocks import BlockState, ByteRange, WritableBuffer
from kibi.eager.memory.handle import Handle
from kibi.eager.memory.handle_arena import HandleArena
from kibi.eager.memory.headers import HeaderLayout
from kibi.eager.memory.linear_arena import End, LinearArena
from kibi.eager.memory.page_allocator import PageAllocator
from kibi.eager.memory.plan_guide import Departure, PlannedBlock
from kibi.eager.memory.recording import Kind, Recording, Span, Usage
from kibi.eager.memory.workspace_arena import WorkspaceArena

__all__ = [
    "Allocator",
    "BlockArena",
    "BlockState",
    "ByteRange",
    "Departure",
    "End",
    "Handle",
    "HandleArena",
    "HeaderLayout",
    "Kind",
    "LinearArena",
    "Observable",
    "Observer",
    "PageAllocator",
    "PlannedBlock",
    "Recording",
    "Span",
    "Usage",
    "WorkspaceArena",
    "WritableBuffer",
]
