"""`kibi plan`: the memory of a model, to the byte; and plans side by side."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kibi.cli.envelope import enveloped
from kibi.cli.options.boards import BoardName, TargetName, chosen_processor, fit_line, plan_fit
from kibi.cli.options.common import (
    GOALS,
    HANDOVERS,
    RECOMPUTE,
    WEIGHTS,
    AsJson,
    Bandwidth,
    Decompress,
    Effort,
    ExternalBuffers,
    ExternalOutputs,
    PlaceWeights,
    RamLimit,
    RegionsFile,
    SignatureName,
    TimeLimit,
    WithoutPasses,
)
from kibi.cli.options.ends import QuantizedOutputs, ends_of
from kibi.cli.options.models import load_simplified
from kibi.cli.options.paths import given_model, given_path
from kibi.cli.options.planning import PlanOptions, graph_words
from kibi.cli.options.renamed import current_handover
from kibi.cli.options.variants import chosen_variants
from kibi.cli.output.offline import check_alone, embedded, followed
from kibi.cli.output.outlook import show_outlook
from kibi.cli.output.plan_checkpoints import show_checkpoints
from kibi.cli.output.plan_fences import draw_fences, show_fences
from kibi.cli.output.plan_steps import CountedStep, check_one_plan, counted_step, show_step
from kibi.cli.output.plan_together import show_together
from kibi.cli.output.weights import codings, show_codings
from kibi.cli.terminal import (
    byte_text,
    facts,
    is_roomy,
    output,
    picture_columns,
    print_json,
    say,
    show,
    table,
    working,
)
from kibi.errors import OutputError, PlanError
from kibi.files import write_file
from kibi.text.json import json_text

if TYPE_CHECKING:
    from kibi.reports.board_fit import Fit
    from kibi.reports.checkpoints import CheckpointPlace
    from kibi.reports.fences import Fence
    from kibi.reports.plan_comparison import ComparedPlan
    from kibi.selection import CodedWeights
    from kibi.targets import Target


def plan(
    models: Annotated[
        list[Path], typer.Argument(metavar="MODEL...", help=".tflite files.", parser=given_model, show_default=False)
    ],
    *,
    target: TargetName = None,
    board: BoardName = None,
    granularity: Annotated[
        str | None,
        typer.Option(
            "--granularity", "-g", metavar="G", help="What is placed: row, or tensor: more RAM, no tables.", show_default="row",
        ),
    ] = None,
    input_mode: Annotated[
        str | None,
        typer.Option(
            "--input", metavar="I", help=HANDOVERS, callback=current_handover, show_default="stored",
        ),
    ] = None,
    external_outputs: ExternalOutputs = False,
    quantized_outputs: QuantizedOutputs = False,
    external_buffer: ExternalBuffers = None,
    signature: SignatureName = None,
    without_pass: WithoutPasses = None,
    decompress: Decompress = False,
    ram: RamLimit = None,
    goal: Annotated[str | None, typer.Option("--goal", metavar="G", help=GOALS, show_default="balanced")] = None,
    weights: Annotated[
        str | None, typer.Option("--weights", metavar="W", help=WEIGHTS, show_default="flash")
    ] = None,
    bandwidth: Bandwidth = None,
    recompute: Annotated[
        float | None, typer.Option("--recompute", metavar="F", help=RECOMPUTE, show_default="1")
    ] = None,
    regions: RegionsFile = None,
    place_weights: PlaceWeights = False,
    effort: Effort = None,
    time_limit: TimeLimit = None,
    compare: Annotated[bool, typer.Option("--compare", help="Show one model's plans side by side.")] = False,
    as_json: AsJson = False,
    saved: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="FILE", show_default=False, parser=given_path,
            help="Save the plan, as --json prints it, for `kibi compile --plan`; with --buffer the plan of all models.",
        ),
    ] = None,
    svg: Annotated[
        Path | None, typer.Option("--svg", metavar="FILE", help="Draw it as an SVG file.", parser=given_path, show_default=False)
    ] = None,
    png: Annotated[
        Path | None, typer.Option("--png", metavar="FILE", help="Draw it as a PNG file.", parser=given_path, show_default=False)
    ] = None,
    ascii_only: Annotated[bool, typer.Option("--ascii", help="Print it in the form of TensorFlow Lite Micro.")] = False,
    use_embedded_plan: Annotated[
        bool, typer.Option("--use-embedded-plan", help="Follow the plan that the model file carries.")
    ] = False,
    write_embedded_plan: Annotated[
        Path | None,
        typer.Option(
            "--write-embedded-plan", metavar="OUT", help="Write a copy of the model that carries a plan for TensorFlow Lite Micro.",
            parser=given_path, show_default=False,
        ),
    ] = None,
    buffer: Annotated[
        list[str] | None,
        typer.Option(
            "--buffer", metavar="B", show_default=False,
            help="Bytes of yours in the same memory, name:bytes@from-to: rx:12000@0.3-0.6 while model 1 runs; may be given again.",
        ),
    ] = None,
    checkpoints: Annotated[
        bool, typer.Option("--checkpoints", help="Also say where an inference can be saved at the least cost.")
    ] = False,
    fences: Annotated[
        bool, typer.Option("--fences", help="Also say when each constant may be written while inference runs.")
    ] = False,
    fences_svg: Annotated[
        Path | None,
        typer.Option("--fences-svg", metavar="FILE", help="Draw that as an SVG file.", parser=given_path, show_default=False),
    ] = None,
    longest_step: Annotated[
        bool | None,
        typer.Option(
            "--longest-step/--no-longest-step", show_default=False,
            help="Count the longest row step on the emulated core. Without: done where it takes a few seconds at most.",
        ),
    ] = None,
) -> None:  # fmt: skip
    """Plan a model's memory to the byte.

    Prints the arena, its lower bound, the tensors at the peak, a picture, and the longest row step in instructions.
    `kibi compile --plan` takes the output of --json. Several models, or --compare: their plans side by side, by the tensor
    and by the row, drawn at one scale. With --buffer: models that run one after another and buffers of yours in one
    memory, with proof. With --board it says whether the arena fits the board.
    """
    picked = chosen_processor(target, board)
    ends = ends_of(input_mode, quantized_outputs)
    given = _given(granularity, ends.handover, external_outputs, ram, goal)
    if external_buffer:
        given["external_buffers"] = external_buffer
    if weights is not None:
        given["weights"] = weights
    if bandwidth is not None:
        given["bandwidth"] = bandwidth
    if recompute is not None:
        given["recompute"] = recompute
    if regions is not None:
        given["regions"] = regions
    if place_weights:
        given["place_weights"] = True
    given.update(_search(effort, time_limit))
    is_comparison, remark = (compare or len(models) > 1) and not buffer, ""
    writes = write_embedded_plan is not None
    if writes or use_embedded_plan or ascii_only:
        check_alone(models, compare=compare, writes=writes, follows=use_embedded_plan)
    if (without_pass or decompress) and (writes or use_embedded_plan):
        raise PlanError(_raw_only(graph_words(without_pass, decompress=decompress)))
    if signature is not None and (writes or use_embedded_plan):
        raise PlanError(
            "--write-embedded-plan and --use-embedded-plan plan the file's first graph, as TFLM does. Leave --signature out."
        )
    if saved is not None and is_comparison:
        raise PlanError("-o saves one plan. Give one model without --compare, or --buffer.")
    models = [ends.model(each) for each in models]
    is_counted = check_one_plan(longest_step, is_one=not (is_comparison or buffer or writes or ascii_only))
    if write_embedded_plan is not None:
        planned, remark = embedded(models[0], write_embedded_plan, given)
    elif use_embedded_plan:
        planned = followed(models[0], picked.target.name, given)
    else:
        variants = chosen_variants(given) if is_comparison else {"": given}
        planned = _planned(models, picked.target, variants, without_pass, signature, decompress=decompress)
    if buffer:
        _check_together(
            compare=compare,
            drawn=svg or png,
            ascii_only=ascii_only,
            checkpoints=checkpoints,
            fences=fences or bool(fences_svg),
        )
        show_together(planned, buffer, effort or 1, saved=saved, as_json=as_json)
        return
    for path in (svg, png):
        if path is not None:
            _draw(path, planned, as_png=path is png)
    places = _checkpoints(planned, is_comparison=is_comparison) if checkpoints else ()
    read = _fences(planned, is_comparison=is_comparison) if fences else ()
    if fences_svg is not None:
        draw_fences(fences_svg, planned[0].planned, _fences(planned, is_comparison=is_comparison))
    counted = counted_step(planned[0].planned, picked.target, longest_step) if is_counted else None
    fitted = None if picked.board is None or is_comparison else plan_fit(planned[0].planned, picked.board)
    coded = [] if is_comparison else codings([planned[0].model], [planned[0].plan], given)
    if saved is not None:
        record = enveloped(_record(planned[0], places, read, counted, coded, fitted))
        write_file(saved, json_text(record, indent=2).text.encode())
        remark = "\n".join([*([remark] if remark else []), f"The plan is saved in {saved}, for `kibi compile --plan`."])
    if as_json:
        _print_json(planned, places, read, counted, coded, fitted, as_list=is_comparison)
        return
    if is_comparison:
        _show_table(planned)
    elif ascii_only:
        _show_ascii(planned[0])
    else:
        _show_picture(planned[0])
    if fitted is not None:
        say(output())
        facts(output(), [fit_line(fitted)])
    show_codings(coded)
    if counted is not None:
        show_step(counted)
    if places:
        show_checkpoints(planned[0].planned, places)
    if fences:
        show_fences(planned[0].planned, read)
    if remark:
        say(output(), f"\n{remark}")
    if not (is_comparison or ascii_only or writes or use_embedded_plan):
        show_outlook(models[0], planned[0].model, picked.target.name)
    for path in (svg, png):
        if path is not None:
            say(output(), f"\nThe plan{'s are' if is_comparison else ' is'} drawn in {path}.")
    if fences_svg is not None:
        say(output(), f"\nWhen constants may be written is drawn in {fences_svg}.")


def _check_together(*, compare: bool, drawn: Path | None, ascii_only: bool, checkpoints: bool, fences: bool) -> None:
    """Refuses options that show one plan, or plans side by side, beside --buffer.

    Raises:
        PlanError: one was given.
    """
    asked = {
        "--compare": compare,
        "--svg or --png": drawn is not None,
        "--ascii": ascii_only,
        "--checkpoints": checkpoints,
        "--fences": fences,
    }
    others = [name for name, is_given in asked.items() if is_given]
    if others:
        raise PlanError(f"--buffer plans all models and buffers as one. Leave {others[0]} out.")


def _raw_only(words: list[str]) -> str:
    """Returns why no pass can be left out, and no weights decoded."""
    return f"--write-embedded-plan and --use-embedded-plan plan the file as it is, without any pass. Leave {' '.join(words)} out."


def _given(
    granularity: str | None, input_mode: str | None, external_outputs: bool, ram: int | None, goal: str | None
) -> PlanOptions:
    """The options that are on the command line."""
    given = PlanOptions()
    if granularity is not None:
        given["granularity"] = granularity
    if input_mode is not None:
        given["input"] = input_mode
    if external_outputs:
        given["output"] = "external"
    if ram is not None:
        given["ram"] = ram
    if goal is not None:
        given["goal"] = goal
    return given


def _search(effort: int | None, time_limit: float | None) -> PlanOptions:
    """The options of the search that are on the command line."""
    given = PlanOptions()
    if effort is not None:
        given["effort"] = effort
    if time_limit is not None:
        given["time_limit"] = time_limit
    return given


def _planned(
    models: Sequence[Path],
    target: "str | Target",
    variants: Mapping[str, PlanOptions],
    without: list[str] | None,
    signature: str | None,
    *,
    decompress: bool,
) -> "list[ComparedPlan]":
    """Plans each model with each variant of its plan."""
    import kibi  # noqa: PLC0415
    from kibi.planner import PlannedModel  # noqa: PLC0415
    from kibi.reports.plan_comparison import ComparedPlan  # noqa: PLC0415

    processor = kibi.target(target) if isinstance(target, str) else target
    external = [name for options in variants.values() for name in options.get("external_buffers", ())]
    goals = {options.get("goal", "balanced") for options in variants.values()}
    # Plans for several goals are compared on one model.
    goal = goals.pop() if len(goals) == 1 else "balanced"
    graphs = [
        load_simplified(
            model, without, signature=signature, decompress=decompress, external_buffers=external, goal=goal
        )
        for model in models
    ]
    with working("planning") as watch:
        return [
            ComparedPlan(PlannedModel.of(graph, kibi.plan(graph, processor, watch=watch, **options)), name)
            for graph in graphs
            for name, options in variants.items()
        ]


def _draw(path: Path, planned: "list[ComparedPlan]", *, as_png: bool) -> None:
    """Draws one plan, or several side by side, in a file."""
    if len(planned) == 1:
        from kibi.reports.memory_svg import memory_svg  # noqa: PLC0415

        drawn = memory_svg(planned[0].planned)
    else:
        from kibi.reports.memory_comparison_svg import memory_comparison_svg  # noqa: PLC0415

        drawn = memory_comparison_svg(planned)
    if not as_png:
        write_file(path, drawn.encode())
        return
    if path.is_dir():
        raise OutputError(f"{path} is a folder. Give the name of a file.")
    from kibi.reports.memory_png import png  # noqa: PLC0415

    with working("drawing"):
        write_file(path, png(drawn))


def _checkpoints(planned: "list[ComparedPlan]", *, is_comparison: bool) -> "tuple[CheckpointPlace, ...]":
    """The cheapest places for checkpoints of one plan.

    Raises:
        PlanError: there are several plans.
    """
    from kibi.reports.checkpoints import cheapest_places  # noqa: PLC0415

    if is_comparison:
        raise PlanError("--checkpoints is for one plan. Give one model, and leave --compare out.")
    return cheapest_places(planned[0].planned)


def _fences(planned: "list[ComparedPlan]", *, is_comparison: bool) -> "tuple[Fence, ...]":
    """The constants of one plan, and the steps that read them.

    Raises:
        PlanError: there are several plans, or weights are in slow memory.
    """
    from kibi.reports.fences import fences  # noqa: PLC0415

    if is_comparison:
        raise PlanError("--fences is for one plan. Give one model, and leave --compare out.")
    if planned[0].plan.slow_weights is not None:
        raise PlanError("--fences is for weights that kernels read in place. Leave --weights out.")
    return fences(planned[0].planned)


def _print_json(
    planned: "list[ComparedPlan]",
    places: "tuple[CheckpointPlace, ...]",
    read: "tuple[Fence, ...]",
    counted: CountedStep | None,
    coded: "list[CodedWeights]",
    fitted: "Fit | None",
    *,
    as_list: bool,
) -> None:
    """One plan's record, or a list of records."""
    from kibi.reports.plan_comparison import comparison_record  # noqa: PLC0415

    print_json(comparison_record(planned) if as_list else _record(planned[0], places, read, counted, coded, fitted))


