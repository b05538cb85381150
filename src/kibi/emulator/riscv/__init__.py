"""RISC-V with 32 bits: its instructions, and the procedure call standard."""

from kibi.emulator.riscv.architecture import RISCV

__all__ = ["RISCV"]
