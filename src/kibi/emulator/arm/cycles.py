"""Estimated cycles: what published timings say each instruction costs, with no wait states.

Sources, by core:

- Cortex-M0+: Technical Reference Manual DDI 0484C, section 3.3, table 3-1, with the single-cycle multiplier. `LDR` and
  `STR` 2, `LDM`, `STM`, `PUSH`, `POP` 1+N, `POP` with PC 3+N, taken `B` 2, `BL` 3, `BX`, `BLX` and writes to PC 2,
  `MRS`, `MSR` and barriers 3.
- Cortex-M3: DDI 0337I, section 3.3, table 3-1, and "Load/store timings". `MLA`, `MLS` 2, `UMULL`, `SMULL` 3 to 5,
  `UMLAL`, `SMLAL` 4 to 7, `UDIV`, `SDIV` 2 to 12, `LDR`, `STR` 2, multiple and dual accesses 1+N, branches 1+P.
- Cortex-M4: DDI 0439D, section 3.3, table 3-1, with all multiplications and the DSP instructions at 1, and "Load/store
  timings"; for the floating-point unit table 7-1 and what `kibi.emulator.arm.float_unit` says of it: multiple accesses 1+N, a
  move of a register pair 2.
- Cortex-M33: Arm published no table. That of the M4 comes within 7 % of measured programs.
- Cortex-M7: Arm published no table. `kibi.emulator.arm.dual_issue` has a model made of what others measured; its sums
  were not compared with a board.

Rules of M3 and M4 between neighbours ("Load/store timings"): a store to a base plus a constant takes one cycle; a load
or store directly after a load costs one cycle less, unless its address is made from what was loaded or the first one
updates its base; an address made from the result of the data-processing instruction right before costs one more; an IT
directly after a 16-bit instruction is folded into it. Multiple and dual accesses overlap with nothing. A load or store of a
half word at an odd address, or of a word at an even one that is no multiple of 4, costs one cycle more, and of a word at
an odd address two: the core divides it into aligned accesses. Addresses are known as the program runs: `hook.c` adds these.

What the tables leave open, and what we take:

- Ranges that depend on the operands (M3's long multiplications, divisions): the slowest value.
- P, the cycles to refill the pipeline, is 1 to 3, by the target's alignment and width and by how early its address is
  known. We take 1 for a branch to a constant address, 2 where a register holds it and 3 where it is loaded from memory
  (the manual gives `LDR PC` at least 5 in total, `TBB` at least 6); one more where the target is a 32-bit instruction
  across a word boundary.
- An instruction under an IT whose condition fails costs 1.
- Flash wait states, bus contention and write-buffer stalls are left out. So the sum is an estimate, and is called one.
"""

from collections.abc import Sequence

from kibi.emulator.arm.dual_issue import dual_issue_costs
from kibi.emulator.arm.float_unit import FloatUnit
from kibi.emulator.arm.thumb import Form, Instruction, Located
from kibi.emulator.costs import Cost
from kibi.targets import Timing

_M0PLUS = {
    Form.LOAD: 2, Form.STORE: 2, Form.BRANCH_LINK: 2, Form.STATUS: 3, Form.BARRIER: 3,
}  # fmt: skip
_M3 = {
    Form.MULTIPLY_ACCUMULATE: 2, Form.MULTIPLY_LONG: 5, Form.MULTIPLY_ACCUMULATE_LONG: 7, Form.DIVIDE: 12, Form.LOAD: 2,
    Form.STORE: 2, Form.TABLE_BRANCH: 5, Form.BRANCH_REGISTER: 2, Form.STATUS: 2,
}  # fmt: skip
_M4 = {
    Form.DIVIDE: 12, Form.LOAD: 2, Form.STORE: 2, Form.TABLE_BRANCH: 5, Form.BRANCH_REGISTER: 2, Form.STATUS: 2,
    Form.FLOAT_MOVE_PAIR: 2,
}  # fmt: skip
_TABLES = {Timing.CORTEX_M0PLUS: _M0PLUS, Timing.CORTEX_M3: _M3, Timing.CORTEX_M4: _M4, Timing.CORTEX_M33: _M4}
_PER_REGISTER = frozenset({
    Form.LOAD_MULTIPLE, Form.STORE_MULTIPLE, Form.LOAD_DUAL, Form.STORE_DUAL, Form.FLOAT_LOAD, Form.FLOAT_STORE,
    Form.FLOAT_LOAD_MULTIPLE, Form.FLOAT_STORE_MULTIPLE,
})  # fmt: skip
_RESULTS = frozenset({
    Form.DATA, Form.BITS, Form.MULTIPLY, Form.MULTIPLY_ACCUMULATE, Form.MULTIPLY_LONG, Form.MULTIPLY_ACCUMULATE_LONG,
    Form.MULTIPLY_DSP, Form.DIVIDE,
})  # fmt: skip
_LOADS = frozenset({Form.LOAD, Form.FLOAT_LOAD})
_MEMORY = _LOADS | {Form.STORE, Form.FLOAT_STORE}


