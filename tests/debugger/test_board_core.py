"""A model on a board: loaded, run, measured by operator; and boards on which something goes wrong."""

import random
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

import kibi
from kibi.debugger import board_memory, processor_of
from kibi.errors import BoardError, InputError, KibiError, TargetError
from kibi.reports.measurement import Measurement
from kibi.targets import Ram
from tests.debugger.servers import BLOCK, CUT, FLASH, M0PLUS, RAM, RAW, SILENCE, Answer, Board, scripted
from tests.debugger.tampering import FAULT, LOOP, tampered
from tests.engines.networks import residual_network

BOARD = kibi.board("stm32f103c8")
SMALL = replace(kibi.board("stm32g071rb"), ram=(Ram("sram", 20 * 1024, RAM),), flash_bytes=64 * 1024)
"""A Cortex-M0+ with the memories of the server."""


def _library(folder: Path, board: kibi.Board) -> tuple[kibi.Library, Measurement]:
    library = kibi.compile(residual_network(4, 3, 2), None, folder, target=board.target)
    return library, kibi.measure(library, oracle=False)


@pytest.fixture(scope="module")
def on_m3(tmp_path_factory: pytest.TempPathFactory) -> tuple[kibi.Library, Measurement]:
    """A small network for the Cortex-M3, and what it takes on the emulated core."""
    return _library(tmp_path_factory.mktemp("m3"), BOARD)


@pytest.fixture(scope="module")
def on_m0plus(tmp_path_factory: pytest.TempPathFactory) -> tuple[kibi.Library, Measurement]:
    """The same for the Cortex-M0+."""
    return _library(tmp_path_factory.mktemp("m0"), SMALL)


