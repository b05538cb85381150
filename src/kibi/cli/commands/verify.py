"""`kibi verify`: the same bits from every engine."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kibi.cli.options.boards import BoardName, EmulatorName, TargetName, chosen_processor
from kibi.cli.options.checks import compiler_named, format_named, not_compared, run_target
from kibi.cli.options.common import (
    AsJson,
    CompilerName,
    Decompress,
    ExternalBuffers,
    ExternalOutputs,
    FormatName,
    GoalName,
    GranularityName,
    InputMode,
    ModelPath,
    NoOracle,
    PlanPath,
    RamLimit,
    Recompute,
    Seed,
    SignatureName,
    WeightsName,
    WithoutPasses,
)
from kibi.cli.options.ends import QuantizedOutputs, ends_of
from kibi.cli.options.models import load_simplified
from kibi.cli.options.paths import given_path
from kibi.cli.options.planning import plan_for, plan_options
from kibi.cli.output.weights import check_read
from kibi.cli.terminal import BAD, GOOD, QUIET, output, print_json, say, show, table, working
from kibi.errors import MismatchError

if TYPE_CHECKING:
    from kibi.reports.verification import Verification


def verify(
    model: ModelPath,
    *,
    target: TargetName = None,
    board: BoardName = None,
    emulator: EmulatorName = None,
    seed: Seed = 0,
    runs: Annotated[int, typer.Option("--runs", min=1, metavar="N", help="How many random inputs to try.")] = 3,
    files: Annotated[
        list[Path] | None,
        typer.Option(
            "--file",
            "-i",
            metavar="FILE",
            help="Try these files instead; may be given again.",
            parser=given_path,
            show_default=False,
        ),
    ] = None,
    compiler: CompilerName = "zig",
    plan: PlanPath = None,
    granularity: GranularityName = "row",
    input_mode: InputMode = "stored",
    external_outputs: ExternalOutputs = False,
    quantized_outputs: QuantizedOutputs = False,
    external_buffer: ExternalBuffers = None,
    signature: SignatureName = None,
    without_pass: WithoutPasses = None,
    decompress: Decompress = False,
    ram: RamLimit = None,
    recompute: Recompute = 1.0,
    goal: GoalName = "balanced",
    weights: WeightsName = "flash",
    file_format: FormatName = "c",
    no_oracle: NoOracle = False,
    as_json: AsJson = False,
) -> None:
    """Check that all engines give the same bits.

    The same inputs run in Python, in C on this machine, on the emulated core, and in TFLM where it is installed.
    On a difference, the first operator that differs is named, and the exit code is 10.
    """
    import kibi  # noqa: PLC0415
    from kibi.arrays.input_files import read_runs  # noqa: PLC0415

    check_read(weights, is_for_c=False, verb="verify")
    ends = ends_of(input_mode, quantized_outputs)
    model = ends.model(model)
    options = plan_options(
        granularity, ends.handover, external_outputs, external_buffer, ram, goal, weights, recompute=recompute
    )
    processor = chosen_processor(target, board, emulator=emulator).target
    is_plan = format_named(file_format) == "plan"
    if not processor.is_host:
        run_target(processor.name, ("--format plan",) if is_plan else ())
    tool, original = compiler_named(compiler), kibi.load(model, signature)
    graph = load_simplified(
        model,
        without_pass,
        signature=signature,
        decompress=decompress,
        external_buffers=options["external_buffers"],
        plan=plan,
        goal=goal,
    )
    inputs = read_runs(graph, files) if files else ()
    with working("verifying"):
        made = plan_for(graph, processor, plan, options)
        found = kibi.verify(
            graph,
            made,
            target=processor,
            inputs=inputs,
            seed=seed,
            runs=runs,
            compiler=tool,
            original=original,
            oracle=not no_oracle,
            litert=not no_oracle,
            plan_file=is_plan,
        )
    if as_json:
        print_json(found.to_dict())
    else:
        _show(found)
    if not found.is_exact:
        raise MismatchError("\n".join(str(difference) for difference in found.differences))
    if found.oracle_failure is not None:
        raise not_compared(found.oracle_failure)


def engine_text(engine: str) -> str:
    """An engine as people know it."""
    return "TFLM" if engine == "tflm" else engine


def _show(found: "Verification") -> None:
    console = output()
    inputs = f"{found.runs} input{'' if found.runs == 1 else 's'}"
    say(console, f"{found.model}: {inputs}, each compared with the Python runtime bit by bit")
    say(console)
    differing = {difference.engine for difference in found.differences}
    rows = table(console, "engine", "same bits")
    rows.add_row("Python", "the reference")
    for engine in found.engines:
        rows.add_row(
            engine_text(engine), "no" if engine in differing else "yes", style=BAD if engine in differing else GOOD
        )
    for skipped in found.skipped:
        engine, _, reason = skipped.partition(": ")
        rows.add_row(engine_text(engine), f"skipped: {reason}", style=QUIET)
    if found.litert is not None:
        other = found.litert
        count = f"{other.elements:,} of {other.total:,} elements differ, by at most {other.largest:g}"
        rows.add_row(other.engine, count if other.elements else "yes", style=QUIET)
    show(console, rows)
    if found.litert is not None and found.litert.elements:
        say(console)
        say(
            console,
            f"LiteRT computes {found.litert.runs} of {found.runs} inputs with other bits: its kernels for large machines (XNNPACK) "
            "round otherwise than TFLM's. Devices that run TFLM have TFLM's bits, and so has Kibi.",
            QUIET,
        )
    if found.not_executed:
        say(console)
        say(console, f"not verified, because none of these inputs runs it: {', '.join(found.not_executed)}", style=BAD)
