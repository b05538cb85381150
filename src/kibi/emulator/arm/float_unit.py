"""The floating-point unit of M4 and M33: how long an instruction waits for it.

Table 7-1 of DDI 0439D gives `VMLA`, `VFMA` and relatives 3 cycles, `VDIV` and `VSQRT` 14, and says in its notes that integer
instructions after a division go on meanwhile, and that a result takes one cycle more if the next instruction reads it. GCC's
description of this unit (`gcc/config/arm/cortex-m4-fpu.md`) says more, and we take it: integer instructions go on after a
multiply-accumulate, too; a single load overlaps with the next access as an integer one does; a single store takes one cycle;
a multiply-accumulate reads its addend one cycle later than its factors.

So an instruction of this unit takes one cycle, and the next one that needs the unit, or the result, waits for what is left.
Where a branch leads, nothing waits: what the end of a loop leaves to its start is left out.
"""

from kibi.emulator.arm.thumb import Form, Instruction

_LATENCIES = {Form.FLOAT_ARITHMETIC: 2, Form.FLOAT_MULTIPLY_ACCUMULATE: 4, Form.FLOAT_DIVIDE: 15}
"""Cycles from the start of an instruction until another one may read its result; 1 for all others."""
_OCCUPIED = {Form.FLOAT_MULTIPLY_ACCUMULATE: 3, Form.FLOAT_DIVIDE: 14}
"""Cycles from its start until another one may use the unit; as many as it takes for all others."""


class FloatUnit:
    """The unit's state along a piece of straight code."""

    def __init__(self) -> None:
        self._now = self._free = 0
        self._ready = [0] * 32

    def stall(self, instruction: Instruction) -> int:
        """Returns the cycles that an instruction waits for the unit and for results; 0 for one of the integer core."""
        if not instruction.kind.name.startswith("FLOAT"):
            return 0
        addend = instruction.floats_written if instruction.kind is Form.FLOAT_MULTIPLY_ACCUMULATE else 0
        starts = [
            self._ready[register] - (addend >> register & 1)
            for register in range(32)
            if instruction.floats_read >> register & 1
        ]
        return max(0, max(self._free, *starts, 0) - self._now)

    def run(self, instruction: Instruction, cycles: int) -> None:
        """Goes on by an instruction that takes so many cycles, waits included."""
        start = self._now + cycles - 1
        self._now += cycles
        if instruction.kind.name.startswith("FLOAT"):
            self._free = max(self._now, start + _OCCUPIED.get(instruction.kind, 1))
            latency = _LATENCIES.get(instruction.kind, 1)
            for register in range(32):
                if instruction.floats_written >> register & 1:
                    self._ready[register] = max(self._now, start + latency)
