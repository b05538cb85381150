"""The tables of what models take on every target, from the record of `benchmarks/targets.py`."""  # noqa: INP001

import json
from pathlib import Path

_RECORD = Path(__file__).resolve().parent.parent / "benchmarks" / "targets.json"
_HEAD = (
    "| target | arena | stack | code | weights | instructions | cycles | same bits |\n"
    "|---|---:|---:|---:|---:|---:|---:|---|\n"
)


def target_tables() -> str:
    """A table for each model, with a row for each target."""
    costs = json.loads(_RECORD.read_text(encoding="utf-8"))["costs"]
    return "\n".join(f"### `{model}`\n\n{_HEAD}{''.join(map(_row, rows.items()))}" for model, rows in costs.items())


def _row(entry: tuple[str, dict[str, object]]) -> str:
    name, found = entry
    counted = f"{found['instructions']:,}" if found["counter"] else "-"
    if found["counter"] not in ("", "instructions"):
        counted += f" {found['counter']}"
    cycles = "-" if found["cycles"] is None else f"{found['cycles']:,}"
    bytes_ = " | ".join(f"{found[f'{key}_bytes']:,}" for key in ("arena", "stack", "code", "weights"))
    return f"| `{name}` | {bytes_} | {counted} | {cycles} | {'yes' if found['is_exact'] else 'no'} |\n"
