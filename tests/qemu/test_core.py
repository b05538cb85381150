"""A core in QEMU: calls, counts, the guard, and how a call can go wrong."""

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from kibi.emulator import Core, Stored
from kibi.errors import EmulationError, ToolchainError
from kibi.qemu import QemuCore, emulated
from kibi.targets import target
from kibi.toolchain import build_image
from tests.debugger.qemu import emulated_by_qemu, needs_qemu

pytestmark = needs_qemu
_TEXT = """
#include <stdint.h>
#include <string.h>
uint32_t add(uint32_t a, uint32_t b, uint32_t c, uint32_t d, uint32_t e, uint32_t f);
uint32_t add(uint32_t a, uint32_t b, uint32_t c, uint32_t d, uint32_t e, uint32_t f)
{
    return a + 2u * b + 3u * c + 4u * d + 5u * e + 6u * f;
}
uint32_t get(const volatile uint8_t *from);
uint32_t get(const volatile uint8_t *from) { return *from; }
uint32_t word(const volatile uint32_t *from);
uint32_t word(const volatile uint32_t *from) { return *from; }
uint32_t put(volatile uint8_t *to);
uint32_t put(volatile uint8_t *to) { *to = 1; return 0; }
uint32_t jump(uint32_t (*to)(void));
uint32_t jump(uint32_t (*to)(void)) { return to() + 1u; }
void fault(void);
#ifdef __riscv
void fault(void) { __asm volatile("unimp"); }
#else
void fault(void) { __asm volatile("udf #1"); }
#endif
void endless(volatile uint32_t *to);
void endless(volatile uint32_t *to) { for (;;) { *to += 1u; } }
__attribute__((noinline)) uint32_t inner(volatile uint8_t *to, uint32_t n);
__attribute__((noinline)) uint32_t inner(volatile uint8_t *to, uint32_t n)
{
    volatile uint8_t here[40];
    here[n & 31u] = *to;
    return here[3] + (n > 5u ? 7u : n);
}
__attribute__((noinline)) uint32_t outer(volatile uint8_t *to, uint32_t n);
__attribute__((noinline)) uint32_t outer(volatile uint8_t *to, uint32_t n)
{
    uint32_t sum = 0u;
    for (uint32_t i = 0u; i < n; i++) { sum += inner(to, i); }
    return sum;
}
uint32_t both(volatile uint8_t *to, uint32_t n);
uint32_t both(volatile uint8_t *to, uint32_t n)
{
    const uint32_t one = outer(to, n);
    return one + inner(to, n) + outer(to, 2u * n);
}
uint32_t wide(volatile uint8_t *to);
uint32_t wide(volatile uint8_t *to)
{
    volatile uint8_t one[5000];
    one[0] = *to;
    return inner(one, 1u);
}
void deep(void);
void deep(void) { volatile uint8_t big[70000]; (void)inner(big, 1u); }
"""
_ENTRIES = ("add", "get", "word", "put", "jump", "fault", "endless", "both", "outer", "inner", "wide", "deep")
Loaded = Callable[..., Core | QemuCore]


@pytest.fixture
def loaded(tmp_path: Path) -> Iterator[Loaded]:
    """A function that gives a core with the program above."""
    made: list[QemuCore] = []

    def load(name: str, emulator: str = "qemu", **options: object) -> Core | QemuCore:
        processor = emulated_by_qemu(name) if emulator == "qemu" else target(name).emulated_by(emulator)
        source = tmp_path / "program.c"
        source.write_text(_TEXT, encoding="utf-8")
        image = build_image([source], processor, entries=_ENTRIES, level="2")
        core = emulated(image, processor, **options)  # type: ignore[arg-type]
        if isinstance(core, QemuCore):
            made.append(core)
        return core

    yield load
    for each in made:
        each.close()


@pytest.mark.parametrize("name", ["cortex-m0plus", "cortex-m4", "cortex-m55", "rv32imac"])
def test_core_counts_guards_and_goes_on_after_errors(name: str, loaded: Loaded) -> None:
    """Every way in which a call can end, one after the other on one core."""
    core = loaded(name, stored=[Stored("table", b"\x07\x09", 4)])
    assert core.call("add", 1, 2, 3, 4, 5, 6).value == 1 + 4 + 9 + 16 + 25 + 36
    assert core.call("get", core.stored_addresses[0] + 1).value == 9
    block = core.allocate("block", 3, alignment=1)
    assert core.read(block, 3) == b"\xa5\xa5\xa5"
    for number in range(3):
        core.call("put", block + number)
    with pytest.raises(EmulationError, match=r"forbidden write of 1 byte, 1 byte past the end of block.*in put"):
        core.call("put", block + 3)
    with pytest.raises(EmulationError, match=r"forbidden read of 1 byte, 1 byte before the start of block.*in get"):
        core.call("get", block - 1)
    fixed = core.allocate("fixed", 3, alignment=1, writable=False)
    with pytest.raises(EmulationError, match="forbidden write of 1 byte, inside fixed, which is read-only"):
        core.call("put", fixed)
    with pytest.raises(EmulationError, match="execution of something that is not code"):
        core.call("jump", block + (1 if name.startswith("cortex") else -1))
    with pytest.raises(EmulationError, match=r"the core faulted \((exception|trap) \d+\).*in fault\(\)"):
        core.call("fault")
    place = core.allocate("counter", 8, alignment=4)
    with pytest.raises(EmulationError, match=r"no end after 5000000 instructions.*in endless\(\)"):
        core.call("endless", place, instruction_limit=5_000_000)
    with pytest.raises(EmulationError, match=r"past the end|before the start|faulted|cannot be followed"):
        core.call("deep")
    with pytest.raises(EmulationError, match="the image has no function 'none'"):
        core.call("none")
    with pytest.raises(EmulationError, match="write of 4 bytes from outside"):
        core.write(block, b"four")
    words = core.allocate("words", 8, alignment=4)
    core.write(words, np.array([1, 2], np.uint32).tobytes())
    if not target(name).unaligned_words:
        with pytest.raises(EmulationError, match="misaligned access of 4 bytes, inside words"):
            core.call("word", words + 1)
    else:
        assert core.call("word", words + 1).value == 2 << 24
        with pytest.raises(EmulationError, match="forbidden read of 4 bytes, reaching 1 byte past the end of words"):
            core.call("word", words + 5)
    assert core.call("word", words).value == 1


