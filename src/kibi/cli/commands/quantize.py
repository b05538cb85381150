"""`kibi quantize`: a float32 model as integers."""

import shlex
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kibi.cli.options.boards import BoardName, TargetName, chosen_processor
from kibi.cli.options.checks import emulated_target
from kibi.cli.options.common import AsJson, LabelsPath, ModelPath
from kibi.cli.options.data import DataSource, KeepState, ScoreName, TruthPath
from kibi.cli.options.paths import given_path
from kibi.cli.options.sizes import byte_count, count
from kibi.cli.terminal import byte_text, facts, name_of, output, print_json, say, show, table, working

if TYPE_CHECKING:
    from rich.console import Console

    from kibi.quantization.report import Quantization
    from kibi.reports.evaluation import Evaluation


def quantize(
    model: ModelPath,
    *,
    data: DataSource,
    path: Annotated[
        Path,
        typer.Option(
            "--output", "-o", metavar="FILE", help="The .tflite file to write.", parser=given_path, show_default=False
        ),
    ],
    activations: Annotated[
        str, typer.Option("--activations", metavar="A", help="int8, or int16: more exact; with weights of int8.")
    ] = "int8",
    weights: Annotated[
        str,
        typer.Option(
            "--weights", metavar="W", help="int8, or int4 where an operator of int8 can have that: less flash."
        ),
    ] = "int8",
    floats: Annotated[
        list[str] | None,
        typer.Option(
            "--float",
            metavar="NAME",
            help="Keep operators float32: those of a kind (SOFTMAX), or the one that makes a tensor.",
            show_default=False,
        ),
    ] = None,
    int16: Annotated[
        list[str] | None,
        typer.Option(
            "--int16", metavar="NAME", help="Let operators compute int16, named as above.", show_default=False
        ),
    ] = None,
    int4: Annotated[
        list[str] | None,
        typer.Option(
            "--int4",
            metavar="NAME",
            help="Let operators compute int8 with weights of int4, named as above.",
            show_default=False,
        ),
    ] = None,
    ends: Annotated[
        str, typer.Option("--io", metavar="T", help="Inputs and outputs: integer, or float32.")
    ] = "integer",
    pixels: Annotated[
        str, typer.Option("--pixels", metavar="R", help="What pixels mean: 0..255, 0..1 or -1..1.")
    ] = "0..255",
    calibration_inputs: Annotated[
        int, typer.Option("--inputs", min=1, metavar="N", help="How many inputs give the ranges.")
    ] = 256,
    truth: TruthPath = None,
    labels: LabelsPath = None,
    score: ScoreName = None,
    most: Annotated[
        int | None,
        typer.Option("--most", min=1, metavar="N", help="Evaluate the first N inputs alone.", show_default=False),
    ] = None,
    keep_state: KeepState = False,
    improves: Annotated[
        bool, typer.Option("--improve/--no-improve", help="Try what makes the error of the integers smaller.")
    ] = True,
    evaluates: Annotated[bool, typer.Option("--evaluate/--no-evaluate", help="Run both models on all data.")] = True,
    measures: Annotated[bool, typer.Option("--measure/--no-measure", help="Count RAM, flash and instructions.")] = True,
    target: TargetName = None,
    board: BoardName = None,
    ram: Annotated[
        int | None,
        typer.Option(
            "--ram",
            metavar="N",
            help="Choose types that fit N bytes of RAM: 8k.",
            parser=byte_count,
            show_default=False,
        ),
    ] = None,
    flash: Annotated[
        int | None,
        typer.Option("--flash", metavar="N", help="The same of flash: 64k.", parser=byte_count, show_default=False),
    ] = None,
    instructions: Annotated[
        int | None,
        typer.Option(
            "--instructions", metavar="N", help="The same of instructions: 3M.", parser=count, show_default=False
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Quantize a float32 model to int8 or int16, with data that show the ranges of its tensors.

    The data are as for `kibi evaluate`. Values are real numbers, scaled as those that the model was trained on.

    It says what that costs: accuracy or error before and after, the error of each layer, and RAM, flash and instructions. With
    --ram, --flash or --instructions, it chooses the type of each operator, so that the model fits and loses least.
    """
    import kibi  # noqa: PLC0415 - verbs pay for what they use
    from kibi.reports.outputs import read_labels  # noqa: PLC0415

    if not data:
        raise typer.BadParameter("the data are empty. Give a file, a folder, or module:function", param_hint="'--data'")
    if not measures and (ram, flash, instructions) != (None, None, None):
        raise typer.BadParameter(
            "what fits a limit has to be measured. Leave one of both out", param_hint="'--no-measure'"
        )
    names, processor = None if labels is None else read_labels(labels), chosen_processor(target, board).target
    with working("quantizing") as watch:
        found = kibi.quantize(
            model,
            data,
            path,
            activations=activations,
            weights=weights,
            floats=floats or (),
            int16=int16 or (),
            int4=int4 or (),
            inputs_and_outputs=ends,
            pixels=pixels,
            calibration_inputs=calibration_inputs,
            truth=truth,
            labels=names,
            score=score,
            most=most,
            keep_state=keep_state,
            improve=improves,
            evaluate=evaluates,
            target=emulated_target(processor.name).name if measures else None,
            ram=ram,
            flash=flash,
            instructions=instructions,
            watch=watch,
        )
    if as_json:
        print_json({"file": str(path), **found.to_dict()})
        return
    _show(found, path)


def _show(found: "Quantization", path: Path) -> None:
    console = output()
    facts(console, list(_facts(found, path)))
    say(console)
    _show_measures(console, found)
    _show_layers(console, found)
    for each in found.float_operators:
        say(console, f"{each.name} {name_of(each.output).plain!r} stays float32: {each.reason}.")
    for layer in found.worst_layers:
        say(
            console, f"{layer.name} {name_of(layer.output).plain!r} loses {layer.lost_decibels:.1f} dB: {layer.advice}."
        )
    if found.float_operators or found.worst_layers:
        say(console)
    say(console, f"Written to {path}. What it takes on a device: kibi plan {shlex.quote(str(path))}")


def _facts(found: "Quantization", path: Path) -> Iterator[tuple[str, str]]:
    from kibi.quantization.report import LIMIT_WORDS  # noqa: PLC0415 - verbs pay for what they use

    yield "model", f"{found.model}, as {_types(found)}: {path.name}, {byte_text(len(found.data))}"
    yield "data", f"{found.dataset}: ranges of {found.calibration_inputs:,} inputs"
    floats, narrow = len(found.float_operators), found.int4_operators
    integers = f"{found.integer_operators:,} compute integers{f' ({narrow:,} with weights of int4)' if narrow else ''}"
    yield "operators", f"{integers}, {floats:,} float32"
    if found.budget is not None:
        limits, used = found.budget.limits, found.budget.used
        parts = [f"{getattr(used, name):,} of {limit:,} {LIMIT_WORDS[name]}" for name, limit in limits.given.items()]
        yield "limits", f"{', '.join(parts)}; {found.budget.tried:,} models tried, {found.budget.measured:,} measured"
    kinds = Counter(each.kind for each in found.improvements)
    gained = f"; {found.plain_decibels:.1f} dB without {_listed(kinds)}" if kinds else ""
    yield "signal to noise", f"{found.decibels:.1f} dB at the answers{gained}"


def _types(found: "Quantization") -> str:
    """The types of a model, in words."""
    if found.budget is None:
        return found.activations
    counts = Counter(each.precision for each in found.budget.types)
    return ", ".join(f"{name} ({number:,})" for name, number in counts.items())


def _listed(kinds: Mapping[str, int]) -> str:
    """What made a model better, in words."""
    many = {"range": "smaller ranges", "bias": "shifted biases"}
    one = {"range": "a smaller range", "bias": "a shifted bias"}
    found = [
        "equalized channels" if kind == "equalization" else one[kind] if count == 1 else f"{count:,} {many[kind]}"
        for kind, count in kinds.items()
    ]
    return found[0] if len(found) == 1 else f"{', '.join(found[:-1])} and {found[-1]}"


def _show_measures(console: "Console", found: "Quantization") -> None:
    """What changed: accuracy or error, and costs."""
    rows = table(console, "", ">float32", f">{found.activations if found.budget is None else 'chosen'}")
    lines = [*_scores(found), *_costs(found)]
    for line in lines:
        rows.add_row(*line)
    if lines:
        show(console, rows)
        say(console)


def _scores(found: "Quantization") -> Iterator[tuple[str, str, str]]:
    after, before = found.after, found.before
    if after is None:
        return
    for name, figure in (("accuracy", _accuracy), ("AUC", _auc)):
        if figure(after) != "":
            yield name, "" if before is None else figure(before), figure(after)
    if after.comparison is not None:
        yield "RMSE to float32", "", f"{after.comparison.rmse:.4g}"
        if after.comparison.cosine is not None:
            yield "cosine to float32", "", f"{after.comparison.cosine:.6f}"
        if after.comparison.same_answer is not None:
            yield "same answer", "", f"{after.comparison.same_answer:.2%}"


def _accuracy(found: "Evaluation") -> str:
    part = None if found.classification is None else found.classification.accuracy
    return "" if part is None else f"{part:.2%}"


def _auc(found: "Evaluation") -> str:
    auc = None if found.detection is None else found.detection.auc
    return "" if auc is None else f"{auc:.4f}"


def _costs(found: "Quantization") -> Iterator[tuple[str, str, str]]:
    before, after = found.costs_before, found.costs_after
    if before is None or after is None:
        return
    yield "RAM", byte_text(before.ram_bytes), byte_text(after.ram_bytes)
    yield "flash", byte_text(before.flash_bytes), byte_text(after.flash_bytes)
    yield "instructions", f"{before.instructions:,}", f"{after.instructions:,}"


def _show_layers(console: "Console", found: "Quantization") -> None:
    """The error of each layer."""
    from kibi.dtypes import DType  # noqa: PLC0415

    rows = table(console, "operator", "output", "type", ">signal to noise", ">lost")
    for each in found.layers:
        lost = f"{each.lost_decibels:.1f} dB" if each.lost_decibels > 0 else ""
        word = DType(each.dtype).word
        kind = f"{word}, int4 weights" if each.is_int4 else word
        rows.add_row(each.name, name_of(each.output), kind, f"{each.decibels:.1f} dB", lost)
    show(console, rows)
    say(console)
