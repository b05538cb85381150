"""RISC-V with 32 bits for the emulated core: registers, and what unicorn needs to execute floats."""

from unicorn import riscv_const, unicorn_const

from kibi.emulator.architecture import Architecture, Step, processors_of
from kibi.emulator.riscv.cycles import with_cycles
from kibi.emulator.riscv.decode import REGISTERS, RETURN_ADDRESS, STACK, decode_span
from kibi.targets import Target, Timing

_FIRST_ARGUMENT, _ARGUMENTS = 10, 8
_FLOATS_ON = 3 << 13  # the field FS of mstatus


def _steps(address: int, code: bytes, target: Target) -> tuple[Step, ...]:
    steps = decode_span(address, code, target.extensions, unaligned_words=target.unaligned_words)
    return with_cycles(steps, code) if target.timing is Timing.HAZARD3 else steps


RISCV = Architecture(
    number=unicorn_const.UC_ARCH_RISCV,
    mode=unicorn_const.UC_MODE_RISCV32,
    processors=processors_of(vars(riscv_const), "UC_CPU_RISCV32_"),
    arguments=REGISTERS[_FIRST_ARGUMENT : _FIRST_ARGUMENT + _ARGUMENTS],
    stack=REGISTERS[STACK],
    return_address=REGISTERS[RETURN_ADDRESS],
    program_counter=riscv_const.UC_RISCV_REG_PC,
    stack_alignment=16,
    code_bit=0,
    float_settings=((riscv_const.UC_RISCV_REG_MSTATUS, _FLOATS_ON),),
    decode=_steps,
)
