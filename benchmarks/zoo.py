"""What every model of the zoo takes: arena, RAM, flash, instructions, and cycles of three boards. Recorded in `zoo.json`.

    python benchmarks/zoo.py               measure, and show what differs from the record
    python benchmarks/zoo.py --write       ... and record it
    python benchmarks/zoo.py --only kws    ... models whose name holds this text

Models are planned for `balanced`, after the lossless passes. Cycles are Kibi's estimate: at zero wait states on the Cortex-M4, and
with the flash of each board at its highest clock. A model that Kibi refuses has the reason instead.
"""

import argparse
import json
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

from bench import ZOO

import kibi

RECORD = Path(__file__).with_name("zoo.json")
BOARDS = ("stm32l4r5zi", "nrf5340", "rp2350")
"""The first has a Cortex-M4, on which all that does not depend on a flash is measured; the others have a Cortex-M33."""
TOOLS = ("ziglang", "unicorn")

Costs = dict[str, int | str]


def main() -> None:
    """Measure, compare, and record where that is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="record what was measured")
    parser.add_argument("--only", default="", help="measure only models whose name holds this text")
    arguments = parser.parse_args()
    paths = [path for path in sorted((ZOO / "models").glob("*.tflite")) if arguments.only in path.stem]
    if not paths:
        sys.exit(f"{ZOO / 'models'} has no such model. Set KIBI_ZOO to the folder of the zoo.")
    known = json.loads(RECORD.read_text(encoding="utf-8"))["models"] if RECORD.is_file() else {}
    found = {}
    for path in paths:
        found[path.stem] = measured(path)
        _show(path.stem, known.get(path.stem, {}), found[path.stem])
    if arguments.write:
        record = {"tools": {name: version(name) for name in TOOLS}, "models": {**known, **found}}
        RECORD.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8", newline="\n")


def measured(path: Path) -> Costs:
    """The costs of a model, or why there are none."""
    costs: Costs = {}
    try:
        graph = kibi.simplify(kibi.load(path))
        for name in BOARDS:
            costs |= _on_board(graph, kibi.board(name), is_first=name == BOARDS[0])
    except kibi.KibiError as error:
        return {"refused": str(error).splitlines()[0]}
    return costs


def _on_board(graph: kibi.Graph, board: kibi.Board, *, is_first: bool) -> Costs:
    """Cycles on a board; on the first one all else, too."""
    with tempfile.TemporaryDirectory() as folder:
        library = kibi.compile(graph, kibi.plan(graph, board.target), folder, target=board.target, package=None)
        taken = kibi.measure(library, oracle=False, memory=board.memory)
    cycles = taken.cycles_estimate or 0
    costs: Costs = {f"cycles_{board.name}": cycles}
    if not taken.bit_exact:
        costs["bits"] = f"differ on {board.name}"
    if not is_first:
        return costs
    waited = taken.waits.stalls.cycles if taken.waits else 0
    return {
        "macs": taken.macs,
        "arena_bytes": taken.arena_bytes,
        "ram_bytes": taken.ram_bytes,
        "flash_bytes": taken.flash_bytes,
        "code_bytes": taken.code_bytes,
        "stack_bytes": taken.stack_bytes,
        "instructions": taken.instructions,
        "cycles": cycles - waited,
        **costs,
    }


def _show(name: str, known: Costs, found: Costs) -> None:
    """Print the costs of a model, each beside its record where that differs."""
    parts = []
    for what, value in found.items():
        was = known.get(what)
        text = f"{value:,}" if isinstance(value, int) else value
        parts.append(f"{what} {text}" + (f" (was {was:,})" if isinstance(was, int) and was != value else ""))
    print(f"{name}: {', '.join(parts)}", flush=True)


if __name__ == "__main__":
    main()
