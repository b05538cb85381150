"""The guard: every forbidden access stops the run, named to the byte, and no access escapes it."""

import pytest

from kibi.emulator import Core
from kibi.errors import EmulationError
from tests.emulator.conftest import Program

_ACCESS = """
__attribute__((noinline)) uint32_t load8(const volatile uint8_t *p) { return *p; }
__attribute__((noinline)) uint32_t load16(const volatile uint16_t *p) { return *p; }
__attribute__((noinline)) uint32_t load32(const volatile uint32_t *p) { return *p; }
__attribute__((noinline)) void store8(volatile uint8_t *p) { *p = 1; }
__attribute__((noinline)) void store32(volatile uint32_t *p) { *p = 1; }
const uint32_t constant[2] = {1, 2};
uint32_t f(uint32_t what, uint32_t address)
{
    switch (what) {
    case 0: return load8((const volatile uint8_t *)address);
    case 1: return load16((const volatile uint16_t *)address);
    case 2: return load32((const volatile uint32_t *)address);
    case 3: store8((volatile uint8_t *)address); return 0;
    case 4: store32((volatile uint32_t *)address); return 0;
    default: return load32(constant);
    }
}
"""
_LOAD8, _LOAD16, _LOAD32, _STORE8, _STORE32 = range(5)


@pytest.fixture(params=["cortex-m4", "rv32imac"])
def core(program: Program, request: pytest.FixtureRequest) -> Core:
    """A core of each instruction set, whose program accesses any address on request."""
    return program(_ACCESS, request.param, entries=("f", "constant"))


def _fails(core: Core, what: int, address: int) -> EmulationError:
    with pytest.raises(EmulationError) as caught:
        core.call("f", what, address, operators={"load8": "LOAD", "load32": "LOAD", "store8": "STORE"})
    return caught.value


def test_access_inside_a_block_is_allowed_to_its_last_byte(core: Core) -> None:
    """A block may be read and written from its first to its last byte."""
    block = core.allocate("block", 8)
    for address in (block, block + 7):
        core.call("f", _LOAD8, address)
        core.call("f", _STORE8, address)
    core.call("f", _LOAD32, block + 4)


def test_word_at_any_address_is_allowed_on_an_m4(program: Program) -> None:
    """It loads and stores words from and to any address."""
    core = program(_ACCESS, entries=("f", "constant"))
    block = core.allocate("block", 8)
    core.call("f", _LOAD32, block + 1)
    core.call("f", _STORE32, block + 3)


def test_read_one_byte_past_the_end_names_everything(core: Core) -> None:
    """The error has the address, function, operator label and nearest block."""
    block = core.allocate("arena", 8)
    error = _fails(core, _LOAD8, block + 8)
    assert (error.address, error.function, error.operator) == (block + 8, "load8", "LOAD")
    assert "forbidden read of 1 byte, 1 byte past the end of arena" in str(error)


def test_access_across_the_end_tells_how_far_it_reaches(core: Core) -> None:
    """A word that starts inside and ends outside is forbidden too."""
    block = core.allocate("arena", 10)
    error = _fails(core, _LOAD32, block + 8)
    assert "forbidden read of 4 bytes, reaching 2 bytes past the end of arena" in str(error)


def test_write_before_the_start_names_the_block_ahead(core: Core) -> None:
    """An underrun is reported against the block that it missed."""
    block = core.allocate("arena", 8)
    error = _fails(core, _STORE8, block - 3)
    assert error.operator == "STORE"
    assert "forbidden write of 1 byte, 3 bytes before the start of arena" in str(error)


def test_write_to_read_only_block_changes_nothing(core: Core) -> None:
    """The run stops before the byte is written, and the core goes on working."""
    block = core.allocate("weights", 4, writable=False)
    core.write(block, b"abcd")
    assert "inside weights, which is read-only" in str(_fails(core, _STORE32, block))
    assert core.read(block, 4) == b"abcd"
    assert core.call("f", _LOAD32, block).value == int.from_bytes(b"abcd", "little")


def test_write_to_flash_is_forbidden(core: Core) -> None:
    """Constants are read-only."""
    address = core._image.symbols["constant"].address
    assert "forbidden write of 4 bytes, inside .rodata, which is read-only" in str(_fails(core, _STORE32, address))
    assert core.call("f", 9, 0).value == 1


@pytest.mark.parametrize("address", [0, 0x1000, 0x0800_0000 - 4, 0x1FFF_FFFC, 0x2000_0000 + (128 << 20), 0xFFFF_FFFC])
def test_wild_pointers_are_forbidden(core: Core, address: int) -> None:
    """A null pointer, unmapped memory and the ends of the address space all stop the run."""
    assert _fails(core, _LOAD32, address).address == address
    assert _fails(core, _STORE32, address).address == address


