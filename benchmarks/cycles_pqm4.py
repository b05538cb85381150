"""Estimates beside the cycles that pqm4 publishes: `python benchmarks/cycles_pqm4.py --pqm4 DIR --mupq DIR`, or with `--json`.

pqm4 measures cryptography on ST's Nucleo-L4R5ZI at 20 MHz, where the flash has no wait states: so these points are about the core's
timing alone, and no constant of Kibi was chosen with them. The programs are those of ML-KEM for the Cortex-M4, compiled as pqm4
does, at -O3, by an arm-none-eabi-gcc of today. Nothing of them is in this repository: give checkouts of github.com/mupq/pqm4 and
github.com/mupq/mupq. Random numbers come from a short generator, those of the board from its hardware.

`--docs` writes the table into docs/cycles.md.
"""

import argparse
import csv
import json
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from cycles import PAGE, run_tool
from rich.console import Console
from rich.table import Table

import kibi
from kibi.emulator import Core
from kibi.toolchain import read_image
from kibi.toolchain.link import SCRIPT

HARNESS = Path(__file__).with_name("cycles_pqm4_harness.c")
CALLS = ("key_pair", "encapsulate", "decapsulate")
"""The functions of the harness, in the order of pqm4's columns."""
SCHEMES = tuple((f"ml-kem-{size}", kind) for size in (512, 768, 1024) for kind in ("m4fspeed", "m4fstack"))
BOARD, CLOCK_HZ = "stm32l4r5zi", 20_000_000
_RUNS = 10
"""As many as pqm4 measures: each takes another time, because numbers are drawn until enough are in range."""


@dataclass(frozen=True, slots=True)
class Row:
    """A published mean of cycles beside the mean of the estimates."""

    scheme: str
    implementation: str
    call: str
    published: int
    estimated: int

    @property
    def deviation(self) -> float:
        """The estimate is larger than the published figure by this share of it."""
        return self.estimated / self.published - 1


def measured(scheme: str, implementation: str, pqm4: Path, mupq: Path, made: Path) -> Iterator[Row]:
    """Builds a program, runs each of its three functions ten times, and compares the means."""
    published = _published(pqm4 / "benchmarks.csv", scheme, implementation)
    target = kibi.board(BOARD).target
    core = Core(
        read_image(_linked(scheme, implementation, pqm4, mupq, made)), target, memory=None, stack_bytes=64 * 1024
    )
    taken: dict[str, list[int]] = {call: [] for call in CALLS}
    for _ in range(_RUNS):
        for name in CALLS:
            call = core.call(name)
            if call.value or call.cycles_estimate is None:
                raise SystemExit(f"{scheme}, {implementation}: {name} ended with {call.signed_value}")
            taken[name].append(call.cycles_estimate)
    for name, expected in zip(CALLS, published, strict=True):
        mean = round(sum(taken[name]) / len(taken[name]))
        yield Row(scheme, implementation, name.replace("_", " "), expected, mean)


def _published(path: Path, scheme: str, implementation: str) -> tuple[int, ...]:
    """The means of the three functions, from pqm4's table of speed, which comes first in its file."""
    with path.open(encoding="utf-8", newline="") as file:
        for line in csv.reader(file):
            if line[0].partition(" ")[0] == scheme and line[1] == implementation:
                return tuple(int(line[column]) for column in (2, 5, 8))
    raise SystemExit(f"{path} has no figures of {scheme}, {implementation}.")


def _linked(scheme: str, implementation: str, pqm4: Path, mupq: Path, made: Path) -> Path:
    """The program: an implementation, pqm4's Keccak in assembly, mupq's hashes, and the harness."""
    code, common, shared = pqm4 / "crypto_kem" / scheme / implementation, pqm4 / "common", mupq / "common"
    sources = [*sorted(code.glob("*.c")), *sorted(code.glob("*.S")), common / "keccakf1600.S", shared / "fips202.c"]
    header = made / "randombytes.h"  # PQClean has it, which mupq has as a submodule
    header.write_text(
        "#include <stddef.h>\n#include <stdint.h>\nint randombytes(uint8_t *, size_t);\n", encoding="utf-8"
    )
    program = made / f"{scheme}-{implementation}.elf"
    run_tool([
        "arm-none-eabi-gcc", *kibi.board(BOARD).target.gcc_flags, "-O3", "-ffunction-sections", "-fdata-sections", "-w",
        *(f"-I{folder}" for folder in (code, common, made, shared)), "--specs=nosys.specs", "-nostartfiles",
        f"-Wl,--script={SCRIPT}", "-Wl,--gc-sections", "-Wl,-z,max-page-size=4096", f"-Wl,--entry={CALLS[0]}",
        *(f"-Wl,--undefined={call}" for call in CALLS),
        HARNESS, *sources, "-o", program,
    ])  # fmt: skip
    return program


def main() -> None:
    """Measures, and prints or writes a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pqm4", type=Path, required=True, help="a checkout of pqm4")
    parser.add_argument("--mupq", type=Path, required=True, help="a checkout of mupq, pqm4's submodule")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--docs", action="store_true", help="write the table into docs/cycles.md")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        rows = [row for each in SCHEMES for row in measured(*each, given.pqm4, given.mupq, Path(folder))]
    if given.json:
        print(json.dumps([asdict(each) for each in rows], indent=1))
    elif given.docs:
        text = PAGE.read_text(encoding="utf-8")
        begin, end = "<!-- pqm4 -->\n", "<!-- /pqm4 -->"
        head, tail = text.split(begin)[0], text.split(end)[1]
        PAGE.write_text(f"{head}{begin}{markdown(rows)}{end}{tail}", encoding="utf-8", newline="\n")
    else:
        _print(rows)


def markdown(rows: list[Row]) -> str:
    """The table for the page."""
    lines = ["| program | function | published cycles | estimate | deviation |", "|---|---|---:|---:|---:|"]
    lines += [
        f"| {each.scheme}, {each.implementation} | {each.call} | {each.published:,} | {each.estimated:,} | {each.deviation:+.1%} |"
        for each in rows
    ]
    return "\n".join([*lines, ""])


def _print(rows: list[Row]) -> None:
    table = Table(title=f"Estimates beside pqm4's published cycles, {BOARD} at {CLOCK_HZ / 1e6:g} MHz")
    for heading in ("program", "function"):
        table.add_column(heading)
    for heading in ("published", "estimate", "deviation"):
        table.add_column(heading, justify="right")
    for row in rows:
        figures = (f"{row.published:,}", f"{row.estimated:,}", f"{row.deviation:+.1%}")
        table.add_row(f"{row.scheme}, {row.implementation}", row.call, *figures)
    Console(width=120).print(table)


if __name__ == "__main__":
    main()
