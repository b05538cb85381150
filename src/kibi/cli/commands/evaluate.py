"""`kibi evaluate`: how good a model's answers are on a data set."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kibi.cli.failure import EXIT_INTERRUPTED
from kibi.cli.options.common import AsJson, LabelsPath, ModelPath, SchedulerAddress, SignatureName, WithoutPasses
from kibi.cli.options.data import DataSource, KeepState, ScoreName, TruthPath
from kibi.cli.options.models import load_simplified
from kibi.cli.options.paths import given_model, given_path
from kibi.cli.terminal import counting, facts, name_of, output, print_json, say, show, table, tell

if TYPE_CHECKING:
    from rich.console import Console

    from kibi.reports.evaluation import Classification, Comparison, Detection, Evaluation

_MOST_COLUMNS = 16
"""The most classes whose confusion matrix is printed."""


def evaluate(
    model: ModelPath,
    *,
    data: DataSource,
    truth: TruthPath = None,
    labels: LabelsPath = None,
    score: ScoreName = None,
    windows: Annotated[
        int,
        typer.Option("--windows", min=1, metavar="N", help="N inputs after one another are one: average their scores."),
    ] = 1,
    reference: Annotated[
        Path | None,
        typer.Option(
            "--reference",
            metavar="MODEL",
            help="A model to compare the outputs with, such as the one before it was quantized.",
            parser=given_model,
            show_default=False,
        ),
    ] = None,
    most: Annotated[
        int | None,
        typer.Option("--most", min=1, metavar="N", help="Run the first N inputs alone.", show_default=False),
    ] = None,
    worst: Annotated[
        Path | None,
        typer.Option(
            "--worst",
            metavar="DIR",
            help="Write the worst inputs into a folder: as pictures, or as arrays.",
            parser=given_path,
            show_default=False,
        ),
    ] = None,
    worst_count: Annotated[
        int, typer.Option("--worst-count", min=1, metavar="N", help="How many of the worst inputs.")
    ] = 10,
    resume: Annotated[
        Path | None,
        typer.Option(
            "--resume",
            metavar="FILE",
            help="Write what was counted to a file; go on from it if it is there.",
            parser=given_path,
            show_default=False,
        ),
    ] = None,
    keep_state: KeepState = False,
    workers: Annotated[
        int | None,
        typer.Option("--workers", min=1, metavar="N", help="How many processes.", show_default="one on each core"),
    ] = None,
    scheduler: SchedulerAddress = None,
    signature: SignatureName = None,
    without_pass: WithoutPasses = None,
    as_json: AsJson = False,
) -> None:
    """Run a model on a data set, and say how good its answers are.

    The model runs as C code on all cores. The first inputs run in Python, too, and must give the same bits. Classifiers get
    accuracy, a confusion matrix, and precision, recall and F1 of each class; detectors of anomalies the area under the curve.

    Ctrl-C ends it with the figures of what was counted by then, and exit code 130.
    """
    import kibi  # noqa: PLC0415
    from kibi.reports.outputs import read_labels  # noqa: PLC0415

    if not data:
        raise typer.BadParameter("the data are empty. Give a file, a folder, or module:function", param_hint="'--data'")
    graph = load_simplified(model, without_pass, signature=signature)
    other = None if reference is None else load_simplified(reference, None)
    names = None if labels is None else read_labels(labels)
    with counting("evaluating", "inputs") as watch:
        found = kibi.evaluate(
            graph,
            data,
            truth=truth,
            labels=names,
            score=score,
            windows=windows,
            reference=other,
            most=most,
            keep_state=keep_state,
            workers=workers,
            resume=resume,
            worst=worst,
            worst_count=worst_count,
            scheduler=scheduler,
            watch=watch,
        )
    if as_json:
        print_json(found.to_dict())
    elif found.inputs:
        _show(found, worst)
    if not found.is_complete:
        again = "" if resume is None else " The same command goes on from there."
        tell(f"{_inputs(found)} were counted.{again}")
        raise typer.Exit(EXIT_INTERRUPTED)


def _show(found: "Evaluation", folder: Path | None) -> None:
    console = output()
    say(console, f"{found.model} on {found.data}: {_inputs(found)}")
    say(console)
    facts(console, list(_facts(found)))
    say(console)
    if found.classification is not None:
        _show_classes(console, found.classification)
    if found.worst:
        _show_worst(console, found)
    if folder is not None and found.worst:
        say(console, f"Written to {folder}.")


def _inputs(found: "Evaluation") -> str:
    """How many inputs were counted, and how many there are."""
    of = "" if found.total in (None, found.inputs) else f" of {found.total:,}"
    return f"{found.inputs:,}{of} input{'' if found.inputs == 1 and not of else 's'}"


def _facts(found: "Evaluation") -> Iterator[tuple[str, str]]:
    """Names and values of the figures of the complete data."""
    if found.without_outputs:
        yield "without outputs", f"{found.without_outputs:,}: an operator waits for further inputs"
    if found.classification is not None:
        yield from _of_classes(found.classification)
    if found.detection is not None:
        yield from _of_detection(found.detection)
    if found.comparison is not None:
        yield from _of_comparison(found.comparison)


def _of_classes(found: "Classification") -> Iterator[tuple[str, str]]:
    if found.accuracy is None:
        yield "accuracy", "unknown: the data have no labels"
    else:
        yield "accuracy", f"{found.accuracy:.2%}: {found.right:,} of {found.labelled:,}"


def _of_detection(found: "Detection") -> Iterator[tuple[str, str]]:
    yield "score", found.score
    if found.auc is None:
        yield "AUC", "unknown: the labels 0 (normal) and 1 (anomalous) are not both there"
    else:
        yield "AUC", f"{found.auc:.4f}: {found.anomalous:,} anomalous inputs, {found.normal:,} normal ones"
    means = (("anomalous", found.mean_anomalous), ("normal", found.mean_normal), ("all inputs", found.mean))
    yield "mean score", ", ".join(f"{name} {value:.4g}" for name, value in means if value is not None) or "none"
    if found.threshold is not None:
        rates = f"finds {found.threshold.found:.2%}, false alarms {found.threshold.false_alarms:.2%}"
        yield "best threshold", f"{found.threshold.score:.4g}: {rates}"
    if found.not_numbers:
        yield "not numbers", f"{found.not_numbers:,} scores, which are left out"


def _of_comparison(found: "Comparison") -> Iterator[tuple[str, str]]:
    yield "reference", found.reference
    yield "RMSE", f"{found.rmse:.4g}"
    if found.cosine is not None:
        yield "cosine", f"{found.cosine:.6f} on average, {found.least_cosine:.6f} at the least"
    if found.same_answer is not None:
        yield "same answer", f"{found.same_answer:.2%}"


def _show_classes(console: "Console", found: "Classification") -> None:
    """A line for each class, and the confusion matrix if it is small."""
    rows = table(console, "class", ">inputs", ">answers", ">right", ">precision", ">recall", ">F1")
    for each in found.classes:
        parts = ("-" if part is None else f"{part:.2%}" for part in (each.precision, each.recall, each.f1))
        counts = (each.inputs, each.answers, each.right) if found.labelled else (0, each.answers, 0)
        rows.add_row(name_of(each.label), *(f"{count:,}" for count in counts), *parts)
    show(console, rows)
    say(console)
    if not found.labelled or len(found.classes) > _MOST_COLUMNS:
        return
    names = [name_of(each.label, 12).plain for each in found.classes]
    has_none = any(row[-1] for row in found.confusion)
    matrix = table(console, "label / answer", *(f">{name}" for name in names), *([">none"] if has_none else []))
    for name, row in zip(names, found.confusion, strict=True):
        shown = row if has_none else row[:-1]
        matrix.add_row(name, *(f"{count:,}" if count else "." for count in shown))
    show(console, matrix)
    say(console)


def _show_worst(console: "Console", found: "Evaluation") -> None:
    """The worst inputs, the worst first."""
    has_names, has_files = any(each.name for each in found.worst), any(each.file for each in found.worst)
    has_classes = any(each.label or each.answer for each in found.worst)
    columns = [">input", *(["name"] if has_names else []), *(["label", "answer"] if has_classes else [])]
    say(console, f"worst by: {found.worst_by}")
    rows = table(console, *columns, ">figure", *(["file"] if has_files else []))
    for each in found.worst:
        cells = [str(each.number), *([each.name] if has_names else [])]
        cells += [each.label, each.answer] if has_classes else []
        rows.add_row(*cells, f"{each.figure:.4g}", *([each.file] if has_files else []))
    show(console, rows)