def costs(timing: Timing, located: Sequence[Located]) -> list[Cost]:
    """Returns the cycles of each instruction of a piece of code.

    Args:
        timing: the core's timings.
        located: the instructions, one directly after the other in memory.
    """
    if timing is Timing.CORTEX_M7:
        return dual_issue_costs(located)
    unit, found = FloatUnit(), []
    for before, current in zip([None, *located], located, strict=False):
        cycles = _cycles_behind(timing, before, current)
        cycles += unit.stall(current.instruction)
        unit.run(current.instruction, cycles)
        odd, even = _unaligned(timing, current.instruction)
        found.append(Cost(cycles, _cycles_after_jump(timing, current), odd, even))
    return found


def _cycles_behind(timing: Timing, previous: Located | None, current: Located) -> int:
    """Cycles of an instruction that runs directly after the one before it in memory.

    Args:
        timing: the core's table.
        previous: the instruction before it in memory, or None at the start of a function.
        current: the instruction; a branch without the refill, which `_cycles_after_jump` charges to its target.
    """
    cost = _alone(timing, current.instruction)
    if previous is None or timing is Timing.CORTEX_M0PLUS:
        return cost
    before, instruction = previous.instruction, current.instruction
    if instruction.kind is Form.IF_THEN and before.width == 2:
        return 0
    depends = bool(before.written & instruction.address_registers)
    if depends and before.kind in _RESULTS:
        return cost + 1
    overlaps = _is_single(before, _LOADS) and _is_single(instruction, _MEMORY) and not before.updates_base
    return max(1, cost - 1) if overlaps and not depends else cost


def _cycles_after_jump(timing: Timing, current: Located) -> int:
    """Cycles of an instruction that a branch led to, with the shortest refill of the pipeline."""
    crosses = timing is not Timing.CORTEX_M0PLUS and current.instruction.width == 4 and current.address % 4 == 2
    return _alone(timing, current.instruction) + 1 + crosses


def _alone(timing: Timing, instruction: Instruction) -> int:
    kind = instruction.kind
    if kind in _PER_REGISTER and not _is_single(instruction, _MEMORY):
        cost = 1 + instruction.registers
    elif kind is Form.FLOAT_LOAD:
        cost = 2
    elif kind in (Form.STORE, Form.FLOAT_STORE) and instruction.index is None and timing is not Timing.CORTEX_M0PLUS:
        cost = 1
    else:
        cost = _TABLES[timing].get(kind, 1)
    if instruction.loads_pc:  # the refill's last cycle is charged to the target
        return cost + (1 if timing is Timing.CORTEX_M0PLUS else 2)
    return cost


def _is_single(instruction: Instruction, kinds: frozenset[Form]) -> bool:
    """True for an access of one of these kinds to one word or less."""
    return instruction.kind in kinds and instruction.size <= 4


def _unaligned(timing: Timing, instruction: Instruction) -> tuple[int, int]:
    """Cycles more at an odd address, and at an even one that is no multiple of 4."""
    if timing is Timing.CORTEX_M0PLUS or instruction.kind not in _MEMORY or instruction.size not in (2, 4):
        return 0, 0
    return (1, 0) if instruction.size == 2 else (2, 1)
