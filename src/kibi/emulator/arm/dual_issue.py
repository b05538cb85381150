"""The Cortex-M7's pipeline: two instructions a cycle, in their order, as others have measured it.

Arm publishes no timings of this core. What is here follows https://www.quinapalus.com/cm7cycles.html (an STM32H730), the notes on
pipelines in https://github.com/jnk0le/random (an STM32H743) and LLVM's `ARMScheduleM7.td`. They agree in most, and we take:

- Two neighbours are issued together unless the second reads or writes what the first writes (data to store excepted), both
  need the one multiplier, store port, shifter for bit fields and DSP instructions, branch unit or floating-point pipeline, a
  multiplication meets a store, or a bit-field or DSP instruction comes second. A floating-point multiply-accumulate goes with
  no floating-point load, store or move.
- Multiple, dual and double accesses go alone and take a cycle for two words; `SDIV` and `UDIV` 7, `VDIV` and `VSQRT` 16, `TBB`
  2, moves of register pairs 1, status registers and barriers 3.
- Results are read one cycle later; of multiplications and loads of less than a word two, of floating-point arithmetic three,
  of a multiply-accumulate six, or three as an addend; an address needs its register one cycle earlier, unless an addition or a
  move made it; a factor needs a loaded word one cycle earlier; a sum passes to the next multiply-accumulate each cycle.
- An unaligned load takes three cycles more.
- A branch is predicted. Mispredictions (6 to 8 cycles), conflicts of two accesses at one bank, caches and the store buffer are
  left out.

The model works along the code in memory, and begins anew where a branch leads. Its sums have not been compared with a board.
"""

from collections.abc import Sequence

from kibi.emulator.arm.thumb import Form, Instruction, Located
from kibi.emulator.costs import Cost

_MULTIPLIES = frozenset({
    Form.MULTIPLY, Form.MULTIPLY_ACCUMULATE, Form.MULTIPLY_LONG, Form.MULTIPLY_ACCUMULATE_LONG, Form.MULTIPLY_DSP
})  # fmt: skip
_STORES = frozenset({Form.STORE, Form.FLOAT_STORE})
_BITS = frozenset({Form.BITS})
_BRANCHES = frozenset({Form.BRANCH, Form.BRANCH_LINK, Form.BRANCH_REGISTER, Form.COMPARE_BRANCH})
_FLOATS = frozenset({Form.FLOAT, Form.FLOAT_ARITHMETIC, Form.FLOAT_MULTIPLY_ACCUMULATE, Form.FLOAT_DIVIDE})
_UNITS = (_MULTIPLIES, _STORES, _BITS, _BRANCHES, _FLOATS, _MULTIPLIES | _STORES)
"""Kinds of which two are never issued together."""
_WITH_FLOAT_MEMORY = frozenset({Form.FLOAT_MULTIPLY_ACCUMULATE, Form.FLOAT_LOAD, Form.FLOAT_STORE, Form.FLOAT})
_ALONE = {
    Form.DIVIDE: 7, Form.FLOAT_DIVIDE: 16, Form.TABLE_BRANCH: 2, Form.FLOAT_MOVE_PAIR: 1, Form.STATUS: 3, Form.BARRIER: 3
}  # fmt: skip
"""Cycles of kinds that go alone."""
_PAIRS = frozenset({
    Form.LOAD_MULTIPLE, Form.STORE_MULTIPLE, Form.LOAD_DUAL, Form.STORE_DUAL, Form.FLOAT_LOAD_MULTIPLE,
    Form.FLOAT_STORE_MULTIPLE,
})  # fmt: skip
_LATENCIES = {
    **dict.fromkeys(_MULTIPLIES, 2), Form.FLOAT_LOAD: 2, Form.FLOAT: 3, Form.FLOAT_ARITHMETIC: 3,
    Form.FLOAT_MULTIPLY_ACCUMULATE: 6,
}  # fmt: skip
_SUM_LATENCIES = {**dict.fromkeys(_MULTIPLIES, 1), Form.FLOAT_MULTIPLY_ACCUMULATE: 3}
"""... where the same register is the addend of another one of that kind."""
_UNALIGNED_LOAD = 3


