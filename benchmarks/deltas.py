"""Sizes of updates beside those of general tools: `python benchmarks/deltas.py`, or with `--json` for programs.

Ten pairs of plan files of real models, of the folder that `KIBI_ZOO` names (default `../shared/zoo`): fine-tuned weights in a
layout that stays, and files that were planned in another way. The others are detools and bsdiff4: `pip install detools bsdiff4`.
"""

import argparse
import io
import json
import os
import sys
import time
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import kibi
from kibi.ir import Graph
from kibi.passes import simplify
from kibi.planfile.like import layout_of, written_like
from kibi.planfile.writer import written_file
from kibi.planner import validate
from kibi.update.delta import decode, encode

ROOT = Path(__file__).resolve().parent.parent
ZOO = Path(os.environ.get("KIBI_ZOO", ROOT.parent / "shared" / "zoo"))
TOOLS = ("detools", "bsdiff4")
LAYERS = ("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED")
SHARE = 0.3
CHANGES = (-2, -1, 1, 2)
TUNED = (
    ("mlperf_kws_int8", "balanced"),
    ("mlperf_vww_int8", "flash"),
    ("mlperf_ic_int8", "balanced"),
    ("mlperf_ad_int8", "balanced"),
    ("mlperf_sww_int8", "balanced"),
    ("tflm_micro_speech", "balanced"),
    ("mww_v2_okay_nabu", "balanced"),
)
"""Models whose weights change, and the goal that they are planned for."""
PLANNED_ANEW = ("mlperf_kws_int8", "mlperf_ic_int8", "mlperf_sww_int8")
"""Models that are planned for flash where the older file was not."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Two plan files.

    Attributes:
        name: what differs.
        old, new: their bytes.
    """

    name: str
    old: bytes
    new: bytes


def tuned(model: Graph, seed: int = 0) -> Graph:
    """The model with other weights, as after further training: 30 of 100 change by up to 2."""
    filters = {view.node.inputs[1] for view in model.views if view.op.name in LAYERS}
    drawn, tensors = np.random.default_rng(seed), list(model.tensors)
    for index in sorted(each for each in filters if each is not None):
        data = np.asarray(tensors[index].data, np.int16)
        moved = np.where(drawn.random(data.shape) < SHARE, drawn.choice(CHANGES, data.shape), 0)
        tensors[index] = replace(tensors[index], data=np.clip(data + moved, -127, 127).astype(np.int8))
    return replace(model, tensors=tuple(tensors))


def pairs() -> Iterator[Pair]:
    """Yields all pairs."""
    for name, goal in TUNED:
        model = kibi.load(path_of(name))
        without = ("constant-channels",) if name == "mlperf_vww_int8" else ()
        simplified = simplify(model, without)
        planned = validate(simplified.graph, kibi.plan(simplified.graph, goal=goal))
        file = written_file(planned)
        made = written_like(tuned(model), layout_of(planned, simplified, file))
        yield Pair(f"{name}, other weights", file.data, made.data)
    for name in PLANNED_ANEW:
        simplified = simplify(kibi.load(path_of(name)))
        old, new = (
            written_file(validate(simplified.graph, kibi.plan(simplified.graph, goal=goal))).data
            for goal in ("balanced", "flash")
        )
        yield Pair(f"{name}, planned for flash", old, new)


def path_of(name: str) -> Path:
    """The file of a model."""
    models = json.loads((ZOO / "catalog.json").read_text(encoding="utf-8"))["models"]
    return Path(ZOO, next(each["file"] for each in models if each["name"] == name))


def measured(pair: Pair) -> dict[str, Any]:
    """The bytes that each tool takes, None for one that is not installed; and the seconds that Kibi takes."""
    begin = time.perf_counter()
    payload = encode(pair.old, pair.new)
    seconds = time.perf_counter() - begin
    if decode(payload, pair.old, len(pair.new)) != pair.new:
        raise AssertionError(f"{pair.name}: the delta makes another file")
    return {
        "pair": pair.name,
        "file": len(pair.new),
        "kibi": len(payload),
        "detools, heatshrink": _by_detools(pair, "heatshrink"),
        "detools, lzma": _by_detools(pair, "lzma"),
        "bsdiff4": _by_bsdiff(pair),
        "zlib": len(zlib.compress(pair.new, 9)),
        "seconds": round(seconds, 2),
    }


def _by_detools(pair: Pair, compression: str) -> int | None:
    try:
        import detools  # noqa: PLC0415 - nothing else needs it
    except ModuleNotFoundError:
        return None
    patch = io.BytesIO()
    detools.create_patch(io.BytesIO(pair.old), io.BytesIO(pair.new), patch, compression)
    return len(patch.getvalue())


def _by_bsdiff(pair: Pair) -> int | None:
    try:
        import bsdiff4  # noqa: PLC0415 - nothing else needs it
    except ModuleNotFoundError:
        return None
    return len(bsdiff4.diff(pair.old, pair.new))


def _version(tool: str) -> str | None:
    try:
        return version(tool)
    except PackageNotFoundError:
        return None


def main() -> int:
    """Measures, and prints a table or JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    arguments = parser.parse_args()
    if not (ZOO / "catalog.json").exists():
        print(f"There are no models in {ZOO}: set KIBI_ZOO to the folder that has catalog.json", file=sys.stderr)
        return 2
    rows = [measured(pair) for pair in pairs()]
    if arguments.json:
        print(
            json.dumps({"tools": {name: _version(name) for name in ("kibi", *TOOLS, "numpy")}, "pairs": rows}, indent=2)
        )
        return 0
    table = Table(*rows[0], title="Bytes of an update")
    for row in rows:
        table.add_row(
            *(
                f"{value:,}" if isinstance(value, int) else "not installed" if value is None else str(value)
                for value in row.values()
            )
        )
    Console().print(table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
