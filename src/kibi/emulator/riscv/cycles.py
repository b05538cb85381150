"""Estimated cycles of Hazard3, the RISC-V core of the RP2350, with no wait states.

Source: https://github.com/Wren6991/Hazard3, doc/sections/instruction_timings.adoc of October 2024, by the core's author. It
holds for a core with all options set for speed, which we take the RP2350's to be. Sums have not been compared with a board.

- Each instruction takes 1 cycle; `DIV` and `REM` 19, which is the slower of two values, `DIVU` and `REMU` 18, `AMO…` 4.
- An instruction directly after a load that reads what was loaded takes one more, unless it only stores it.
- Jumps and branches that are taken cost one more, and another one where their target is an instruction of 32 bits across a word
  boundary. It is charged to the target.
- The core remembers the last conditional branch that it took backward and had not predicted, and predicts that it is taken again:
  then the refill is saved. If it is not taken, that costs one more, and the core forgets it. `hook.c` does this.

Left out: the bubble between `LR.W` and `SC.W`, stalls of the bus, and wait states of the flash.
"""

from collections.abc import Sequence
from dataclasses import replace

from kibi.emulator.architecture import Step
from kibi.emulator.costs import Cost

_LOAD, _AMO, _OP, _BRANCH, _JALR, _SYSTEM = 0x03, 0x2F, 0x33, 0x63, 0x67, 0x73
_READ_FIRST = frozenset({_LOAD, 0x13, 0x23, _AMO, _OP, _BRANCH, _JALR, _SYSTEM})
"""Opcodes whose field rs1 is a register that the second stage reads; what a store writes is read in the third."""
_READ_SECOND = frozenset({_AMO, _OP, _BRANCH})
_LOAD_RESERVED, _STORE_CONDITIONAL = 2, 3
_DIVISIONS = {4: 19, 5: 18, 6: 19, 7: 18}
_AMO_CYCLES = 4


def with_cycles(steps: Sequence[Step], code: bytes) -> tuple[Step, ...]:
    """Returns the instructions of a piece of code with their cycles, and with the branches that the core predicts.

    Args:
        steps: the instructions, one directly after the other in memory.
        code: the bytes of the piece.
    """
    found, loaded = [], 0
    for step in steps:
        at = step.address - steps[0].address
        word = int.from_bytes(code[at : at + step.width], "little")
        alone = _alone(word)
        crosses = step.width > 2 and step.address % 4 != 0
        waits = loaded in _read(word) - {0}
        found.append(replace(step, cost=Cost(alone + waits, alone + 1 + crosses), is_predicted=_is_branch(word)))
        loaded = _loaded(word)
    return tuple(found)


def _alone(word: int) -> int:
    """Cycles of an instruction that waits for nothing."""
    if word & 0x7F == _OP and word >> 25 == 1:
        return _DIVISIONS.get(word >> 12 & 7, 1)
    is_update = word & 0x7F == _AMO and word >> 27 not in (_LOAD_RESERVED, _STORE_CONDITIONAL)
    return _AMO_CYCLES if is_update else 1


def _is_branch(word: int) -> bool:
    """True for a conditional branch."""
    return word & 0x7F == _BRANCH if word & 3 == 3 else word & 3 == 1 and word >> 13 in (6, 7)


def _loaded(word: int) -> int:
    """The integer register that the third stage writes, which comes a cycle later; 0 for none."""
    if word & 3 == 3:
        has_result = word & 0x7F == _LOAD or (
            word & 0x7F == _AMO and word >> 27 in (_LOAD_RESERVED, _STORE_CONDITIONAL)
        )
        return word >> 7 & 31 if has_result else 0
    match word & 3, word >> 13:
        case 0, 2:  # LW
            return 8 + (word >> 2 & 7)
        case 2, 2:  # LWSP
            return word >> 7 & 31
    return 0


def _read(word: int) -> set[int]:
    """The registers that the second stage reads."""
    if word & 3 == 3:
        opcode = word & 0x7F
        has_first = opcode in _READ_FIRST and not (opcode == _SYSTEM and word >> 14 & 1)
        return ({word >> 15 & 31} if has_first else set()) | ({word >> 20 & 31} if opcode in _READ_SECOND else set())
    near, far, second = 8 + (word >> 7 & 7), word >> 7 & 31, word >> 2 & 31
    match word & 3, word >> 13:
        case (0, 0) | (2, 2) | (2, 6):  # ADDI4SPN, LWSP, SWSP
            return {2}
        case (0, 2) | (0, 6) | (1, 6) | (1, 7):  # LW, SW, BEQZ, BNEZ
            return {near}
        case (1, 0) | (1, 3) | (2, 0):  # ADDI, ADDI16SP, SLLI; LUI reads none, and has sp never
            return {far} if (word & 3, word >> 13) != (1, 3) or far == 2 else set()
        case 1, 4:  # shifts and ANDI; SUB, XOR, OR, AND
            return {near, 8 + (word >> 2 & 7)} if word >> 10 & 3 == 3 else {near}
        case 2, 4:  # JR and JALR; MV; ADD
            is_move = second != 0 and not word >> 12 & 1
            return {second} if is_move else {far, second}
    return set()