def dual_issue_costs(located: Sequence[Located]) -> list[Cost]:
    """Returns the cycles of each instruction of a piece of code, which is the difference that it makes to the end.

    Args:
        located: the instructions, one directly after the other in memory.
    """
    pipeline, found = _Pipeline(), []
    for current in located:
        instruction = current.instruction
        is_load = instruction.kind is Form.LOAD
        odd = _UNALIGNED_LOAD if is_load and instruction.size > 1 else 0
        even = _UNALIGNED_LOAD if is_load and instruction.size == 4 else 0
        found.append(Cost(pipeline.issue(instruction), _occupied(instruction), odd, even))
    return found


class _Pipeline:
    """Where straight code has got to: cycle numbers, from 0."""

    def __init__(self) -> None:
        self._free = 0
        self._older: Instruction | None = None
        self._makers: dict[int, tuple[int, Instruction]] = {}

    def issue(self, instruction: Instruction) -> int:
        """Issues the next instruction, and returns the cycles by which the pipeline is free later than before."""
        before, start = self._free, self._start(instruction)
        older = self._older
        if older is not None and start < self._free and _go_together(older, instruction):
            start, self._older = self._free - 1, None
        else:
            start = max(start, self._free)
            self._free = start + _occupied(instruction)
            self._older = None if _is_alone(instruction) else instruction
        for register in _registers(instruction.written, instruction.floats_written):
            self._makers[register] = self._free - 1, instruction
        return self._free - before

    def _start(self, instruction: Instruction) -> int:
        """The first cycle in which all that it reads is there."""
        read = _needed(instruction)
        return max((self._ready(register, instruction) for register in read if register in self._makers), default=0)

    def _ready(self, register: int, reader: Instruction) -> int:
        """The first cycle in which a reader may be issued that needs this register."""
        start, maker = self._makers[register]
        is_sum = register in _registers(reader.written, reader.floats_written) and maker.kind is reader.kind
        if is_sum and maker.kind in _SUM_LATENCIES:
            return start + _SUM_LATENCIES[maker.kind]
        latency = _LATENCIES.get(maker.kind, 1)
        is_load = maker.kind in (Form.LOAD, Form.LOAD_DUAL, Form.LOAD_MULTIPLE)
        if is_load and maker.size < 4:
            latency = 2
        is_address = register < _CORE and reader.address_registers >> register & 1
        is_early = maker.kind is Form.DATA or (maker.updates_base and register == maker.base)
        if (is_address and not is_early) or (is_load and reader.kind in _MULTIPLIES):
            latency += 1
        return start + latency


_CORE = 16
"""Numbers of registers below this are of the core; those of floats follow."""


def _registers(core: int, floats: int) -> tuple[int, ...]:
    both = core | floats << _CORE
    return tuple(register for register in range(both.bit_length()) if both >> register & 1)


def _needed(instruction: Instruction) -> tuple[int, ...]:
    """The registers that it needs as it is issued: of a store those of the address."""
    if instruction.kind in _STORES:
        return _registers(instruction.address_registers, 0)
    return _registers(instruction.read, instruction.floats_read)


def _go_together(older: Instruction, younger: Instruction) -> bool:
    """True if both are issued in one cycle, where all else that the younger reads is there."""
    made = set(_registers(older.written, older.floats_written))
    if made & {*_needed(younger), *_registers(younger.written, younger.floats_written)}:
        return False
    kinds = {older.kind, younger.kind}
    is_crowded = any(older.kind in unit and younger.kind in unit for unit in _UNITS)
    is_float_crowded = Form.FLOAT_MULTIPLY_ACCUMULATE in kinds and kinds <= _WITH_FLOAT_MEMORY
    return not (is_crowded or is_float_crowded or younger.kind is Form.BITS or _is_alone(younger))


def _is_alone(instruction: Instruction) -> bool:
    return instruction.kind in _ALONE or instruction.kind in _PAIRS or instruction.size > 4


def _occupied(instruction: Instruction) -> int:
    """Cycles after which the next instruction may be issued, if it does not go together with this one."""
    if instruction.kind in _PAIRS or instruction.size > 4:
        return max(1, -(-instruction.registers // 2))
    return _ALONE.get(instruction.kind, 1)
