"""The functions that compilers call by themselves, on the smallest core, against Python's own arithmetic."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.strategies import DataObject

from kibi.emulator import Core
from kibi.targets import target as target_named
from kibi.toolchain import build_image

_TEXT = """
#include <stdint.h>
#include <string.h>
uint32_t divide(uint32_t a, uint32_t b, uint32_t *r) { *r = a % b; return a / b; }
int32_t divide_signed(int32_t a, int32_t b, int32_t *r) { *r = a % b; return a / b; }
void multiply(uint64_t a, uint64_t b, uint64_t *r) { *r = a * b; }
void left(uint64_t *a, uint32_t by) { *a <<= by; }
void right(uint64_t *a, uint32_t by) { *a >>= by; }
void right_signed(int64_t *a, uint32_t by) { *a >>= by; }
void copy(uint8_t *to, const uint8_t *from, uint32_t n) { memcpy(to, from, n); }
void move(uint8_t *to, const uint8_t *from, uint32_t n) { memmove(to, from, n); }
void fill(uint8_t *to, int32_t value, uint32_t n) { memset(to, value, n); }
int32_t compare(const uint8_t *a, const uint8_t *b, uint32_t n) { return memcmp(a, b, n); }
"""
_NAMES = ("divide", "divide_signed", "multiply", "left", "right", "right_signed", "copy", "move", "fill", "compare")
_WORDS = st.integers(0, 2**32 - 1) | st.sampled_from([0, 1, 2, 3, 0xFFFF, 0x10000, 2**31, 2**32 - 1])
_LONGS = st.integers(0, 2**64 - 1) | st.sampled_from([0, 1, 2**32, 2**63, 2**64 - 1])


@pytest.fixture(scope="module", params=["cortex-m0plus", "cortex-m4"])
def core(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Core:
    """A core with one function per operation."""
    source = tmp_path_factory.mktemp("runtime") / "operations.c"
    source.write_text(_TEXT, encoding="utf-8")
    target = target_named(request.param)
    core = Core(build_image([source], target, entries=_NAMES), target)
    core.allocate("block", 256)
    return core


def _block(core: Core) -> int:
    return next(block.address for block in core.blocks if block.name == "block")


def _signed(value: int, bits: int) -> int:
    return value - (1 << bits) if value >> (bits - 1) else value


@settings(max_examples=60)
@given(a=_WORDS, b=_WORDS)
def test_division_equals_python(core: Core, a: int, b: int) -> None:
    """Quotient and remainder, unsigned and signed, truncated towards zero."""
    block = _block(core)
    if b == 0:
        return
    assert core.call("divide", a, b, block).value == a // b
    assert int.from_bytes(core.read(block, 4), "little") == a % b
    x, y = _signed(a, 32), _signed(b, 32)
    if (x, y) != (-(2**31), -1):
        quotient = abs(x) // abs(y) * (-1 if (x < 0) != (y < 0) else 1)
        assert core.call("divide_signed", x, y, block).signed_value == quotient
        assert int.from_bytes(core.read(block, 4), "little", signed=True) == x - quotient * y


@settings(max_examples=60)
@given(a=_LONGS, b=_LONGS, by=st.integers(0, 63))
def test_wide_arithmetic_equals_python(core: Core, a: int, b: int, by: int) -> None:
    """64-bit products and shifts."""
    block = _block(core)
    core.call("multiply", a & 0xFFFF_FFFF, a >> 32, b & 0xFFFF_FFFF, b >> 32, block)
    assert int.from_bytes(core.read(block, 8), "little") == a * b % 2**64
    for name, expected in (
        ("left", (a << by) % 2**64),
        ("right", a >> by),
        ("right_signed", (_signed(a, 64) >> by) % 2**64),
    ):
        core.write(block, a.to_bytes(8, "little"))
        core.call(name, block, by)
        assert int.from_bytes(core.read(block, 8), "little") == expected, name


@settings(max_examples=60)
@given(data=st.data())
def test_memory_functions_equal_python(core: Core, data: DataObject) -> None:
    """Copies, overlapping moves, fills and comparisons at all alignments touch exactly their bytes."""
    block = _block(core)
    before = data.draw(st.binary(min_size=256, max_size=256))
    size = data.draw(st.integers(0, 80))
    to, source = data.draw(st.integers(0, 90)), data.draw(st.integers(0, 90))
    value = data.draw(st.integers(0, 255))
    for name, second, expected in (
        ("copy", block + 170 + source % 6, before[170 + source % 6 :][:size]),
        ("move", block + source, before[source:][:size]),
        ("fill", value, bytes([value]) * size),
    ):
        core.write(block, before)
        core.call(name, block + to, second, size)
        assert core.read(block, 256) == before[:to] + expected + before[to + size :], name
    core.write(block, before)
    left, right = before[to:][:size], before[source:][:size]
    order = core.call("compare", block + to, block + source, size).signed_value
    assert (order > 0) - (order < 0) == (left > right) - (left < right)


@pytest.mark.slow
def test_software_floats_come_from_the_compiler(tmp_path: Path) -> None:
    """A core without an FPU computes floats by zig's run-time library, which is linked only where it is needed."""
    source = tmp_path / "floats.c"
    text = "#include <stdint.h>\nint32_t f(int32_t a, int32_t b);\n"
    text += "int32_t f(int32_t a, int32_t b) { return (int32_t)((float)a / (float)b * 8.0f + 0.5f); }\n"
    source.write_text(text, encoding="utf-8")
    target = target_named("cortex-m3")
    core = Core(build_image([source], target, entries=["f"]), target)
    assert core.call("f", 7, 2).value == 28
    assert core.call("f", -7, 2).signed_value == -27
