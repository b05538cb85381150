"""The generated reference pages and tables: operators, errors, commands, the shipped model's figures."""  # noqa: INP001

import inspect
import json
import os
import re
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import chdir, redirect_stdout, suppress
from importlib.metadata import PackageNotFoundError, version
from io import StringIO
from pathlib import Path
from unittest.mock import patch

import numpy as np
from onnx_tables import onnx_operators_page
from operator_tables import operators_page, paragraphs

import kibi
import kibi.demo
from kibi import errors
from kibi.cli.commands.boards import cells
from kibi.cli.failure import EXIT_BROKEN_PIPE, EXIT_INTERRUPTED, EXIT_USAGE
from kibi.cli.main import main
from kibi.eager.events import ID_BYTES
from kibi.eager.own_events import own_events
from kibi.frontends.tflite.importers import RESOLVED
from kibi.ops import operators
from kibi.planfile.package_records import PACKAGE
from kibi.planfile.record import Record
from kibi.planfile.records import RECORDS
from kibi.planner import Run
from kibi.reports.measurement import Measurement
from kibi.targets import memories

_COUNTS = Path(__file__).resolve().parent.parent / "benchmarks" / "counts.json"
_NOTE = "<!-- Written by `make docs`; change docs/tables.py or the code that it reads, not this file. -->\n"
_ATTRIBUTE = re.compile(r"^ +(?P<name>[\w, ]+): (?P<text>.+)$", re.MULTILINE)


def pages() -> Mapping[str, str]:
    """Returns the text of each generated page, by its file name."""
    return {
        "operators.md": operators_page(),
        "onnx-operators.md": onnx_operators_page(),
        "errors.md": errors_page(),
        "commands.md": commands_page(),
    }


def errors_page() -> str:
    """The tree of errors, with exit codes, fields, and examples."""
    tree = (errors.__doc__ or "").split("\n\n")[1]
    kinds = [kind for kind in vars(errors).values() if inspect.isclass(kind) and issubclass(kind, errors.KibiError)]
    lines = [
        "# Errors",
        "",
        _NOTE,
        "Each error that Kibi raises on purpose is a `kibi.KibiError`. Each kind has its own class in `kibi.errors`. It holds",
        "its facts as fields, and its text says what is wrong, where, why, and what to do. The command line prints the text on",
        "standard error and ends with the kind's exit code:",
        "",
        "```text",
        inspect.cleandoc(tree),
        "```",
        "",
        f"Three further exit codes are {EXIT_USAGE} for arguments that make no sense, {EXIT_INTERRUPTED} for a run that was",
        f"interrupted, and {EXIT_BROKEN_PIPE} when nobody reads standard output any more. With `--traceback` the command line",
        "also shows where in Kibi an error was raised.",
    ]
    examples = _examples()
    for kind in kinds:
        lines += ["", f"## {kind.__name__}", "", f"Exit code {kind.exit_code}. {paragraphs(kind)[0]}"]
        described = _described_fields(kind)
        if described:
            lines += ["", *(f"- `{name}`: {text}" for name, text in described)]
        if kind.__name__ in examples:
            lines += ["", "For example:", "", "```text", examples[kind.__name__], "```"]
    return "\n".join([*lines, *_events_section()]) + "\n"


def _events_section() -> list[str]:
    """The events and errors that the runtime and generated C report, with their ids."""
    lines = [
        "",
        "## Events",
        "",
        "Arenas, tensors and interpreters report these [events](runtime.md#events) to a handler; generated C reports those of",
        "inferences. The name of an error is the `name` of the `EventError` that it raises. An id has 1, 2 or 4 bytes; no two are",
        "the same, whatever the width.",
        "",
        "| name | kind | 1 byte | 2 bytes | 4 bytes | meaning |",
        "|---|---|---|---|---|---|",
    ]
    for each in own_events():
        ids = " | ".join(f"`0x{each.id(width):0{2 * width}x}`" for width in ID_BYTES)
        lines.append(f"| `{each.name}` | {each.severity.value} | {ids} | {each.meaning} |")
    return lines


