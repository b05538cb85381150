"""What kernels take of flash on cores that have several for one layer, recorded for `--goal flash`, which needs no compiler.

    python benchmarks/code_sizes.py            measure, and show what differs from the record
    python benchmarks/code_sizes.py --write    ... and record it in `src/kibi/selection/code_sizes.json`
    python benchmarks/code_sizes.py --check    ... and end with 1 where it differs

Each function that a choice may bring into a library is compiled once for each set of the parts that layers may need of it, and that
change its code. Sizes depend on the compiler, which the record names; the order of kernels by size hardly does.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from itertools import product
from pathlib import Path
from typing import Any

from elftools.elf.constants import SH_FLAGS
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

from kibi.codegen.library import FEATURE
from kibi.kernels import INCLUDE, closure
from kibi.selection.choice import VARIANTS
from kibi.selection.code_sizes import RECORD, RECORDED_TARGET
from kibi.targets import target
from kibi.toolchain.compile import compile_objects

LEVEL = "s"


@dataclass(frozen=True, slots=True)
class Size:
    """A compiled function: its bytes of code and constants, the symbols that it uses, and those that it has for other files."""

    code_bytes: int
    calls: tuple[str, ...]
    defines: tuple[str, ...] = ()


def main() -> None:
    """Measure, compare, and record or fail where that is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="record what was measured")
    parser.add_argument("--check", action="store_true", help="fail where the record says otherwise")
    arguments = parser.parse_args()
    known = json.loads(RECORD.read_text(encoding="utf-8"))["functions"] if RECORD.is_file() else {}
    found = measured(chosen_kernels())
    differing = [name for name in sorted({*known, *found}) if known.get(name) != found.get(name)]
    for name in differing:
        print(f"{name}: {_shown(known.get(name))} -> {_shown(found.get(name))}")
    if arguments.write:
        RECORD.write_text(text_of(found), encoding="utf-8", newline="\n")
    if arguments.check and differing:
        print("The record of code sizes is another one. Write it anew: python benchmarks/code_sizes.py --write")
        sys.exit(1)


def chosen_kernels() -> frozenset[str]:
    """The kernels that a choice is between: variants for the recorded processor, and the general kernels that they replace."""
    sets = target(RECORDED_TARGET).kernel_sets
    variants = [each for each in VARIANTS if each.kernel_set in sets and each.goals]
    return frozenset(name for each in variants for name in (each.kernel, each.of))


def measured(kernels: frozenset[str]) -> dict[str, Any]:
    """The record of these kernels and of all functions that they call, by name."""
    core = target(RECORDED_TARGET)
    texts = {name: text.text for name, text in closure(kernels, core.kernel_sets).items()}
    found, owners = dict[str, Any](), dict[str, str]()
    with tempfile.TemporaryDirectory() as folder:
        for name, text in texts.items():
            (Path(folder) / name).write_text(text, encoding="utf-8")
        for name in texts:
            if name.endswith(".c"):
                source = Path(folder) / name
                parts = _parts_that_count(source, parts_of(name, texts))
                sizes = [_size(source, parts, needed) for needed in _subsets(parts)]
                found[source.stem] = record_of(parts, sizes)
                owners |= dict.fromkeys(sizes[-1].defines, source.stem)
    return {name: _by_file(entry, owners) for name, entry in sorted(found.items())}


def _by_file(entry: Mapping[str, Any], owners: Mapping[str, str]) -> dict[str, Any]:
    """A function's record, in which tables of other files are called by the names of these files."""
    calls = dict[str, int]()
    for symbol, sets in entry["calls"].items():
        name = owners.get(symbol, symbol)
        calls[name] = calls.get(name, 0) | int(sets, 16)
    return {**entry, "calls": {name: f"{sets:x}" for name, sets in sorted(calls.items())}}


