"""Kibi's figures beside TensorFlow Lite Micro's on the emulated Cortex-M4: `make bench`, or with `--json` for programs.

Models and TFLM's figures are read from the folder that `KIBI_ZOO` names (default `../shared/zoo`, figures in
`../shared/baselines`). Without it, the shipped model alone is measured.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

import kibi
import kibi.demo
from kibi.planner import plan as make_plan

ROOT = Path(__file__).resolve().parent.parent
ZOO = Path(os.environ.get("KIBI_ZOO", ROOT.parent / "shared" / "zoo"))
BASELINES = ZOO.parent / "baselines" / "tflm.json"
MODELS = (
    "mlperf_kws_int8",
    "mlperf_vww_int8",
    "mlperf_ic_int8",
    "mlperf_ad_int8",
    "mlperf_sww_int8",
    "tflm_person_detect",
    "tflm_micro_speech",
    "tflm_hello_int8",
)
PUBLISHED_MILLISECONDS = {
    "mlperf_kws_int8": 43.1,
    "mlperf_vww_int8": 88.9,
    "mlperf_ic_int8": 165.1,
    "mlperf_ad_int8": 4.05,
}
"""The best times published for ST's Nucleo-L4R5ZI at 120 MHz: MLPerf Tiny, any round."""
BOARD = "stm32l4r5zi"
"""The board whose clock and flash Kibi's times are estimated for."""
TOOLS = ("numpy", "unicorn", "ziglang", "tflite-micro")


def main() -> None:
    """Measure, and print a table or JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--compiler", default="zig", choices=("zig", "gcc"))
    parser.add_argument("--level", default="s", choices=("s", "1", "2", "3"))
    arguments = parser.parse_args()
    results = {
        "tools": {
            "kibi": kibi.__version__,
            "python": platform.python_version(),
            **{name: version(name) for name in TOOLS},
        },
        "target": "cortex-m4",
        "compiler": arguments.compiler,
        "level": arguments.level,
        "seconds": _seconds(),
        "models": [_model(path, arguments.compiler, arguments.level) for path in _paths()],
    }
    if arguments.json:
        print(json.dumps(results, indent=1))
    else:
        _print(results)


def _paths() -> list[Path]:
    found = [ZOO / "models" / f"{name}.tflite" for name in MODELS]
    return [kibi.demo.model_path(), *(path for path in found if path.is_file())]


def _model(path: Path, compiler: str, level: str) -> dict[str, Any]:
    """Kibi's measurement, the activations' own arena, and TFLM's figures where there are some."""
    model = kibi.simplify(kibi.load(path))
    with tempfile.TemporaryDirectory() as folder:
        library = kibi.compile(model, kibi.plan(model), folder)
        measured = kibi.measure(library, compiler=compiler, level=level, memory=kibi.board(BOARD).memory)
        plan = kibi.plan(model, granularity="tensor", goal="speed")
        fast = kibi.compile(model, plan, Path(folder) / "speed", goal="speed")
        fastest = kibi.measure(fast, compiler=compiler, level=level, oracle=False)
    clock = kibi.board(BOARD).clock_hz
    activations = make_plan(model, kibi.target("cortex-m4"), scratch=False)
    known = json.loads(BASELINES.read_text(encoding="utf-8"))["models"] if BASELINES.is_file() else {}
    return {
        **measured.to_dict(),
        "milliseconds": round((measured.cycles_estimate or 0) / clock * 1000, 3),
        "published_milliseconds": PUBLISHED_MILLISECONDS.get(path.stem),
        "speed": {name: getattr(fastest, name) for name in ("instructions", "code_bytes", "arena_bytes", "bit_exact")},
        "activation_bytes": activations.arena_bytes,
        "activation_lower_bound_bytes": activations.lower_bound_bytes,
        "tflm": known.get(path.stem, {}).get("cortex_m4"),
    }


def _seconds() -> dict[str, float]:
    """Wall time of the whole command, in a fresh cache and again, and of `import kibi`."""
    path = next((path for path in _paths() if path.stem == "mlperf_kws_int8"), kibi.demo.model_path())
    command = [sys.executable, "-m", "kibi", "measure", str(path), "--target", "cortex-m4", "--json"]
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "KIBI_CACHE": cache}
        first, again = (_timed(command, environment) for _ in range(2))
    empty, loaded = (
        min(_timed([sys.executable, "-c", code], dict(os.environ)) for _ in range(5)) for code in ("", "import kibi")
    )
    return {"measure_first": first, "measure_again": again, "import_kibi": loaded - empty}


def _timed(command: list[str], environment: dict[str, str]) -> float:
    started = time.perf_counter()
    subprocess.run(command, env=environment, check=True, capture_output=True)
    return round(time.perf_counter() - started, 3)


def _print(results: dict[str, Any]) -> None:
    console = Console(width=None if sys.stdout.isatty() else 180)
    tools = ", ".join(f"{name} {number}" for name, number in results["tools"].items())
    console.print(
        f"Cortex-M4, {results['compiler']} -O{results['level']}; {tools}. Times are for {BOARD}, waits of its flash included."
    )
    table = Table(title="Kibi beside TensorFlow Lite Micro")
    for heading in (
        "model",
        "instructions",
        "of TFLM ref.",
        "of CMSIS-NN",
        "code",
        "TFLM",
        "arena",
        "activations",
        "TFLM",
    ):
        table.add_column(heading, justify="left" if heading == "model" else "right")
    for heading in ("stack", "ms", "published", "for speed", "bits"):
        table.add_column(heading, justify="right")
    for model in results["models"]:
        table.add_row(*_row(model))
    console.print(table)
    seconds = results["seconds"]
    console.print(
        f"kibi measure: {seconds['measure_first']:.2f} s the first time, {seconds['measure_again']:.2f} s after; "
        f"import kibi: {seconds['import_kibi']:.2f} s"
    )


def _row(model: dict[str, Any]) -> list[str]:
    tflm = model["tflm"] or {}
    share = {
        key: f"{model['instructions'] / tflm[key]:.2f}" if key in tflm else "-"
        for key in ("instructions_reference", "instructions_cmsis_nn")
    }
    bits = "same" if model["bit_exact"] else "DIFFERENT"
    return [
        model["model"],
        f"{model['instructions']:,}",
        share["instructions_reference"],
        share["instructions_cmsis_nn"],
        f"{model['code_bytes']:,}",
        f"{tflm['code_bytes_reference']:,}" if "code_bytes_reference" in tflm else "-",
        f"{model['arena_bytes']:,}",
        f"{model['activation_bytes']:,}",
        f"{tflm['smallest_arena_bytes']:,}" if "smallest_arena_bytes" in tflm else "-",
        str(model["stack_bytes"]),
        f"{model['milliseconds']:.2f}",
        f"{model['published_milliseconds'] or '-'}",
        f"{model['speed']['instructions']:,}",
        f"{bits}{', as TFLM' if model['oracle'] else ''}",
    ]


if __name__ == "__main__":
    main()
