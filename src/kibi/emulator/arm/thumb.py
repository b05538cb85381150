"""Thumb instructions for the emulator: what each accesses in memory, and its class for timing.

Capstone decodes them. Here, its names become the classes of the timing tables, and what an instruction accesses is worked out.
Whatever has no class is `Form.REFUSED`, and the core stops before it: undefined encodings, and what a kernel has no use for (SVC,
WFI, breakpoints, other coprocessors).
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum, auto
from functools import cache, lru_cache
from typing import Any

import capstone
from capstone import arm_const as names

SP, LR, PC = 13, 14, 15
ALWAYS = 14


class Form(Enum):
    """Classes of instructions that the timing tables tell apart."""

    DATA = auto()
    BITS = auto()
    MULTIPLY = auto()
    MULTIPLY_ACCUMULATE = auto()
    MULTIPLY_LONG = auto()
    MULTIPLY_ACCUMULATE_LONG = auto()
    MULTIPLY_DSP = auto()
    DIVIDE = auto()
    LOAD = auto()
    STORE = auto()
    LOAD_MULTIPLE = auto()
    STORE_MULTIPLE = auto()
    LOAD_DUAL = auto()
    STORE_DUAL = auto()
    TABLE_BRANCH = auto()
    BRANCH = auto()
    BRANCH_LINK = auto()
    BRANCH_REGISTER = auto()
    COMPARE_BRANCH = auto()
    IF_THEN = auto()
    HINT = auto()
    BARRIER = auto()
    STATUS = auto()
    FLOAT = auto()
    FLOAT_ARITHMETIC = auto()
    FLOAT_MULTIPLY_ACCUMULATE = auto()
    FLOAT_DIVIDE = auto()
    FLOAT_MOVE_PAIR = auto()
    FLOAT_LOAD = auto()
    FLOAT_STORE = auto()
    FLOAT_LOAD_MULTIPLE = auto()
    FLOAT_STORE_MULTIPLE = auto()
    REFUSED = auto()


_STORES = frozenset({Form.STORE, Form.STORE_MULTIPLE, Form.STORE_DUAL, Form.FLOAT_STORE, Form.FLOAT_STORE_MULTIPLE})


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction, independent of its address.

    Attributes:
        width: its bytes, 2 or 4.
        kind: its class.
        base: the register that its address starts from, `PC` for the aligned program counter, or None.
        index: the register that is added, shifted left by `shift`, or None.
        offset: the number that is added to the base.
        size: bytes that it accesses, all in one piece; 0 for an instruction that accesses nothing.
        align: the alignment that its address needs even on a core that loads words from any address.
        registers: how many registers a multiple load or store moves.
        written: the core registers that it writes, as a set of bits.
        read: the core registers that it reads.
        floats_written, floats_read: the single-precision registers that it writes and reads; a double is two of them.
        lowers_stack: True if the stack pointer may be lower afterwards.
        loads_pc: True if it branches by loading the program counter.
        updates_base: True if it writes the address back.
        if_then: the state that an IT instruction sets: first condition and mask.
    """

    width: int
    kind: Form
    base: int | None = None
    index: int | None = None
    shift: int = 0
    offset: int = 0
    size: int = 0
    align: int = 1
    registers: int = 0
    written: int = 0
    read: int = 0
    floats_written: int = 0
    floats_read: int = 0
    lowers_stack: bool = False
    loads_pc: bool = False
    updates_base: bool = False
    if_then: int = 0

    @property
    def is_store(self) -> bool:
        """True if the instruction writes the memory that it accesses."""
        return self.kind in _STORES

    @property
    def address_registers(self) -> int:
        """The registers that its address is made of, as a set of bits; empty where it accesses nothing."""
        used = [register for register in (self.base, self.index) if register is not None and self.size]
        return sum(1 << register for register in set(used))


@dataclass(frozen=True, slots=True)
class Located:
    """An instruction at its place: its address, and the condition under which it is executed (`ALWAYS`, or an IT's)."""

    address: int
    condition: int
    instruction: Instruction


def decode_span(address: int, code: bytes) -> tuple[Located, ...]:
    """Decodes all instructions of a piece of code without data in it.

    Args:
        address: the address of the piece.
        code: its bytes; an incomplete instruction at the end is refused.
    """
    halves = memoryview(code[: len(code) & ~1]).cast("H")
    result, position, it_state = [], 0, 0
    while position < len(halves):
        second = halves[position + 1] if position + 1 < len(halves) else None
        instruction = decode(halves[position], second)
        condition = it_state >> 4 if it_state else ALWAYS
        it_state = (it_state & 0xE0) | (it_state << 1 & 0x1F) if it_state & 7 else 0
        result.append(Located(address + 2 * position, condition, instruction))
        if instruction.kind is Form.IF_THEN:
            it_state = instruction.if_then
        position += instruction.width // 2
    return tuple(result)


