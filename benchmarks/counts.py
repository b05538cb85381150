"""What layers and models take on emulated cores, recorded in `counts.json`, which no change may make worse unnoticed.

    python benchmarks/counts.py            measure, and show what differs from the record
    python benchmarks/counts.py --write    ... and record it
    python benchmarks/counts.py --check    ... and end with 1 where a count is too far above the record

Layers: four of usual shapes, on four cores. Models: those of `bench.py`, on the Cortex-M4, with cycles at zero wait states and on a
board with five, which may rise by 5 %, because they also change with the place of code in its cache. Weights: four of these models
without and with coded weights. Int4: three layers and a model with weights of int4, unpacked and packed, on two cores. Counts
depend on the compiler, whose version is in the record; most are the same from one version to the next, because the inner loops are
assembly. Models that are not there are left out.
"""

import argparse
import json
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import Any

from bench import MODELS, ZOO
from layers import int4_layers, layers

import kibi
from kibi.frontends import load as parse
from kibi.passes.compressed_weights import compressed_where_it_saves, decompressed
from kibi.planner import PlannedModel
from kibi.reports.measurement import Measurement
from kibi.selection import coded_weights

RECORD = Path(__file__).with_name("counts.json")
CORES = ("cortex-m4", "cortex-m33", "cortex-m3", "cortex-m0plus", "rv32imac")
TOOLS = ("ziglang", "unicorn")
CODED = ("mlperf_ad_int8", "mlperf_kws_int8", "mlperf_vww_int8", "mlperf_ic_int8")
"""The models of which coded weights are recorded."""
INT4 = "derived_mnistcnn_a8w4"
"""The model of which packed weights are recorded."""
INT4_CORES = ("cortex-m4", "cortex-m0plus")
BOARD = "stm32l4r5zi"
"""The board on which cycles of models are recorded, at its highest clock."""
MOST_GROWTH = {f"cycles_{BOARD}": 0.05}
"""By how much a count may rise: by 0.01 if it is not named here."""

Counts = dict[str, dict[str, int]]


