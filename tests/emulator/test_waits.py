"""What a core waits for its flash: the model in C against a plain one, and programs whose waits follow by hand."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kibi.emulator.waits import Stalls, Waits
from kibi.targets import Cache, Memory, memories, memory, target
from tests.emulator.conftest import Program
from tests.emulator.flash_model import PlainFlash

_FIRST, _END = 0x0800_0100, 0x0800_0900
_SLOW = Memory(
    name="slow", title="a flash without caches", read_bytes=8, clock_limits_hz=(), fixed_wait_states=3, instruction_cache=None,
    data_cache=None, unified_cache=None, has_prefetch=False, miss_cycles=0, source="none",
)  # fmt: skip


@st.composite
def _caches(draw: st.DrawFn, read_bytes: int) -> Cache:
    ways = draw(st.integers(1, 5))
    sets, reads = draw(st.sampled_from([1, 2, 4])), draw(st.sampled_from([1, 2, 4]))
    return Cache(ways * sets, ways, read_bytes * reads, draw(st.booleans()))


@st.composite
def _memories(draw: st.DrawFn) -> Memory:
    """Interfaces with at most twenty lines, so that these are replaced soon."""
    read_bytes = draw(st.sampled_from([4, 8, 16]))
    caches = st.none() | _caches(read_bytes)
    is_unified = draw(st.booleans())
    kinds: dict[str, Any] = {
        "instruction_cache": None if is_unified else draw(caches),
        "data_cache": None if is_unified else draw(caches),
        "unified_cache": draw(_caches(read_bytes)) if is_unified else None,
    }
    return replace(
        _SLOW,
        read_bytes=read_bytes,
        fixed_wait_states=draw(st.integers(0, 9)),
        has_prefetch=draw(st.booleans()),
        miss_cycles=draw(st.integers(0, 3)),
        **kinds,
    )


_ACCESSES = st.lists(
    st.tuples(
        st.sampled_from(["next", "jump", "load"]),
        st.integers(_FIRST - 32, _FIRST + 256) | st.integers(_END - 64, _END + 32),
        st.integers(1, 5),
        st.integers(0, 12),
    ),
    min_size=1,
    max_size=80,
)


@given(described=_memories(), accesses=_ACCESSES)
def test_model_in_c_waits_as_long_as_the_plain_one(
    described: Memory, accesses: list[tuple[str, int, int, int]]
) -> None:
    """For sequences of instructions, jumps and loads of 1 to 20 bytes, some of them outside of the flash."""
    waits, plain = Waits(described, 0, _FIRST, _END), PlainFlash(described, 0, _FIRST, _END)
    waits.begin(1)
    now, address, total = 0, _FIRST, Stalls()
    for kind, place, size, gap in accesses:
        now += gap
        if kind == "load":
            taken = waits.load(place, 4 * size if size > 1 else 1, now)
            assert taken == plain.load(place, 4 * size if size > 1 else 1, now)
            total += Stalls(data=taken)
        else:
            address, width = place & ~1 if kind == "jump" else address, 4 if size > 3 else 2
            taken = waits.fetch(address, width, now)
            assert taken == plain.fetch(address, width, now)
            address, total = address + width, total + Stalls(fetch=taken)
        now += 1 + taken
    (spent,) = waits.end(0, 7)
    assert (spent.stalls, spent.cycles) == (total, 7 + total.cycles)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", Stalls(fetch=3)),  # `bx lr` is in the first read
        (".rept 7\\n nop\\n .endr", Stalls(fetch=6)),  # eight instructions in two reads
        (".rept 8\\n nop\\n .endr", Stalls(fetch=9)),
        ("ldr r1, [r0]\\n ldr r1, [r0]", Stalls(fetch=3)),  # in RAM
        ("ldr r1, 1f\\n bx lr\\n .p2align 3\\n 1: .word 5", Stalls(fetch=3, literal=3)),
        ("adr r1, 1f\\n ldm r1, {r1, r2, r3}\\n bx lr\\n .p2align 3\\n 1: .word 5, 6, 7", Stalls(fetch=3, data=9)),
        ("movs r1, #3\\n 1: subs r1, #1\\n bne 1b", Stalls(fetch=3)),  # a loop within a read
        ("movs r1, #3\\n 1: nop\\n nop\\n nop\\n subs r1, #1\\n bne 1b", Stalls(fetch=3 * 2 * 3)),  # and between two
    ],
)
def test_programs_wait_by_cause(program: Program, text: str, expected: Stalls) -> None:
    """Without caches, each change of the read and each word that is loaded costs the three wait states."""
    body = f'__attribute__((naked, aligned(16))) void f(void) {{ __asm__ volatile("{text}\\n bx lr"); }}'
    core = program(body, memory=_SLOW)
    call = core.call("f", core.allocate("block", 64))
    plain = program(body)
    without = plain.call("f", plain.allocate("block", 64))
    assert call.stalls == expected
    assert without.stalls == Stalls()
    assert call.cycles_estimate is not None
    assert without.cycles_estimate is not None
    assert call.cycles_estimate == without.cycles_estimate + expected.cycles
    assert call.instructions == without.instructions


def test_loop_that_the_cache_holds_waits_once(program: Program) -> None:
    """The caches keep what they hold from call to call, as those of a device do."""
    text = "movs r1, #200\\n 1: .rept 20\\n nop\\n .endr\\n subs r1, #1\\n bne 1b\\n bx lr"
    core = program(
        f'__attribute__((naked, aligned(16))) void f(void) {{ __asm__ volatile("{text}"); }}',
        memory=replace(_SLOW, instruction_cache=Cache(8, 8, 8)),
    )
    assert core.call("f").stalls == Stalls(fetch=6 * 3)
    assert core.call("f").stalls == Stalls()


def test_loop_with_prefetch_waits_until_the_cache_has_what_came_late(program: Program) -> None:
    """The read ahead of four instructions takes seven cycles, so that it is late once, and is in the cache from then on."""
    text = "movs r1, #50\\n 1: .rept 20\\n nop\\n .endr\\n subs r1, #1\\n bne 1b\\n bx lr"
    body = f'__attribute__((naked, aligned(16))) void f(void) {{ __asm__ volatile("{text}"); }}'
    slow = replace(_SLOW, instruction_cache=Cache(8, 8, 8), fixed_wait_states=6)
    ahead = program(body, memory=replace(slow, has_prefetch=True))
    stalls = ahead.call("f").stalls
    assert stalls is not None
    assert 6 + 5 * 2 <= stalls.fetch < 6 * 6
    assert program(body, memory=slow).call("f").stalls == Stalls(fetch=6 * 6)
    assert ahead.call("f").stalls == Stalls()


def test_code_in_ram_waits_for_constants_alone(program: Program) -> None:
    """Code and literals are there; tables stay in flash."""
    text = "const uint32_t t[64] = {1}; uint32_t f(uint32_t i) { return t[i] * 0x12345678u + 0x9ABCDEFu; }"
    in_flash, in_ram = (program(text, memory=_SLOW, code_in_ram=place).call("f", 3).stalls for place in (False, True))
    assert in_ram == Stalls(data=3)
    assert in_flash is not None
    assert in_flash.fetch > 0
    assert in_flash.data == 3


def test_cycles_of_operators_add_up(program: Program) -> None:
    """Each label has its cycles and stalls, and what no operator spent is the label without a name."""
    text = (
        "__attribute__((noinline)) uint32_t g(uint32_t i) { return i * 3u / 7u; }"
        "__attribute__((noinline)) uint32_t h(uint32_t i) { return i ^ 0x12345u; }"
        "uint32_t f(uint32_t i) { return g(h(g(i))) + h(i + 1u); }"
    )
    core = program(text, memory=_SLOW)
    call = core.call("f", 5, operators={"g": "first", "h": "second"})
    assert call.spent is not None
    assert call.cycles_estimate == sum(each.cycles for each in call.spent.values())
    assert call.stalls == sum((each.stalls for each in call.spent.values()), Stalls())
    assert all(each.cycles > each.stalls.cycles > 0 for each in call.spent.values())


def test_core_without_a_table_waits_for_nothing(program: Program) -> None:
    """Where the cycles of instructions are not known, those of waiting would be half of a figure."""
    call = program("void f(void) { }", replace(target("cortex-m4"), timing=None), memory=_SLOW).call("f")
    assert (call.cycles_estimate, call.spent, call.stalls) == (None, None, None)


def test_memories_are_described_completely() -> None:
    """Sizes are powers of two, limits rise, and each has a source."""
    for each in memories().values():
        assert each.read_bytes in (4, 8, 16, 32)
        assert list(each.clock_limits_hz) == sorted(set(each.clock_limits_hz))
        assert bool(each.clock_limits_hz) != bool(each.fixed_wait_states)
        assert each.source
        assert each.unified_cache is None or (each.instruction_cache, each.data_cache) == (None, None)
        for cache in (each.instruction_cache, each.data_cache, each.unified_cache):
            assert cache is None or cache.sets * cache.ways == cache.lines
            assert cache is None or cache.sets & (cache.sets - 1) == 0
            assert cache is None or cache.line_bytes % each.read_bytes == 0


def test_wait_states_depend_on_the_clock() -> None:
    """Up to each limit as many as come before it."""
    fast = memory("stm32l4plus")
    assert [fast.wait_states(clock) for clock in (1, 20_000_000, 20_000_001, 120_000_000)] == [0, 0, 1, 5]