@lru_cache(maxsize=1 << 16)
def decode(first: int, second: int | None) -> Instruction:
    """Decodes an instruction from its first halfword, and its second where it has one."""
    width = 2 if first < _WIDE else 4
    if width == 4 and second is None:
        return Instruction(2, Form.REFUSED)
    if first >> 8 == _IF_THEN and first & 15:
        return Instruction(2, Form.IF_THEN, if_then=first & 255)
    data = (first | (second or 0) << 16).to_bytes(4, "little")[:width]
    found = next(_decoder().disasm(data, 0, 1), None)
    kind = None if found is None else _FORMS.get(found.mnemonic if found.insn_name() == "hint" else found.insn_name())
    if found is None or kind is None or (kind in _OF_FLOATS and not _is_scalar(first, second)):
        return Instruction(width, Form.REFUSED)
    made = _ACCESSES.get(kind, _plain)(found, kind)
    read, written = (_floats(found, each) for each in found.regs_access())
    return replace(made, read=_set(_read(found)), floats_read=read, floats_written=written)


def _is_scalar(first: int, second: int | None) -> bool:
    """True for coprocessors 10 and 11 as the M profile has them; Capstone knows the vectors of the A profile, too."""
    is_coprocessor = first & 0xEC00 == 0xEC00 and (second or 0) >> 9 & 7 == 0b101
    return is_coprocessor and first & 0xFE00 != 0xFC00 and first >> 8 not in (0xEF, 0xFF)


@cache
def _decoder() -> capstone.Cs:
    made = capstone.Cs(capstone.CS_ARCH_ARM, capstone.CS_MODE_THUMB | capstone.CS_MODE_MCLASS | capstone.CS_MODE_V8)
    made.detail = True
    return made


def _plain(found: Any, kind: Form) -> Instruction:
    """An instruction that accesses no memory; one that writes the program counter is a branch."""
    if kind in _BRANCHES:
        return Instruction(found.size, kind)
    if kind in _DATA and PC in _written(found):
        return Instruction(found.size, Form.BRANCH_REGISTER)
    if found.insn_name() == "vmov" and len(found.operands) > 2:  # a pair of core registers, and what holds them
        kind = Form.FLOAT_MOVE_PAIR
    written = _written(found)
    lowers = SP in written and not _raises_stack(found)
    return Instruction(found.size, kind, written=_set(written), lowers_stack=lowers or found.id == names.ARM_INS_MSR)


def _raises_stack(found: Any) -> bool:
    """True for `add sp, #n`."""
    return bool(found.id == names.ARM_INS_ADD and found.operands[-1].type == names.ARM_OP_IMM and found.size == 2)


def _single(found: Any, kind: Form) -> Instruction:
    """An access to one place, or to two words that follow one another."""
    place = next((each for each in found.operands if each.type == names.ARM_OP_MEM), None)
    if place is None:
        return Instruction(found.size, Form.REFUSED)
    name, memory = found.insn_name(), place.mem
    size = _BYTES[name]
    base, index = _CORE[memory.base], _CORE[memory.index] if memory.index else None
    if base == PC and (found.writeback or kind in _STORES):
        return Instruction(found.size, Form.REFUSED)
    written = _stored(found, base) if kind in _STORES else _written(found)
    registers = 2 if kind in (Form.LOAD_DUAL, Form.STORE_DUAL) else 0
    if kind in (Form.FLOAT_LOAD, Form.FLOAT_STORE):
        registers = 2 if found.reg_name(found.operands[0].reg).startswith("d") else 1
        size = 4 * registers
    loads_pc = kind is Form.LOAD and PC in written
    if base == PC and kind is Form.TABLE_BRANCH:  # the table follows; here the program counter is not aligned down
        return Instruction(found.size, kind, index=index, shift=place.shift.value, offset=4, size=size)
    return Instruction(
        found.size,
        kind,
        base=base,
        index=index,
        shift=place.shift.value,
        offset=0 if found.post_index else memory.disp,
        size=size,
        align=_alignment(name, size, is_literal=base == PC, loads_pc=loads_pc),
        registers=registers,
        written=_set(written - {PC}),
        lowers_stack=_loads_stack(found, kind) or (base == SP and found.writeback and not _moves_up(found, memory)),
        loads_pc=loads_pc,
        updates_base=found.writeback,
    )


