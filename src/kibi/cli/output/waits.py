"""Cycles and milliseconds of an inference, and what the core waits for its flash, as `kibi measure` and `kibi demo` print them."""

from typing import TYPE_CHECKING

from kibi.targets import Runner

if TYPE_CHECKING:
    from kibi.cli.options.boards import Chosen
    from kibi.emulator import Stalls
    from kibi.reports.measurement import Measurement, OperatorCost
    from kibi.targets import Target


def time_texts(found: "Measurement", processor: "Target") -> tuple[str, str]:
    """Returns the estimated time of one inference and its unit with the clock; `-` and the reason if there is no estimate."""
    if processor.runner is Runner.QEMU:
        return "-", "no estimate: QEMU counts no cycles"
    if found.cycles_estimate is None or processor.timing is None or not processor.clock_hz:
        return "-", "no estimate: no timings are known of this core"
    spent = found.cycles_estimate / processor.clock_hz * 1000
    states = found.waits.wait_states if found.waits else 0
    many = {0: "zero wait states", 1: "1 wait state"}.get(states, f"{states} wait states")
    about = ", ".join(filter(None, ("estimate", processor.timing.remark, many)))
    return f"{spent:,.{1 if spent >= 10 else 3}f}", f"ms at {processor.clock_hz / 1e6:g} MHz ({about})"


def time_lines(found: "Measurement", picked: "Chosen") -> list[tuple[str, str]]:
    """Returns the line of cycles and milliseconds and, where the board's flash is modelled, that of the cycles waited."""
    estimate = " ".join(time_texts(found, picked.target))
    if found.cycles_estimate is not None:
        estimate = f"{found.cycles_estimate:,} cycles, {estimate}"
        if picked.board is not None and found.waits is None:
            estimate += f"; {picked.uncounted_waits}"
    if found.waits is None:
        return [("time", estimate)]
    stalls = found.waits.stalls
    causes = f"instructions {stalls.fetch:,}, literals {stalls.literal:,}, weights and tables {stalls.data:,}"
    place = "code in RAM" if found.waits.code_in == "ram" else "code in flash"
    share = stalls.cycles / max(found.cycles_estimate or 0, 1)
    waited = f"{stalls.cycles:,} of these cycles ({share:.1%}): {causes}; {place}, memory {found.waits.memory}"
    return [("time", estimate), ("waits", waited)]


def wait_cells(cost: "OperatorCost") -> tuple[str, str]:
    """Returns the cells of an operator: its cycles, and the share of these that the core waits."""
    return _cells(cost.cycles_estimate or 0, cost.stalls)


def total_cells(found: "Measurement") -> tuple[str, str]:
    """Returns the same cells of a model."""
    return _cells(found.cycles_estimate or 0, found.waits.stalls if found.waits else None)


def _cells(cycles: int, stalls: "Stalls | None") -> tuple[str, str]:
    return f"{cycles:,}", f"{stalls.cycles / cycles:.1%}" if stalls is not None and cycles else ""
