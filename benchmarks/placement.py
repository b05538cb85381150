"""Placement on published instances: `python benchmarks/placement.py`, or with `--json` for programs.

Instances are read from the folder `planning` beside the one that `KIBI_ZOO` names (default `../shared/planning`):
MiniMalloc's eleven at their capacity, and idealloc's at the least peak that is found in time. Each answer is checked.
The time is that of `place_items`, from the items to their offsets, on one core.
"""

import argparse
import json
import os
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

from rich.console import Console
from rich.table import Table

from kibi.planner.placement.check import check_offsets
from kibi.planner.placement.items import Item
from kibi.planner.placement.placing import place_items
from kibi.planner.placement_file import read_instance

ROOT = Path(__file__).resolve().parent.parent
PLANNING = Path(os.environ.get("KIBI_ZOO", ROOT.parent / "shared" / "zoo")).parent / "planning"
MINIMALLOC_SECONDS = {
    "A.1048576": 4.82, "B.1048576": 3.70, "C.1048576": 0.73, "D.1048576": 3.36, "E.1048576": 3.56, "F.1048576": 4.88,
    "G.1048576": 1.03, "H.1048576": 1.40, "I.1048576": 3.18, "J.1048576": 1.25, "K.1048576": 0.55, "iopddl_G_1": 3.86,
    "somas_tensors_resnet50": 0.48,
}  # fmt: skip
"""Seconds of MiniMalloc at the same capacity, one run on another machine."""


def main() -> None:
    """Measure, and print a table or JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("instances", nargs="*", type=Path, help="tables to place instead; their least peak")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--runs", type=int, default=3, help="the least of so many times counts")
    parser.add_argument("--time-limit", type=float, default=20.0, help="seconds for each search")
    arguments = parser.parse_args()
    paths = arguments.instances or [*_paths("minimalloc"), *_paths("idealloc")]
    place_items([Item(0, 1, 1)] * 65 + [Item(0, 2, 3, 2)])  # compiles the native code
    results = [_measure(path, arguments.runs, arguments.time_limit) for path in paths]
    if arguments.json:
        print(json.dumps(results, indent=1))
    else:
        _print(results)


def _paths(folder: str) -> Sequence[Path]:
    return sorted(path for path in (PLANNING / folder).glob("*.csv") if not path.stem.startswith("input"))


def _measure(path: Path, runs: int, time_limit: float) -> dict[str, Any]:
    """The capacity stands in the file's name, if there is one."""
    items = read_instance(path.read_text(encoding="utf-8"), path.name).items
    number = path.stem.rpartition(".")[2]
    capacity = int(number) if number.isdigit() and "." in path.stem else None
    seconds = []
    for _ in range(runs):
        started = perf_counter()
        found = place_items(items, capacity=capacity, time_limit_seconds=time_limit)
        seconds.append(perf_counter() - started)
        if found.offsets is None:
            raise SystemExit(f"{path}: contradictory offsets")
        check_offsets(items, found.offsets, found.peak_bytes)
    return {
        "instance": path.stem,
        "buffers": len(items),
        "capacity_bytes": capacity,
        "seconds": round(min(seconds), 4),
        "minimalloc_seconds": MINIMALLOC_SECONDS.get(path.stem),
        "status": found.status.value,
        "peak_bytes": found.peak_bytes,
        "lower_bound_bytes": found.lower_bound_bytes,
    }


def _print(results: Sequence[dict[str, Any]]) -> None:
    table = Table(title="Placement")
    for heading in ("instance", "buffers", "capacity", "seconds", "MiniMalloc", "status", "peak", "lower bound", "gap"):
        table.add_column(heading, justify="left" if heading in ("instance", "status") else "right")
    for each in results:
        table.add_row(
            each["instance"],
            f"{each['buffers']:,}",
            f"{each['capacity_bytes']:,}" if each["capacity_bytes"] else "-",
            f"{each['seconds']:.3f}",
            f"{each['minimalloc_seconds']:.2f}" if each["minimalloc_seconds"] else "-",
            each["status"],
            f"{each['peak_bytes']:,}",
            f"{each['lower_bound_bytes']:,}",
            f"{each['peak_bytes'] / each['lower_bound_bytes'] - 1:.2%}",
        )
    console = Console()
    console.print(table)
    with_capacity = [each["seconds"] for each in results if each["capacity_bytes"]]
    if with_capacity:
        console.print(f"with a capacity, together: {sum(with_capacity):.3f} s")


if __name__ == "__main__":
    main()
