"""`kibi run`: one inference."""

from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kibi.cli.arguments import AsJson, ModelPath, SignatureName, WithoutPasses, load_simplified
from kibi.cli.paths import given_path
from kibi.cli.terminal import GOOD, name_of, output, print_json, say, show, table, working
from kibi.files import temporary_folder, write_file

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from kibi.dtypes import Array
    from kibi.ir import Graph
    from kibi.reports.outputs import OutputFacts, Score


class EngineName(Enum):
    """The engine that runs the model."""

    PYTHON = "python"
    C = "c"


def run_model(
    model: ModelPath,
    *,
    files: Annotated[
        list[Path],
        typer.Option(
            "--input",
            "-i",
            metavar="FILE",
            help=".npy, .npz, .png, .bmp, or raw bytes; again for each further input.",
            parser=given_path,
            show_default=False,
        ),
    ],
    destination: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Write the outputs: .npy, .npz, or raw bytes.",
            parser=given_path,
            show_default=False,
        ),
    ] = None,
    engine: Annotated[EngineName, typer.Option("--engine", help="The Python runtime, or the C library.")] = (
        EngineName.PYTHON
    ),
    labels: Annotated[
        Path | None,
        typer.Option(
            "--labels",
            metavar="FILE",
            help="The classes' names, one in a line.",
            parser=given_path,
            show_default=False,
        ),
    ] = None,
    signature: SignatureName = None,
    without_pass: WithoutPasses = None,
    as_json: AsJson = False,
) -> None:
    """Run a model once on inputs from files.

    It runs inside its planned memory. Classifiers answer with their top classes.

    Arrays have the input's own type, or are real values (float32) that are quantized as the input says. An image is
    resized to the input, grey or RGB; a pixel means 0 to 1, -1 to 1, or 0 to 255, whichever the input's range is.
    """
    import kibi  # noqa: PLC0415
    from kibi.arrays.input_files import read_inputs  # noqa: PLC0415
    from kibi.arrays.output_files import output_bytes  # noqa: PLC0415
    from kibi.reports.outputs import describe_outputs, read_labels  # noqa: PLC0415

    graph = load_simplified(model, without_pass, signature=signature)
    names = None if labels is None else read_labels(labels)
    inputs = read_inputs(graph, files)
    with working("running"):
        outputs = kibi.run(graph, None, inputs) if engine is EngineName.PYTHON else _run_c(graph, inputs)
    facts = describe_outputs(graph, outputs, names)
    if destination is not None:
        write_file(destination, output_bytes(graph, outputs, destination.suffix))
    if as_json:
        print_json(_record(graph, engine, facts, outputs))
        return
    console = output()
    for each in facts:
        show_output(console, each)
    if destination is not None:
        say(console, f"\nWritten to {destination}.")


def show_output(console: "Console", facts: "OutputFacts") -> None:
    """The top classes of a classifier; statistics of any other output."""
    if facts.top:
        show_scores(console, facts.top)
        return
    rows = table(console, "output", "type", ">least", ">mean", ">largest", ">std")
    numbers = (facts.least, facts.mean, facts.largest, facts.deviation)
    rows.add_row(name_of(facts.tensor.name), str(facts.tensor.type), *(f"{number:.5g}" for number in numbers))
    show(console, rows)


def show_scores(console: "Console", scores: "Sequence[Score]") -> None:
    """Classes with their scores, best first."""
    rows = table(console, "class", ">score", ">stored")
    for place, score in enumerate(scores):
        rows.add_row(score.label, f"{score.score:.4f}", str(score.stored), style="" if place else f"bold {GOOD}")
    show(console, rows)


def _run_c(graph: "Graph", inputs: "Sequence[Array]") -> "list[Array]":
    """Runs one inference in the C library, compiled for this machine."""
    import kibi  # noqa: PLC0415
    from kibi.engines import HostEngine  # noqa: PLC0415

    with temporary_folder() as folder:
        return HostEngine(kibi.compile(graph, None, folder, target="host")).run(inputs)


def _record(
    graph: "Graph", engine: EngineName, facts: "Sequence[OutputFacts]", outputs: "Sequence[Array]"
) -> dict[str, Any]:
    pairs = zip(facts, outputs, strict=True)
    return {
        "model": graph.name,
        "engine": engine.value,
        "outputs": [{**each.to_dict(), "values": array.reshape(-1).tolist()} for each, array in pairs],
    }
