"""Mutants of plan files: records, parameters and tables with other numbers, and with a digest that fits."""

import hashlib
import random
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from kibi.engines.core import written_core
from kibi.kernels.params import PARAMS
from kibi.kernels.params.layout import Layout
from kibi.planfile.kernel_ids import kernel_id
from kibi.planfile.reader import PlanFile
from kibi.planfile.record import Record
from kibi.planfile.records import (
    DIGEST_BYTES,
    GRAPH,
    GROUP,
    HEADER,
    NODE,
    PLACE,
    PORT,
    TABLE_NUMBERS,
    VARIABLE,
)
from kibi.targets import target
from kibi.toolchain.build import build_program

_EDGES = (
    0,
    1,
    2,
    3,
    4,
    7,
    8,
    15,
    16,
    31,
    32,
    127,
    128,
    255,
    256,
    0x7FFF,
    0x8000,
    0xFFFF,
    0x10000,
    0x7FFFFFFF,
    0x80000000,
    0xFFFFFFFF,
)
_OPTIONS = "abort_on_error=0:halt_on_error=1:detect_leaks=0:allocator_may_return_null=1"


@dataclass(frozen=True, slots=True)
class Field:
    """A number in a file: where it is, and how many bytes it has."""

    place: int
    size_bytes: int


def with_digest(data: bytearray) -> bytes:
    """Returns the bytes with the digest that they should have."""
    return bytes(data[:-DIGEST_BYTES]) + hashlib.sha256(data[:-DIGEST_BYTES]).digest()


def fields_of(file: PlanFile) -> list[Field]:
    """The numbers of all records, parameters and tables of a file; weights are left out, as any are right."""
    found: list[Field] = []

    def records(record: Record, offset: int, count: int) -> None:
        for number in range(count):
            base = offset + number * record.size_bytes
            found.extend(Field(base + record.offsets[each.name], each.size_bytes) for each in record.fields)

    header, names = file.header, {kernel_id(name): name for name in PARAMS}
    records(HEADER, 0, 1)
    records(GRAPH, header["graphs"], header["graph_count"])
    records(PORT, header["ports"], header["port_count"])
    records(VARIABLE, header["variables"], header["variable_count"])
    for number in range(header["variable_count"]):
        variable = file.record(VARIABLE, header["variables"] + number * VARIABLE.size_bytes)
        if variable["initial"]:
            found.append(Field(variable["initial"], min(4, variable["bytes"])))
    for number in range(header["graph_count"]):
        graph = file.record(GRAPH, header["graphs"] + number * GRAPH.size_bytes)
        records(NODE, graph["nodes"], graph["node_count"])
        records(PLACE, graph["places"], graph["place_count"])
        size = min(graph["width"], 2)
        found.extend(Field(place, size) for place in range(graph["runs"], graph["runs_end"], size))
        if graph["width"] == 1:
            named = set(file.data[graph["runs"] : graph["runs_end"]])
            found.extend(Field(graph["runs"] - 2 * (TABLE_NUMBERS - each), 2) for each in named)
        ends = 2 * (graph["input_count"] + graph["output_count"])
        found.extend(Field(graph["ends"] + 4 * end, 4) for end in range(ends))
        for each in range(graph["node_count"]):
            node = file.record(NODE, graph["nodes"] + each * NODE.size_bytes)
            records(GROUP, node["groups"], node["read_count"] + node["state_count"] + node["output_count"])
            if node["kernel_id"] in names:
                found.extend(_params_of(file, node["params"], names[node["kernel_id"]]))
    return found


def _params_of(file: PlanFile, offset: int, kernel: str) -> Iterator[Field]:
    """The words of a kernel's parameters, more than once each, and the first numbers that they point to."""
    layout, kind = Layout.of(PARAMS[kernel]), PARAMS[kernel]
    pointers = {place for each, place in zip(kind.fields, layout.offsets, strict=True) if each.is_pointer}
    for word in range(layout.size_bytes // 4):
        place = offset + 4 * word
        yield from [Field(place, 4)] * 3
        yield Field(place, 2)
        if 4 * word in pointers:
            pointer = offset + int.from_bytes(file.data[place : place + 4], "little", signed=True)
            end = len(file.data) - DIGEST_BYTES
            yield from (Field(at, 4) for at in range(pointer, min(pointer + 64, end - 3), 4))
            yield from (Field(at, 1) for at in range(pointer, min(pointer + 8, end)))


def mutants(file: PlanFile, count: int, seed: int) -> Iterator[bytes]:
    """Yields mutants: one to three numbers are changed to edges, by a little, or to any number; some lose their end."""
    rng, fields = random.Random(seed), fields_of(file)
    for _ in range(count):
        data = bytearray(file.data)
        for each in rng.sample(fields, rng.choice((1, 1, 1, 2, 3))):
            old = int.from_bytes(data[each.place : each.place + each.size_bytes], "little")
            new = rng.choice(
                (
                    rng.choice(_EDGES), old + rng.choice((-4, -2, -1, 1, 2, 4, 8)), old * 2, old // 2, rng.getrandbits(32),
                    old ^ 1 << rng.randrange(8 * each.size_bytes), rng.randrange(len(data)),
                )
            )  # fmt: skip
            data[each.place : each.place + each.size_bytes] = (new % (1 << 8 * each.size_bytes)).to_bytes(
                each.size_bytes, "little"
            )
        yield with_digest(data) if rng.random() < 0.98 else bytes(data[: rng.randrange(len(data))])


@cache
def fuzzer(kernels: tuple[str, ...]) -> Path:
    """The program that opens and runs files under sanitizers, with these kernels."""
    folder = Path(tempfile.mkdtemp())
    sources = written_core(kernels, target("host"), folder)
    main = folder / "fuzz.c"
    limit = folder / "kernels" / "kibi_while_any.h"  # loops of a mutant end soon
    if limit.is_file():
        limit.write_text("#define KIBI_WHILE_LIMIT 50u\n" + limit.read_text())
    main.write_text("#define _POSIX_C_SOURCE 200809L\n" + Path(__file__).with_name("fuzz.c").read_text())
    return build_program([*sources, main], compiler="gcc", level="0", includes=[folder], sanitize=True)


def tried(kernels: tuple[str, ...], files: Sequence[bytes], seconds: float = 300) -> tuple[int, int]:
    """Tries files in one process: returns how many were refused, and how many ran.

    Raises:
        AssertionError: a sanitizer reported something, or the program did not end; the text has the report and the file's number.
    """
    program = fuzzer(kernels)
    done = _run(program, files, seconds)
    if done is not None and done.returncode == 0:
        refused, ran = map(int, done.stdout.split())
        return refused, ran
    for number, each in enumerate(files):  # find the file
        one = _run(program, [each], 20)
        if one is None or one.returncode != 0:
            path = Path(tempfile.mkstemp(suffix=".kibi")[1])
            path.write_bytes(each)
            report = "it does not end" if one is None else one.stderr.decode(errors="replace")[:6000]
            raise AssertionError(f"file {number}, kept as {path}: {report}")
    raise AssertionError("the files fail together, and none by itself")


def _run(program: Path, files: Sequence[bytes], seconds: float) -> "subprocess.CompletedProcess[bytes] | None":
    sent = b"".join(len(each).to_bytes(4, "little") + each for each in files)
    environment = {"ASAN_OPTIONS": _OPTIONS, "UBSAN_OPTIONS": "print_stacktrace=1"}
    try:
        return subprocess.run(
            [str(program)], input=sent, capture_output=True, check=False, timeout=seconds, env=environment
        )
    except subprocess.TimeoutExpired:
        return None
