"""The estimate of energy: what it is made of, and why a board lacks it."""

from dataclasses import replace
from typing import Any

import pytest

import kibi
from kibi.emulator import Stalls
from kibi.errors import TargetError
from kibi.pages.energy import energy_record
from kibi.pages.html import report_page
from kibi.pages.measured import MeasuredModel
from kibi.pages.record import report_record
from kibi.reports.measurement import Waits


def test_energy_is_cycles_times_current_times_supply(glyphs: MeasuredModel) -> None:
    """Of a board whose maker states the current; the page names factors and document, and says that nothing was measured."""
    board = kibi.board("nucleo-g474re")
    measured = replace(glyphs, target=board.target)
    found = energy_record(measured, board)
    cycles = glyphs.measurement.cycles_estimate
    assert cycles is not None
    assert found["microjoules"] == pytest.approx(cycles * 171e-6 / 1e6 * 3.0 * 1e6)
    page = report_page(report_record(measured, board=board), {"left_out": "."}).decode()
    for text in (
        f"{found['microjoules']:.0f} <span",
        f"{cycles:,} cycles \u00d7",
        "171 µA/MHz \u00d7 3 V",
        "Nothing of this was measured",
        "DS12288",
    ):
        assert text in page


def test_estimate_that_is_missing_has_a_reason(glyphs: MeasuredModel) -> None:
    """No board, no document, another clock, no table of cycles: each is said, and no figure is."""
    known = kibi.board("nrf52840")
    unclocked = replace(glyphs, measurement=replace(glyphs.measurement, cycles_estimate=None))
    for measured, board, text in (
        (glyphs, None, "No board was named"),
        (glyphs, kibi.board("nucleo-f446re"), "No document of the maker was found"),
        (glyphs, known, "known at 64 MHz, and the clock is 120 MHz"),
        (unclocked, known, "No table of cycles"),
    ):
        found = energy_record(measured, board)
        assert found["microjoules"] is None
        assert text in found["missing"]


def test_board_of_a_report_sets_processor_and_limits(glyphs: MeasuredModel, monkeypatch: pytest.MonkeyPatch) -> None:
    """In Python as on the command line; a target that the board does not have is refused."""
    memories = []

    def measured(*given: Any, **options: Any) -> MeasuredModel:
        memories.append(options["memory"])
        waits = Waits("stm32g4", 4, "flash", 0, Stalls(fetch=1_000, literal=0, data=234))
        return replace(glyphs, target=given[2], measurement=replace(glyphs.measurement, waits=waits))

    monkeypatch.setattr("kibi.pages.measured.measured_model", measured)
    monkeypatch.setattr("kibi.pages.machine.machine_record", lambda *_, **__: {"left_out": "."})
    record = kibi.report(glyphs.simplified, glyphs.planned.plan, board="nrf52840", flash=7).record
    assert record["target"]["clock_hz"] == 64_000_000
    assert record["answer"]["limits"] == {"ram_bytes": 262_144, "flash_bytes": 7}
    assert record["answer"]["energy"]["volts"] == 3.0
    with pytest.raises(TargetError, match="has a cortex-m4, but the target is cortex-m7"):
        kibi.report(glyphs.simplified, board="nrf52840", target="cortex-m7")
    modelled = kibi.report(glyphs.simplified, glyphs.planned.plan, board="nucleo-g474re")
    assert [each and each.name for each in memories] == [None, "stm32g4"]
    assert modelled.record["answer"]["waits"]["stalls"] == {"fetch": 1_000, "literal": 0, "data": 234}
    assert "1,234 of them waits for the flash\n(stm32g4, wait states: 4)" in modelled.page.decode()
    assert "without wait states of the flash" not in modelled.page.decode()
