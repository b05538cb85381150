"""The two simulators of flash are the same, and are as strict as flash is."""

import ctypes
import random
from pathlib import Path

import pytest

from kibi.toolchain import load_shared
from tests.update.flash import NEVER, Flash


class _Flash(ctypes.Structure):
    """`flash` of flash.h."""

    _fields_ = (
        *((name, ctypes.c_void_p) for name in ("bytes", "torn", "wear")),
        *(
            (name, ctypes.c_uint32)
            for name in (
                "size", "sector_bytes", "unit_bytes", "has_ecc", "random", "left", "operations", "faults", "is_off",
            )
        ),
    )  # fmt: skip


@pytest.mark.parametrize("has_ecc", [False, True])
@pytest.mark.parametrize(("sector_bytes", "unit_bytes"), [(256, 4), (4096, 8), (64, 1)])
def test_simulators_in_c_and_python_are_the_same(sector_bytes: int, unit_bytes: int, has_ecc: bool) -> None:
    """Drawn reads, programs and erases, some of them wrong, with cuts: the same bytes, wear, faults and answers."""
    library = load_shared([Path(__file__).with_name("flash.c")])
    size, rng = 4 * sector_bytes, random.Random(sector_bytes)
    data = (ctypes.c_uint8 * size)(*([0xFF] * size))
    torn, wear = (ctypes.c_uint8 * (size // unit_bytes))(), (ctypes.c_uint32 * 4)()
    pointers = (ctypes.cast(each, ctypes.c_void_p) for each in (data, torn, wear))
    c = _Flash(*pointers, size, sector_bytes, unit_bytes, has_ecc, 7, NEVER, 0, 0, 0)
    python = Flash(size, sector_bytes, unit_bytes, has_ecc=has_ecc, random=7)
    cuts = 0
    for _ in range(3000):
        c.left = python.left = rng.choice((NEVER, NEVER, 0, 1, 5))
        c.is_off = python.is_off = False
        address = rng.randrange(size // unit_bytes) * unit_bytes + (rng.random() < 0.05)
        if rng.random() < 0.2:
            place = address // sector_bytes * sector_bytes if rng.random() < 0.9 else address
            assert (library.flash_erase(ctypes.byref(c), place) == 0) == python.erase(place)
        elif rng.random() < 0.7:
            sent = rng.randbytes(unit_bytes * rng.randrange(1, 6))
            assert (library.flash_program(ctypes.byref(c), address, sent, len(sent)) == 0) == python.program(
                address, sent
            )
        else:
            count = rng.randrange(1, 40)
            got = (ctypes.c_uint8 * count)()
            failed, found = library.flash_read(ctypes.byref(c), address, got, count), python.read(address, count)
            assert (failed != 0) == (found is None)
            assert found is None or bytes(got) == found
        cuts += python.is_off
        assert (c.random, c.operations, c.faults, bool(c.is_off)) == (
            python.random, python.operations, python.faults, python.is_off,
        )  # fmt: skip
    assert bytes(data) == bytes(python.data)
    assert list(wear) == python.wear
    assert {number for number, each in enumerate(torn) if each} == python.torn
    assert min(cuts, python.faults) > 50


def test_program_only_clears_bits_and_a_cut_leaves_some() -> None:
    """What is programmed twice has the bits that both left, and is a fault; a torn unit has all bits that it should have."""
    flash = Flash(512, 256, 4)
    assert flash.program(0, b"\xf0\xff\x0f\x00")
    assert flash.faults == 0
    assert flash.program(0, b"\x3c\xff\xff\xff")
    assert flash.read(0, 4) == b"\x30\xff\x0f\x00"
    assert flash.faults == 1
    flash.left = 1
    assert not flash.program(256, bytes(8))
    assert flash.is_off
    assert not flash.program(300, bytes(4))
    assert flash.read(0, 1) is None
    flash.is_off, flash.left = False, NEVER
    assert flash.read(256, 4) == bytes(4)
    assert flash.read(260, 4) not in (bytes(4), b"\xff" * 4)
    assert flash.erase(256)
    assert flash.read(256, 8) == b"\xff" * 8
    assert flash.wear == [0, 1]