def main() -> None:
    """Measure, compare, and record or fail where that is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="record what was measured")
    parser.add_argument(
        "--check",
        action="store_true",
        help="fail where a count has risen by more than it may",
    )
    parser.add_argument("--only", help="measure only entries whose name holds this text")
    arguments = parser.parse_args()
    tools = {name: version(name) for name in TOOLS}
    known: dict[str, Any] = {"tools": tools, "counts": {}}
    if RECORD.is_file():
        known = json.loads(RECORD.read_text(encoding="utf-8"))
    found = measured(arguments.only or "")
    worse = compare(known["counts"], found)
    if arguments.write:
        counts = {**known["counts"], **found}
        text = json.dumps({"tools": tools, "counts": dict(sorted(counts.items()))}, indent=1)
        RECORD.write_text(text + "\n", encoding="utf-8", newline="\n")
    if arguments.check and worse:
        print("Counts have risen: " + "; ".join(worse))
        print(f"The record was made with {known['tools']}; here are {tools}.")
        print("Find out why; if it is worth it, record it: python benchmarks/counts.py --write")
        sys.exit(1)


def measured(only: str) -> Counts:
    """The counts of everything whose name holds that text, by name."""
    found: Counts = {}
    for core in CORES:
        for name, graph in layers().items():
            entry = f"layer {name} on {core}"
            if only in entry:
                found[entry] = _counts(graph, core)
    for model in MODELS:
        path = ZOO / "models" / f"{model}.tflite"
        if only in f"model {model}" and path.is_file():
            found[f"model {model}"] = _of_model(kibi.simplify(kibi.load(path)))
    for model in CODED:
        path = ZOO / "models" / f"{model}.tflite"
        if only in f"weights of {model}" and path.is_file():
            found[f"weights of {model}"] = _coded(kibi.simplify(kibi.load(path)))
    path = ZOO / "models" / f"{INT4}.tflite"
    for core in INT4_CORES:
        for name, graph in {**int4_layers(), **({INT4: parse(path)} if path.is_file() else {})}.items():
            entry = f"int4 {name} on {core}"
            if only in entry:
                found[entry] = _int4(graph, core)
    return found


def _int4(graph: kibi.Graph, core: str) -> dict[str, int]:
    """A graph with weights of int4, unpacked before and packed after."""
    graphs = [kibi.simplify(each(graph)) for each in (decompressed, compressed_where_it_saves)]
    before, after = (_measured(each, kibi.plan(each, core)) for each in graphs)
    return {
        "macs": after.macs,
        "flash_bytes_before": before.flash_bytes,
        "flash_bytes": after.flash_bytes,
        "arena_bytes_before": before.arena_bytes,
        "arena_bytes": after.arena_bytes,
        "instructions_before": before.instructions,
        "instructions": after.instructions,
    }


def _coded(graph: kibi.Graph) -> dict[str, int]:
    """A model without and with coded weights; `raw_bytes` and `coded_bytes` are of all its layers, coded or not."""
    plans = [kibi.plan(graph, weights=weights) for weights in ("flash", "rice")]
    found = coded_weights(PlannedModel.of(graph, plans[0]).graph)
    before, after = (_measured(graph, plan) for plan in plans)
    return {
        "macs": after.macs,
        "layers": len(found.layers),
        "coded_layers": len(found.coded),
        "raw_bytes": sum(layer.raw_bytes for layer in found.layers),
        "coded_bytes": sum(layer.coded_bytes for layer in found.layers),
        "flash_bytes_before": before.flash_bytes,
        "flash_bytes": after.flash_bytes,
        "instructions_before": before.instructions,
        "instructions": after.instructions,
    }


def _measured(graph: kibi.Graph, plan: kibi.Plan) -> Measurement:
    with tempfile.TemporaryDirectory() as folder:
        return kibi.measure(kibi.compile(graph, plan, folder), oracle=False)


def _counts(graph: kibi.Graph, core: str) -> dict[str, int]:
    return _costs(_measured(graph, kibi.plan(graph, core)))


def _of_model(graph: kibi.Graph) -> dict[str, int]:
    """What a model takes on the Cortex-M4, with all that its RAM and its flash hold, and its cycles."""
    board = kibi.board(BOARD)
    with tempfile.TemporaryDirectory() as folder:
        library = kibi.compile(graph, kibi.plan(graph, board.target), folder, target=board.target)
        taken = kibi.measure(library, oracle=False, memory=board.memory)
    if taken.cycles_estimate is None or taken.waits is None:
        raise SystemExit(f"Kibi has no model of the flash of {BOARD}.")
    return {
        **_costs(taken),
        "ram_bytes": taken.ram_bytes,
        "flash_bytes": taken.flash_bytes,
        "cycles": taken.cycles_estimate - taken.waits.stalls.cycles,
        f"cycles_{BOARD}": taken.cycles_estimate,
    }


def _costs(taken: Measurement) -> dict[str, int]:
    return {
        "instructions": taken.instructions,
        "code_bytes": taken.code_bytes,
        "stack_bytes": taken.stack_bytes,
        "arena_bytes": taken.arena_bytes,
        "macs": taken.macs,
    }


def compare(known: Counts, found: Counts) -> list[str]:
    """Print each entry beside its record; what has become worse by more than is allowed."""
    worse = []
    for entry, counts in found.items():
        before = known.get(entry, {})
        parts = []
        for name, count in counts.items():
            was = before.get(name)
            parts.append(f"{name} {count:,}" + (f" (was {was:,})" if was not in (None, count) else ""))
            if was is not None and name != "macs" and count > was * (1 + MOST_GROWTH.get(name, 0.01)):
                worse.append(f"{entry}: {name} {was:,} -> {count:,}")
        per_mac = f"{counts['instructions'] / counts['macs']:.2f} per MAC" if counts["macs"] else ""
        print(f"{entry}: {', '.join(parts)}; {per_mac}")
    return worse


if __name__ == "__main__":
    main()
