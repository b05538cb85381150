"""Estimates of cycles beside published times: `python benchmarks/cycles.py --results DIR --cmsis DIR`, or with `--json`.

The programs are OctoML's of MLPerf Tiny v1.0, whose generated C is public with the times that boards took for it. They are
compiled as they were then, at -O2, by an arm-none-eabi-gcc of today, run on the emulated core, and counted with the memory of the
board and without. Nothing of them is in this repository: give a checkout of github.com/mlcommons/tiny_results_v1.0 and one of
github.com/ARM-software/CMSIS_5 at 51263182d16c92649a48144ba56c0945f9fce60e, the commit that the submission names.

`--docs` writes the table into docs/cycles.md.
"""

import argparse
import json
import re
import statistics
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

import kibi
from kibi.emulator import Core
from kibi.toolchain import read_image
from kibi.toolchain.link import SCRIPT

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "cycles.md"
SUBMISSION = Path("closed") / "OctoML"
HARNESS = Path(__file__).with_name("cycles_harness.c")
LIBRARIES = (
    "ActivationFunctions",
    "BasicMathFunctions",
    "ConcatenationFunctions",
    "ConvolutionFunctions",
    "FullyConnectedFunctions",
    "NNSupportFunctions",
    "PoolingFunctions",
    "ReshapeFunctions",
    "SoftmaxFunctions",
)
"""The folders of CMSIS-NN that the submission compiles."""
_THROUGHPUT = re.compile(r"Throughput\s*:\s*([0-9.]+) inf")


@dataclass(frozen=True, slots=True)
class Point:
    """A published time.

    Attributes:
        name: for the table.
        board: its name in Kibi's table.
        code, results: folders of the submission, of the code and of the times.
        uses_cmsis_nn: False for code of TVM alone.
    """

    name: str
    board: str
    code: Path
    results: Path
    uses_cmsis_nn: bool


@dataclass(frozen=True, slots=True)
class Row:
    """A published time beside the estimates, all in milliseconds, and what the core waited by cause, in cycles."""

    name: str
    board: str
    published_ms: float
    zero_ms: float
    estimated_ms: float
    fetch: int
    literal: int
    data: int

    @property
    def deviation(self) -> float:
        """The estimate is larger than the published time by this share of it."""
        return self.estimated_ms / self.published_ms - 1


def points() -> Iterator[Point]:
    """Yields the points whose code and times are public, and whose core has a table of timings."""
    for kind, text, board, code, results in (
        ("microtvm_cmsis_nn", "TVM with CMSIS-NN", "stm32l4r5zi", "NUCLEO_L4R5ZI", "NUCLEO_L4R5ZI"),
        ("microtvm_native", "TVM", "stm32l4r5zi", "NUCLEO_L4R5ZI", "NUCLEO_L4R5ZI"),
        ("microtvm_cmsis_nn", "TVM with CMSIS-NN", "nrf5340", "NRF5340DK", "NRF5340-DK"),
    ):
        for model in ("kws", "ic", "vww", "ad"):
            folder = SUBMISSION / "code" / kind / code / model
            times = SUBMISSION / "results" / kind / results / model / "performance" / "results.txt"
            if kibi.board(board).target.timing is not None:
                yield Point(f"{model.upper()}, {text}", board, folder, times, kind == "microtvm_cmsis_nn")


@dataclass(frozen=True, slots=True)
class Checkouts:
    """Where foreign code is, the level that it is compiled at, and a folder for what is made of it."""

    results: Path
    cmsis: Path
    level: str
    made: Path


def measured(point: Point, given: Checkouts) -> Row:
    """Builds the program of a point, runs it, and compares."""
    board, image = kibi.board(point.board), read_image(_linked(point, given))
    cycles, stalls = [], []
    for memory in (None, board.memory):
        core = Core(image, board.target, stack_bytes=256 * 1024, memory=memory)
        core.call("run")  # as warm as the caches of a board are that runs one inference after another
        call = core.call("run")
        if call.value or call.cycles_estimate is None or call.stalls is None:
            raise SystemExit(f"{point.name}: the program ended with {call.signed_value}")
        cycles.append(call.cycles_estimate)
        stalls.append(call.stalls)
    zero, estimated = (each / board.clock_hz * 1000 for each in cycles)
    return Row(
        point.name, point.board, _published_ms(given.results / point.results), zero, estimated, **asdict(stalls[-1])
    )


def _published_ms(path: Path) -> float:
    """The median of the windows that the submission's log has."""
    return 1000 / statistics.median(float(each) for each in _THROUGHPUT.findall(path.read_text(encoding="utf-8")))


