"""Tables as comma-separated values that every reader takes, with any names in the cells."""

import csv
import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from kibi.printable import printable

_FORMULA = ("=", "+", "-", "@")
"""What begins a formula in a spreadsheet, which would then run text from a model."""


@dataclass(frozen=True, slots=True)
class CsvText:
    """A table as comma-separated values (RFC 4180, with line feeds); `csv_text` makes it.

    Attributes:
        text: for the writers at the end.
    """

    text: str


def csv_text(rows: Iterable[Sequence[str | float | None]]) -> CsvText:
    """A table. Numbers are written in full, None is an empty cell.

    Control characters of texts become visible. A text that a spreadsheet would take for a formula gets an apostrophe before it.

    Args:
        rows: the names of the columns first.
    """
    made = io.StringIO()
    writer = csv.writer(made, lineterminator="\n")
    writer.writerows([_cell(each) for each in row] for row in rows)
    return CsvText(made.getvalue())


def _cell(value: str | float | None) -> str | float | None:
    if not isinstance(value, str):
        return value
    shown = printable(value)
    return f"'{shown}" if shown.startswith(_FORMULA) else shown
