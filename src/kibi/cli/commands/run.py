"""`kibi run`: one inference, or several."""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, Final

import numpy as np
import typer

from kibi.cli.options.common import AsJson, LabelsPath, ModelPath, SignatureName, WithoutPasses
from kibi.cli.options.models import load_simplified
from kibi.cli.options.paths import given_path
from kibi.cli.options.renamed import warn_renamed
from kibi.cli.terminal import GOOD, name_of, output, print_json, say, show, table, working
from kibi.files import write_file

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from kibi.dtypes import Array
    from kibi.ir import Graph
    from kibi.reports.outputs import OutputFacts, Score


ENGINES = ("python", "host")
RENAMED_ENGINES: Final[Mapping[str, str]] = MappingProxyType({"c": "host"})
"""The new name of each value of `--engine` that was renamed."""


def current_engine(name: str | None) -> str | None:
    """Returns the new name of a value of `--engine`, and warns of an earlier one.

    Raises:
        BadParameter: there is no such engine.
    """
    if name is None or name in ENGINES:
        return name
    if name not in RENAMED_ENGINES:
        raise typer.BadParameter(f"there is no engine {name!r}. Engines are: {', '.join(ENGINES)}")
    warn_renamed(f"--engine {name}", f"--engine {RENAMED_ENGINES[name]}")
    return RENAMED_ENGINES[name]


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
    engine: Annotated[
        str | None,
        typer.Option(
            "--engine",
            metavar="E",
            help="python: the runtime in Python. host: C code on this machine.",
            show_default="python for one inference, host for several",
            callback=current_engine,
        ),
    ] = None,
    labels: LabelsPath = None,
    signature: SignatureName = None,
    without_pass: WithoutPasses = None,
    as_json: AsJson = False,
) -> None:
    """Run a model on inputs from files, once or several times.

    It runs inside its planned memory. Classifiers answer with their top classes. Files for several inferences fill the inputs again
    and again. They run as C code on this machine, on all cores; the first ones run in Python, too, and must give the same bits.
    Variables keep their values from one inference to the next.

    Arrays have the input's own type, or are real values (float32) that are quantized as the input says. An image is
    resized to the input, grey or RGB; a pixel means 0 to 1, -1 to 1, or 0 to 255, whichever the input's range is.
    """
    from kibi.arrays.input_files import read_runs  # noqa: PLC0415
    from kibi.arrays.output_files import output_bytes, stacked  # noqa: PLC0415
    from kibi.reports.outputs import describe_outputs, read_labels  # noqa: PLC0415

    graph = load_simplified(model, without_pass, signature=signature)
    names = None if labels is None else read_labels(labels)
    runs = read_runs(graph, files)
    chosen = engine or ("python" if len(runs) == 1 else "host")
    with working("running"):
        made = _outputs(graph, runs, chosen)
    facts = [describe_outputs(graph, outputs, names) if outputs else () for outputs in made]
    if destination is not None:
        arrays = made[0] if len(runs) == 1 else stacked(graph, made)
        write_file(destination, output_bytes(graph, arrays, destination.suffix))
    if as_json:
        print_json(_record(graph, chosen, files, facts, made))
        return
    console = output()
    if len(runs) == 1:
        for each in facts[0]:
            show_output(console, each)
    else:
        _show_runs(console, _run_names(files, len(runs)), facts)
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


def _outputs(graph: "Graph", runs: "Sequence[Sequence[Array]]", engine: str) -> "list[list[Array]]":
    """The outputs of each inference; variables keep their values."""
    import kibi  # noqa: PLC0415

    keeps_state = bool(graph.variables) or len(runs) == 1
    with kibi.Interpreter(graph, engine=engine) as interpreter:
        if engine == "python" or keeps_state:
            return [interpreter.run(inputs) for inputs in runs]
        batch = interpreter.run_batch([np.stack(arrays) for arrays in zip(*runs, strict=True)])
    return [[array[number] for array in batch] for number in range(len(runs))]


def _show_runs(console: "Console", names: "Sequence[str]", facts: "Sequence[Sequence[OutputFacts]]") -> None:
    """A line for each inference: the best class of a classifier; statistics of any other output."""
    if all(len(each) == 1 and each[0].top for each in facts):
        rows = table(console, "input", "class", ">score", ">stored")
        for name, (only,) in zip(names, facts, strict=True):
            best = only.top[0]
            rows.add_row(name, best.label, f"{best.score:.4f}", str(best.stored))
        show(console, rows)
        return
    rows = table(console, "input", "output", "type", ">least", ">mean", ">largest", ">std")
    for name, outputs in zip(names, facts, strict=True):
        if not outputs:
            rows.add_row(name, "waits for more inputs")
        for each in outputs:
            numbers = (each.least, each.mean, each.largest, each.deviation)
            texts = (f"{number:.5g}" for number in numbers)
            rows.add_row(name, name_of(each.tensor.name), str(each.tensor.type), *texts)
    show(console, rows)


def _run_names(files: "Sequence[Path]", count: int) -> list[str]:
    """A name for each inference: its file, or its number where it has several."""
    if len(files) != count:
        return [str(number) for number in range(count)]
    names = [path.name for path in files]
    return names if len(set(names)) == len(set(files)) else [str(path) for path in files]


def _record(
    graph: "Graph",
    engine: str,
    files: "Sequence[Path]",
    facts: "Sequence[Sequence[OutputFacts]]",
    made: "Sequence[Sequence[Array]]",
) -> dict[str, Any]:
    """One inference has its outputs at the top; several are in a list."""
    runs = [
        [
            {**each.to_dict(), "values": array.reshape(-1).tolist()}
            for each, array in zip(described, outputs, strict=True)
        ]
        for described, outputs in zip(facts, made, strict=True)
    ]
    head = {"model": graph.name, "engine": engine}
    if len(runs) == 1:
        return {**head, "outputs": runs[0]}
    names = _run_names(files, len(runs))
    return {**head, "runs": [{"input": name, "outputs": outputs} for name, outputs in zip(names, runs, strict=True)]}
