"""Placement problems as text: the CSV form of MiniMalloc's benchmarks.

The first line names the columns: `id`, `lower`, `upper`, `size` and, if wanted, `alignment`, `gaps` and `offset`. Lives go
from `lower` to before `upper`; with columns `start` or `begin` and `end` instead, to `end` itself. Gaps are written
`12-15`, or `12-15@64:128` where the bytes from 64 to before 128 stay in use, with blanks between them. An `offset` is where the
buffer must be; where it is empty, that is open.
"""

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from kibi.errors import PlanError
from kibi.planner.placement.items import MOST_BYTES, Gap, Item, check_items

_OTHER_NAMES = {"begin": "lower", "start": "lower", "end": "upper", "buffer": "id", "buffer_id": "id"}
_REQUIRED = ("id", "lower", "upper", "size")


@dataclass(frozen=True, slots=True)
class Instance:
    """A placement problem from a file.

    Attributes:
        names: of the items; any text.
        items: what to place.
    """

    names: tuple[str, ...]
    items: tuple[Item, ...]


def read_instance(text: str, source: str) -> Instance:
    """Read a placement problem.

    Args:
        text: the file's text.
        source: the file's name, for errors.

    Raises:
        PlanError: the text is no such table, or what it says makes no sense.
    """
    rows = _rows(text, source)
    header = [name.strip() for name in next(rows, (1, []))[1]]
    columns = {_OTHER_NAMES.get(name, name): number for number, name in enumerate(header)}
    missing = [name for name in _REQUIRED if name not in columns]
    if missing or len(columns) < len(header):
        what = f"has no column {', '.join(missing)}" if missing else "names a column twice"
        raise PlanError(f"{source}: the first line {what}. It must name at least: {','.join(_REQUIRED)}.")
    behind = int("end" in header)
    lines: dict[str, int] = {}
    items = []
    for number, row in rows:
        if not row:
            continue
        where = f"{source}, line {number}"
        if len(row) != len(header):
            raise PlanError(f"{where}: {len(row)} fields, but {len(header)} columns. Give each row a field per column.")
        fields = {name: row[column].strip() for name, column in columns.items()}
        other = lines.setdefault(fields["id"], number)
        if other != number:
            what = f"the id {fields['id'][:40]!r} is that of line {other}, too"
            raise PlanError(f"{where}: {what}. Give each buffer an id of its own.")
        items.append(_item(fields, behind, where))
    try:
        check_items(items)
    except PlanError as error:
        raise PlanError(f"{source}: {error}") from None
    return Instance(tuple(lines), tuple(items))


def _rows(text: str, source: str) -> Iterator[tuple[int, list[str]]]:
    """The rows of a table, each with the line on which it ends.

    Raises:
        PlanError: a field is too long, or a line ends within one.
    """
    rows = csv.reader(io.StringIO(text.removeprefix("\ufeff"), newline=""))
    try:
        yield from ((rows.line_num, row) for row in rows)
    except csv.Error as error:
        raise PlanError(f"{source}, line {rows.line_num}: {error}. Write a table of comma-separated fields.") from None


def write_instance(instance: Instance, offsets: Sequence[int]) -> str:
    """The problem with its solution, in the same form; read back, each offset is a fixed one."""
    has_alignment = any(item.alignment != 1 for item in instance.items)
    has_gaps = any(item.gaps for item in instance.items)
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow([*_REQUIRED, *["alignment"] * has_alignment, *["gaps"] * has_gaps, "offset"])
    for name, item, offset in zip(instance.names, instance.items, offsets, strict=True):
        alignment, gaps = [item.alignment] * has_alignment, [" ".join(map(_gap_text, item.gaps))] * has_gaps
        rows.writerow([name, item.start, item.end, item.size_bytes, *alignment, *gaps, offset])
    return text.getvalue()


def _item(fields: Mapping[str, str], behind: int, where: str) -> Item:
    return Item(
        start=_number(fields["lower"], where),
        end=_number(fields["upper"], where) + behind,
        size_bytes=_number(fields["size"], where),
        alignment=_number(fields.get("alignment", "1"), where),
        offset=_number(fields["offset"], where) if fields.get("offset") else None,
        gaps=tuple(_gaps(fields.get("gaps", ""), behind, where)),
    )


def _gaps(text: str, behind: int, where: str) -> Iterator[Gap]:
    for gap in text.split():
        life, has_window, window = gap.partition("@")
        start, has_end, end = life.partition("-")
        low, has_high, high = window.partition(":")
        if not has_end or bool(has_window) != bool(has_high):
            raise PlanError(f"{where}: {gap!r} is no gap. Write it like 12-15, or 12-15@64:128.")
        yield Gap(
            _number(start, where),
            _number(end, where) + behind,
            (_number(low, where), _number(high, where)) if has_window else None,
        )


def _gap_text(gap: Gap) -> str:
    window = "" if gap.window is None else f"@{gap.window[0]}:{gap.window[1]}"
    return f"{gap.start}-{gap.end}{window}"


def _number(text: str, where: str) -> int:
    if not (text.isascii() and text.removeprefix("-").isdigit() and len(text) < 20) or abs(int(text)) > MOST_BYTES:
        raise PlanError(f"{where}: {text[:40]!r} is no whole number up to {MOST_BYTES}. Correct the field.")
    return int(text)
