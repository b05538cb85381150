"""Kibi's C on this machine beside TFLM's Python build and LiteRT with XNNPACK: `python benchmarks/host.py`, or with `--json`.

Milliseconds of processor time of one inference of each model, one thread, `invoke` alone. Each engine is in a process of its own.
They take turns, so that what else the machine does is the same for all; the best time of all turns counts. Kibi's C is compiled for
this machine's processor; `--compiler` and `--level` choose how. Ends with an error where Kibi is not five times as fast as TFLM,
or has other bits.

Models are read from the folder that `KIBI_ZOO` names (default `../shared/zoo`). LiteRT is measured where it is installed.
`--docs` writes the table into docs/c-library.md.
"""

import argparse
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
import tflite
from rich.console import Console
from rich.table import Table

import kibi
from kibi.dtypes import Array, DType
from kibi.engines.host import HostEngine
from kibi.ir import TensorType

ROOT = Path(__file__).resolve().parent.parent
ZOO = Path(os.environ.get("KIBI_ZOO", ROOT.parent / "shared" / "zoo"))
PAGE = ROOT / "docs" / "c-library.md"
SECTION = re.compile(r"(?s)(?<=<!-- host -->\n).*?(?=<!-- /host -->)")
"""Where the table stands in the page."""
MODELS = (
    "mlperf_kws_int8", "mlperf_vww_int8", "mlperf_ic_int8", "mlperf_ad_int8", "tflm_person_detect",
    "mlperf_vww_fp32", "mlperf_ic_fp32", "mlperf_ad_fp32",
)  # fmt: skip
TOOLS = ("numpy", "ziglang", "tflite-micro", "ai-edge-litert")
LEAST_RATIO = 5
"""How many times as fast as TFLM's Python build Kibi's C must be."""
ROUNDS = 5
"""Turns of each engine."""
_ARENA_BYTES = 1 << 24
_DIMENSION = 16
"""The place of `quantized_dimension` in the virtual table of QuantizationParameters."""
_WINDOW_SECONDS = 0.005

Engine = tuple[Callable[[], object], Callable[[Sequence[Array]], list[Array]]]
"""What is timed, and a whole run."""


@dataclass(frozen=True, slots=True)
class Row:
    """One model.

    Attributes:
        model: its name.
        tflm_ms, kibi_ms: milliseconds of processor time of one inference.
        litert_ms: the same; None where LiteRT is not installed.
        same_bits: whether Kibi's outputs are TFLM's.
    """

    model: str
    tflm_ms: float
    kibi_ms: float
    litert_ms: float | None
    same_bits: bool

    @property
    def gain(self) -> float:
        """How many times as fast as TFLM Kibi is."""
        return self.tflm_ms / self.kibi_ms

    @property
    def share(self) -> float | None:
        """Kibi's time as a multiple of LiteRT's."""
        return None if self.litert_ms is None else self.kibi_ms / self.litert_ms