def _described_fields(kind: type[errors.KibiError]) -> list[tuple[str, str]]:
    """The fields that an error's constructor sets, with what its docstring says of them."""
    if "__init__" not in vars(kind):
        return []
    known = {match["name"]: match["text"] for match in _ATTRIBUTE.finditer(kind.__doc__ or "")}
    return [(name, known[name]) for name in inspect.signature(kind).parameters if name in known]


def _examples() -> dict[str, str]:
    """Texts of real errors, by kind, provoked in an empty folder."""
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        return dict(_raised(provoke) for provoke in _PROVOKED)


def _raised(provoke: Callable[[kibi.Graph], object]) -> tuple[str, str]:
    try:
        provoke(kibi.load(kibi.demo.model_path()))
    except errors.KibiError as error:
        return type(error).__name__, str(error)
    raise AssertionError(f"{provoke.__name__} raised nothing")


def _text_file(_: kibi.Graph) -> object:
    Path("model.tflite").write_text("This is not the model that you are looking for.\n")
    return kibi.load("model.tflite")


def _wrong_shape(model: kibi.Graph) -> object:
    return kibi.run(model, None, [np.zeros((28, 28), np.int8)])


def _row_twice(model: kibi.Graph) -> object:
    return kibi.plan(model, runs=[Run(0, 0, 28), Run(0, 0, 28)])


def _small_arena(model: kibi.Graph) -> object:
    plan = kibi.plan(model)
    return kibi.Interpreter(model, plan, arena=bytearray(plan.arena_bytes - 1))


def _no_target(model: kibi.Graph) -> object:
    return kibi.plan(model, target="cortex-m5")


def _no_compiler(model: kibi.Graph) -> object:
    return kibi.measure(kibi.compile(model, None, "library"), compiler="icc")


def _not_emulated(model: kibi.Graph) -> object:
    from kibi.emulator import Core  # noqa: PLC0415 - beside its only use
    from kibi.toolchain import build_image  # noqa: PLC0415 - as above

    device = kibi.target("cortex-m4")
    Path("peek.c").write_text("int peek(const int *address);\nint peek(const int *address) { return *address; }\n")
    core = Core(build_image([Path("peek.c")], device, entries=["peek"]), device)
    del model
    return core.call("peek", 0x2100_0000)


def _folder_is_file(model: kibi.Graph) -> object:
    Path("taken").touch()
    return kibi.compile(model, None, "taken")


_PROVOKED = (
    _text_file, _wrong_shape, _row_twice, _small_arena, _no_target, _no_compiler, _not_emulated, _folder_is_file,
)  # fmt: skip


def commands_page() -> str:
    """The help text of each verb."""
    verbs = re.findall(r"^  ([a-z]+)  ", _help().partition("Commands:")[2], re.MULTILINE)
    lines = [
        "# Commands",
        "",
        _NOTE,
        "`kibi VERB --help` prints the text of each section. Tables have colours in a terminal and are plain text in a pipe.",
        "With `--json` a verb prints one JSON object on standard output and nothing else; messages and progress go to",
        "standard error. [errors.md](errors.md) lists the exit codes, and the [glossary](glossary.md) explains the words.",
    ]
    for verb in verbs:
        lines += ["", f"## {verb}", "", "```text", *(line.rstrip() for line in _help(verb).strip().splitlines()), "```"]
    return "\n".join(lines) + "\n"


def _help(*verb: str) -> str:
    """The help text of the command line, or of a verb."""
    with patch.dict(os.environ, {"COLUMNS": "88"}), redirect_stdout(StringIO()) as printed, suppress(SystemExit):
        main([*verb, "--help"])
    return printed.getvalue()


