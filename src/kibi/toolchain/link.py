"""Linking programs for devices: objects, a linker script, and the few functions that compilers call by themselves."""

import re
from collections.abc import Sequence
from pathlib import Path

from kibi.errors import ToolchainError
from kibi.targets import Target
from kibi.toolchain.cache import cached, digest
from kibi.toolchain.compile import compile_objects, run_tool
from kibi.toolchain.compilers import find_compiler, lld_command, tool_output, zig_command
from kibi.toolchain.layout import LAYOUT, MemoryLayout

SCRIPT = Path(__file__).parent / "device.ld"
RUNTIME = tuple(Path(__file__).parent / "runtime" / name for name in ("memory.c", "integer.c"))
_UNDEFINED = re.compile(r"undefined symbol: (\S+)")


def link_device(
    objects: Sequence[Path],
    target: Target,
    entries: Sequence[str],
    compiler: str,
    output: Path,
    layout: MemoryLayout = LAYOUT,
) -> None:
    """Links objects into a program, without the code and data that no entry reaches.

    Args:
        objects: object files; the read-only data of `*_weights.o` becomes the section `.weights`.
        target: the processor.
        entries: the functions that must stay, the first one being the program's entry.
        compiler: the compiler whose linker is used, `zig`, `gcc` or `clang`.
        output: the ELF file to write; for another layout than that of the emulated core, its script is written beside it.
        layout: the addresses of flash and RAM.

    Raises:
        ToolchainError: a symbol is missing or defined twice, or something does not fit.
    """
    script = SCRIPT if layout == LAYOUT else _script_for(layout, output)
    if compiler == "gcc":
        _link_with_gcc(objects, target, entries, script, output)
    else:
        _link_with_lld(objects, target, entries, compiler, script, output)


def _script_for(layout: MemoryLayout, output: Path) -> Path:
    """Writes the linker script with other memories, beside the program."""
    sections = SCRIPT.read_text(encoding="utf-8").partition("SECTIONS")
    script = output.with_suffix(".ld")
    script.write_text(f"{layout.commands}\n{''.join(sections[1:])}", encoding="utf-8", newline="\n")
    return script


def _link_with_gcc(objects: Sequence[Path], target: Target, entries: Sequence[str], script: Path, output: Path) -> None:
    roots = [f"-Wl,--undefined={name}" for name in entries]
    command = [
        *find_compiler("gcc", target).c, *target.gcc_flags, "-nostartfiles", f"-Wl,--script={script}",
        "-Wl,--gc-sections", "-Wl,-z,max-page-size=4096", f"-Wl,--entry={entries[0]}",
        *roots, *map(str, objects), "-o", str(output),
    ]  # fmt: skip
    run_tool(command, "the program does not link")


def _link_with_lld(
    objects: Sequence[Path], target: Target, entries: Sequence[str], compiler: str, script: Path, output: Path
) -> None:
    """Links with lld, which takes milliseconds; `zig cc` would first compile its run-time library for seconds."""
    linker = (zig_command(), "ld.lld") if compiler == "zig" else (lld_command(),)
    command = [
        *linker, f"--script={script}", "--gc-sections", "-z", "max-page-size=4096",
        f"--entry={entries[0]}", *(f"--undefined={name}" for name in entries), "-o", str(output),
        *map(str, objects), *map(str, _runtime_objects(target, compiler)),
    ]  # fmt: skip
    try:
        run_tool(command, "the program does not link")
    except ToolchainError as error:
        if not missing_symbols(error):
            raise
        runtime = compiler_runtime(target) if compiler == "zig" else _libgcc(target)
        run_tool([*command, str(runtime)], "the program does not link")


def missing_symbols(error: ToolchainError) -> tuple[str, ...]:
    """The functions of a compiler's run-time library that a link did not find; none where it failed for another reason."""
    missing = _UNDEFINED.findall(error.output)
    return tuple(missing) if all(name.startswith("__") for name in missing) else ()


def _runtime_objects(target: Target, compiler: str) -> tuple[Path, ...]:
    # Without built-ins, or the compiler would replace memcpy's loop by a call of memcpy.
    return compile_objects(
        RUNTIME, target, compiler=compiler, flags=("-fno-builtin", "-Wno-pedantic", "-Wno-reserved-identifier")
    )


def _libgcc(target: Target) -> Path:
    """GCC's run-time library for the target; distributions have no run-time library of clang's for it."""
    tool = find_compiler("gcc", target)
    return Path(tool_output([*tool.c, *target.gcc_flags, "-print-libgcc-file-name"]))


def compiler_runtime(target: Target) -> Path:
    """Zig's run-time library for the target: software floating point and the like. It takes seconds to make, once."""
    zig = Path(zig_command())
    key = digest(find_compiler("zig", target).identity, target.zig_target, target.zig_cpu)

    def make(folder: Path) -> None:
        command = [
            str(zig), "build-lib", str(zig.parent / "lib" / "compiler_rt.zig"), "-O", "ReleaseSmall", "-fstrip",
            "-target", target.zig_target, "-mcpu", target.zig_cpu, "-ffunction-sections", "-fdata-sections",
            f"-femit-bin={folder / 'libcompiler_rt.a'}",
        ]  # fmt: skip
        run_tool(command, f"zig's run-time library does not compile for {target.name}")

    return cached("libraries", key, make) / "libcompiler_rt.a"