def main() -> None:
    """Measure, and print a table or JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--docs", action="store_true", help="write the table into docs/c-library.md")
    parser.add_argument("--seconds", type=float, default=2.0, help="that each engine runs each model, in all turns")
    parser.add_argument("--compiler", default="zig", choices=("zig", "gcc"))
    parser.add_argument("--level", default="2", choices=("0", "1", "2", "3", "s"))
    parser.add_argument("--engine", choices=("tflm", "kibi", "litert"), help="answer on standard input, as a child")
    parser.add_argument("model", nargs="?", help="its name; None: all")
    arguments = parser.parse_args()
    if arguments.engine:
        _serve(arguments)
        return
    names = [arguments.model] if arguments.model else MODELS
    rows = [_row(name, arguments) for name in names if _path(name).is_file()]
    if arguments.json:
        print(json.dumps({**_setting(arguments), "models": [_record(row) for row in rows]}, indent=1))
    elif arguments.docs:
        text = PAGE.read_text(encoding="utf-8")
        PAGE.write_text(SECTION.sub(lambda _: _markdown(rows, _setting(arguments)), text, count=1), encoding="utf-8")
    else:
        _print(rows)
    bad = [row.model for row in rows if row.gain < LEAST_RATIO or not row.same_bits]
    if bad:
        sys.exit(f"not {LEAST_RATIO} times as fast as TFLM, or not the same bits: {', '.join(bad)}")


def _path(name: str) -> Path:
    return ZOO / "models" / f"{name}.tflite"


class _Child:
    """An engine with a model in a process of its own: TFLM and LiteRT do not go together in one.

    Attributes:
        outputs: the bytes of the outputs for random inputs, as text.
        milliseconds: the best time of an inference so far.
    """

    def __init__(self, engine: str, name: str, arguments: argparse.Namespace) -> None:
        options = [f"--{key}={getattr(arguments, key)}" for key in ("compiler", "level")]
        self._process = subprocess.Popen(
            [sys.executable, __file__, f"--engine={engine}", *options, name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self.outputs = self._answer()["outputs"]
        self.milliseconds = float("inf")

    def run(self, seconds: float) -> None:
        """Takes its turn."""
        print(seconds, file=self._process.stdin, flush=True)
        self.milliseconds = min(self.milliseconds, self._answer()["milliseconds"])

    def close(self) -> None:
        """Ends the process."""
        self._process.communicate()

    def _answer(self) -> dict[str, Any]:
        """The next line that is JSON: engines may print what they are doing."""
        for line in self._process.stdout or ():
            if line.startswith("{"):
                found: dict[str, Any] = json.loads(line)
                return found
        raise SystemExit(f"an engine ended with {self._process.wait()}: {self._process.args!r}")


def _row(name: str, arguments: argparse.Namespace) -> Row:
    """Engines take turns."""
    engines = ("tflm", "kibi", *(["litert"] if _release("ai-edge-litert") else []))
    children = {engine: _Child(engine, name, arguments) for engine in engines}
    for _ in range(ROUNDS):
        for child in children.values():
            child.run(arguments.seconds / ROUNDS)
    for child in children.values():
        child.close()
    litert_ms = children["litert"].milliseconds if "litert" in children else None
    tflm, own = children["tflm"], children["kibi"]
    return Row(name, tflm.milliseconds, own.milliseconds, litert_ms, own.outputs == tflm.outputs)


def _serve(arguments: argparse.Namespace) -> None:
    """Prints the outputs of an engine for random inputs; then, for each line with seconds, the best time of that turn."""
    path = _path(arguments.model)
    graph = kibi.load(path)
    rng = np.random.default_rng(0)
    inputs = [_random(rng, graph.tensors[index].type) for index in graph.inputs]
    if arguments.engine == "kibi":
        invoke, run = _kibi(graph, arguments.compiler, arguments.level)
    else:
        invoke, run = {"tflm": _tflm, "litert": _litert}[arguments.engine](path)
    outputs = [np.asarray(array).tobytes().hex() for array in run(inputs)]
    print(json.dumps({"outputs": outputs}), flush=True)
    for line in sys.stdin:
        print(json.dumps({"milliseconds": 1000 * _best_seconds(invoke, float(line))}), flush=True)


def _random(rng: np.random.Generator, kind: TensorType) -> Array:
    if kind.dtype is DType.F32:
        return rng.normal(size=kind.shape).astype(kind.dtype.numpy)
    data = rng.bytes(kind.size_bytes)
    return np.frombuffer(data, kind.dtype.numpy).reshape(kind.shape)


def _best_seconds(invoke: Callable[[], object], seconds: float) -> float:
    """The least processor time of a call, which other processes do not lengthen; short ones are timed many together."""
    best, count, end = float("inf"), 1, time.perf_counter() + seconds
    while time.perf_counter() < end:
        started = time.process_time()
        for _ in range(count):
            invoke()
        best = min(best, (time.process_time() - started) / count)
        count = max(1, int(_WINDOW_SECONDS / best))
    return best


def _kibi(graph: kibi.Graph, compiler: str, level: str) -> Engine:
    with tempfile.TemporaryDirectory() as folder:
        library = kibi.compile(graph, kibi.plan(graph, target="host"), folder, target="host")
        engine = HostEngine(library, compiler=compiler, level=level)
    return engine.bound("invoke"), engine.run


def _tflm(path: Path) -> Engine:
    from tflite_micro.python.tflite_micro import runtime  # noqa: PLC0415 - loads TFLM, in its own process alone

    interpreter = runtime.Interpreter.from_file(str(path), arena_size=_ARENA_BYTES)

    def run(inputs: Sequence[Array]) -> list[Array]:
        for position, array in enumerate(inputs):
            interpreter.set_input(array, position)
        interpreter.invoke()
        return [np.array(interpreter.get_output(0))]

    return interpreter.invoke, run


def _litert(path: Path) -> Engine:
    from ai_edge_litert.interpreter import Interpreter  # noqa: PLC0415 - loads LiteRT, in its own process alone

    interpreter = Interpreter(model_content=_without_dimensions(path), num_threads=1)  # XNNPACK is its default
    interpreter.allocate_tensors()

    def run(inputs: Sequence[Array]) -> list[Array]:
        for detail, array in zip(interpreter.get_input_details(), inputs, strict=True):
            interpreter.set_tensor(detail["index"], array)
        interpreter.invoke()
        return [interpreter.get_tensor(detail["index"]) for detail in interpreter.get_output_details()]

    return interpreter.invoke, run


def _without_dimensions(path: Path) -> bytes:
    """The model file, for LiteRT, which refuses the scales of dimensions that a tensor does not have: those of biases have 0."""
    data = bytearray(path.read_bytes())
    model = tflite.Model.GetRootAs(data, 0)
    graphs = [model.Subgraphs(number) for number in range(model.SubgraphsLength())]
    tensors = [graph.Tensors(number) for graph in graphs for number in range(graph.TensorsLength())]
    for tensor, found in ((each, each.Quantization()) for each in tensors):
        if found is not None and found.QuantizedDimension() >= tensor.ShapeLength():
            place = found._tab.Pos + found._tab.Offset(_DIMENSION)  # noqa: SLF001 - flatbuffers do not write in place
            data[place : place + 4] = bytes(4)
    return bytes(data)


def _release(tool: str) -> str | None:
    try:
        return version(tool)
    except PackageNotFoundError:
        return None


def _setting(arguments: argparse.Namespace) -> dict[str, object]:
    """What the figures depend on."""
    tools = {"kibi": kibi.__version__, "python": platform.python_version(), **{name: _release(name) for name in TOOLS}}
    processor = f"{platform.machine()} {_processor()}".strip()
    return {
        "tools": tools, "processor": processor, "compiler": arguments.compiler, "level": arguments.level,
        "threads": 1,
    }  # fmt: skip


def _processor() -> str:
    """The processor's name and its widest vectors, where Linux says them."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return platform.processor()
    name = re.search(r"^model name\s*: (.*)$", text, re.MULTILINE)
    vectors = next(
        (word for word in ("avx512_vnni", "avx_vnni", "avx512bw", "avx2", "sse2", "asimd") if f" {word} " in text), ""
    )
    return f"{name[1] if name else ''} {vectors}".strip()


