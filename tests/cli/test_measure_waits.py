"""`kibi measure --board`: cycles with what the core waits for the board's flash."""

from pathlib import Path

import pytest

from tests.cli.conftest import Kibi

_BOARD = ("--board", "nucleo-l4r5zi", "--no-oracle")


def test_cycles_of_a_board_are_those_of_the_core_and_the_waits(kibi: Kibi, glyphs: Path) -> None:
    """By cause, for the model and for each operator; without a board there are none."""
    plain, waited = (kibi("measure", glyphs, *options, "--json").record for options in (["--no-oracle"], _BOARD))
    waits = waited["waits"]
    assert (waits["memory"], waits["wait_states"], waits["code_in"]) == ("stm32l4plus", 5, "flash")
    stalls = waits["stalls"]
    assert min(stalls["fetch"], stalls["data"]) > 10_000
    assert waited["cycles_estimate"] == plain["cycles_estimate"] + sum(stalls.values())
    assert waited["instructions"] == plain["instructions"]
    for cause in stalls:
        outside = stalls[cause] - sum(op["stalls"][cause] for op in waited["ops"])
        assert 0 <= outside <= stalls[cause] / 50
    for before, after in zip(plain["ops"], waited["ops"], strict=True):
        assert after["cycles_estimate"] - sum(after["stalls"].values()) == before["cycles_estimate"]
    assert plain["waits"] is None
    assert plain["ops"][0]["stalls"] == {"fetch": 0, "literal": 0, "data": 0}


def test_time_names_wait_states_and_causes(kibi: Kibi, glyphs: Path) -> None:
    """And operators have a column of cycles, and one of the share that the core waits."""
    text = kibi("measure", glyphs, *_BOARD).out
    assert "ms at 120 MHz (estimate, 5 wait states)\n" in text
    assert "waits         " in text
    assert "of these cycles" in text
    assert "code in flash, memory stm32l4plus" in text
    assert "scratch     cycles  waits" in text
    slow = kibi("measure", glyphs, *_BOARD, "--clock", "40M").out
    assert "ms at 40 MHz (estimate, 1 wait state)\n" in slow


def test_code_in_ram_takes_ram_and_waits_for_no_instruction(kibi: Kibi, glyphs: Path) -> None:
    """The code is in flash, too, from where it is copied."""
    flash, ram = (kibi("measure", glyphs, *_BOARD, "--code-in", place, "--json").record for place in ("flash", "ram"))
    taken = ram["waits"]["code_ram_bytes"]
    assert 0 < taken < ram["code_bytes"]
    assert ram["ram_bytes"] == flash["ram_bytes"] + taken
    assert ram["flash_bytes"] == flash["flash_bytes"]
    assert (ram["waits"]["stalls"]["fetch"], ram["waits"]["stalls"]["literal"]) == (0, 0)
    assert f"+ code {taken:,}" in kibi("measure", glyphs, *_BOARD, "--code-in", "ram").out


def test_plan_file_waits_for_its_bytes_and_for_the_core(kibi: Kibi, glyphs: Path) -> None:
    """Both are in flash; with the code in RAM only the file is."""
    words = ("measure", glyphs, "--format", "plan", "--json")
    plain, waited, ram = (kibi(*words, *each).record for each in ((), _BOARD[:2], (*_BOARD[:2], "--code-in", "ram")))
    stalls = waited["waits"]["stalls"]
    assert min(stalls["fetch"], stalls["data"]) > 10_000
    assert waited["cycles_estimate"] == plain["cycles_estimate"] + sum(stalls.values())
    assert waited["instructions"] == plain["instructions"]
    assert sum(op["stalls"]["data"] for op in waited["ops"]) > 10_000
    assert (ram["waits"]["stalls"]["fetch"], ram["waits"]["stalls"]["literal"]) == (0, 0)
    assert ram["waits"]["stalls"]["data"] > 10_000
    assert ram["ram_bytes"] == waited["ram_bytes"] + ram["waits"]["code_ram_bytes"]


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (("--code-in", "rom"), "unknown place 'rom'"),
        (("--code-in", "ram"), "is for a --board whose flash is modelled"),
        (("--code-in", "ram", "--board", "stm32f103c8"), "is for a --board whose flash is modelled"),
    ],
)
def test_place_of_code_without_a_memory_is_refused(
    kibi: Kibi, glyphs: Path, options: tuple[str, ...], problem: str
) -> None:
    """Before any work."""
    done = kibi("measure", glyphs, *options)
    assert (done.code, done.out) == (4, "")
    assert problem in done.err