def _record(
    planned: "ComparedPlan",
    places: "tuple[CheckpointPlace, ...]",
    read: "tuple[Fence, ...]",
    counted: CountedStep | None,
    coded: "list[CodedWeights]",
    fitted: "Fit | None",
) -> dict[str, object]:
    """One plan's record, with its longest step, and the checkpoints' places, fences, codings and fit that were asked for."""
    from kibi.reports.plan_record import plan_record  # noqa: PLC0415

    found: dict[str, object] = {"checkpoints": [asdict(each) for each in places]} if places else {}
    found |= {"fences": [asdict(each) for each in read]} if read else {}
    found |= {"coded_weights": coded[0].to_dict()} if coded else {}
    found |= {"fit": fitted.to_dict()} if fitted else {}
    step = {} if counted is None else counted.record
    return {**plan_record(planned.planned), **step, **found}


def _show_picture(planned: "ComparedPlan") -> None:
    from kibi.reports.fetches import fetches_of, fetches_text  # noqa: PLC0415
    from kibi.reports.memory_picture import memory_picture  # noqa: PLC0415
    from kibi.reports.memory_timeline import effort_line  # noqa: PLC0415
    from kibi.reports.recomputation import pixel_rows_text, recomputation_text  # noqa: PLC0415

    console = output()
    say(console, memory_picture(planned.planned, width=picture_columns(console)))
    graph = planned.model
    if planned.plan.limited:
        say(console, f"\nLess was searched than asked for: {planned.plan.limited}.")
    if what_effort_gains := effort_line(planned.plan):
        say(console, f"\n{what_effort_gains}")
    if (found := fetches_of(planned.planned)) is not None:
        say(console, f"\nWeights in slow memory: {fetches_text(found)}.")
    if twice := recomputation_text(planned.planned):
        say(console, f"\nComputed in stripes: {twice}.")
    if several := pixel_rows_text(planned.planned):
        say(console, f"\nComputed several rows at a time, as one: {several}.")
    if graph.variables:
        size_bytes = sum(graph.tensors[index].type.size_bytes for index in graph.variables)
        say(
            console,
            f"\nBeside the arena: {byte_text(size_bytes)} of state, which survive from one inference to the next.",
        )


def _show_ascii(planned: "ComparedPlan") -> None:
    from kibi.planner.ascii_map import print_memory_plan  # noqa: PLC0415

    print_memory_plan(planned.planned)


def _show_table(planned: "list[ComparedPlan]") -> None:
    """Prints a line for each plan: bytes, bound, quality, and cost."""
    from kibi.reports.plan_comparison import times_smaller  # noqa: PLC0415

    console = output()
    costs = (">steps", ">table entries", ">seconds") if is_roomy(console) else ()
    rows = table(console, "!model", "plan", ">arena", ">lower bound", "!of its order", ">smaller", *costs)
    for number, each in enumerate(planned):
        ratio = times_smaller(planned, number)
        if ratio is None and number:
            rows.add_section()
        found = each.plan
        facts = (f"{len(found.steps):,}", f"{each.table_entries:,}", f"{found.solve_seconds:.2f}")
        rows.add_row(
            each.model.name if ratio is None else "",
            each.manner,
            f"{found.arena_bytes:,}",
            f"{found.lower_bound_bytes:,}",
            each.proof,
            "" if ratio is None else f"{ratio:.1f} x",
            *facts[: len(costs)],
        )
    show(console, rows)
