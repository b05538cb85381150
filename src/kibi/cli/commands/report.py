"""`kibi report` and `kibi view`: all that is known of a model, as one page that works without a network."""

import webbrowser
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kibi.cli.commands.pareto import Setup, measured_choices, swept_choices
from kibi.cli.options.boards import BoardName, TargetName, chosen_processor
from kibi.cli.options.checks import compiler_named, emulated_target, not_compared
from kibi.cli.options.common import (
    AsJson,
    CompilerName,
    Decompress,
    GoalName,
    GranularityName,
    LabelsPath,
    ModelPath,
    NoOracle,
    PlanPath,
    Recompute,
    Seed,
    SignatureName,
    WithoutPasses,
)
from kibi.cli.options.data import FloatReference, TruthPath
from kibi.cli.options.models import simplified_model
from kibi.cli.options.paths import given_model, given_path
from kibi.cli.options.planning import plan_for, plan_options
from kibi.cli.options.sizes import byte_count
from kibi.cli.terminal import BAD, FIGURE, GOOD, facts, output, print_json, say, working
from kibi.errors import InputError, OutputError
from kibi.files import check_file

if TYPE_CHECKING:
    from kibi.model_reports import Report

OldModel = Annotated[
    Path | None,
    typer.Argument(
        metavar="OLD", help="An older model or version to compare with.", parser=given_model, show_default=False
    ),
]
ReportPath = Annotated[
    Path,
    typer.Option(
        "--output", "-o", metavar="FILE", help="The HTML file to write.", parser=given_path, show_default=False
    ),
]
RamSize = Annotated[
    int | None,
    typer.Option(
        "--ram",
        metavar="N",
        help="The bytes of RAM that there are, such as 64k: says if the model fits.",
        parser=byte_count,
        show_default=False,
    ),
]
FlashSize = Annotated[
    int | None,
    typer.Option(
        "--flash",
        metavar="N",
        help="The bytes of flash that there are, such as 256k.",
        parser=byte_count,
        show_default=False,
    ),
]
DataOption = Annotated[
    str | None,
    typer.Option(
        "--data", "-d", metavar="DATA", help="Data to evaluate it on, as for `kibi evaluate`.", show_default=False
    ),
]
Choices = Annotated[
    bool,
    typer.Option("--choices/--no-choices", help="Measure other ways to plan the model, too."),
]


def report(
    model: ModelPath,
    old: OldModel = None,
    *,
    path: ReportPath,
    target: TargetName = None,
    board: BoardName = None,
    ram: RamSize = None,
    flash: FlashSize = None,
    plan: PlanPath = None,
    granularity: GranularityName = "row",
    recompute: Recompute = 1.0,
    goal: GoalName = "balanced",
    labels: LabelsPath = None,
    choices: Choices = True,
    data: DataOption = None,
    truth: TruthPath = None,
    reference: FloatReference = None,
    compiler: CompilerName = "zig",
    seed: Seed = 0,
    signature: SignatureName = None,
    without_pass: WithoutPasses = None,
    decompress: Decompress = False,
    no_oracle: NoOracle = False,
    as_json: AsJson = False,
) -> None:
    """Write a report of a model: one HTML file that works without a network.

    It says whether the model fits, shows the memory plan as a picture to move through, the graph, the costs of each layer, and runs
    the model itself in the page. With an older model, it says what changed, layer by layer.
    """
    import kibi  # noqa: PLC0415
    from kibi.reports.outputs import read_labels  # noqa: PLC0415

    check_file(path)
    if data == "":
        raise typer.BadParameter("the data are empty. Give a file, a folder, or module:function", param_hint="'--data'")
    if data is None and truth is not None:
        raise InputError("--truth has the labels of data. Give --data, too.")
    if data is None and reference is not None:
        raise InputError("--reference is compared with the model on data. Give --data, too.")
    options = plan_options(granularity, "stored", False, None, None, goal, recompute=recompute)
    chosen, tool = chosen_processor(target, board), compiler_named(compiler)
    processor = chosen.target
    emulated_target(processor.name)
    names = () if labels is None else read_labels(labels)
    read = partial(simplified_model, without=without_pass, decompress=decompress, signature=signature, goal=goal)
    simplified = read(model, plan=plan)
    former = None if old is None else read(old)
    evaluation, errors = None, None
    if data is not None:
        exact = None if reference is None else kibi.load(reference)
        evaluation = kibi.evaluate(simplified.graph, data, truth=truth, labels=names or None, reference=exact)
        if exact is not None:
            errors = kibi.compare_layers(kibi.load(model, signature, decompress=True), exact, data)
    with working(f"measuring on {processor.name}"):
        made_plan = plan_for(simplified.graph, processor, plan, options)
        old_plan = None if former is None else plan_for(former.graph, processor, None, options)
    setup = Setup(chosen, tool, seed)
    measured, left_out = measured_choices(simplified.graph, setup, "s") if choices else ([], [])
    measured += swept_choices(simplified.graph, setup, measured)
    with working("writing the report"):
        made = kibi.report(
            simplified,
            made_plan,
            old=former,
            old_plan=old_plan,
            target=processor,
            board=chosen.board,
            ram=ram,
            flash=flash,
            labels=names,
            choices=measured,
            left_out=left_out,
            evaluation=evaluation,
            layer_errors=errors,
            compiler=tool,
            seed=seed,
            oracle=not no_oracle,
        )
        made.write(path)
    if as_json:
        print_json(made.record)
    else:
        _show(made, path)
    if (failure := made.record["answer"]["oracle_failure"]) is not None:
        raise not_compared(failure)