def _linked(point: Point, given: Checkouts) -> Path:
    code, library = given.results / point.code, given.cmsis / "CMSIS" / "NN"
    headers = [library / "Include", given.cmsis / "CMSIS" / "Core" / "Include"]
    own = [code / "model" / "codegen" / "host" / "include", code / "crt" / "include", code / "crt_config", *headers]
    folder = given.made / point.board / point.code.parts[-3] / point.code.name
    objects = _compiled(
        [HARNESS, *sorted((code / "model" / "codegen" / "host" / "src").glob("*.c"))], own, point, given, folder
    )
    if point.uses_cmsis_nn:
        sources = [path for name in LIBRARIES for path in sorted((library / "Source" / name).glob("*.c"))]
        objects += _compiled(sources, headers, point, given, given.made / point.board / "library")
    options = [
        "-nostartfiles",
        f"-Wl,--script={SCRIPT}",
        "-Wl,--gc-sections",
        "-Wl,-z,max-page-size=4096",
        "-Wl,--entry=run",
    ]
    tool = ["arm-none-eabi-gcc", *kibi.board(point.board).target.gcc_flags, "--specs=nosys.specs"]
    run_tool([*tool, *options, *objects, "-lm", "-o", folder / "program.elf"])
    return folder / "program.elf"


def _compiled(sources: list[Path], includes: list[Path], point: Point, given: Checkouts, folder: Path) -> list[Path]:
    """Objects of C files; those that are in the folder are taken as they are."""
    folder.mkdir(parents=True, exist_ok=True)
    target = kibi.board(point.board).target
    flags = [*target.gcc_flags, f"-O{given.level}", "-ffunction-sections", "-fdata-sections", "-w"]
    objects = []
    for source in sources:
        objects.append(folder / f"{source.stem}.o")
        if not objects[-1].exists():
            run_tool(
                ["arm-none-eabi-gcc", *flags, *(f"-I{each}" for each in includes), "-c", source, "-o", objects[-1]]
            )
            # The constants of TVM are variables in a section of constants, which Zephyr's linker script puts into flash.
            run_tool(
                ["arm-none-eabi-objcopy", "--set-section-flags", ".rodata.tvm=alloc,load,readonly,data", objects[-1]]
            )
    return objects


def run_tool(command: list[object]) -> None:
    """Runs a compiler or a tool beside it; ends with what it printed if it fails."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(str(word) for word in command[:2])} …:\n{done.stderr[-2000:]}")


def main() -> None:
    """Measures, and prints or writes a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", type=Path, required=True, help="a checkout of tiny_results_v1.0")
    parser.add_argument("--cmsis", type=Path, required=True, help="a checkout of CMSIS_5")
    parser.add_argument("--level", default="2", help="of the compiler; the submission was compiled at 2")
    parser.add_argument("--only", default="", help="points whose names hold this text")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--docs", action="store_true", help="write the table into docs/cycles.md")
    given = parser.parse_args()
    chosen = [each for each in points() if given.only in f"{each.name} {each.board}"]
    with tempfile.TemporaryDirectory() as folder:
        checkouts = Checkouts(given.results, given.cmsis, given.level, Path(folder))
        rows = [measured(each, checkouts) for each in chosen]
    if given.json:
        print(json.dumps([asdict(each) for each in rows], indent=1))
    elif given.docs:
        text = PAGE.read_text(encoding="utf-8")
        begin, end = "<!-- published -->\n", "<!-- /published -->"
        head, tail = text.split(begin)[0], text.split(end)[1]
        PAGE.write_text(f"{head}{begin}{markdown(rows)}{end}{tail}", encoding="utf-8", newline="\n")
    else:
        _print(rows)


def markdown(rows: list[Row]) -> str:
    """The table for the page."""
    lines = [
        "| program | board | published ms | zero wait states | estimate | deviation |",
        "|---|---|---:|---:|---:|---:|",
    ]
    lines += [
        f"| {each.name} | `{each.board}` | {each.published_ms:.2f} | {each.zero_ms:.2f} | {each.estimated_ms:.2f} "
        f"| {each.deviation:+.1%} |"
        for each in rows
    ]
    return "\n".join([*lines, ""])


def _print(rows: list[Row]) -> None:
    table = Table(title="Estimates beside published times in milliseconds, and cycles waited by cause")
    for heading in (
        "program",
        "board",
        "published",
        "zero wait states",
        "estimate",
        "deviation",
        "fetch",
        "literal",
        "data",
    ):
        table.add_column(heading, justify="left" if heading in ("program", "board") else "right")
    for row in rows:
        times = (f"{each:.2f}" for each in (row.published_ms, row.zero_ms, row.estimated_ms))
        stalls = (f"{each:,}" for each in (row.fetch, row.literal, row.data))
        table.add_row(row.name, row.board, *times, f"{row.deviation:+.1%}", *stalls)
    Console(width=140).print(table)


if __name__ == "__main__":
    main()
