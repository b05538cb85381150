"""Where a test's program runs: this machine, or a processor of the other byte order that QEMU plays."""

import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import pytest
from numpy.typing import NDArray

from kibi.dtypes import Array
from kibi.toolchain import build_program
from kibi.toolchain.compile import run_tool
from kibi.toolchain.compilers import zig_command


@dataclass(frozen=True, slots=True)
class Recipe:
    """How a program is made.

    Attributes:
        sources: its C files.
        includes: folders of headers.
        folder: for what the compiler writes, where no cache holds it.
        compiler: `zig` or `gcc`.
        level: the optimization level.
        sanitize: whether undefined behaviour stops the program.
    """

    sources: Sequence[Path]
    includes: Sequence[Path]
    folder: Path
    compiler: str
    level: str
    sanitize: bool


@dataclass(frozen=True, slots=True)
class Machine:
    """This machine.

    Attributes:
        byte_order: `<` for the low byte first, `>` for the high byte first.
        emulator: the command that runs a program; none.
    """

    byte_order: Literal["<", ">"] = "<"
    emulator: str = ""

    def build(self, recipe: Recipe) -> Path:
        """Returns the program."""
        r = recipe
        return build_program(r.sources, compiler=r.compiler, level=r.level, includes=r.includes, sanitize=r.sanitize)

    def run(self, program: Path, data: bytes) -> "subprocess.CompletedProcess[bytes]":
        """Runs the program with these bytes as its standard input."""
        command = [*filter(None, [self.emulator]), str(program)]
        return subprocess.run(command, input=data, capture_output=True, check=False)

    def bytes_of(self, array: Array) -> bytes:
        """An array's bytes as this machine stores them."""
        return array.astype(array.dtype.newbyteorder(self.byte_order)).tobytes()

    def array(
        self, data: bytes, dtype: "np.dtype[np.generic] | type[np.generic]", count: int, place: int
    ) -> NDArray[np.generic]:
        """Elements that this machine has written at a place in `data`."""
        stored = np.dtype(dtype).newbyteorder(self.byte_order)
        return np.frombuffer(data, stored, count, place).astype(dtype)


@dataclass(frozen=True, slots=True)
class Emulated(Machine):
    """A processor that QEMU's user mode emulates, with the high byte first.

    Attributes:
        zig_target: what zig compiles for, with a C library.
    """

    byte_order: Literal["<", ">"] = ">"
    zig_target: str = ""

    def build(self, recipe: Recipe) -> Path:
        """Returns the program, made by zig and linked statically."""
        assert recipe.compiler == "zig"
        program = recipe.folder / "program"
        checks = "-fsanitize=undefined" if recipe.sanitize else "-fno-sanitize=undefined"
        run_tool(
            [
                zig_command(), "cc", "-target", self.zig_target, "-static", checks, "-fsanitize-trap=undefined", "-std=c99",
                "-ffp-contract=off", f"-O{recipe.level}", "-Wall", "-Wextra", "-Werror",
                *(f"-I{path}" for path in recipe.includes), *map(str, recipe.sources), "-o", str(program), "-lm",
            ],
            f"the program for {self.zig_target} does not compile",
        )  # fmt: skip
        return program


HERE = Machine()
BIG_ENDIAN = (
    Emulated(emulator="qemu-ppc", zig_target="powerpc-linux-musleabi"),
    Emulated(emulator="qemu-armeb", zig_target="armeb-linux-musleabi"),
)
"""A processor without kernels of its own, and one whose kernels in assembly are for the other byte order."""


def check_emulator(machine: Emulated) -> None:
    """Skip the running test without QEMU's user mode."""
    if shutil.which(machine.emulator) is None:
        pytest.skip(f"{machine.emulator} not installed (Debian's qemu-user)")
