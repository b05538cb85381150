"""Finding the compilers: zig's bundled clang from PyPI, and those of `PATH`, GCC and clang."""

import platform
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

from kibi.errors import ToolchainError
from kibi.targets import InstructionSet, Target
from kibi.used_tools import note_tool

COMPILERS = ("zig", "gcc", "clang")
_OF_THE_SYSTEM = (("gcc", "g++"), ("clang", "clang++"), ("cc", "c++"))
"""The commands that `gcc` means on this machine, the first that there is: they take the same flags."""


@dataclass(frozen=True, slots=True)
class Compiler:
    """One compiler on this machine.

    Attributes:
        name: `zig`, `gcc` or `clang`.
        c, cxx: the commands that compile C and C++.
        link: the command that links.
        identity: name, version and path, which tell this compiler's output from another's.
        flags: whose flags it takes: `zig`, `zig clang`, `gcc` or `clang`.
    """

    name: str
    c: tuple[str, ...]
    cxx: tuple[str, ...]
    link: tuple[str, ...]
    identity: str
    flags: str

    @property
    def version(self) -> str:
        """Name and version, without the path."""
        return self.identity.removeprefix(self.c[0]).strip()


def find_compiler(name: str, target: Target, language: str = "c99") -> Compiler:
    """The compiler of that name that makes code for the target, from C or, for `c++17`, C++. It is noted as a tool that is used.

    Raises:
        ToolchainError: there is no compiler of that name, it is not installed, or it does not support the target.
    """
    found = _found(name, target, language)
    note_tool(found.version)
    return found


def _found(name: str, target: Target, language: str) -> Compiler:
    if not target.is_known:
        raise ToolchainError(
            f"the target {target.name} is C for a processor that Kibi does not know, so that it is not built here. Build it with "
            "your compiler, or take a core that `kibi targets` lists, or the host."
        )
    if name == "zig":
        return _zig(target, language)
    if target.is_program and name in COMPILERS:
        raise ToolchainError(f"{name} does not support the target {target.name}. Use zig.")
    if name == "clang":
        return _clang()
    if name != "gcc":
        raise ToolchainError(f"unknown compiler {name!r}. Compilers are: {', '.join(COMPILERS)}.")
    if target.is_host:
        return _of_the_system()
    if target.instruction_set is not InstructionSet.THUMB:
        raise ToolchainError(f"gcc does not support the target {target.name}. Use zig.")
    return _gcc_for_devices()


def host_compiler() -> str:
    """Returns the compiler that code for this machine is made with where none is asked for: zig, or else the system's.

    Raises:
        ToolchainError: there is neither.
    """
    if not has_host_compiler():
        raise ToolchainError(
            "code for this machine needs a compiler, and no compiler was found. Install zig by `pip install ziglang`, or the "
            "system's, for example by `apt install gcc libc6-dev`."
        )
    return "gcc" if _zig_path() is None else "zig"


def has_host_compiler() -> bool:
    """True if there is a compiler for this machine: zig, or the system's."""
    return _zig_path() is not None or _system_command() is not None


def zig_command() -> str:
    """The path of zig's executable inside its Python package; it is also the linker and the archiver.

    Raises:
        ToolchainError: the package is not installed.
    """
    found = _zig_path()
    if found is None:
        raise ToolchainError(
            "the zig compiler is not installed. Install it by `pip install ziglang`, or give `--compiler gcc` or `--compiler "
            'clang` to a verb that has the option (compiler="gcc" in Python).'
        )
    return found


def _zig_path() -> str | None:
    """The path of zig's executable; None if the package is not installed."""
    spec = find_spec("ziglang")
    locations = list(spec.submodule_search_locations or []) if spec else []
    found = [
        path for folder in locations for path in (Path(folder) / "zig", Path(folder) / "zig.exe") if path.is_file()
    ]
    return str(found[0]) if found else None


def _zig(target: Target, language: str) -> Compiler:
    """Zig's clang, without zig's driver where it is not needed: the code is the same, and takes half the time to make."""
    command = zig_command()
    driver = Compiler("zig", (command, "cc"), (command, "c++"), (command, "cc"), _zig_identity(command), "zig")
    if not (_has_own_headers(target) or (target.is_host and language == "c99" and _has_glibc_headers())):
        return driver
    clang = (command, "clang")
    return replace(driver, c=clang, cxx=clang, flags="zig clang") if _runs(*clang, "--version") else driver


@lru_cache
def _zig_identity(command: str) -> str:
    try:
        return f"zig {version('ziglang')}"
    except PackageNotFoundError:
        return f"zig {tool_output([command, 'version'])}"


@lru_cache
def _runs(*command: str) -> bool:
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def _has_own_headers(target: Target) -> bool:
    """True for devices, whose C library is a few headers of Kibi's."""
    return target.instruction_set is not InstructionSet.OTHER


@lru_cache
def _has_glibc_headers() -> bool:
    """True if this machine has the headers that clang finds by itself; zig's driver brings some along."""
    is_usual = sys.platform == "linux" and platform.machine() == "x86_64" and platform.libc_ver()[0] == "glibc"
    return is_usual and Path("/usr/include/features.h").is_file()


def zig_headers() -> Path:
    """The folder of the headers that belong to zig's clang."""
    return Path(zig_command()).parent / "lib" / "include"


def lld_command() -> str:
    """The path of LLVM's linker, which links what clang compiles for devices.

    Raises:
        ToolchainError: it is not on `PATH`.
    """
    path = shutil.which("ld.lld")
    if path is None:
        raise ToolchainError("ld.lld is not on PATH. Install it, for example by `apt install lld`, or use zig.")
    return path


def _clang() -> Compiler:
    path = shutil.which("clang")
    if path is None:
        raise ToolchainError("clang is not on PATH. Install it, for example by `apt install clang lld`, or use zig.")
    return replace(_from_path(path, "clang++"), name="clang", flags="clang")


def _gcc_for_devices() -> Compiler:
    path = shutil.which("arm-none-eabi-gcc")
    if path is None:
        raise ToolchainError(
            "arm-none-eabi-gcc is not on PATH. Install it, for example by `apt install gcc-arm-none-eabi libnewlib-arm-none-eabi`, "
            "or use zig."
        )
    return _from_path(path, "arm-none-eabi-g++")


def _of_the_system() -> Compiler:
    found = _system_command()
    if found is None:
        raise ToolchainError(
            "neither gcc nor clang is on PATH. Install gcc and g++, for example by `apt install gcc g++`, or use zig."
        )
    return _from_path(*found)


def _system_command() -> tuple[str, str] | None:
    """The path of the system's C compiler, and the command of its C++ compiler; None if no C compiler was found."""
    for c, cxx in _OF_THE_SYSTEM:
        path = shutil.which(c)
        if path is not None:
            return path, cxx
    return None


@lru_cache
def _from_path(c: str, cxx: str) -> Compiler:
    return Compiler("gcc", (c,), (cxx,), (c,), f"{c} {tool_output([c, '--version'])}", "gcc")


def tool_output(command: Sequence[str]) -> str:
    """The first line that a tool prints.

    Raises:
        ToolchainError: the tool does not run.
    """
    try:
        text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError) as error:
        raise ToolchainError(f"{command[0]} does not run: {error}", command) from error
    return text.splitlines()[0] if text else ""