def _multiple(found: Any, kind: Form) -> Instruction:
    """An access to as many words as registers are named."""
    name = found.insn_name()
    is_stack = name in ("push", "pop", "vpush", "vpop")
    operands = [each.reg for each in found.operands]
    moved = operands if is_stack else operands[1:]
    base = SP if is_stack else _CORE[operands[0]]
    if base == PC:
        return Instruction(found.size, Form.REFUSED)
    words = sum(2 if found.reg_name(each).startswith("d") else 1 for each in moved)
    is_down = name.endswith(("db", "push"))
    is_written = is_stack or found.writeback
    core = {_CORE[each] for each in moved} if kind is Form.LOAD_MULTIPLE else set()
    return Instruction(
        found.size,
        kind,
        base=base,
        offset=-4 * words if is_down else 0,
        size=4 * words,
        align=4,
        registers=words,
        written=_set((core - {PC}) | ({base} if is_written else set())),
        lowers_stack=base == SP and is_written and is_down,
        loads_pc=PC in core,
        updates_base=is_written,
    )


def _written(found: Any) -> set[int]:
    """The core registers that an instruction writes."""
    _, written = found.regs_access()
    return {number for each in written if (number := _CORE.get(each)) is not None}


def _read(found: Any) -> set[int]:
    """The core registers that an instruction reads."""
    read, _ = found.regs_access()
    return {number for each in read if (number := _CORE.get(each)) is not None}


def _floats(found: Any, registers: Any) -> int:
    """The single-precision registers among these, as a set of bits; a double is two of them."""
    bits = 0
    for each in registers:
        name = found.reg_name(each)
        if name[0] == "s" and name[1:].isdigit():
            bits |= 1 << int(name[1:])
        elif name[0] == "d" and name[1:].isdigit():
            bits |= 3 << 2 * int(name[1:])
    return bits


def _stored(found: Any, base: int) -> set[int]:
    """The core registers that a store writes: the base, and of an exclusive one the register that says whether it was done."""
    is_exclusive = found.insn_name().startswith(("strex", "stlex"))
    return ({base} if found.writeback else set()) | ({_CORE[found.operands[0].reg]} if is_exclusive else set())


def _set(registers: set[int]) -> int:
    return sum(1 << each for each in registers)


def _alignment(name: str, size: int, *, is_literal: bool, loads_pc: bool) -> int:
    """The alignment that an address needs even on a core that loads words from any address."""
    if name in ("ldrd", "strd", "vldr", "vstr") or loads_pc:
        return 4
    return size if is_literal or name.startswith(("ldrex", "strex", "lda", "stl")) else 1


def _loads_stack(found: Any, kind: Form) -> bool:
    """True if a load writes the stack pointer."""
    return kind is Form.LOAD and bool(found.operands[0].reg == names.ARM_REG_SP)


def _moves_up(found: Any, memory: Any) -> bool:
    """True if what is written back is above the base."""
    if found.post_index and found.operands[-1].type == names.ARM_OP_IMM:
        return bool(found.operands[-1].imm >= 0 and not found.operands[-1].subtracted)
    return bool(memory.disp >= 0)


