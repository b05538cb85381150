"""Boards through GDB servers: the protocol, a session with a core, and a core that runs what the toolchain linked."""

from kibi.debugger.board_core import ENTRIES, PLACES, BoardCore, BoardMemory, board_memory, counted_cycles, placed
from kibi.debugger.processor import set_call
from kibi.debugger.processors import family_of, processor_of
from kibi.debugger.session import Server, Session, connected

__all__ = [
    "ENTRIES",
    "PLACES",
    "BoardCore",
    "BoardMemory",
    "Server",
    "Session",
    "board_memory",
    "connected",
    "counted_cycles",
    "family_of",
    "placed",
    "processor_of",
    "set_call",
]
