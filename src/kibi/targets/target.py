"""The target table: what Kibi knows of each processor.

Compiler flags for zig follow what its bundled clang models of each core: M4 and M7 have no FPU unless one is added. RISC-V cores
are named by their extensions, because makers combine them freely. Clock
rates are those of a common board, and serve only to convert cycle estimates to milliseconds.
"""

import sys
from dataclasses import dataclass, replace
from enum import Enum

from kibi.errors import TargetError
from kibi.targets.machine import MACHINES, Qemu

EMULATORS = ("unicorn", "qemu")
"""What runs code for targets on this machine: the first one comes with Kibi, the second one is QEMU's own program."""


class Timing(Enum):
    """The published timings that describe a core's pipeline; see `kibi.emulator.arm.cycles` and `kibi.emulator.riscv.cycles`."""

    CORTEX_M0PLUS = "cortex-m0+"
    CORTEX_M3 = "cortex-m3"
    CORTEX_M4 = "cortex-m4"
    CORTEX_M7 = "cortex-m7"
    CORTEX_M33 = "cortex-m33"
    HAZARD3 = "hazard3"

    @property
    def remark(self) -> str:
        """What a reader of an estimate has to know about where it comes from; empty for a core with a table of Arm's."""
        return _REMARKS.get(self, "")


class InstructionSet(Enum):
    """The instruction set of a target: Kibi's tools read code of the first two."""

    THUMB = "thumb"
    RISCV = "riscv32"
    OTHER = ""


class Runner(Enum):
    """What runs a target's code on the machine that Kibi runs on."""

    UNICORN = "unicorn"
    """The emulated core of the package that is installed with Kibi."""
    QEMU = "qemu"
    """A machine of QEMU's, of the system."""
    QEMU_USER = "qemu-user"
    """QEMU for programs of Linux, of the system; on a machine of the target's own kind, the machine itself."""
    WASMTIME = "wasmtime"
    """The runtime of WebAssembly of the package `wasmtime`."""
    ITSELF = "this machine"
    NONE = ""


_REMARKS = {
    Timing.CORTEX_M7: "by others' measurements, not validated",
    Timing.CORTEX_M33: "by the Cortex-M4's table",
    Timing.HAZARD3: "by its author's table, not validated",
}


@dataclass(frozen=True, slots=True)
class Target:
    """One processor.

    Attributes:
        name: the name that users write.
        description: one line for `kibi targets`.
        kernel_sets: the kernel sets that it can run, best first; the last one is `portable`.
        zig_target, zig_cpu: the target triple and CPU model for `ziglang`; empty for the host and for unknown processors.
        gcc_flags: machine flags for GCC and clang; empty if neither applies.
        emulated_cpu: unicorn's name of the core (`UC_CPU_ARM_…`, `UC_CPU_RISCV32_…`); empty if unicorn does not emulate it.
        arena_alignment_bytes: the least alignment of a region's start; larger elements need more.
        unaligned_words: True if the core loads words from any address.
        has_fpu: True if single-precision floats are computed in hardware.
        clock_hz: the clock of a common board, for milliseconds; 0 if unknown.
        timing: the published timings for the cycle estimate, or None.
        qemu: the machine and the core of QEMU that run its code, or None.
    """

    name: str
    description: str
    kernel_sets: tuple[str, ...]
    zig_target: str
    zig_cpu: str
    gcc_flags: tuple[str, ...]
    emulated_cpu: str
    arena_alignment_bytes: int
    unaligned_words: bool
    has_fpu: bool
    clock_hz: int
    timing: Timing | None
    qemu: Qemu | None = None

    @property
    def is_emulated(self) -> bool:
        """True if an emulated core runs its code: unicorn's, or QEMU's if unicorn has no such core."""
        return self.runner in (Runner.UNICORN, Runner.QEMU)

    def emulated_by(self, emulator: str) -> "Target":
        """Returns the same processor, whose code one emulator alone runs. QEMU estimates no cycles.

        Raises:
            TargetError: there is no such emulator, or it does not run the target.
        """
        if emulator not in EMULATORS:
            raise TargetError(f"there is no emulator {emulator[:60]!r}. Emulators are: {', '.join(EMULATORS)}.")
        made = replace(self, emulated_cpu="", timing=None) if emulator == "qemu" else replace(self, qemu=None)
        if not made.is_emulated:
            known = ", ".join(
                each.name for each in _TARGETS if (each.qemu if emulator == "qemu" else each.emulated_cpu)
            )
            raise TargetError(f"{emulator} does not run code for {self.name}. It does so for: {known}.")
        return made

    @property
    def has_vectors(self) -> bool:
        """True if its code uses Helium's vectors."""
        return "helium" in self.kernel_sets

    @property
    def is_host(self) -> bool:
        """True if this is the machine that Kibi runs on."""
        return self.name == "host"

    @property
    def is_known(self) -> bool:
        """True if Kibi's compilers build for it; False for code that any compiler takes."""
        return self.is_host or bool(self.zig_target)

    @property
    def runner(self) -> Runner:
        """What runs its code; unicorn where both emulators do."""
        if self.is_host:
            return Runner.ITSELF
        if self.zig_target.startswith("wasm32-"):
            return Runner.WASMTIME
        if "-linux-" in self.zig_target:
            return Runner.QEMU_USER
        if self.emulated_cpu:
            return Runner.UNICORN
        return Runner.NONE if self.qemu is None else Runner.QEMU

    @property
    def is_device(self) -> bool:
        """True for a core without an operating system, whose program is linked for addresses of flash and RAM."""
        return self.is_known and self.runner not in (Runner.ITSELF, Runner.QEMU_USER, Runner.WASMTIME)

    @property
    def is_program(self) -> bool:
        """True for Linux and WebAssembly: code that runs as a program elsewhere, by itself or emulated, and not as a device."""
        return self.runner in (Runner.QEMU_USER, Runner.WASMTIME)

    @property
    def pointer_bytes(self) -> int:
        """The size of an address; of the host that of the Python that runs."""
        if self.is_host:
            return 8 if sys.maxsize > 1 << 32 else 4
        return 8 if self.zig_target.partition("-")[0] in _WIDE else 4

    @property
    def instruction_set(self) -> InstructionSet:
        """The instruction set that its triple begins with; `OTHER` where no part of Kibi depends on it."""
        name = self.zig_target.partition("-")[0]
        return InstructionSet(name) if name in {each.value for each in InstructionSet} else InstructionSet.OTHER

    @property
    def extensions(self) -> frozenset[str]:
        """What the CPU model has beside what it has by itself, by zig's names: of RISC-V, letters of extensions and `relax`."""
        return frozenset(self.zig_cpu.split("+")[1:])