@pytest.mark.parametrize("place", ["flash", "ram"])
def test_board_counts_what_the_emulated_core_counts(on_m0plus: tuple[kibi.Library, Measurement], place: str) -> None:
    """A core whose cycles are instructions, of which Armv6-M skips none: equal to the last one, operator by operator."""
    library, measured = on_m0plus
    board = Board(cpuid=M0PLUS, breakpoint_slots=4)
    with scripted(board) as server:
        run = kibi.measure_on_board(library, SMALL, server.name, measured=measured, load_into=place)
    assert (run.bit_exact, run.cycles, run.uncounted) == (True, measured.instructions, "")
    assert [each.cycles for each in run.ops] == [each.instructions for each in measured.ops]
    assert [each.name for each in run.ops] == [each.name for each in measured.ops]
    assert run.stack_bytes == run.emulated_stack_bytes == measured.stack_bytes
    assert (run.core, run.loaded_into, board.monitored) == ("Cortex-M0+ r0p1", place, [b"reset halt"])
    assert (board.is_running, board.breakpoints) == (False, set())
    assert board.erased == (-(-measured.flash_bytes // BLOCK) if place == "flash" else 0)


def test_flash_that_has_the_program_is_left_alone(on_m3: tuple[kibi.Library, Measurement]) -> None:
    """It wears out."""
    library, measured = on_m3
    board = Board(counts=False)
    with scripted(board) as server:
        first = kibi.measure_on_board(library, BOARD, server.name, measured=measured)
        erased = board.erased
        assert kibi.measure_on_board(library, BOARD, server.name, measured=measured) == first
    assert board.erased == erased > 0
    assert (first.cycles, first.ops, first.uncounted) == (None, (), "the cycle counter does not count")
    assert first.bit_exact


def _failure(library: kibi.Library, measured: Measurement, answer: Answer, board: kibi.Board = BOARD) -> str:
    """The text of the error."""
    with scripted(answer) as server, pytest.raises(BoardError) as caught:
        kibi.measure_on_board(library, board, server.name, measured=measured, seconds=1)
    return str(caught.value)


def test_wrong_core_is_named_before_anything_is_loaded(on_m3: tuple[kibi.Library, Measurement]) -> None:
    """Both that which is there and that which is asked for."""
    board = Board(cpuid=M0PLUS)
    text = _failure(*on_m3, board)
    assert "has Cortex-M0+ r0p1, but the program is for cortex-m3" in text
    assert (board.erased, board.is_running) == (0, False)
    assert "a core with the CPUID 0x00000000" in _failure(*on_m3, Board(cpuid=0))


@pytest.mark.parametrize(
    ("ram", "flash", "problem"),
    [
        (512, 1 << 16, "too little RAM: the stack takes 512 of the 512 bytes of sram"),
        (540, 1 << 16, "too little RAM: arena ends"),
        (1 << 14, 3584, "too little flash"),
    ],
    ids=["stack", "arena", "flash"],
)
def test_too_little_memory_is_told_before_anything_is_loaded(
    on_m3: tuple[kibi.Library, Measurement], ram: int, flash: int, problem: str
) -> None:
    """Nothing is written."""
    given = replace(BOARD, ram=(Ram("sram", ram, RAM),), flash_bytes=flash)
    text = _failure(*on_m3, board := Board(), given)
    assert problem in text
    assert "Nothing was loaded" in text
    assert (board.erased, board.monitored) == (0, [])


def test_board_without_addresses_and_library_of_another_core_are_refused(
    on_m3: tuple[kibi.Library, Measurement],
) -> None:
    """Without a connection."""
    library, measured = on_m3
    for given, place, what in (
        (replace(BOARD, flash_address=None), "flash", "flash"),
        (replace(BOARD, ram=(Ram("sram", 4096),)), "flash", "RAM"),
        (replace(BOARD, ram=(Ram("sram", 4096),)), "ram", "RAM"),
    ):
        with pytest.raises(BoardError, match=f"addresses of stm32f103c8's {what} are not known"):
            kibi.measure_on_board(library, given, "localhost:1", measured=measured, load_into=place)
    with pytest.raises(TargetError, match="is for cortex-m3, but rp2040 has a cortex-m0plus"):
        kibi.measure_on_board(library, "rp2040", "localhost:1", measured=measured)
    with pytest.raises(
        BoardError, match="it has a generic, but models run on boards with these cores alone: cortex-m0plus"
    ):
        processor_of("generic", "it")
    with pytest.raises(InputError, match="unknown place 'disk'"):
        kibi.measure_on_board(library, BOARD, "localhost:1", measured=measured, load_into="disk")
    assert board_memory(replace(BOARD, flash_address=None), "ram", 1000, 300).layout.flash.address == RAM + 512


def test_fault_is_told_in_words_and_the_core_stays_where_it_is(
    tmp_path: Path, on_m3: tuple[kibi.Library, Measurement]
) -> None:
    """The function, the instruction and what the core's registers say; nothing is half reported."""
    library = tampered(tmp_path, BOARD, FAULT)
    text = _failure(library, on_m3[1], board := Board())
    assert "the core faulted in residual_kibi_add_s8() at 0x08" in text
    assert "called by residual_invoke() (exception 3, signal 5)" in text
    assert "a bus error for an access; at 0xdeadbee0; CFSR 0x00008200, HFSR 0x40000000. The core is halted." in text
    assert (board.is_running, board.breakpoints) == (False, set())


def test_loop_without_end_is_halted_and_told(tmp_path: Path, on_m3: tuple[kibi.Library, Measurement]) -> None:
    """With the function in which the core was."""
    library = tampered(tmp_path, BOARD, LOOP)
    board = Board()
    board.limit = 100_000
    text = _failure(library, on_m3[1], board)
    assert "residual_invoke() did not end on the board in 1 s: in residual_kibi_add_s8() at 0x08" in text
    assert not board.is_running


class _Otherwise:
    """A board that answers some packets otherwise, from the n-th on.

    Args:
        begin: how these packets begin.
        told: the answer.
        after: how many of them are answered well.
    """

    def __init__(self, begin: bytes, told: bytes, after: int = 0) -> None:
        self.board, self._begin, self._told, self._left = Board(), begin, told, after

    def __call__(self, payload: bytes) -> bytes:
        if payload.startswith(self._begin):
            self._left -= 1
            if self._left < 0:
                return self._told
        return self.board(payload)


@pytest.mark.parametrize(
    ("begin", "told", "after", "problem"),
    [
        (b"vFlashWrite", CUT, 2, "was cut"),
        (b"c", CUT, 6, "was cut"),
        (b"m2", CUT, 8, "was cut"),
        (b"vFlashErase", b"E01", 0, "cannot write the flash at 0x08000000: it says 'E01'"),
        (b"vFlashWrite", b"OK", 0, "did not write the"),
        (b"Z1", b"E01", 1, "cannot set a breakpoint at 0x08"),
        (b"p", b"00", 9, "says '00' instead of register"),
        (b"P", b"E01", 9, "cannot write register"),
        (b"c", b"W00", 5, "where the core should stop"),
    ],
    ids=["cut-flash", "cut-run", "cut-read", "erase", "unwritten", "breakpoints", "register", "set", "end"],
)
def test_link_that_breaks_in_the_middle_is_an_error(
    on_m3: tuple[kibi.Library, Measurement], begin: bytes, told: bytes, after: int, problem: str
) -> None:
    """At every stage; the error says which."""
    assert problem in _failure(*on_m3, _Otherwise(begin, told, after))


def test_core_in_an_exception_is_not_called(on_m3: tuple[kibi.Library, Measurement]) -> None:
    """A server that does not reset it."""
    other = _Otherwise(b"p10", b"03000001")
    assert "halted the core in exception 3, and did not reset it" in _failure(*on_m3, other)
    assert other.board.erased == 0


def test_silent_server_is_told(on_m3: tuple[kibi.Library, Measurement], monkeypatch: pytest.MonkeyPatch) -> None:
    """In time."""
    monkeypatch.setattr("kibi.debugger.session._SECONDS", 0.3)
    assert "does not answer" in _failure(*on_m3, lambda _: SILENCE)


@pytest.mark.parametrize("seed", range(12))
def test_server_that_says_anything_ends_in_an_error(
    on_m3: tuple[kibi.Library, Measurement], monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    """A board that answers one packet in ten, or in a hundred, by chance: a result or an error, never a wait without end."""
    monkeypatch.setattr("kibi.debugger.session._SECONDS", 0.3)
    library, measured = on_m3
    board, chance = Board(counts=False), random.Random(seed)
    answers = (
        b"OK",
        b"",
        b"E01",
        b"T05",
        b"O41",
        b"00" * 4,
        b"ff" * 200,
        b"l",
        b"m",
        b"*",
        b"}",
        b"W00",
        SILENCE,
        CUT,
        RAW + b"-$#",
    )

    def answer(payload: bytes) -> bytes:
        told = board(payload)
        return chance.choice(answers) if chance.random() < (0.1, 0.01)[seed % 2] else told

    with scripted(answer) as server, suppress(KibiError):
        run = kibi.measure_on_board(library, BOARD, server.name, measured=measured, seconds=1)
        assert run.board == BOARD.name


def test_program_stays_below_its_stack(on_m3: tuple[kibi.Library, Measurement]) -> None:
    """The stack ends where variables begin, and what it could reach below is no RAM."""
    memory = board_memory(BOARD, "flash", 5000, 300)
    assert (memory.stack.address, memory.stack.end) == (RAM, memory.layout.ram.address)
    assert memory.layout.flash.address == FLASH
    in_ram = board_memory(BOARD, "ram", 5000, 300)
    assert in_ram.layout.flash.end == in_ram.layout.ram.address
    assert in_ram.layout.flash.address == in_ram.stack.end
    library, measured = on_m3
    shallow = replace(measured, stack_bytes=0)
    with scripted(Board()) as server:
        run = kibi.measure_on_board(library, BOARD, server.name, measured=shallow)
    assert run.stack_bytes == measured.stack_bytes


def test_stack_that_is_too_small_is_an_error(
    on_m3: tuple[kibi.Library, Measurement], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its lowest byte was written."""
    monkeypatch.setattr("kibi.debugger.board_core._VECTOR_ALIGNMENT", 8)
    library, measured = on_m3
    inside = replace(BOARD, ram=(Ram("sram", 16 * 1024, RAM + 1024),))
    assert "the stack of 104 bytes is too small" in _failure(library, replace(measured, stack_bytes=0), Board(), inside)
