"""Programs at the addresses of a board."""

from pathlib import Path

import pytest

from kibi.errors import ToolchainError
from kibi.targets import target as target_named
from kibi.toolchain import LAYOUT, MemoryLayout, MemoryRange, build_image

_CODE = """
int counts[5];
int f(int n);
int f(int n) { return counts[n]++; }
"""


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A function with variables."""
    path = tmp_path / "code.c"
    path.write_text(_CODE, encoding="utf-8")
    return path


def test_program_is_linked_where_the_layout_says(source: Path) -> None:
    """The sizes are the same as at the addresses of the emulated core."""
    layout = MemoryLayout(MemoryRange(0, 1 << 16), MemoryRange(0x3800_0000, 1 << 12))
    usual, moved = (
        build_image([source], target_named("cortex-m3"), entries=["f"], layout=each) for each in (LAYOUT, layout)
    )
    addresses = {each.name: each.address for each in moved.segments}
    assert addresses == {".text": 0, ".bss": 0x3800_0000}
    assert (moved.code_bytes, moved.bss_bytes) == (usual.code_bytes, usual.bss_bytes)
    assert {each.name: each.address for each in usual.segments}[".text"] == LAYOUT.flash.address


def test_program_that_does_not_fit_is_refused(source: Path) -> None:
    """By the linker."""
    layout = MemoryLayout(MemoryRange(0, 8), MemoryRange(0x2000_0000, 1 << 12))
    with pytest.raises(ToolchainError, match="does not link"):
        build_image([source], target_named("cortex-m3"), entries=["f"], layout=layout)


@pytest.mark.parametrize(("address", "size"), [(-4, 8), (0, 0), (0xFFFF_FFFF, 2)])
def test_range_that_is_none_is_refused(address: int, size: int) -> None:
    """Outside of 32 bits, or empty."""
    with pytest.raises(ToolchainError, match="within 32 bits"):
        MemoryRange(address, size)


def test_range_holds_what_is_inside() -> None:
    """To the byte."""
    given = MemoryRange(8, 8)
    assert (given.holds(8, 8), given.holds(7, 1), given.holds(9, 8), given.holds(15)) == (True, False, False, True)
