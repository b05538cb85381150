"""`kibi demo`: the whole way, from a model file to measured device code, on the model that Kibi ships."""

from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kibi.cli.commands.inspect import show_inspection
from kibi.cli.commands.verify import engine_text
from kibi.cli.options.boards import BoardName, TargetName, chosen_processor
from kibi.cli.options.checks import compiler_named, emulated_target
from kibi.cli.options.common import CompilerName
from kibi.cli.options.paths import given_path
from kibi.cli.output.waits import time_texts
from kibi.cli.terminal import (
    BAD,
    FIGURE,
    GOOD,
    TITLE,
    byte_text,
    output,
    picture_columns,
    say,
    show,
    table,
    working,
)
from kibi.errors import MismatchError
from kibi.files import temporary_folder

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from rich.console import Console
    from rich.text import Text

    from kibi.codegen import Library
    from kibi.dtypes import Array
    from kibi.ir import Graph
    from kibi.planner import Plan
    from kibi.reports.measurement import Measurement
    from kibi.reports.verification import Verification
    from kibi.targets import Target

_DRAWING_COLUMNS = 14
_DRAWINGS_IN_A_LINE = 5


def demo(
    *,
    target: TargetName = None,
    board: BoardName = None,
    compiler: CompilerName = "zig",
    directory: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="DIR",
            help="Keep the C library in this folder.",
            parser=given_path,
            show_default=False,
        ),
    ] = None,
) -> None:
    """Show every step on a model that Kibi ships.

    It loads, plans, runs and compiles the model, runs it on an emulated core, and compares the bits. It keeps no file
    unless --output names a folder for the C library.
    """
    import kibi  # noqa: PLC0415
    from kibi import demo as shipped  # noqa: PLC0415
    from kibi.planner import PlannedModel  # noqa: PLC0415
    from kibi.reports.inspection import inspect  # noqa: PLC0415
    from kibi.reports.memory_picture import memory_picture  # noqa: PLC0415

    processor, console = chosen_processor(target, board).target, output()
    emulated_target(processor.name)
    tool = compiler_named(compiler)
    graph = kibi.load(shipped.model_path())
    _title(console, processor)

    _section(console, 1, "Load", "A small int8 network that reads a digit. This is all that is in it:")
    show_inspection(console, inspect(graph))

    plan = kibi.plan(graph, processor)
    _section(console, 2, "Plan", "Every byte has its place before anything runs:")
    say(console, memory_picture(PlannedModel.of(graph, plan), width=picture_columns(console)))

    images, truth = shipped.samples()
    _section(console, 3, "Run", "Python runs the plan inside those very bytes, on drawings that it has never seen:")
    inputs = [[_quantized(graph, image)] for image in images]
    with working("running"):
        answers = _answers(graph, plan, inputs)
    _show_drawings(console, images, answers, [shipped.labels[label] for label in truth.tolist()])

    with _folder(directory) as folder:
        library = kibi.compile(graph, plan, folder)
        _section(
            console, 4, "Compile", "The plan becomes C99: no malloc, no globals, nothing but the C library's string.h."
        )
        _show_library(console, library, directory)
        _section(console, 5, "Measure", _what_is_measured(processor, len(inputs)))
        with working(f"compiling for the {processor.name} and running on the emulated core"):
            found = kibi.measure(library, compiler=tool)
        with working("comparing Python, C on this machine and the device"):
            verified = kibi.verify(graph, plan, target=processor, inputs=inputs, compiler=tool)
    _show_result(console, found, verified, processor)
    if not (found.bit_exact and verified.is_exact):
        raise MismatchError("\n".join(map(str, verified.differences)) or "the device's bits differ from Python's.")
    _show_next(console, directory)


def _title(console: "Console", processor: "Target") -> None:
    import kibi  # noqa: PLC0415

    text = f"Kibi {kibi.__version__}: from a model file to a {processor.name}, measured, without a board"
    say(console, text, TITLE)


def _section(console: "Console", number: int, title: str, text: str) -> None:
    from rich.text import Text  # noqa: PLC0415

    heading = Text(f"\n{number}  {title}", FIGURE if console.is_terminal else "")
    say(console, heading.append(f"  {text}\n", "default"))


def _quantized(graph: "Graph", image: "NDArray[np.uint8]") -> "Array":
    """A drawing as the input takes it."""
    from kibi.arrays.images import image_array  # noqa: PLC0415

    return image_array(graph, graph.tensors[graph.inputs[0]], image)