def boards_table() -> str:
    """All boards, with the documents that their figures are from."""
    lines = [
        "| board | further names | | core | clock | wait states | RAM, KiB | flash, KiB |",
        "|---|---|---|---|---:|---:|---:|---:|",
    ]
    for each in kibi.boards():
        name, core, clock, waits, ram, flash = cells(each)
        aliases = ", ".join(f"`{alias}`" for alias in each.aliases)
        lines.append(f"| `{name}` | {aliases} | {each.title} | {core} | {clock} | {waits or '-'} | {ram} | {flash} |")
    lines += ["", "The figures are those of public documents:", ""]
    lines += [f"- `{each.name}`: {each.source}.{f' {each.note}' if each.note else ''}" for each in kibi.boards()]
    lines += [
        "",
        "What a chip takes while its core runs from flash with its peripherals off, typical, where a document states it:",
        "",
    ]
    lines += ["| board | µA/MHz | supply | source |", "|---|---:|---:|---|"]
    lines += [
        f"| `{each.name}` | {current.microamperes_per_mhz:g} | {current.volts:g} V | {current.source} |"
        for each in kibi.boards()
        if (current := each.run_current) is not None
    ]
    return "\n".join([*lines, ""])


def memories_table() -> str:
    """All memory interfaces that are modelled, with the boards that have them and the documents that the figures are from."""
    lines = [
        "| memory | boards | a read | clocks in MHz up to 0, 1, 2 … wait states | instructions | data | prefetch | a miss |"
    ]
    lines.append("|---|---|---:|---|---|---|---|---:|")
    for each in memories().values():
        known = ", ".join(f"`{board.name}`" for board in kibi.boards() if board.memory is each)
        limits = ", ".join(f"{limit / 1e6:g}" for limit in each.clock_limits_hz)
        caches = [each.instruction_cache, each.data_cache] if each.unified_cache is None else [each.unified_cache] * 2
        texts = " | ".join(f"{cache.text}" if cache else "-" for cache in caches)
        states = limits or f"{each.fixed_wait_states} at any clock"
        ahead = "yes" if each.has_prefetch else "no"
        lines.append(
            f"| `{each.name}` | {known} | {each.read_bytes} | {states} | {texts} | {ahead} | +{each.miss_cycles} |"
        )
    lines += ["", "Sources, and what is from none:", ""]
    lines += [f"- `{each.name}`, {each.title}: {each.source}." for each in memories().values()]
    return "\n".join([*lines, ""])


def operators_sentence() -> str:
    """A sentence with the number of operators."""
    return (
        f"Kibi runs all {len({*operators(), *RESOLVED})} operators of TensorFlow Lite Micro, those of the schema and its own: "
        "convolutions, recurrent layers,\ncontrol flow, variables, signal processing, compressed weights. Elements are "
        "int8, int16 with int8 weights, float32, and each\nfurther type that TFLM has for an operator. "
        "[What each takes](docs/operators.md).\n"
    )


def rows_sentence() -> str:
    """Returns a sentence on the bytes that a plan by the row saves on the shipped model, measured."""
    model = kibi.load(kibi.demo.model_path())
    whole, rows = (_measured(model, kibi.plan(model, granularity=name)) for name in ("tensor", "row"))
    same = "the same bits" if rows.bit_exact and whole.bit_exact else "OTHER BITS"
    return (
        "By default, Kibi places rows. Its kernels compute one row at a time, wherever that row is stored. So operators can\n"
        "alternate, and each row has a place and a lifetime of its own. The arithmetic does not change, and this plan gives\n"
        f"{same} in **{rows.ram_bytes:,} bytes of RAM instead of {whole.ram_bytes:,}**, stack included. "
        "[Why that works](docs/memory-by-the-row.md).\n"
    )


def _measured(model: kibi.Graph, plan: kibi.Plan) -> Measurement:
    with tempfile.TemporaryDirectory() as folder:
        return kibi.measure(kibi.compile(model, plan, folder), level="s")


