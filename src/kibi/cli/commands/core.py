"""`kibi core`: the C library that runs plan files."""

import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kibi.cli.options.boards import BoardName, TargetName, chosen_processor
from kibi.cli.options.common import (
    AsJson,
    Decompress,
    GoalName,
    GranularityName,
    OutputFolder,
    Recompute,
    WeightsName,
    WithoutPasses,
)
from kibi.cli.options.models import load_simplified
from kibi.cli.options.paths import build_commands, given_model
from kibi.cli.options.planning import plan_for, plan_options
from kibi.cli.output.weights import check_read
from kibi.cli.terminal import facts, output, print_json, say, working
from kibi.files import files_digest

if TYPE_CHECKING:
    from kibi.planfile.core_library import Core


def write_core(
    models: Annotated[
        list[Path] | None,
        typer.Argument(metavar="MODEL...", help=".tflite files.", parser=given_model, show_default=False),
    ] = None,
    *,
    directory: OutputFolder,
    target: TargetName = None,
    board: BoardName = None,
    kernels: Annotated[
        list[str] | None,
        typer.Option(
            "--kernels",
            metavar="NAME",
            help="Further kernels: all, cnn-s8, or the name of one; may be given again.",
            show_default=False,
        ),
    ] = None,
    granularity: GranularityName = "row",
    recompute: Recompute = 1.0,
    without_pass: WithoutPasses = None,
    decompress: Decompress = False,
    goal: GoalName = "balanced",
    weights: WeightsName = "flash",
    as_json: AsJson = False,
) -> None:
    """Write the C library that runs plan files, with the kernels that these models need.

    `kibi compile MODEL --format plan` writes the files. The core checks each before it runs it.
    """
    import kibi  # noqa: PLC0415

    check_read(weights, is_for_c=False, verb="core")
    options = plan_options(granularity, "stored", False, None, None, goal, weights, recompute=recompute)
    processor = chosen_processor(target, board).target
    graphs = [load_simplified(model, without_pass, decompress=decompress, goal=goal) for model in models or ()]
    with working("writing the core"):
        files = [kibi.compile_plan(graph, plan_for(graph, processor, None, options)) for graph in graphs]
        words = ["kibi", "core", *(graph.source for graph in graphs), "--target", processor.name]
        words += [word for name in kernels or () for word in ("--kernels", name)]
        command = " ".join(shlex.quote(word) for word in words)
        core = kibi.compile_core(files, directory, target=processor, kernels=kernels or (), command=command)
    if as_json:
        print_json(_record(core, directory), library=_digest(directory))
        return
    console = output()
    facts(
        console,
        [
            ("core", f"{len(core.kernels)} kernel{'s' * (len(core.kernels) > 1)} for {core.target}, in {directory}"),
            ("kernels", ", ".join(name.removeprefix("kibi_") for name in core.names)),
            *(
                [("without", ", ".join(part.removeprefix("KIBI_").lower() for part in core.without))]
                if core.without
                else []
            ),
        ],
    )
    say(console)
    say(console, f"Build it: {build_commands(directory)}")
    where = shlex.quote(str(directory))
    say(console, f"Make a file for it: kibi compile MODEL --format plan --core {where}/core.json -o model.kibi")


def _digest(directory: Path) -> str:
    """The digest of the core in a folder: of `core.json` and of the files that it lists."""
    files = json.loads((directory / "core.json").read_text(encoding="utf-8"))["files"]
    return files_digest(directory, ["core.json", *files])


def _record(core: "Core", directory: Path) -> dict[str, object]:
    kernels = [{"name": each.name, "id": each.id} for each in core.kernels]
    return {
        "target": core.target,
        "version": core.version,
        "directory": str(directory),
        "kernels": kernels,
        "without": list(core.without),
    }
