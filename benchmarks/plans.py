"""Plans of every model that loads, beside TensorFlow Lite Micro's: `python benchmarks/plans.py`, or with `--json`.

For each model with rows: what TFLM's planner needs ("head": activations and scratch), the best plan of whole tensors, and the
plans by the row with the input stored and streamed, each with its lower bound. Models and TFLM's figures are read from the
folder that `KIBI_ZOO` names (default `../shared/zoo`). Without it, the shipped model alone is planned.
"""

import argparse
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

import kibi
import kibi.demo
from kibi.ir import Graph
from kibi.planner import Plan

ROOT = Path(__file__).resolve().parent.parent
ZOO = Path(os.environ.get("KIBI_ZOO", ROOT.parent / "shared" / "zoo"))
WAYS: Mapping[str, Mapping[str, str]] = {
    "tensor": {"granularity": "tensor"},
    "row": {"granularity": "row"},
    "row_streamed": {"granularity": "row", "input": "streamed"},
}
"""For each plan, the keyword arguments of `kibi.plan`."""


def main() -> None:
    """Plan, and print a table or JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="*", type=Path, help="model files to plan instead")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    arguments = parser.parse_args()
    results = [_planned(name, path, head) for name, path, head in _models(arguments.models)]
    found = [result for result in results if result is not None]
    if arguments.json:
        print(json.dumps(found, indent=1))
    else:
        _print(found)


def _models(paths: list[Path]) -> list[tuple[str, Path, int | None]]:
    """Name, file, and bytes of TFLM's head where they are known."""
    if paths:
        return [(path.stem, path, None) for path in paths]
    shipped = kibi.demo.model_path()
    models: list[tuple[str, Path, int | None]] = [(shipped.stem, shipped, None)]
    catalog = ZOO / "catalog.json"
    if catalog.is_file():
        for entry in json.loads(catalog.read_text(encoding="utf-8"))["models"]:
            head = (entry.get("tflm") or {}).get("head_bytes")
            models.append((entry["name"], ZOO / "models" / f"{entry['name']}.tflite", head))
    return models


def _planned(name: str, path: Path, head: int | None) -> dict[str, Any] | None:
    """The plans of a model; None where it does not load, or has no rows."""
    try:
        graph = kibi.load(path)
    except kibi.KibiError:
        return None
    if not _has_rows(graph):
        return None
    plans = {way: kibi.plan(graph, **options) for way, options in WAYS.items()}  # type: ignore[arg-type]  # all strings
    return {"model": name, "tflm_head_bytes": head, "plans": {way: _record(plan) for way, plan in plans.items()}}


def _has_rows(graph: Graph) -> bool:
    made = (graph.tensors[index] for node in graph.nodes for index in node.outputs)
    return any(tensor.type.rows > 1 for tensor in made)


def _record(plan: Plan) -> dict[str, Any]:
    return {
        "arena_bytes": plan.arena_bytes,
        "lower_bound_bytes": plan.lower_bound_bytes,
        "proven_optimal": plan.proven_optimal,
        "seconds": round(plan.solve_seconds, 3),
    }


def _print(results: list[dict[str, Any]]) -> None:
    columns = ("TFLM head", "whole tensors", "by the row", "gap", "streamed", "gap", "TFLM / row", "seconds")
    table = Table("model", *columns, title="Bytes of arena, scratch included; * proven least for its order of steps")
    for column in table.columns[1:]:
        column.justify = "right"
    for result in results:
        tensor, row, streamed = (result["plans"][way] for way in WAYS)
        head = result["tflm_head_bytes"]
        table.add_row(
            result["model"],
            f"{head:,}" if head else "-",
            _bytes(tensor),
            _bytes(row),
            _gap(row),
            _bytes(streamed),
            _gap(streamed),
            f"{head / row['arena_bytes']:.1f}" if head else "-",
            f"{sum(plan['seconds'] for plan in (row, streamed)):.2f}",
        )
    Console(width=150).print(table)


def _bytes(plan: Mapping[str, Any]) -> str:
    return f"{plan['arena_bytes']:,}{'*' if plan['proven_optimal'] else ' '}"


def _gap(plan: Mapping[str, Any]) -> str:
    return "" if plan["proven_optimal"] else f"{plan['arena_bytes'] / plan['lower_bound_bytes'] - 1:.1%}"


if __name__ == "__main__":
    main()