def _record(row: Row) -> dict[str, object]:
    return {**asdict(row), "times_as_fast_as_tflm": row.gain, "times_litert": row.share}


def _cells(row: Row) -> list[str]:
    litert = ["-", "-"] if row.litert_ms is None else [f"{row.litert_ms:.4f}", f"{row.share:.2f}"]
    return [f"{row.tflm_ms:.3f}", f"{row.kibi_ms:.4f}", f"{row.gain:.0f}", *litert]


def _markdown(rows: Sequence[Row], setting: dict[str, object]) -> str:
    """The table of the documents, and where it was measured."""
    lines = [
        f"On one machine ({setting['processor']}), one thread, {setting['compiler']} at `-O{setting['level']}`:", "",
        "| model | TFLM, ms | Kibi, ms | times as fast | LiteRT with XNNPACK, ms | Kibi's time by LiteRT's |",
        "|---|---:|---:|---:|---:|---:|",
    ]  # fmt: skip
    lines += [f"| `{row.model}` | {' | '.join(_cells(row))} |" for row in rows]
    return "\n".join(lines) + "\n"


def _print(rows: Sequence[Row]) -> None:
    table = Table("model", "TFLM ms", "Kibi ms", "times as fast", "LiteRT ms", "Kibi / LiteRT", "bits")
    for row in rows:
        table.add_row(row.model, *_cells(row), "same" if row.same_bits else "DIFFERENT")
    Console(width=120).print(table)


if __name__ == "__main__":
    main()