def record_of(parts: list[str], sizes: list[Size]) -> dict[str, Any]:
    """The sizes of a function, for all sets of its parts in the order of numbers whose bit N is part N.

    Of each function that it calls, bit S of a hexadecimal number says whether set S of its parts does.
    """
    called = sorted({name for each in sizes for name in each.calls})
    calls = {name: f"{sum((name in each.calls) << bit for bit, each in enumerate(sizes)):x}" for name in called}
    return {"parts": parts, "sizes": [each.code_bytes for each in sizes], "calls": calls}


def _parts_that_count(source: Path, parts: list[str]) -> list[str]:
    """Those parts that change the code of a file, alone or besides all others: a header declares some that others use."""
    found = []
    for part in parts:
        none, others = tuple(False for _ in parts), tuple(each != part for each in parts)
        only, every = tuple(each == part for each in parts), tuple(True for _ in parts)
        pairs = ((none, only), (others, every))
        if any(_code(source, parts, without) != _code(source, parts, besides) for without, besides in pairs):
            found.append(part)
    return found


def parts_of(file: str, texts: Mapping[str, str]) -> list[str]:
    """The macros of the parts that a file or the headers that it includes declare, sorted."""
    waiting, seen = [file], set[str]()
    while waiting:
        name = waiting.pop()
        if name in texts and name not in seen:
            seen.add(name)
            waiting += INCLUDE.findall(texts[name])
    return sorted({part for name in seen for part in FEATURE.findall(texts[name])})


def _subsets(parts: list[str]) -> Iterator[tuple[bool, ...]]:
    """Which parts are needed, in the order of numbers whose bit N is part N."""
    for choice in product((False, True), repeat=len(parts)):
        yield choice[::-1]


def _compiled(source: Path, parts: list[str], needed: tuple[bool, ...]) -> Path:
    flags = [f"-D{part}={int(is_needed)}" for part, is_needed in zip(parts, needed, strict=True)]
    (path,) = compile_objects([source], target(RECORDED_TARGET), level=LEVEL, includes=[source.parent], flags=flags)
    return path


def _code(source: Path, parts: list[str], needed: tuple[bool, ...]) -> list[tuple[str, bytes]]:
    """The contents of the sections that go into flash."""
    with _compiled(source, parts, needed).open("rb") as stream:
        sections = ELFFile(stream).iter_sections()
        return [(each.name, each.data()) for each in sections if each["sh_flags"] & SH_FLAGS.SHF_ALLOC]


def _size(source: Path, parts: list[str], needed: tuple[bool, ...]) -> Size:
    with _compiled(source, parts, needed).open("rb") as stream:
        return size_of(ELFFile(stream))


def size_of(elf: ELFFile) -> Size:
    """What an object file takes of flash, which symbols of other files it uses, and which it has for them."""
    total, calls, defines = 0, set[str](), set[str]()
    for section in elf.iter_sections():
        if section["sh_flags"] & SH_FLAGS.SHF_ALLOC and ".ARM." not in section.name:
            total += -(-section["sh_size"] // 4) * 4
        if isinstance(section, SymbolTableSection):
            for each in section.iter_symbols():
                if each.name.startswith("kibi_") and each["st_info"]["bind"] == "STB_GLOBAL":
                    (calls if each["st_shndx"] == "SHN_UNDEF" else defines).add(each.name)
    return Size(total, tuple(sorted(calls)), tuple(sorted(defines)))


def text_of(functions: Mapping[str, Any]) -> str:
    """The record as JSON, a line for each function."""
    lines = ",\n".join(f"  {json.dumps(name)}: {json.dumps(each)}" for name, each in functions.items())
    made_by = json.dumps(f"zig {version('ziglang')} -O{LEVEL}, {RECORDED_TARGET}")
    return f'{{\n "made_by": {made_by},\n "functions": {{\n{lines}\n }}\n}}\n'


def _shown(entry: Mapping[str, Any] | None) -> str:
    return "nothing" if entry is None else ", ".join(map(str, entry["sizes"]))


if __name__ == "__main__":
    main()
