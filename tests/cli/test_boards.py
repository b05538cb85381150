"""`kibi boards`, and --board of the verbs that take --target."""

from pathlib import Path

import pytest

import kibi as api
from tests.cli.conftest import Kibi

FAST = ("--no-longest-step",)
SMALL = """
[[board]]
name = "small"
core = "cortex-m4"
clock_hz = 1_000_000
ram = [{ name = "sram", bytes = %d }, { name = "ccm", bytes = %d }]
flash_bytes = %d
"""


def _board(folder: Path, sram: int, ccm: int, flash: int = 1 << 20) -> Path:
    path = folder / "small.toml"
    path.write_text(SMALL % (sram, ccm, flash))
    return path


def test_boards_lists_all_of_them_and_those_that_a_filter_names(kibi: Kibi) -> None:
    """As a table and as JSON."""
    record = kibi("boards", "--json").record["boards"]
    assert [each["name"] for each in record] == [each.name for each in api.boards()]
    text = kibi("boards", "nucleo h743").out
    assert "stm32h743zi  cortex-m7  480 MHz" in text
    assert "512 + 128 + 288 + 64" in text
    assert f"1 of {len(api.boards())} boards" in text
    done = kibi("boards", "no-such")
    assert (done.code, done.out) == (6, "")


def test_board_sets_the_target_and_plan_says_that_it_fits(kibi: Kibi, glyphs: Path) -> None:
    """With the regions that can hold the arena."""
    done = kibi("plan", glyphs, "--board", "stm32f4-discovery", *FAST)
    assert done.code == 0
    assert "stm32f407vg  fits: RAM 2,916 of 196,608 bytes" in done.out
    assert "the arena goes into sram (131,072) or ccm (65,536)" in done.out
    record = kibi("plan", glyphs, "--board", "rp2040", "--json", *FAST).record
    assert (record["target"], record["fit"]["fits"], record["fit"]["board"]) == ("cortex-m0plus", True, "rp2040")


def test_plan_that_does_not_fit_says_what_is_missing_and_ends_well(kibi: Kibi, glyphs: Path, tmp_path: Path) -> None:
    """It is a statement: the exit code is 0."""
    done = kibi("plan", glyphs, "--board", _board(tmp_path, 1900, 1000), *FAST)
    assert done.code == 0
    assert "small  does not fit: RAM lacks 16 bytes; RAM 2,916 of 2,900 bytes" in done.out
    split = kibi("plan", glyphs, "--board", _board(tmp_path, 2000, 2000), *FAST).out
    assert "does not fit: the arena lacks 916 bytes in sram, the largest region (2,000): share it out" in split


def test_measure_compares_ram_with_stack_and_flash(kibi: Kibi, glyphs: Path, tmp_path: Path) -> None:
    """And times are those of the board's clock, or of --clock."""
    path = _board(tmp_path, 3401, 16, 14_432)
    done = kibi("measure", glyphs, "--board", path, "--no-oracle")
    assert done.code == 0
    assert "ms at 1 MHz" in done.out
    assert "small         does not fit: flash lacks 112 bytes; RAM 3,212 of 3,417" in done.out
    record = kibi("measure", glyphs, "--board", "nucleo-f446re", "--json", "--no-oracle").record["fit"]
    needs = {each["memory"]: each for each in record["needs"]}
    assert record["fits"]
    assert (needs["RAM"]["needed_bytes"], needs["flash"]["board_bytes"]) == (3212, 512 << 10)


def test_plan_with_regions_needs_no_range_that_holds_all(kibi: Kibi, glyphs: Path, tmp_path: Path) -> None:
    """It says itself what goes where, so that the ranges of the board are no further limit."""
    (tmp_path / "regions.toml").write_text(
        '[[region]]\nname = "a"\nbytes = 2000\ncost = 1\n[[region]]\nname = "b"\nbytes = 4000\ncost = 2\n'
    )
    board = _board(tmp_path, 2000, 2500)
    assert "does not fit" in kibi("plan", glyphs, "--board", board, *FAST).out
    regions = ("--regions", tmp_path / "regions.toml")
    assert "small  fits" in kibi("plan", glyphs, "--board", board, *FAST, *regions).out


def test_wait_states_are_named_at_the_clock_that_they_are_of(kibi: Kibi, glyphs: Path) -> None:
    """Where nothing is known but their number, they are not counted, and the line says so; at another clock they are others."""
    text = kibi("measure", glyphs, "--board", "stm32f103c8", "--no-oracle").out
    assert "ms at 72 MHz (estimate, zero wait states); the 2 wait states of its flash are not counted\n" in text
    text = kibi("measure", glyphs, "--board", "stm32f103c8", "--clock", "8M", "--no-oracle").out
    assert "ms at 8 MHz (estimate, zero wait states); waits of its flash are not counted\n" in text


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (
            ("--board", "rp2040", "--target", "cortex-m4"),
            "board 'rp2040' has a cortex-m0plus, but --target is cortex-m4",
        ),
        (("--board", "rp2041"), "unknown board 'rp2041'. Did you mean 'rp2040'"),
        (("--board", ""), "unknown board ''"),
        (("--board", "missing.toml"), "missing.toml"),
        (("--target", "cortex-m5"), "unknown target"),
    ],
)
def test_options_that_name_no_one_processor_are_refused(
    kibi: Kibi, glyphs: Path, options: tuple[str, ...], problem: str
) -> None:
    """Before any work."""
    done = kibi("plan", "--no-longest-step", glyphs, *options)
    assert (done.code, done.out) == (6, "")
    assert problem in done.err


@pytest.mark.parametrize(
    ("verb", "options"),
    [
        ("verify", ()), ("pareto", ()), ("measure", ()), ("report", ("-o", "out.html")),
    ],
)  # fmt: skip
def test_every_verb_with_a_target_takes_a_board(
    kibi: Kibi, glyphs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, verb: str, options: tuple[str, ...]
) -> None:
    """One that Kibi does not emulate is refused by each verb that measures."""
    monkeypatch.chdir(tmp_path)
    done = kibi(verb, glyphs, "--board", "esp32s3", *options)
    assert done.code == 6
    assert "target 'generic' is not emulated" in done.err
    assert list(tmp_path.iterdir()) == []


def test_board_of_another_architecture_gets_generic_code(kibi: Kibi, glyphs: Path, tmp_path: Path) -> None:
    """It is planned, and compiled as any package; whether the arena fits is said."""
    assert "esp32s3  fits: RAM 2," in kibi("plan", "--no-longest-step", glyphs, "--board", "esp32s3").out
    options = ("--board", "esp32s3", "--package", "esp-idf", "-o", tmp_path / "out", "--json")
    assert kibi("compile", glyphs, *options).record["target"] == "generic"


@pytest.mark.slow
def test_board_with_a_risc_v_core_is_measured(kibi: Kibi, glyphs: Path) -> None:
    """All but cycles and times, of which nothing is known."""
    text = kibi("measure", glyphs, "--board", "esp32-c3", "--no-oracle").out
    assert "glyphs on rv32imc\n" in text
    assert "no estimate: no timings are known of this core" in text
    assert "esp32c3       fits" in text


def test_compiled_library_is_for_the_target_of_the_board(kibi: Kibi, glyphs: Path, tmp_path: Path) -> None:
    """A target that says the same may stand beside it."""
    done = kibi("compile", glyphs, "--board", "pico", "--target", "cortex-m0plus", "-o", tmp_path / "out", "--json")
    assert done.record["target"] == "cortex-m0plus"