def _answers(graph: "Graph", plan: "Plan", inputs: "list[list[Array]]") -> list[tuple[int, float]]:
    """Returns, for each input, the best class and its score."""
    import kibi  # noqa: PLC0415
    from kibi.reports.outputs import describe_outputs  # noqa: PLC0415

    interpreter = kibi.Interpreter(graph, plan)
    best = [describe_outputs(graph, interpreter.run(each))[0].top[0] for each in inputs]
    return [(score.index, score.score) for score in best]


def _show_drawings(
    console: "Console", images: "NDArray[np.uint8]", answers: list[tuple[int, float]], truth: list[str]
) -> None:
    from rich.text import Text  # noqa: PLC0415

    from kibi.demo import labels  # noqa: PLC0415
    from kibi.reports.drawing import beside, draw  # noqa: PLC0415

    in_color = console.is_terminal and console.color_system is not None
    for first in range(0, len(images), _DRAWINGS_IN_A_LINE):
        chosen = range(first, min(first + _DRAWINGS_IN_A_LINE, len(images)))
        for line in beside([draw(images[each], _DRAWING_COLUMNS, in_color=in_color) for each in chosen]):
            say(console, line)
        captions = Text()
        for each in chosen:
            index, score = answers[each]
            is_right = labels[index] == truth[each]
            caption = f"{labels[index]}  {score:.0%}" + ("" if is_right else f", not {truth[each]}")
            captions.append(f"{caption:<{_DRAWING_COLUMNS + 2}}", GOOD if is_right else BAD)
        captions.rstrip()
        say(console, captions)
        say(console)
    right = sum(labels[index] == label for (index, _), label in zip(answers, truth, strict=True))
    say(console, f"{right} of {len(truth)} are read right.")


def _folder(directory: Path | None) -> AbstractContextManager[Path]:
    """The folder of the C library while the demo runs, and afterwards if the user has named a folder."""
    return temporary_folder() if directory is None else nullcontext(directory)


def _show_library(console: "Console", library: "Library", directory: Path | None) -> None:
    name = library.model.graph.name
    text = library.files[f"{name}.h"]
    wanted = (
        f"kibi_status {name}_",
        f"int8_t *{name}_",
        f"const int8_t *{name}_",
        f"#define {name.upper()}_ARENA_BYTES",
    )
    for line in text.splitlines():
        if line.startswith(wanted):
            say(console, f"    {line}")
    say(console)
    size = sum(len(content.encode()) for content in library.files.values())
    where = f"in {directory}" if directory else "in a temporary folder; keep them with --output build/demo"
    say(console, f"{len(library.files)} files, {byte_text(size)} of text, {where}.")


def _what_is_measured(processor: "Target", runs: int) -> str:
    return f"The C code runs on an emulated {processor.name}; the {runs} drawings go through every engine. It costs:"


def _show_result(console: "Console", found: "Measurement", verified: "Verification", processor: "Target") -> None:
    from rich.text import Text  # noqa: PLC0415

    is_exact = found.bit_exact and verified.is_exact
    engines = ["Python", *map(engine_text, verified.engines)]
    same = Text("yes" if is_exact else "NO", GOOD if is_exact else BAD)
    rows = table(console, f"{found.model} on {found.target}", ">", "")
    rows.add_row("arena", _figure(found.arena_bytes), "bytes of RAM, free again between two runs")
    rows.add_row("state", _figure(found.state_bytes), "bytes of RAM, kept")
    rows.add_row("stack", _figure(found.stack_bytes), "bytes of RAM at the deepest point")
    rows.add_row("code", _figure(found.code_bytes), "bytes of flash")
    rows.add_row("weights", _figure(found.weights_bytes), "bytes of flash")
    rows.add_row("instructions", _figure(found.instructions), f"for one inference: {found.macs:,} MACs")
    number, unit = time_texts(found, processor)
    rows.add_row("time", Text(number, FIGURE), unit)
    rows.add_row("same bits", same, f"from {', '.join(engines[:-1])} and {engines[-1]}")
    show(console, rows)


def _figure(number: int) -> "Text":
    from rich.text import Text  # noqa: PLC0415

    return Text(f"{number:,}", FIGURE)


def _show_next(console: "Console", directory: Path | None) -> None:
    say(console)
    if directory is not None:
        say(console, f"The C library is in {directory}.")
    say(console, "Now yours: kibi measure model.tflite")