_CORE: Mapping[int, int] = {
    **{names.ARM_REG_R0 + number: number for number in range(13)},
    names.ARM_REG_SP: SP,
    names.ARM_REG_LR: LR,
    names.ARM_REG_PC: PC,
}
_CLASSES: Mapping[Form, str] = {
    Form.DATA: """
        adc add addw adr and asr bic cmn cmp eor lsl lsr mov movs movt movw mvn neg orn orr ror rrx rsb sbc sub subs subw
        teq tst tt tta ttat ttt""",
    Form.BITS: """
        bfc bfi clz pkhbt pkhtb rbit rev rev16 revsh sbfx sel ssat ssat16 sxtab sxtab16 sxtah sxtb sxtb16 sxth ubfx usat
        usat16 uxtab uxtab16 uxtah uxtb uxtb16 uxth qadd qadd16 qadd8 qasx qdadd qdsub qsax qsub qsub16 qsub8 sadd16 sadd8
        sasx shadd16 shadd8 shasx shsax shsub16 shsub8 ssax ssub16 ssub8 uadd16 uadd8 uasx uhadd16 uhadd8 uhasx uhsax
        uhsub16 uhsub8 uqadd16 uqadd8 uqasx uqsax uqsub16 uqsub8 usax usub16 usub8""",
    Form.MULTIPLY: "mul",
    Form.MULTIPLY_ACCUMULATE: "mla mls",
    Form.MULTIPLY_LONG: "smull umull",
    Form.MULTIPLY_ACCUMULATE_LONG: "smlal umlal",
    Form.MULTIPLY_DSP: """
        smlabb smlabt smlad smladx smlalbb smlalbt smlald smlaldx smlaltb smlaltt smlatb smlatt smlawb smlawt smlsd
        smlsdx smlsld smlsldx smmla smmlar smmls smmlsr smmul smmulr smuad smuadx smulbb smulbt smultb smultt smulwb
        smulwt smusd smusdx umaal usad8 usada8""",
    Form.DIVIDE: "sdiv udiv",
    Form.LOAD: "ldr ldrb ldrh ldrsb ldrsh ldrt ldrbt ldrht ldrsbt ldrsht ldrex ldrexb ldrexh lda ldab ldah ldaex ldaexb ldaexh",
    Form.STORE: "str strb strh strt strbt strht strex strexb strexh stl stlb stlh stlex stlexb stlexh",
    Form.LOAD_MULTIPLE: "ldm ldmdb pop",
    Form.STORE_MULTIPLE: "stm stmdb push",
    Form.LOAD_DUAL: "ldrd",
    Form.STORE_DUAL: "strd",
    Form.TABLE_BRANCH: "tbb tbh",
    Form.BRANCH: "b",
    Form.BRANCH_LINK: "bl",
    Form.BRANCH_REGISTER: "bx blx bxns blxns",
    Form.COMPARE_BRANCH: "cbz cbnz",
    Form.HINT: "nop yield sev pld pldw pli",
    Form.BARRIER: "dmb dsb isb clrex",
    Form.STATUS: "mrs msr cps",
    Form.FLOAT: "vabs vcmp vcmpe vmaxnm vminnm vmov vmrs vmsr vneg vseleq vselge vselgt vselvs fconsts fconstd fmstat",
    Form.FLOAT_ARITHMETIC: """
        vadd vcvt vcvta vcvtb vcvtm vcvtn vcvtp vcvtr vcvtt vmul vnmul vrinta vrintm vrintn vrintp vrintr vrintx vrintz
        vsub""",
    Form.FLOAT_MULTIPLY_ACCUMULATE: "vmla vmls vnmla vnmls vfma vfms vfnma vfnms",
    Form.FLOAT_DIVIDE: "vdiv vsqrt",
    Form.FLOAT_LOAD: "vldr",
    Form.FLOAT_STORE: "vstr",
    Form.FLOAT_LOAD_MULTIPLE: "vldmia vldmdb vpop",
    Form.FLOAT_STORE_MULTIPLE: "vstmia vstmdb vpush",
}
"""Capstone's names of the instructions of each class."""
_FORMS: Mapping[str, Form] = {name: form for form, listed in _CLASSES.items() for name in listed.split()}
_ACCESSED: Mapping[int, str] = {
    1: "ldrb ldrsb ldrbt ldrsbt ldrexb ldab ldaexb strb strbt strexb stlb stlexb tbb",
    2: "ldrh ldrsh ldrht ldrsht ldrexh ldah ldaexh strh strht strexh stlh stlexh tbh",
    4: "ldr ldrt ldrex lda ldaex str strt strex stl stlex vldr vstr",
    8: "ldrd strd",
}
"""The instructions by the bytes that they access."""
_BYTES: Mapping[str, int] = {name: size for size, listed in _ACCESSED.items() for name in listed.split()}
_BRANCHES = frozenset({Form.BRANCH, Form.BRANCH_LINK, Form.BRANCH_REGISTER, Form.COMPARE_BRANCH})
_DATA = frozenset({Form.DATA})
_OF_FLOATS = frozenset(form for form in Form if form.name.startswith("FLOAT"))
_ACCESSES = {
    **dict.fromkeys(
        (Form.LOAD, Form.STORE, Form.LOAD_DUAL, Form.STORE_DUAL, Form.TABLE_BRANCH, Form.FLOAT_LOAD, Form.FLOAT_STORE),
        _single,
    ),
    **dict.fromkeys(
        (Form.LOAD_MULTIPLE, Form.STORE_MULTIPLE, Form.FLOAT_LOAD_MULTIPLE, Form.FLOAT_STORE_MULTIPLE), _multiple
    ),
}
_WIDE, _IF_THEN = 0xE800, 0xBF
"""The least first halfword of a wide instruction, and the upper byte of IT."""
