"""A linked program for a device, as data: addresses, sizes, and which function owns an address."""

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from types import MappingProxyType

from elftools.common.exceptions import ELFError
from elftools.elf.constants import SH_FLAGS
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import Section, SymbolTableSection
from elftools.elf.sections import Symbol as ElfSymbol

from kibi.errors import ToolchainError
from kibi.toolchain.layout import LAYOUT, MemoryLayout

FLASH_ADDRESS = LAYOUT.flash.address
RAM_ADDRESS = LAYOUT.ram.address
WEIGHTS_SECTION = ".weights"
_MACHINES = {("ARM", 32), ("RISC-V", 32)}
_CODE = ("$t", "$x")
"""What marks code: Thumb's and RISC-V's mapping symbols, `$x` with or without the extensions after it."""
_DATA = "$d"


@dataclass(frozen=True, slots=True)
class Symbol:
    """A function or object: its address (without the Thumb bit) and its size in bytes."""

    address: int
    size: int


@dataclass(frozen=True, slots=True)
class Segment:
    """A section that occupies memory when the program runs.

    Attributes:
        name: the section's name, such as `.text`.
        address: its address at run time.
        size_bytes: its size there.
        data: its initial contents; empty where it starts as zeros.
        writable, executable: True if the program may write it, or execute it.
    """

    name: str
    address: int
    size_bytes: int
    data: bytes = field(repr=False)
    writable: bool
    executable: bool


@dataclass(frozen=True, slots=True)
class Image:
    """A program, linked for a device.

    Attributes:
        path: the ELF file.
        code_bytes: flash for everything but weights: code, constants, initial values of `.data`, and alignment between.
        weights_bytes: flash for the read-only data of the `*_weights` sources.
        data_bytes: RAM for initialised variables.
        bss_bytes: RAM for variables that start as zeros.
        symbols: functions and objects by name; of several with one name, a global one.
        segments: the segments to load, by address.
        code_spans: the ranges `(first, end)` of addresses that hold instructions, without the data between them.
        functions: `(first, end, name)` of each function, by address.
    """

    path: Path
    code_bytes: int
    weights_bytes: int
    data_bytes: int
    bss_bytes: int
    symbols: Mapping[str, Symbol] = field(repr=False)
    segments: tuple[Segment, ...] = field(repr=False)
    code_spans: tuple[tuple[int, int], ...] = field(repr=False)
    functions: tuple[tuple[int, int, str], ...] = field(repr=False)

    def function_at(self, address: int) -> str:
        """The name of the function that contains an address; empty if none does."""
        index = bisect_right(self.functions, address, key=lambda entry: entry[0]) - 1
        if index < 0 or address >= self.functions[index][1]:
            return ""
        return self.functions[index][2]

    @property
    def code_range(self) -> tuple[int, int]:
        """The address of the first instruction, and the one after the last; zeros without code."""
        if not self.code_spans:
            return 0, 0
        return min(first for first, _ in self.code_spans), max(end for _, end in self.code_spans)

    @property
    def code(self) -> tuple[tuple[int, bytes], ...]:
        """The pieces that hold instructions alone, each with its address."""
        return tuple(
            (first, segment.data[first - segment.address : end - segment.address])
            for segment in self.segments
            for first, end in self.code_spans
            if segment.address <= first < segment.address + len(segment.data)
        )


@dataclass(frozen=True, slots=True)
class _Entry:
    """One line of the symbol table."""

    name: str
    address: int
    size: int
    kind: str
    is_global: bool
    section: int


def read_image(path: Path, layout: MemoryLayout = LAYOUT) -> Image:
    """Reads a linked ELF file for a 32-bit Arm or RISC-V device.

    Args:
        path: the file.
        layout: what it was linked for.

    Raises:
        ToolchainError: the file cannot be read, or is not such a file.
    """
    start = layout.flash.address
    try:
        with path.open("rb") as stream:
            elf = ELFFile(stream)
            if (elf.get_machine_arch(), elf.elfclass) not in _MACHINES or elf["e_type"] != "ET_EXEC":
                raise ToolchainError(f"{path} is not a program for a 32-bit Arm or RISC-V device.")
            return image_of(path, elf, lambda each, weights: _flash_end(each, start) - start - weights)
    except (OSError, ELFError) as error:
        raise ToolchainError(f"cannot read the program {path}: {error}") from error


