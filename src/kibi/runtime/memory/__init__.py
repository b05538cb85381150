"""Allocators: blocks of real bytes, under one protocol, with handles that stay true when blocks move."""

from kibi.runtime.memory.allocator import Allocator, Observable, Observer
from kibi.runtime.memory.block_arena import BlockArena
from kibi.runtime.memory.blocks import BlockState, Region, WritableBuffer
from kibi.runtime.memory.handle import Handle
from kibi.runtime.memory.handle_arena import HandleArena
from kibi.runtime.memory.headers import HeaderLayout
from kibi.runtime.memory.linear_arena import End, LinearArena
from kibi.runtime.memory.page_allocator import PageAllocator
from kibi.runtime.memory.plan_guide import Departure, PlannedBlock
from kibi.runtime.memory.recording import Kind, Recording, Span, Usage
from kibi.runtime.memory.workspace_arena import WorkspaceArena

__all__ = [
    "Allocator",
    "BlockArena",
    "BlockState",
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
    "Region",
    "Span",
    "Usage",
    "WorkspaceArena",
    "WritableBuffer",
]
