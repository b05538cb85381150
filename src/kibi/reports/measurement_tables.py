"""A measurement as a table of its operators and the totals: comma-separated values, and Markdown."""

from collections.abc import Iterator

from kibi.emulator import Stalls
from kibi.reports.measurement import Measurement
from kibi.text.csv import CsvText, csv_text
from kibi.text.markdown import code_span

_TOTALS = (
    "ram_bytes", "arena_bytes", "state_bytes", "stack_bytes", "flash_bytes", "code_bytes", "plan_table_bytes",
    "weights_bytes",
)  # fmt: skip
_LABELS = {
    "ram_bytes": "RAM", "arena_bytes": "arena", "state_bytes": "state", "stack_bytes": "stack", "flash_bytes": "flash",
    "code_bytes": "code", "plan_table_bytes": "plan tables", "weights_bytes": "weights",
}  # fmt: skip
_COLUMNS = ("model", "target", "row", "operator", "output", "macs", "instructions", "scratch_bytes")
_CYCLES = ("cycles_estimate", "stalls_fetch", "stalls_literal", "stalls_data")


def measurement_csv(found: Measurement) -> CsvText:
    """A line for each operator, one for what calls kernels, and one for the total.

    The column `row` says which: `operator`, `calls` or `total`. RAM and flash are in the line of the total alone, so that tables
    of several models can be joined, filtered and summed. Lines of `operator` and `calls` add up to `total`, their cycles and
    stalls as well; these are empty where the core has no table of timings, or no memory is modelled.
    """
    return csv_text(_csv_rows(found))


def _csv_rows(found: Measurement) -> Iterator[tuple[str | int | None, ...]]:
    yield (*_COLUMNS, *_TOTALS, *_CYCLES)
    head, none = (found.model, found.target), (None,) * len(_TOTALS)
    for cost in found.ops:
        row = ("operator", cost.op, cost.name, cost.macs, cost.instructions, cost.scratch_bytes)
        yield (*head, *row, *none, *_cycles(cost.cycles_estimate, cost.stalls))
    rest = _cycles(found.calls_cycles_estimate, _calls_stalls(found))
    yield (*head, "calls", None, None, 0, found.calls_instructions, 0, *none, *rest)
    totals = tuple(getattr(found, name) for name in _TOTALS)
    spent = _cycles(found.cycles_estimate, found.waits.stalls if found.waits else None)
    yield (*head, "total", None, None, found.macs, found.instructions, None, *totals, *spent)


def _cycles(cycles: int | None, stalls: Stalls | None) -> tuple[int | None, ...]:
    """The cells of `_CYCLES`."""
    return (cycles, *((None,) * 3 if stalls is None else (stalls.fetch, stalls.literal, stalls.data)))


def _calls_stalls(found: Measurement) -> Stalls | None:
    """What the core waits outside of operators: the rest of the total."""
    if found.waits is None:
        return None
    each = [cost.stalls or Stalls() for cost in found.ops]
    total = found.waits.stalls
    return Stalls(
        total.fetch - sum(stalls.fetch for stalls in each),
        total.literal - sum(stalls.literal for stalls in each),
        total.data - sum(stalls.data for stalls in each),
    )


def measurement_markdown(found: Measurement) -> str:
    """The totals and the operators as two tables. Names are code spans, so that nothing in them is markup."""
    return "\n".join([*_markdown_lines(found), ""])


def _markdown_lines(found: Measurement) -> Iterator[str]:
    yield f"### {code_span(found.model)} on {code_span(found.target)}"
    yield ""
    yield "| total | |"
    yield "|---|---:|"
    for name in _TOTALS:
        yield f"| {_LABELS[name]} | {getattr(found, name):,} |"
    if found.cycles_estimate is not None:
        yield f"| cycles (estimate) | {found.cycles_estimate:,} |"
    for name, cycles in _stall_rows(found):
        yield f"| {name} | {cycles:,} |"
    yield f"| instructions | {found.instructions:,} |"
    yield f"| multiply-accumulates | {found.macs:,} |"
    yield f"| same bits | {'yes' if found.bit_exact else '**no**'} |"
    yield ""
    further = found.waits is not None
    yield "| operator | output | MACs | instructions | per MAC | share | scratch |" + (
        " cycles | waits |" if further else ""
    )
    yield "|---|---|---:|---:|---:|---:|---:|" + ("---:|---:|" if further else "")
    for cost in found.ops:
        cells = _figures(cost.macs, cost.instructions, found.instructions)
        waits = _waits(cost.cycles_estimate, cost.stalls) if further else ""
        yield f"| {code_span(cost.op)} | {code_span(cost.name)} | {cells} | {cost.scratch_bytes:,} |{waits}"
    waits = _waits(found.calls_cycles_estimate, _calls_stalls(found)) if further else ""
    yield f"| calls of kernels | | {_figures(0, found.calls_instructions, found.instructions)} | |{waits}"
    waits = _waits(found.cycles_estimate, found.waits.stalls if found.waits else None) if further else ""
    yield f"| total | | {_figures(found.macs, found.instructions, found.instructions)} | |{waits}"


def _stall_rows(found: Measurement) -> Iterator[tuple[str, int]]:
    """The cycles of the total that the core waits for its flash, by cause."""
    if found.waits is not None:
        stalls = found.waits.stalls
        yield "waits for instructions", stalls.fetch
        yield "waits for literals", stalls.literal
        yield "waits for weights and tables", stalls.data


def _waits(cycles: int | None, stalls: Stalls | None) -> str:
    """The cells of cycles, and of the cycles among them that the core waits for its flash."""
    return f" {cycles or 0:,} | {stalls.cycles if stalls else 0:,} |"


def _figures(macs: int, instructions: int, of: int) -> str:
    """The cells of multiply-accumulates, instructions, instructions for each, and share."""
    each = f"{instructions / macs:.2f}" if macs else ""
    return f"{macs:,} | {instructions:,} | {each} | {instructions / max(of, 1):.1%}"