def figures() -> str:
    """The shipped model on every emulated target, as a table."""
    model = kibi.load(kibi.demo.model_path())
    rows = [
        "| target | arena | state + stack | code | weights | instructions | time without wait states | same bits |",
        "|---|---:|---:|---:|---:|---:|---:|---|",
    ]
    for target in kibi.targets():
        if target.emulated_cpu:
            found = _measured(model, kibi.plan(model, target))
            spent = "-"
            if found.cycles_estimate is not None:
                spent = f"{found.cycles_estimate / target.clock_hz * 1000:.0f} ms at {target.clock_hz / 1e6:g} MHz"
            rows.append(
                f"| {target.name} | {found.arena_bytes:,} | {found.state_bytes} + {found.stack_bytes} "
                f"| {found.code_bytes:,} | {found.weights_bytes:,} | {found.instructions:,} | {spent} "
                f"| {'yes' if found.bit_exact and found.oracle else 'NO'} |"
            )
    size = kibi.demo.model_path().stat().st_size
    head = (
        f"The model that Kibi ships, on every core that is emulated. It is a file of {size:,} bytes with {len(model.nodes)} "
        f"operators\nand {model.macs:,} multiply-accumulates. Memory is in bytes."
    )
    return "\n".join([head, "", *rows, "", circumstances(), ""])


def circumstances() -> str:
    """Returns a sentence on what the figures depend on besides Kibi."""
    try:
        oracle = f"bits compared with tflite-micro {version('tflite-micro')}"
    except PackageNotFoundError:
        oracle = "bits not compared with tflite-micro"
    return f"Compiled by ziglang {version('ziglang')} with `-Os`; {oracle}."


def records(listed: Sequence[Record] = RECORDS, level: str = "###") -> str:
    """Returns a table of the fields of each record: without an argument, of those of a plan file.

    Args:
        listed: the records.
        level: what their headings begin with.
    """
    parts = []
    for record in listed:
        head = f"{level} {record.name.replace('_', ' ').capitalize()}: {record.size_bytes} bytes\n\n{record.about}\n\n"
        rows = [
            f"| {record.offsets[each.name]} | {each.type} | `{each.name}` | {each.meaning} |" for each in record.fields
        ]
        parts.append(head + "\n".join(["| offset | type | field | meaning |", "|---:|---|---|---|", *rows]))
    return "\n\n".join(parts)


def package_records() -> str:
    """Returns a table of the fields of the record of an update package."""
    return f"{records([PACKAGE], '####')}\n"


def recorded_counts() -> str:
    """Returns the costs of layers and models on emulated cores, from the record; a sentence if there is no record."""
    if not _COUNTS.is_file():
        return "Nothing is recorded yet: `python benchmarks/counts.py --write` does it.\n"
    record = json.loads(_COUNTS.read_text(encoding="utf-8"))
    tools = ", ".join(f"{name} {number}" for name, number in sorted(record["tools"].items()))
    tables = [_layers_table(record["counts"]), _models_table(record["counts"])]
    return "\n".join([*filter(None, tables), f"Recorded with {tools}.", ""])


def _layers_table(counts: Mapping[str, Mapping[str, int]]) -> str:
    """Instructions per multiply-accumulate of each layer on each core; empty where no layer is recorded."""
    found = {
        (match["layer"], match["core"]): counts[name]
        for name in counts
        if (match := re.fullmatch(r"layer (?P<layer>\S+) on (?P<core>\S+)", name))
    }
    if not found:
        return ""
    cores = sorted({core for _, core in found})
    lines = ["Instructions for each multiply-accumulate of a layer, everything included:", ""]
    lines += [f"| layer | {' | '.join(cores)} |", f"|---|{'---:|' * len(cores)}"]
    for layer in sorted({layer for layer, _ in found}):
        shares = (found.get((layer, core)) for core in cores)
        cells = (f"{each['instructions'] / each['macs']:.2f}" if each else "-" for each in shares)
        lines.append(f"| {_LAYERS.get(layer, f'`{layer}`')} | {' | '.join(cells)} |")
    return "\n".join([*lines, ""])


