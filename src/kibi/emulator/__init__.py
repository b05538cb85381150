"""The emulated core: runs what the toolchain linked, counts every instruction, and guards every access."""

from kibi.emulator.core import Block, Call, Core, Stored
from kibi.emulator.waits import Spent, Stalls

__all__ = ["Block", "Call", "Core", "Spent", "Stalls", "Stored"]