@pytest.mark.parametrize("name", ["cortex-m0plus", "cortex-m3", "cortex-m33", "rv32imc"])
def test_operators_and_stack_are_those_of_unicorn(name: str, loaded: Loaded) -> None:
    """An operator has all that it calls, also another operator's function; skipped instructions count one each."""
    found = []
    for emulator in ("unicorn", "qemu"):
        core = loaded(name, emulator)
        place = core.allocate("place", 1, alignment=1)
        for operators in ({}, {"outer": "one", "inner": "two"}, {"inner": "two"}):
            call = core.call("both", place, 9, operators=operators)
            assert sum(call.by_operator.values()) == call.instructions
            found.append((call.instructions, call.by_operator, call.stack_bytes))
        if name != "cortex-m0plus":
            call = core.call("wide", place)
            found.append((call.instructions, call.by_operator, call.stack_bytes))
            assert call.stack_bytes > 5000
    assert found[: len(found) // 2] == found[len(found) // 2 :]


def test_stack_that_cannot_be_followed_is_an_error(loaded: Loaded) -> None:
    """A Cortex-M0+ adds a register to its stack pointer for a large frame, and the plugin sees no registers."""
    core = loaded("cortex-m0plus")
    with pytest.raises(EmulationError, match=r"the stack pointer cannot be followed.*in inner\(\)"):
        core.call("wide", core.allocate("place", 1, alignment=1))


def test_core_whose_qemu_has_ended_says_so(loaded: Loaded) -> None:
    """Nothing hangs, and the text says what happened."""
    core = loaded("cortex-m4")
    assert isinstance(core, QemuCore)
    core.close()
    with pytest.raises(ToolchainError, match="QEMU does not run any more"):
        core.call("add", 1, 2, 3, 4, 5, 6)


def test_vector_instructions_are_counted(tmp_path: Path) -> None:
    """A loop over vectors with a last part: loads, a multiplication, predicates; lanes that are left out are not accessed."""
    source = tmp_path / "dot.c"
    source.write_text(
        """
#include <arm_mve.h>
int32_t dot(const int8_t *a, const int8_t *b, int32_t n);
int32_t dot(const int8_t *a, const int8_t *b, int32_t n)
{
    int32_t sum = 0;
    for (; n > 0; n -= 16, a += 16, b += 16) {
        const mve_pred16_t p = vctp8q((uint32_t)n);
        sum = vmladavaq_p_s8(sum, vldrbq_z_s8(a, p), vldrbq_z_s8(b, p), p);
    }
    return sum;
}
void set(int32_t *to, int32_t value);
void set(int32_t *to, int32_t value) { vstrwq_s32(to, vdupq_n_s32(value)); }
""",
        encoding="utf-8",
    )
    processor, rng = target("cortex-m55"), np.random.default_rng(1)
    arrays = [rng.integers(-128, 128, 37).astype(np.int8) for _ in range(2)]
    core = emulated(build_image([source], processor, entries=["dot", "set"], level="2"), processor)
    places = [core.allocate(f"array {number}", 37, alignment=1) for number in range(2)]
    for place, array in zip(places, arrays, strict=True):
        core.write(place, array.tobytes())
    call = core.call("dot", *places, 37)
    assert call.signed_value == int(arrays[0].astype(int) @ arrays[1].astype(int))
    assert call.vectors == 3 * 3
    with pytest.raises(EmulationError, match="forbidden read of 1 byte, 1 byte past the end of array 0"):
        core.call("dot", *places, 38)
    words = core.allocate("words", 32, alignment=4)
    assert core.call("set", words, 5).vectors == 2
    with pytest.raises(EmulationError, match="misaligned access of 4 bytes, inside words"):
        core.call("set", words + 2, 5)
    with pytest.raises(EmulationError, match="forbidden write of 4 bytes, 1 byte past the end of words"):
        core.call("set", words + 20, 5)