def recorded_weights() -> str:
    """Returns the table of models without and with coded weights, from the record; without a record, a sentence that says so."""
    counts = json.loads(_COUNTS.read_text(encoding="utf-8"))["counts"] if _COUNTS.is_file() else {}
    models = sorted(name for name in counts if name.startswith(_WEIGHTS_OF))
    if not models:
        return "Nothing is recorded yet: `python benchmarks/counts.py --write` does it.\n"
    lines = ["| model | layers coded | weights | all coded | flash | with codes | instructions | with codes |"]
    lines.append(f"|---|{'---:|' * 7}")
    for name in models:
        row = counts[name]
        share = (row["coded_bytes"] - row["raw_bytes"]) / row["raw_bytes"]
        cells = [
            f"{row['coded_layers']} of {row['layers']}",
            f"{row['raw_bytes']:,}",
            f"{row['coded_bytes']:,} ({share:+.1%})",
        ]
        columns = ("flash_bytes_before", "flash_bytes", "instructions_before", "instructions")
        cells += [f"{row[column]:,}" for column in columns]
        lines.append(f"| `{name.removeprefix(_WEIGHTS_OF)}` | {' | '.join(cells)} |")
    return "\n".join([*lines, ""])


def recorded_int4() -> str:
    """Returns the table of layers and a model with weights of int4, unpacked and packed, from the record; or that it is missing."""
    counts = json.loads(_COUNTS.read_text(encoding="utf-8"))["counts"] if _COUNTS.is_file() else {}
    found = [match for name in sorted(counts) if (match := re.fullmatch(r"int4 (?P<name>\S+) on (?P<core>\S+)", name))]
    if not found:
        return "Nothing is recorded yet: `python benchmarks/counts.py --write` does it.\n"
    lines = ["| layer or model | core | flash | packed | arena | packed | instructions | packed |"]
    lines.append(f"|---|---|{'---:|' * 6}")
    for match in found:
        row, name = counts[match[0]], match["name"]
        cells = []
        for count in ("flash_bytes", "arena_bytes", "instructions"):
            before, after = row[f"{count}_before"], row[count]
            cells += [f"{before:,}", f"{after:,} ({after / before - 1:+.1%})"]
        lines.append(f"| {_INT4_LAYERS.get(name, f'`{name}`')} | {match['core']} | {' | '.join(cells)} |")
    return "\n".join([*lines, ""])


_WEIGHTS_OF = "weights of "
_INT4_LAYERS = {
    "pw": "1 x 1, 64 channels to 64, on 8 x 8",
    "c3": "3 x 3, 16 channels to 32, on 16 x 16",
    "fc": "fully connected, 640 to 128",
}
"""The recorded layers with weights of int4 in words."""
_LAYERS = {
    "pw": "`pw`: 1 x 1, 64 channels to 64, on 25 x 5",
    "dw": "`dw`: depthwise 3 x 3, 64 channels, on 25 x 5",
    "c3": "`c3`: 3 x 3, 16 channels to 16, on 32 x 32",
    "fc": "`fc`: fully connected, 640 to 128",
}
"""The recorded layers in words; `benchmarks/layers.py` defines them."""


def _models_table(counts: Mapping[str, Mapping[str, int]]) -> str:
    """Returns the table of each model's costs on the Cortex-M4; empty if none is recorded."""
    models = sorted(name for name in counts if name.startswith("model "))
    if not models:
        return ""
    lines = ["Whole models on the Cortex-M4, balanced, after the lossless passes:", ""]
    lines += [
        "| model | multiply-accumulates | instructions | code | stack | arena |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for name in models:
        columns = ("macs", "instructions", "code_bytes", "stack_bytes", "arena_bytes")
        cells = " | ".join(f"{counts[name][column]:,}" for column in columns)
        lines.append(f"| `{name.removeprefix('model ')}` | {cells} |")
    return "\n".join([*lines, ""])
