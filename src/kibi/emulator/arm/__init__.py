"""Arm's M profile: Thumb instructions, their cycles, and the procedure call standard."""

from kibi.emulator.arm.architecture import ARM

__all__ = ["ARM"]
