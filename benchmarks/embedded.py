"""TFLM's arena before and after Kibi's plan is embedded in the model file: `python benchmarks/embedded.py`, or with `--json`.

For each zoo model that TFLM runs and whose plan can be smaller, by better places or by another order of operators: what TFLM's
own Python build takes of its arena for the file as it is and for the copy that `kibi.embed` writes, whether the outputs are
the same bits, and the lower bound. Models are read from the folder that `KIBI_ZOO` names (default `../shared/zoo`).
`--docs` writes the table into docs/offline-plans.md, `--all` shows models that gain nothing as well.
"""

import argparse
import json
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from kibi.dtypes import Array
from kibi.tflm import Oracle
from kibi.tflm.arena import ArenaUse, arena_uses, kernel_scratch
from kibi.tflm.embedding import embed_plan

ROOT = Path(__file__).resolve().parent.parent
ZOO = Path(os.environ.get("KIBI_ZOO", ROOT.parent / "shared" / "zoo"))
PAGE = ROOT / "docs" / "offline-plans.md"
RUNS = 3


@dataclass(frozen=True, slots=True)
class Row:
    """One model: bytes of TFLM's arena before and after.

    Attributes:
        model: its name.
        before, after: TFLM's head (activations and scratch), for the file as it is and for the copy.
        used_before, used_after: head and tail.
        lower_bound_bytes: no plan of whole tensors (and of this build's scratch) in this order needs less.
        scratch_bytes: the most scratch that one operator asks for.
        is_reordered: whether the copy has its operators in another order.
        file_bytes: by how much the file grew.
        same_bits: whether all outputs are the same.
    """

    model: str
    before: int
    after: int
    used_before: int
    used_after: int
    lower_bound_bytes: int
    scratch_bytes: int
    is_reordered: bool
    file_bytes: int
    same_bits: bool


def main() -> None:
    """Embed, run, and print a table or JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="print one JSON list")
    parser.add_argument("--docs", action="store_true", help="write the table into docs/offline-plans.md")
    parser.add_argument("--all", action="store_true", help="models that gain nothing, too")
    arguments = parser.parse_args()
    rows = list(_rows(everything=arguments.all))
    if arguments.json:
        print(json.dumps([asdict(row) for row in rows], indent=1))
    elif arguments.docs:
        text = PAGE.read_text(encoding="utf-8")
        found = re.sub(
            r"(?s)(?<=<!-- embedded -->\n).*?(?=<!-- /embedded -->)", lambda _: _markdown(rows), text, count=1
        )
        PAGE.write_text(found, encoding="utf-8")
    else:
        _print(rows)


def _rows(*, everything: bool) -> Iterator[Row]:
    catalog = ZOO / "catalog.json"
    if not catalog.is_file():
        return
    with Oracle() as oracle:
        for entry in json.loads(catalog.read_text(encoding="utf-8"))["models"]:
            if entry["tflm"]["runs"]:
                row = _row(oracle, entry)
                if everything or row.after != row.before:
                    yield row


def _row(oracle: Oracle, entry: dict[str, Any]) -> Row:
    name, data = entry["name"], (ZOO / entry["file"]).read_bytes()
    scratch = kernel_scratch(data, name)
    made = embed_plan(data, name, scratch_bytes=scratch)
    before, after = (use or ArenaUse(0, 0) for use in arena_uses([data, made.data]))
    inputs = list(_inputs(entry["inputs"]))
    outputs = [
        [array.tobytes() for run in oracle.run(model, inputs) for array in run.outputs] for model in (data, made.data)
    ]
    return Row(
        model=name,
        before=before.head_bytes,
        after=after.head_bytes,
        used_before=before.used_bytes,
        used_after=after.used_bytes,
        lower_bound_bytes=made.plan.lower_bound_bytes,
        scratch_bytes=max(scratch.values(), default=0),
        is_reordered=made.is_reordered,
        file_bytes=len(made.data) - len(data),
        same_bits=outputs[0] == outputs[1],
    )


def _inputs(kinds: Sequence[tuple[Sequence[int], str]]) -> Iterator[list[Array]]:
    """Seeded noise for some runs."""
    draw = np.random.default_rng(0)
    for _ in range(RUNS):
        yield [_noise(draw, tuple(shape), np.dtype(kind)) for shape, kind in kinds]


def _noise(draw: np.random.Generator, shape: tuple[int, ...], kind: np.dtype[Any]) -> Array:
    if kind.kind == "f":
        return draw.standard_normal(shape).astype(kind)
    if kind.kind == "b":
        return draw.integers(0, 2, shape).astype(kind)
    limits = np.iinfo(kind)
    return draw.integers(limits.min, limits.max, shape, kind, endpoint=True)


def _markdown(rows: Sequence[Row]) -> str:
    lines = [
        "| model | head before | after | whole arena before | after | saved | operators reordered | same bits |",
        "|---|---:|---:|---:|---:|---:|---|---|",
    ]
    lines += [f"| {' | '.join(_cells(row))} |" for row in rows]
    return "\n".join(lines) + "\n"


def _cells(row: Row) -> list[str]:
    mark = "*" if row.after == row.lower_bound_bytes else ""
    return [
        f"`{row.model}`",
        f"{row.before:,}",
        f"{row.after:,}{mark}",
        f"{row.used_before:,}",
        f"{row.used_after:,}",
        f"{1 - row.used_after / max(row.used_before, 1):.0%}",
        "yes" if row.is_reordered else "no",
        "yes" if row.same_bits else "NO",
    ]


def _print(rows: Sequence[Row]) -> None:
    table = Table(
        "model", "head", "after", "arena", "after", "saved", "reordered", "same bits", "file grows", "scratch"
    )
    for row in rows:
        table.add_row(*(cell.strip("`") for cell in _cells(row)), f"{row.file_bytes:,}", f"{row.scratch_bytes:,}")
    Console(width=150).print(table)
    print("Bytes as TFLM's own Python build reports them; * as small as whole tensors can be in this order.")


if __name__ == "__main__":
    main()