def image_of(path: Path, elf: ELFFile, code_bytes: Callable[[ELFFile, int], int]) -> Image:
    """Returns what a linked ELF file holds.

    Args:
        path: the file.
        elf: the same, open.
        code_bytes: from the file and the bytes of its weights to those of its code.
    """
    sections = list(elf.iter_sections())
    thumb_bit = int(elf.get_machine_arch() == "ARM")
    loaded = {
        index: section
        for index, section in enumerate(sections)
        if section["sh_flags"] & SH_FLAGS.SHF_ALLOC and section["sh_size"]
    }
    segments = tuple(sorted((_segment(section) for section in loaded.values()), key=lambda segment: segment.address))
    table = [
        _entry(symbol, thumb_bit)
        for section in sections
        if isinstance(section, SymbolTableSection)
        for symbol in section.iter_symbols()
    ]
    code = {index: section for index, section in loaded.items() if section["sh_flags"] & SH_FLAGS.SHF_EXECINSTR}
    weights_bytes = sum(segment.size_bytes for segment in segments if segment.name == WEIGHTS_SECTION)
    return Image(
        path=path,
        code_bytes=code_bytes(elf, weights_bytes),
        weights_bytes=weights_bytes,
        data_bytes=sum(segment.size_bytes for segment in segments if segment.writable and segment.data),
        bss_bytes=sum(segment.size_bytes for segment in segments if segment.writable and not segment.data),
        symbols=_symbols(table),
        segments=segments,
        code_spans=_code_spans(table, code),
        functions=_functions(table, code),
    )


def _segment(section: Section) -> Segment:
    flags = section["sh_flags"]
    return Segment(
        name=section.name,
        address=section["sh_addr"],
        size_bytes=section["sh_size"],
        data=b"" if section["sh_type"] == "SHT_NOBITS" else bytes(section.data()),
        writable=bool(flags & SH_FLAGS.SHF_WRITE),
        executable=bool(flags & SH_FLAGS.SHF_EXECINSTR),
    )


def _flash_end(elf: ELFFile, flash_address: int) -> int:
    """The address after the last used byte of flash; initial values of variables count by their load address."""
    loads = [header for header in elf.iter_segments() if header["p_type"] == "PT_LOAD" and header["p_filesz"]]
    return max((header["p_paddr"] + header["p_filesz"] for header in loads), default=flash_address)


def _entry(symbol: ElfSymbol, thumb_bit: int) -> _Entry:
    info = symbol["st_info"]
    section = symbol["st_shndx"]
    is_function = info["type"] == "STT_FUNC"
    return _Entry(
        name=symbol.name,
        address=symbol["st_value"] & ~thumb_bit if is_function else symbol["st_value"],
        size=symbol["st_size"],
        kind="function" if is_function else "object" if info["type"] in ("STT_OBJECT", "STT_NOTYPE") else "",
        is_global=info["bind"] != "STB_LOCAL",
        section=section if isinstance(section, int) else 0,
    )


def _is_mapping(name: str) -> bool:
    return name.startswith("$x") or (name[:2] in ("$t", _DATA, "$a") and (len(name) == 2 or name[2] == "."))


def _symbols(table: Sequence[_Entry]) -> Mapping[str, Symbol]:
    named = [entry for entry in table if entry.kind and entry.name and entry.section and not _is_mapping(entry.name)]
    named.sort(key=lambda entry: entry.is_global)  # the last one of a name stays
    return MappingProxyType({entry.name: Symbol(entry.address, entry.size) for entry in named})


def _functions(table: Sequence[_Entry], code: Mapping[int, Section]) -> tuple[tuple[int, int, str], ...]:
    """Functions by address; one without a size, as assembly has them, reaches to the next or to its section's end."""
    found: dict[int, _Entry] = {}
    for entry in sorted(table, key=lambda entry: (entry.is_global, entry.size, entry.name)):
        if entry.kind == "function" and entry.section in code:
            found[entry.address] = entry
    ordered = sorted(found)
    result = []
    for number, address in enumerate(ordered):
        entry, section = found[address], code[found[address].section]
        section_end = section["sh_addr"] + section["sh_size"]
        following = ordered[number + 1] if number + 1 < len(ordered) else section_end
        result.append((address, address + entry.size if entry.size else min(following, section_end), entry.name))
    return tuple(result)


def _code_spans(table: Sequence[_Entry], code: Mapping[int, Section]) -> tuple[tuple[int, int], ...]:
    """Returns the address ranges of instructions, by the mapping symbols of the ELF specifications of Arm and RISC-V."""
    spans = []
    for index, section in code.items():
        first, end = section["sh_addr"], section["sh_addr"] + section["sh_size"]
        marks = {entry.address: entry.name[:2] for entry in table if entry.section == index and _is_mapping(entry.name)}
        borders = [*sorted(marks.items()), (end, _DATA)]
        spans += [
            (address, following)
            for (address, mark), (following, _) in pairwise(borders)
            if mark in _CODE and first <= address < following
        ]
    return tuple(sorted(spans))
