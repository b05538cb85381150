"""Arm's M profile for the emulated core: registers, and Thumb instructions as steps."""

from unicorn import arm_const, unicorn_const

from kibi.emulator.architecture import Architecture, Step, processors_of
from kibi.emulator.arm.cycles import costs
from kibi.emulator.arm.thumb import ALWAYS, LR, PC, SP, Form, Located, decode_span
from kibi.emulator.costs import UNKNOWN, Cost
from kibi.targets import Target

_NUMBERS = {SP: arm_const.UC_ARM_REG_SP, LR: arm_const.UC_ARM_REG_LR, PC: arm_const.UC_ARM_REG_PC}
_REGISTERS = tuple(_NUMBERS.get(number, arm_const.UC_ARM_REG_R0 + number) for number in range(16))
_BOTH_COPROCESSORS = 0xF << 20  # 10 and 11, of the floating-point unit


def _steps(address: int, code: bytes, target: Target) -> tuple[Step, ...]:
    located = decode_span(address, code)
    taken = [UNKNOWN] * len(located) if target.timing is None else costs(target.timing, located)
    return tuple(
        _step(current, cost, unaligned_words=target.unaligned_words)
        for current, cost in zip(located, taken, strict=True)
    )


def _step(current: Located, cost: Cost, *, unaligned_words: bool) -> Step:
    instruction = current.instruction
    base, offset = instruction.base, instruction.offset
    if base == PC and instruction.size:
        base, offset = None, offset + (current.address + 4 & ~3)
    elif instruction.kind is Form.TABLE_BRANCH and base is None:
        offset += current.address
    align = instruction.align
    if not unaligned_words and instruction.size:
        align = max(align, min(instruction.size & -instruction.size, 4))
    return Step(
        address=current.address,
        width=instruction.width,
        is_refused=instruction.kind is Form.REFUSED,
        base=_register(base),
        index=_register(instruction.index),
        shift=instruction.shift,
        offset=offset,
        size=instruction.size,
        align=align,
        is_store=instruction.is_store,
        lowers_stack=instruction.lowers_stack,
        is_conditional=current.condition != ALWAYS,
        cost=cost,
    )


def _register(number: int | None) -> int:
    return 0 if number is None else _REGISTERS[number]


ARM = Architecture(
    number=unicorn_const.UC_ARCH_ARM,
    mode=unicorn_const.UC_MODE_THUMB | unicorn_const.UC_MODE_MCLASS,
    processors=processors_of(vars(arm_const), "UC_CPU_ARM_"),
    arguments=_REGISTERS[:4],
    stack=_REGISTERS[SP],
    return_address=_REGISTERS[LR],
    program_counter=_REGISTERS[PC],
    stack_alignment=8,
    code_bit=1,
    float_settings=((arm_const.UC_ARM_REG_C1_C0_2, _BOTH_COPROCESSORS), (arm_const.UC_ARM_REG_FPEXC, 1 << 30)),
    decode=_steps,
)
