"""Kibi's interpreter beside TFLM's: arenas and metadata: `python benchmarks/interpreters.py`, or with `--json`.

For each zoo model that Kibi loads: TFLM's head (activations and scratch), the smallest arena with which its Python build
works, and what lies between the two: its metadata. Then the arena that Kibi's interpreter needs with whole tensors, which is
TFLM's own restriction, and by the row, and the metadata of its tensors. Says whether any of Kibi's is larger, and ends with
an error if so. Models and TFLM's figures are read from the folder that `KIBI_ZOO` names (default `../shared/zoo`).
`--docs` writes the table into docs/arenas-of-models.md.
"""

import argparse
import json
import os
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

import kibi
from kibi.errors import KibiError

ROOT = Path(__file__).resolve().parent.parent
ZOO = Path(os.environ.get("KIBI_ZOO", ROOT.parent / "shared" / "zoo"))
PAGE = ROOT / "docs" / "arenas-of-models.md"
SECTION = re.compile(r"(?s)(?<=<!-- interpreters -->\n).*?(?=<!-- /interpreters -->)")
"""Where the table stands in the page."""


@dataclass(frozen=True, slots=True)
class Row:
    """One model: bytes in TFLM's interpreter and in Kibi's.

    Attributes:
        model: its name.
        tflm_head_bytes: activations and scratch, as TFLM plans them.
        tflm_arena_bytes: the smallest arena with which TFLM's Python build works, on a 64-bit machine.
        tflm_metadata_bytes: what that holds beside the head.
        tensor_arena_bytes: the smallest arena of Kibi's interpreter with whole tensors.
        row_arena_bytes: the same with the plan by the row.
        metadata_bytes: the tensors' descriptors in Kibi's interpreter, as on a 32-bit device.
    """

    model: str
    tflm_head_bytes: int
    tflm_arena_bytes: int
    tflm_metadata_bytes: int
    tensor_arena_bytes: int
    row_arena_bytes: int
    metadata_bytes: int

    @property
    def is_never_larger(self) -> bool:
        """Whether Kibi's arenas and metadata are at most TFLM's, each against its own, and by the row at most the whole."""
        return (
            self.row_arena_bytes <= self.tensor_arena_bytes <= self.tflm_head_bytes
            and self.metadata_bytes <= self.tflm_metadata_bytes
        )


def main() -> None:
    """Plan, and print a table or JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="print one JSON list")
    parser.add_argument("--docs", action="store_true", help="write the table into docs/arenas-of-models.md")
    arguments = parser.parse_args()
    rows = list(measured_rows())
    if arguments.json:
        print(json.dumps([asdict(row) for row in rows], indent=1))
    elif arguments.docs:
        text = PAGE.read_text(encoding="utf-8")
        PAGE.write_text(SECTION.sub(lambda _: markdown(rows), text, count=1), encoding="utf-8")
    else:
        _print(rows)
    larger = [row.model for row in rows if not row.is_never_larger]
    if larger:
        sys.exit(f"Kibi's interpreter needs more than TFLM's for {', '.join(larger)}")


def measured_rows() -> Iterator[Row]:
    """A row for each zoo model that loads and that TFLM runs; none where there is no zoo."""
    catalog = ZOO / "catalog.json"
    if not catalog.is_file():
        return
    for entry in json.loads(catalog.read_text(encoding="utf-8"))["models"]:
        if entry["tflm"]["runs"]:
            try:
                model = kibi.load(ZOO / entry["file"])
            except KibiError:
                continue  # has operators or types that Kibi does not know
            yield _row(entry, model)


def markdown(rows: Sequence[Row]) -> str:
    """The table of the documents."""
    lines = [
        "| model | TFLM: head | smallest arena | metadata | Kibi: whole tensors | by the row | metadata |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    lines += [f"| `{name}` | {' | '.join(cells)} |" for name, *cells in map(_cells, rows)]
    return "\n".join(lines) + "\n"


def _row(entry: dict[str, Any], model: kibi.Graph) -> Row:
    head, smallest = entry["tflm"]["head_bytes"], entry["tflm"]["smallest_arena_bytes_x86_64"]
    whole, by_row = (
        kibi.Interpreter(model, kibi.plan(model, granularity=granularity)) for granularity in ("tensor", "row")
    )
    return Row(
        model=entry["name"],
        tflm_head_bytes=head,
        tflm_arena_bytes=smallest,
        tflm_metadata_bytes=smallest - head,
        tensor_arena_bytes=whole.arena_needed_bytes,
        row_arena_bytes=by_row.arena_needed_bytes,
        metadata_bytes=max(whole.metadata_used_bytes, by_row.metadata_used_bytes),
    )


def _cells(row: Row) -> list[str]:
    _, *numbers = asdict(row).values()
    return [row.model, *(f"{number:,}" for number in numbers)]


def _print(rows: Sequence[Row]) -> None:
    table = Table("model", *("TFLM head", "arena", "metadata", "Kibi, whole", "by the row", "metadata"))
    for row in rows:
        table.add_row(*_cells(row))
    Console(width=120).print(table)
    verdict = "is never larger" if all(row.is_never_larger for row in rows) else "IS LARGER"
    print(
        f"Bytes of {len(rows)} models. Kibi's interpreter {verdict}: whole tensors against the head, metadata against metadata."
    )


if __name__ == "__main__":
    main()
