"""Functions in assembly under flags that let compilers add code to every function of a program."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

import kibi
import kibi.demo
from kibi.kernels import kernel_folder, text_of
from kibi.targets import Target, target
from kibi.toolchain import compile_objects
from tests.kernels.flagged import run_flagged
from tests.support.amount import sample
from tests.toolchain.tools import check_cross

_SETS = {
    "armv7em": "cortex-m4",
    "armv7m": "cortex-m3",
    "armv6m": "cortex-m0plus",
    "thumb2": "cortex-m3",
    "riscv": "rv32imac",
    "helium": "cortex-m55",
}
_NAKED = re.compile(
    r"^(?:static KIBI_NOINLINE )?KIBI_NAKED (?:__attribute__\(\(aligned\(4\)\)\) )?[\w ]+[ *](\w+)\(", re.MULTILINE
)
_INCLUDED = re.compile(r'^#include "([\w.]+)"', re.MULTILINE)
_CORES = ("cortex-m4", "cortex-m3", "cortex-m0plus")
"""Those that both compilers build for."""
_HOOKS = Path(__file__).with_name("hooks.c")
_PROFILED = "-finstrument-functions --coverage -fstack-protector-all"
_INSTRUMENTED = (
    ("gcc", f"{_PROFILED} -fpatchable-function-entry=4"),
    ("gcc", "-pg -fno-omit-frame-pointer"),
    ("gcc", "-flto"),
    ("gcc", "-flto -O3 -fstack-protector-all"),
    ("zig", "-finstrument-functions -fstack-protector-all"),
)
_HOOK_FLAGS = {"gcc": ("-fno-builtin",), "zig": ("-fno-builtin", "-Wno-reserved-identifier")}
_EVERY = {
    "gcc": (
        "-fstack-protector-all", "-finstrument-functions", "--coverage", "-fprofile-generate", "-pg -fno-omit-frame-pointer",
        "-fpatchable-function-entry=4,2", "-fsanitize=undefined", "-fsanitize=address", "-fsanitize=thread",
        "-fsanitize-coverage=trace-pc", "-fzero-call-used-regs=all", "-fstack-check", "-fstack-clash-protection", "-fpic",
        "-fno-omit-frame-pointer", "-mlong-calls", "-O0", "-O3", "-g3",
    ),
    "zig": (
        "-fstack-protector-all", "-finstrument-functions", "--coverage", "-fprofile-generate",
        "-fprofile-instr-generate -fcoverage-mapping", "-pg -fno-omit-frame-pointer", "-fsanitize=undefined",
        "-fsanitize=address", "-fsanitize-coverage=trace-pc-guard", "-fsanitize=function", "-fno-omit-frame-pointer", "-fpic",
        "-mlong-calls", "-O0", "-O3", "-g3",
    ),
}  # fmt: skip
_TOGETHER = {
    "gcc": (f"{_PROFILED} -fpatchable-function-entry=4,2 -fsanitize=undefined,address -O0",),
    "zig": (f"{_PROFILED} -fsanitize=undefined -O0",),
}
_FLAGS = [
    pytest.param(compiler, flags, marks=[pytest.mark.cross] * (compiler == "gcc") + [pytest.mark.slow] * is_slow)
    for is_slow, each in ((False, _TOGETHER), (True, _EVERY))
    for compiler, every in each.items()
    for flags in every
]
"""Flags of all kinds together in each run of the tests; each alone in `make check-all`."""


def _files(kernel_set: str, folder: Path) -> dict[Path, list[str]]:
    """The sources of a set with functions in assembly, their own or a header's, and the names of these; beside all headers."""
    for path in (*kernel_folder("portable").glob("*.h"), *kernel_folder(kernel_set).iterdir()):
        (folder / path.name).write_text(text_of(path.name, (kernel_set, "portable")).text, encoding="utf-8")
    found = {
        path: [name for text in _texts(path) for name in _NAKED.findall(text)] for path in sorted(folder.glob("*.c"))
    }
    return {path: names for path, names in found.items() if names}


def _texts(source: Path) -> list[str]:
    """Of a source and the headers that it includes itself."""
    text = source.read_text(encoding="utf-8")
    return [text, *((source.parent / name).read_text(encoding="utf-8") for name in _INCLUDED.findall(text))]


