"""The energy of one inference: an estimate from the cycles and from what the chip's maker states of its current."""

from typing import Any

from kibi.pages.measured import MeasuredModel
from kibi.targets import Board


def energy_record(measured: MeasuredModel, board: Board | None) -> dict[str, Any]:
    """The estimate for a board, with what it is made of: `microjoules` is null without an estimate, and `missing` says why.

    It is the product of cycles, current for each megahertz, and supply. Nothing was measured: the cycles are an estimate, without
    wait states where the board's flash is not modelled. The current is that of the chip alone, while its core runs from flash and
    its peripherals are off.
    """
    missing = _missing(measured, board)
    current, cycles = None if board is None else board.run_current, measured.measurement.cycles_estimate
    if missing or current is None or cycles is None:
        return {"microjoules": None, "missing": missing}
    return {
        "microjoules": current.microjoules(cycles),
        "missing": "",
        "microamperes_per_mhz": current.microamperes_per_mhz,
        "volts": current.volts,
        "source": current.source,
    }


def _missing(measured: MeasuredModel, board: Board | None) -> str:
    """Why there is no estimate; empty where there is one."""
    if measured.measurement.cycles_estimate is None:
        return "No table of cycles is published for this core."
    if board is None:
        return "No board was named, and what a core takes depends on its chip and its supply. Name one: --board."
    if board.run_current is None:
        what = f"No document of the maker was found that states what the chip of {board.name} takes while it runs"
        return f"{what}. If you have one, describe the board in a file of your own, with run_current."
    if measured.target.clock_hz != board.clock_hz:
        known, asked = (f"{hertz / 1e6:g} MHz" for hertz in (board.clock_hz, measured.target.clock_hz))
        return f"The current of {board.name} is known at {known}, and the clock is {asked}."
    return ""
