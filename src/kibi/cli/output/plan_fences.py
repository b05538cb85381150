"""`kibi plan --fences`: when each constant may be written while inference runs."""

from pathlib import Path
from typing import TYPE_CHECKING

from kibi.cli.terminal import name_of, output, picture_columns, say, show, table
from kibi.files import write_file

if TYPE_CHECKING:
    from kibi.planner import PlannedModel
    from kibi.reports.fences import Fence

_TABLE_COLUMNS = 62
"""Characters of a line that the columns before the picture take."""


def draw_fences(path: Path, planned: "PlannedModel", found: "tuple[Fence, ...]") -> None:
    """Draws when each constant may be written, in an SVG file.

    Raises:
        OutputError: it cannot be written.
    """
    from kibi.reports.fences_svg import fences_svg  # noqa: PLC0415

    write_file(path, fences_svg(planned.graph.name, found, len(planned.plan.steps)).encode())


def show_fences(planned: "PlannedModel", found: "tuple[Fence, ...]") -> None:
    """Prints a line for each constant: its bytes, the first and the last step that read it, and a picture of the time between."""
    from kibi.reports.fence_picture import LEGEND, fence_bar  # noqa: PLC0415

    console, steps = output(), len(planned.plan.steps)
    say(console, f"\nWhen constants may be written in an inference of {steps:,} steps:\n")
    rows = table(console, "!operator", "output", "constant", ">bytes", ">first step", ">last step", "")
    columns = picture_columns(console) - _TABLE_COLUMNS
    for each in found:
        numbers = (f"{each.size_bytes:,}", f"{each.first:,}", f"{each.last:,}")
        names = (each.op, name_of(each.name, 16), name_of(each.constant, 16))
        rows.add_row(*names, *numbers, fence_bar(each, steps, columns))
    show(console, rows)
    say(console, f"\n{LEGEND}")