def _functions(path: Path) -> dict[str, bytes]:
    """The code of each function of an object file."""
    with path.open("rb") as stream:
        elf = ELFFile(stream)
        symbols = elf.get_section_by_name(".symtab")
        assert isinstance(symbols, SymbolTableSection)
        found = {}
        for symbol in symbols.iter_symbols():
            if symbol["st_info"]["type"] == "STT_FUNC" and symbol["st_size"]:
                first = symbol["st_value"] & ~1
                found[symbol.name] = elf.get_section(symbol["st_shndx"]).data()[first : first + symbol["st_size"]]
        return found


def _compiled(
    files: Mapping[Path, Sequence[str]], core: Target, compiler: str, flags: Sequence[str]
) -> dict[tuple[str, str], bytes]:
    """The code of each function in assembly, by its file and name."""
    folder = next(iter(files)).parent
    objects = compile_objects(list(files), core, compiler=compiler, includes=[folder], flags=flags)
    return {
        (source.name, name): _functions(made)[name]
        for (source, names), made in zip(files.items(), objects, strict=True)
        for name in names
    }


@pytest.mark.share(2, part=1)
@pytest.mark.parametrize("kernel_set", _SETS)
@pytest.mark.parametrize(("compiler", "flags"), _FLAGS)
def test_kernel_in_assembly_under_any_flag_keeps_its_bytes(
    kernel_set: str, compiler: str, flags: str, tmp_path: Path
) -> None:
    """Nothing is added to such a function before its end, however the rest of a program is instrumented."""
    if kernel_set == "riscv" and (compiler == "gcc" or flags == "-mlong-calls"):
        pytest.skip("no flag, or no compiler, of RISC-V")
    if compiler == "gcc":
        check_cross()
    files, core = _files(kernel_set, tmp_path), target(_SETS[kernel_set])
    assert files
    wanted = _compiled(files, core, compiler, ())
    found = _compiled(files, core, compiler, flags.split())
    # After the last instruction, which returns, gcc adds a nop where it does not optimize.
    assert not [name for name, code in wanted.items() if not found[name].startswith(code)]
    assert all(len(code) >= 20 for code in wanted.values())


def test_kernels_in_assembly_are_all_looked_at(tmp_path: Path) -> None:
    """Each file that marks functions has as many whose names are found, and nothing is marked by other means."""
    for kernel_set in _SETS:
        folder = tmp_path / kernel_set
        folder.mkdir()
        found = {name for names in _files(kernel_set, folder).values() for name in names}
        texts = {path.name: path.read_text(encoding="utf-8") for path in folder.glob("kibi_*")}
        assert "((naked" in texts.pop("kibi_assembly.h")
        marked = {name: _NAKED.findall(text) for name, text in texts.items() if "KIBI_NAKED" in text}
        assert all(marked.values())
        assert found == {name for names in marked.values() for name in names}
        assert not [name for name, text in texts.items() if "((naked" in text]


@pytest.mark.share(2, part=0)
@pytest.mark.parametrize(
    ("compiler", "flags", "name"),
    sample(
        [(*each, core) for each in _INSTRUMENTED for core in _CORES],
        [
            (*each, _CORES[number % len(_CORES)])
            for number, each in enumerate(_INSTRUMENTED)
            if each != ("gcc", "-flto")
        ],
    ),
)
def test_model_of_instrumented_code_gives_the_same_bits(
    name: str, compiler: str, flags: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The shipped model computes what it does without, on the core, with hooks that change all that they may."""
    if compiler == "gcc":
        check_cross()
    model = kibi.load(kibi.demo.model_path())
    images, _ = kibi.demo.samples()
    inputs = [(images[3].astype(np.int16) - 128).astype(np.int8).reshape(1, 28, 28, 1)]
    plan = kibi.plan(model, name, granularity="tensor")
    hooks = compile_objects([_HOOKS], target(name), compiler=compiler, flags=_HOOK_FLAGS[compiler])
    found = run_flagged(
        monkeypatch, tmp_path, model, plan, inputs, target(name), compiler, flags.split(), further=hooks
    )
    assert found[0].tobytes() == kibi.run(model, plan, inputs)[0].tobytes()