@pytest.mark.parametrize("name", ["cortex-m4", "rv32imac"])
def test_stack_overflow_names_the_stack(program: Program, name: str) -> None:
    """Endless recursion ends at the stack's lower end."""
    core = program(
        "uint32_t f(uint32_t n) { volatile uint32_t a[16]; a[0] = n; return a[0] ? f(n + 1u) + a[0] : 0u; }",
        name,
        stack_bytes=2048,
    )
    with pytest.raises(EmulationError, match="before the start of stack") as caught:
        core.call("f", 1)
    assert caught.value.function == "f"


@pytest.mark.parametrize(("what", "size"), [(_LOAD16, 2), (_LOAD32, 4), (_STORE32, 4)])
def test_misaligned_access_stops_an_m0plus(program: Program, what: int, size: int) -> None:
    """An Armv6-M core faults on a misaligned halfword or word, though the emulator's own core would not."""
    core = program(_ACCESS, "cortex-m0plus")
    block = core.allocate("arena", 16)
    core.call("f", what, block + size)
    with pytest.raises(EmulationError, match=f"misaligned access of {size} bytes"):
        core.call("f", what, block + 1)


@pytest.mark.parametrize("operation", ["ldrd r0, r1, [r0]", "ldm r0, {r1, r2}", "strd r1, r2, [r0]", "vldr s0, [r0]"])
def test_misaligned_pair_stops_an_m4(program: Program, operation: str) -> None:
    """Multiple, dual and floating-point accesses need whole words even where single loads do not."""
    core = program(f'__attribute__((naked)) void f(void *p) {{ __asm__ volatile("{operation}\\n bx lr"); }}')
    block = core.allocate("arena", 16)
    core.call("f", block + 4)
    with pytest.raises(EmulationError, match="misaligned access"):
        core.call("f", block + 2)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("udf #0", "undefined or unsupported instruction de00"),
        ("svc #1", "undefined or unsupported instruction df01"),
        ("wfi", "undefined or unsupported instruction bf30"),
        ("b .", "no end after 5000 instructions"),
        ("movs r0, #1\\n lsls r0, r0, #29\\n adds r0, #1\\n bx r0", "not code|Invalid memory fetch|non-executable"),
        ("movs r0, #1\\n bx r0", "not code|Invalid memory fetch|non-executable"),
        ("adr r0, 1f\\n adds r0, #1\\n bx r0\\n .align 2\\n 1: .word 0", "undefined or unsupported instruction 0000"),
    ],
)
def test_runaway_execution_stops(program: Program, text: str, message: str) -> None:
    """Undefined instructions, waiting, endless loops and jumps into data are errors, and the core survives them."""
    core = program(
        f'__attribute__((naked)) void f(void) {{ __asm__ volatile("{text}\\n bx lr"); }}'
        "int32_t g(void) { return 3; }",
        entries=("f", "g"),
    )
    with pytest.raises(EmulationError, match=message):
        core.call("f", instruction_limit=5000)
    assert core.call("g").value == 3


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1: j 1b", "no end after 5000 instructions"),
        ("lui a0, 0x20000\\n jr a0", "not code|Invalid memory fetch|non-executable"),
        ("li a0, 8\\n jr a0", "not code|Invalid memory fetch|non-executable"),
        ("la a0, 1f\\n jr a0\\n .balign 4\\n 1: .word 0", "undefined or unsupported instruction 0000"),
    ],
)
def test_runaway_execution_stops_on_risc_v(program: Program, text: str, message: str) -> None:
    """Endless loops and jumps into data are errors, and the core survives them."""
    core = program(
        f'__attribute__((naked)) void f(void) {{ __asm__ volatile("{text}\\n ret"); }} int32_t g(void) {{ return 3; }}',
        "rv32imac",
        entries=("f", "g"),
    )
    with pytest.raises(EmulationError, match=message):
        core.call("f", instruction_limit=5000)
    assert core.call("g").value == 3


def test_skipped_conditional_access_is_no_access(program: Program) -> None:
    """An instruction under a condition that fails is counted, as one that is executed is, but not checked."""
    core = program(
        "__attribute__((naked)) uint32_t f(uint32_t take, const uint32_t *p)"
        '{ __asm__ volatile("cmp r0, #1\\n ite eq\\n ldreq r0, [r1]\\n movne r0, #9\\n bx lr"); }'
    )
    call = core.call("f", 0, 0)
    assert (call.value, call.instructions) == (9, 5)
    with pytest.raises(EmulationError, match="forbidden read"):
        core.call("f", 1, 0)
