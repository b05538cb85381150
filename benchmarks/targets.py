"""What eight models take on every target, recorded in `targets.json`, from which the tables of `docs/targets.md` are made.

    python benchmarks/targets.py            measure, and show what differs from the record
    python benchmarks/targets.py --write    ... and record it
    python benchmarks/targets.py --only wasm32

Models that are not there are left out, and so are targets whose code nothing runs on this machine; their records stay.
"""

import argparse
import json
import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import Any

from bench import MODELS, ZOO

import kibi
from kibi.engines.ways import why_not_run
from kibi.targets import Target, targets

RECORD = Path(__file__).with_name("targets.json")
TOOLS = ("ziglang", "unicorn", "wasmtime")
Costs = dict[str, Any]


def main() -> None:
    """Measure, compare, and record where that is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="record what was measured")
    parser.add_argument("--only", default="", help="measure only entries whose target or model holds this text")
    arguments = parser.parse_args()
    known: dict[str, Any] = {"tools": {}, "costs": {}}
    if RECORD.is_file():
        known = json.loads(RECORD.read_text(encoding="utf-8"))
    costs: dict[str, dict[str, Costs]] = known["costs"]
    for name in MODELS:
        path = ZOO / "models" / f"{name}.tflite"
        if not path.is_file():
            continue
        graph = kibi.simplify(kibi.load(path))
        for target in targets():
            if not _is_measured(target) or not (arguments.only in target.name or arguments.only in name):
                continue
            found = measured(graph, target)
            before = costs.setdefault(name, {}).get(target.name)
            print(f"{name} on {target.name}: {found}" + ("" if before in (None, found) else f" (was {before})"))
            costs[name][target.name] = found
    if arguments.write:
        tools = {tool: version(tool) for tool in TOOLS}
        RECORD.write_text(json.dumps({"tools": tools, "costs": costs}, indent=1) + "\n", encoding="utf-8", newline="\n")


def _is_measured(target: Target) -> bool:
    """Whether it is a processor that something runs here; says why not."""
    if target.is_host or not target.is_known:
        return False
    if why := why_not_run(target):
        print(f"{target.name} is left out: {why}")
    return not why


def measured(graph: kibi.Graph, target: Target) -> Costs:
    """What a model takes on a target, with balanced code of zig at `-Os`."""
    with tempfile.TemporaryDirectory() as folder:
        library = kibi.compile(graph, kibi.plan(graph, target.name), folder, target=target.name)
        taken = kibi.measure(library, oracle=False)
    return {
        "arena_bytes": taken.arena_bytes,
        "stack_bytes": taken.stack_bytes,
        "code_bytes": taken.code_bytes,
        "weights_bytes": taken.weights_bytes,
        "instructions": taken.instructions,
        "counter": taken.counter,
        "cycles": taken.cycles_estimate,
        "is_exact": taken.bit_exact,
    }


if __name__ == "__main__":
    main()
