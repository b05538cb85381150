"""The emulated core: runs what the toolchain linked, counts every instruction, and guards every access."""

from kibi.emulator.blocks import Block, Stored
from kibi.emulator.call import Call
from kibi.emulator.core import Core
from kibi.emulator.waits import Spent, Stalls

__all__ = ["Block", "Call", "Core", "Spent", "Stalls", "Stored"]
