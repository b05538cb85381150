"""Processors and boards, as data: `target("cortex-m4")`, `targets()`, `board("rp2040")`, `boards()`."""

from kibi.targets.board import Board, Ram, RunCurrent, board, boards
from kibi.targets.memory import Cache, Memory, memories, memory
from kibi.targets.target import EMULATORS, InstructionSet, Runner, Target, Timing, target, targets

__all__ = [
    "EMULATORS",
    "Board",
    "Cache",
    "InstructionSet",
    "Memory",
    "Ram",
    "RunCurrent",
    "Runner",
    "Target",
    "Timing",
    "board",
    "boards",
    "memories",
    "memory",
    "target",
    "targets",
]
