"""A measurement as a table of its operators and the totals: comma-separated values, and Markdown."""

from collections.abc import Iterator

from kibi.reports.measurement import Measurement
from kibi.text.csv import CsvText, csv_text
from kibi.text.markdown import code_span

_TOTALS = (
    "ram_bytes", "arena_bytes", "state_bytes", "stack_bytes", "flash_bytes", "code_bytes", "plan_table_bytes",
    "weights_bytes", "cycles_estimate",
)  # fmt: skip
_LABELS = {
    "ram_bytes": "RAM", "arena_bytes": "arena", "state_bytes": "state", "stack_bytes": "stack", "flash_bytes": "flash",
    "code_bytes": "code", "plan_table_bytes": "plan tables", "weights_bytes": "weights", "cycles_estimate": "cycles (estimate)",
}  # fmt: skip
_COLUMNS = ("model", "target", "row", "operator", "output", "macs", "instructions", "scratch_bytes")


def measurement_csv(found: Measurement) -> CsvText:
    """A line for each operator, one for what calls kernels, and one for the total.

    The column `row` says which: `operator`, `calls` or `total`. RAM, flash and cycles are in the line of the total alone, so that
    tables of several models can be joined, filtered and summed.
    """
    return csv_text(_csv_rows(found))


def _csv_rows(found: Measurement) -> Iterator[tuple[str | int | None, ...]]:
    yield (*_COLUMNS, *_TOTALS)
    head, none = (found.model, found.target), (None,) * len(_TOTALS)
    for cost in found.ops:
        yield (*head, "operator", cost.op, cost.name, cost.macs, cost.instructions, cost.scratch_bytes, *none)
    yield (*head, "calls", None, None, 0, found.calls_instructions, 0, *none)
    totals = tuple(getattr(found, name) for name in _TOTALS)
    yield (*head, "total", None, None, found.macs, found.instructions, None, *totals)


def measurement_markdown(found: Measurement) -> str:
    """The totals and the operators as two tables. Names are code spans, so that nothing in them is markup."""
    return "\n".join([*_markdown_lines(found), ""])


def _markdown_lines(found: Measurement) -> Iterator[str]:
    yield f"### {code_span(found.model)} on {code_span(found.target)}"
    yield ""
    yield "| total | |"
    yield "|---|---:|"
    for name in _TOTALS:
        value = getattr(found, name)
        if value is not None:
            yield f"| {_LABELS[name]} | {value:,} |"
    yield f"| instructions | {found.instructions:,} |"
    yield f"| multiply-accumulates | {found.macs:,} |"
    yield f"| same bits | {'yes' if found.bit_exact else '**no**'} |"
    yield ""
    yield "| operator | output | MACs | instructions | per MAC | share | scratch |"
    yield "|---|---|---:|---:|---:|---:|---:|"
    for cost in found.ops:
        cells = _figures(cost.macs, cost.instructions, found.instructions)
        yield f"| {code_span(cost.op)} | {code_span(cost.name)} | {cells} | {cost.scratch_bytes:,} |"
    yield f"| calls of kernels | | {_figures(0, found.calls_instructions, found.instructions)} | |"
    yield f"| total | | {_figures(found.macs, found.instructions, found.instructions)} | |"


def _figures(macs: int, instructions: int, of: int) -> str:
    """The cells of multiply-accumulates, instructions, instructions for each, and share."""
    each = f"{instructions / macs:.2f}" if macs else ""
    return f"{macs:,} | {instructions:,} | {each} | {instructions / max(of, 1):.1%}"