_WIDE = frozenset({"aarch64", "x86_64", "riscv64"})
"""The architectures of programs whose addresses have 64 bits."""
_SOFT = "thumb-freestanding-eabi"
_HARD = "thumb-freestanding-eabihf"
_DSP = ("armv7em", "thumb2", "portable")
_HELIUM = ("helium", *_DSP)
_M55 = Qemu(MACHINES["mps3-an547"], "cortex-m55")
_AS_M55 = replace(_M55, replaces="QEMU has the Cortex-M55 alone of the cores with Helium")
_RISCV = "riscv32-freestanding-none"  # with `relax`, as clang by itself has it: the linker makes calls shorter
_RISCV_SETS = ("riscv", "portable")
_VECTORS = ("host", "portable")


def _virt(extensions: str) -> Qemu:
    """QEMU's RISC-V core with these extensions besides I, M and C, and no others that code could use."""
    having = (
        f"{name}={'on' if name in extensions.split() else 'off'}"
        for name in ("a", "f", "d", "zba", "zbb", "zbc", "zbs")
    )
    return Qemu(MACHINES["virt"], ",".join(("rv32", *having)))


_TARGETS = (
    Target(
        "cortex-m0plus", "Arm Cortex-M0+ (Armv6-M)", ("armv6m", "portable"), _SOFT, "cortex_m0plus",
        ("-mcpu=cortex-m0plus", "-mthumb", "-mfloat-abi=soft"), "CORTEX_M0", 4, False, False, 48_000_000,
        Timing.CORTEX_M0PLUS, Qemu(MACHINES["mps2-an385"], "cortex-m3", "QEMU has no Cortex-M0+"),
    ),
    Target(
        "cortex-m3", "Arm Cortex-M3 (Armv7-M)", ("armv7m", "thumb2", "portable"), _SOFT, "cortex_m3",
        ("-mcpu=cortex-m3", "-mthumb", "-mfloat-abi=soft"), "CORTEX_M3", 4, True, False, 72_000_000,
        Timing.CORTEX_M3, Qemu(MACHINES["mps2-an385"], "cortex-m3"),
    ),
    Target(
        "cortex-m4", "Arm Cortex-M4F (Armv7E-M, DSP, single-precision FPU)", _DSP, _HARD, "cortex_m4+vfp4d16sp",
        ("-mcpu=cortex-m4", "-mthumb", "-mfloat-abi=hard", "-mfpu=fpv4-sp-d16"), "CORTEX_M4", 4, True, True, 120_000_000,
        Timing.CORTEX_M4, Qemu(MACHINES["mps2-an386"], "cortex-m4"),
    ),
    Target(
        "cortex-m7", "Arm Cortex-M7 (Armv7E-M, DSP, single-precision FPU)", _DSP, _HARD, "cortex_m7+fp_armv8d16sp",
        ("-mcpu=cortex-m7", "-mthumb", "-mfloat-abi=hard", "-mfpu=fpv5-sp-d16"), "CORTEX_M7", 4, True, True, 216_000_000,
        Timing.CORTEX_M7, Qemu(MACHINES["mps2-an500"], "cortex-m7"),
    ),
    Target(
        "cortex-m33", "Arm Cortex-M33 (Armv8-M Mainline, DSP, single-precision FPU)", _DSP, _HARD,
        "cortex_m33+dsp+fp_armv8d16sp", ("-mcpu=cortex-m33", "-mthumb", "-mfloat-abi=hard", "-mfpu=fpv5-sp-d16"),
        "CORTEX_M33", 4, True, True, 100_000_000, Timing.CORTEX_M33, Qemu(MACHINES["mps2-an505"], "cortex-m33"),
    ),
    Target(
        "cortex-m52", "Arm Cortex-M52 (Armv8.1-M, Helium, DSP, FPU)", _HELIUM, _HARD, "cortex_m52",
        ("-mcpu=cortex-m55", "-mthumb", "-mfloat-abi=hard"), "", 4, True, True, 0, None, _AS_M55,
    ),
    Target(
        "cortex-m55", "Arm Cortex-M55 (Armv8.1-M, Helium, DSP, FPU)", _HELIUM, _HARD, "cortex_m55+mve_fp+fp_armv8d16",
        ("-mcpu=cortex-m55", "-mthumb", "-mfloat-abi=hard"), "", 4, True, True, 0, None, _M55,
    ),
    Target(
        "cortex-m85", "Arm Cortex-M85 (Armv8.1-M, Helium, DSP, FPU)", _HELIUM, _HARD, "cortex_m85+mve_fp+fp_armv8d16",
        ("-mcpu=cortex-m55", "-mthumb", "-mfloat-abi=hard"), "", 4, True, True, 0, None, _AS_M55,
    ),
    Target(
        "rv32imc", "RISC-V RV32IMC (ESP32-C3)", _RISCV_SETS, _RISCV, "generic_rv32+m+c+relax", ("-march=rv32imc", "-mabi=ilp32"),
        "SIFIVE_E31", 4, False, False, 160_000_000, None, _virt(""),
    ),
    Target(
        "rv32imac", "RISC-V RV32IMAC (ESP32-C6, GD32VF103)", _RISCV_SETS, _RISCV, "generic_rv32+m+a+c+relax",
        ("-march=rv32imac", "-mabi=ilp32"), "SIFIVE_E31", 4, False, False, 160_000_000, None, _virt("a"),
    ),
    Target(
        "rv32imac_zba_zbb_zbs", "RISC-V RV32IMAC with Zba, Zbb and Zbs (RP2350)", _RISCV_SETS, _RISCV,
        "generic_rv32+m+a+c+zba+zbb+zbs+relax", ("-march=rv32imac_zba_zbb_zbs", "-mabi=ilp32"), "", 4, False, False, 150_000_000,
        None, _virt("a zba zbb zbs"),
    ),
    Target(
        "rv32imafc", "RISC-V RV32IMAFC (CH32V307, single-precision FPU)", _RISCV_SETS, _RISCV, "generic_rv32+m+a+f+c+relax",
        ("-march=rv32imafc", "-mabi=ilp32f"), "ANY", 4, False, True, 144_000_000, None, _virt("a f"),
    ),
    Target(
        "hazard3", "RISC-V Hazard3 (RP2350), as RV32IMAC", _RISCV_SETS, _RISCV, "generic_rv32+m+a+c+relax",
        ("-march=rv32imac", "-mabi=ilp32"), "SIFIVE_E31", 4, False, False, 150_000_000, Timing.HAZARD3,
        _virt("a"),
    ),
    Target(
        "aarch64-linux", "Linux on 64-bit Arm (Armv8-A, NEON)", _VECTORS, "aarch64-linux-musl", "generic", (), "",
        8, True, True, 0, None,
    ),
    Target(
        "armv7-linux", "Linux on 32-bit Arm (Armv7-A, NEON)", _VECTORS, "arm-linux-musleabihf", "cortex_a7", (), "",
        8, True, True, 0, None,
    ),
    Target(
        "x86_64-linux", "Linux on x86-64 (x86-64-v3: AVX2)", _VECTORS, "x86_64-linux-musl", "x86_64_v3", (), "",
        8, True, True, 0, None,
    ),
    Target(
        "riscv64-linux", "Linux on 64-bit RISC-V (RV64GC)", ("portable",), "riscv64-linux-musl", "baseline_rv64", (), "",
        8, False, True, 0, None,
    ),
    Target(
        "wasm32", "WebAssembly, 32-bit addresses", ("portable",), "wasm32-freestanding", "generic", (), "", 16, True, True, 0, None,
    ),
    Target(
        "wasm32-simd128", "WebAssembly, 32-bit addresses, vectors of 128 bits", _VECTORS, "wasm32-freestanding",
        "generic+simd128", (), "", 16, True, True, 0, None,
    ),
    Target(
        "generic", "any processor with a C99 compiler: plain C", ("portable",), "", "", (), "", 8, False, False, 0, None,
    ),
    Target("host", "the machine that Kibi runs on", ("host", "portable"), "", "", (), "", 8, True, True, 0, None),
)  # fmt: skip
_BY_NAME = {entry.name: entry for entry in _TARGETS}


def targets() -> tuple[Target, ...]:
    """Returns all targets, in the order of the table."""
    return _TARGETS


def target(name: str) -> Target:
    """Returns the target of that name.

    Raises:
        TargetError: no such target exists; the text lists those that do.
    """
    try:
        return _BY_NAME[name]
    except KeyError:
        raise TargetError(f"unknown target {name!r}. Targets are: {', '.join(_BY_NAME)}.") from None
