"""What a GDB server describes in XML, read with no more trust than numbers and names need: registers, and blocks of flash.

No XML parser reads it: the text may be anything, and the few attributes that count are found by their spelling. What is not
understood is left out.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

_MOST_NUMBER = 1 << 32
_MOST_REGISTERS = 4096
_MOST_REGIONS = 64
_MOST_BLOCK_BYTES = 1 << 24
_REGISTER = re.compile(r"<reg\s([^<>]{0,400})>")
_INCLUDE = re.compile(r"<xi:include\s[^<>]{0,100}?href=\"([A-Za-z0-9_.-]{1,64})\"[^<>]{0,100}>")
_PART = re.compile(rf"{_INCLUDE.pattern}|{_REGISTER.pattern}")
_ATTRIBUTE = re.compile(r"([a-z_-]{1,20})\s*=\s*[\"']([^\"'<>]{0,64})[\"']")
_MEMORY = re.compile(r"<memory\s([^<>]{0,400})>((?:(?!<memory|</memory>).){0,1000})", re.DOTALL)
_BLOCK = re.compile(r"<property\s+name\s*=\s*[\"']blocksize[\"']\s*>\s*([0-9a-fA-Fx]{1,12})\s*</property>")


@dataclass(frozen=True, slots=True)
class Register:
    """A register of the core, as the server numbers it.

    Attributes:
        number: its number.
        bits: its width.
    """

    number: int
    bits: int


@dataclass(frozen=True, slots=True)
class FlashBlocks:
    """A range of flash that is erased block by block.

    Attributes:
        address: the first address.
        size_bytes: its size.
        block_bytes: the size of each block.
    """

    address: int
    size_bytes: int
    block_bytes: int

    @property
    def end(self) -> int:
        """The first address after it."""
        return self.address + self.size_bytes


CORE_REGISTERS: Mapping[str, Register] = MappingProxyType(
    {
        **{f"r{number}": Register(number, 32) for number in range(13)},
        **{name: Register(13 + number, 32) for number, name in enumerate(("sp", "lr", "pc"))},
        "xpsr": Register(25, 32),
    }
)
"""The numbers that servers without a description use."""


_OF_RISCV = ("ra", "sp", *(f"a{number}" for number in range(8)), "pc")


def parts_of(text: str) -> Iterator[tuple[str, str]]:
    """Yields, in their order, the names of descriptions to include, and the attributes of registers: one of the two is empty."""
    for found in _PART.finditer(text):
        yield found[1] or "", found[2] or ""


def registers_of(attributes: list[str]) -> Mapping[str, Register]:
    """Returns the registers by name; those that no number is given for follow their predecessors.

    Args:
        attributes: the text of each register's element, in order.

    Returns:
        The registers of an Arm or a RISC-V core; those of a server without a description where one that a call needs is missing.
    """
    found: dict[str, Register] = {}
    number: int | None = 0
    for text in attributes[:_MOST_REGISTERS]:
        given = dict(_ATTRIBUTE.findall(text))
        number = _number(given.get("regnum", "")) if "regnum" in given else number
        bits = _number(given.get("bitsize", "32"))
        if number is None or number >= _MOST_REGISTERS or bits is None or not 1 <= bits <= 1024:
            break
        found.setdefault(given.get("name", "").lower(), Register(number, bits))
        number += 1
    if "xpsr" not in found and "cpsr" in found:
        found["xpsr"] = found["cpsr"]
    is_whole = all(name in found and found[name].bits == CORE_REGISTERS[name].bits for name in CORE_REGISTERS)
    is_riscv = all(name in found and found[name].bits == 32 for name in _OF_RISCV)
    return MappingProxyType(found) if is_whole or is_riscv else CORE_REGISTERS


def flash_of(text: str) -> tuple[FlashBlocks, ...]:
    """Returns the ranges that a memory map calls flash, by address; those that overlap others are left out."""
    found: list[FlashBlocks] = []
    for attributes, content in list(_MEMORY.findall(text))[:_MOST_REGIONS]:
        given, block = dict(_ATTRIBUTE.findall(attributes)), _BLOCK.search(content)
        start, length = _number(given.get("start", "")), _number(given.get("length", ""))
        size = _number(block[1]) if block else None
        if given.get("type") != "flash" or start is None or not length or not size or size > _MOST_BLOCK_BYTES:
            continue
        if start + length <= _MOST_NUMBER and not length % size:
            found.append(FlashBlocks(start, length, size))
    kept: list[FlashBlocks] = []
    for each in sorted(found, key=lambda each: each.address):
        if not kept or kept[-1].end <= each.address:
            kept.append(each)
    return tuple(kept)


def _number(text: str) -> int | None:
    try:
        value = int(text, 16) if text.lower().startswith("0x") else int(text)
    except ValueError:
        return None
    return value if 0 <= value < _MOST_NUMBER else None