def view(
    model: ModelPath,
    old: OldModel = None,
    *,
    target: TargetName = None,
    board: BoardName = None,
    ram: RamSize = None,
    flash: FlashSize = None,
    no_oracle: NoOracle = False,
) -> None:
    """Make a report of a model, and open it in the browser. `kibi report` has more options.

    The file is kept in your cache folder.
    """
    import kibi  # noqa: PLC0415
    from kibi.toolchain.cache import cached, digest  # noqa: PLC0415

    chosen = chosen_processor(target, board)
    processor = chosen.target
    emulated_target(processor.name)
    simplified = simplified_model(model, None)
    former = None if old is None else simplified_model(old, None)
    with working(f"measuring on {processor.name}"):
        made = kibi.report(
            simplified, old=former, target=processor, board=chosen.board, ram=ram, flash=flash, oracle=not no_oracle
        )
    name = f"{simplified.graph.name}.html"
    path = cached("reports", digest(name, made.page), lambda folder: made.write(folder / name)) / name
    _show(made, path)
    if not webbrowser.open(path.as_uri()):
        raise OutputError(f"no browser was found. Open {path} in one.")


def _show(made: "Report", path: Path) -> None:
    """Prints the answer, and where the report is."""
    from rich.text import Text  # noqa: PLC0415

    console, answer = output(), made.record["answer"]
    energy = answer["energy"]["microjoules"]
    lines: list[tuple[str, str | Text]] = []
    if answer["fits"] is not None:
        missing = " and ".join(f"{each['bytes']:,} bytes of {each['what']}" for each in answer["missing"])
        lines.append(("fits", Text("yes", GOOD) if answer["fits"] else Text(f"no: {missing} missing", BAD)))
    lines += [
        ("RAM", Text(f"{answer['ram_bytes']:,} bytes", FIGURE)),
        ("flash", Text(f"{answer['flash_bytes']:,} bytes", FIGURE)),
        ("instructions", Text(f"{answer['instructions']:,}", FIGURE)),
        *([("energy", f"{energy:,.4g} µJ (estimate from the datasheet)")] if energy is not None else []),
        *([("accuracy", made.record["accuracy"])] if made.record["accuracy"] else []),
        ("proof", answer["proof"]),
    ]
    facts(console, [("model", f"{made.record['model']['name']} on {made.record['target']['name']}"), *lines])
    say(console, f"\nThe report is in {path}: {len(made.page):,} bytes.")
