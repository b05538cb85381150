"""`kibi measure`: what a model costs on a device."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from kibi.cli.commands.compile import library_command
from kibi.cli.options.boards import (
    BoardName,
    Chosen,
    ClockRate,
    CodePlace,
    EmulatorName,
    TargetName,
    chosen_processor,
    emulator_line,
    fit_line,
    measured_fit,
    measured_memory,
    place_words,
)
from kibi.cli.options.checks import compiler_named, format_named, not_compared, run_target
from kibi.cli.options.common import (
    AsJson,
    Bandwidth,
    Checkpoints,
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
    SliceLimit,
    Slices,
    Tune,
    WeightsName,
    WithoutPasses,
)
from kibi.cli.options.ends import QuantizedOutputs, ends_of
from kibi.cli.options.gdb import GdbServer, LoadPlace, check_gdb
from kibi.cli.options.models import load_simplified
from kibi.cli.options.planning import graph_words, option_words, plan_for, plan_options
from kibi.cli.options.serial import SerialPort, SerialProgram, check_serial
from kibi.cli.output.board_run import show_board_run, show_serial_program
from kibi.cli.output.measure_checkpoints import show_checkpoint_cost
from kibi.cli.output.measure_files import CsvPath, MarkdownPath, NodeDataFolder, write_node_data, write_tables
from kibi.cli.output.tuning import show_tunings, tuned, tuning_record
from kibi.cli.output.waits import time_lines, total_cells, wait_cells
from kibi.cli.output.weights import check_read, codings, measured_coding, show_codings
from kibi.cli.terminal import (
    BAD,
    FIGURE,
    GOOD,
    facts,
    is_roomy,
    name_of,
    output,
    print_json,
    say,
    show,
    table,
    working,
)
from kibi.errors import InputError, MismatchError
from kibi.files import temporary_folder

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from kibi.reports.board_fit import Fit
    from kibi.reports.measurement import Measurement
    from kibi.reports.slices import LongestStep

_BAR_COLUMNS = 12


def measure(
    model: ModelPath,
    *,
    target: TargetName = None,
    board: BoardName = None,
    clock: ClockRate = None,
    emulator: EmulatorName = None,
    code_in: CodePlace = "flash",
    gdb: GdbServer = None,
    load_into: LoadPlace = "flash",
    serial: SerialPort = None,
    serial_program: SerialProgram = None,
    compiler: CompilerName = "zig",
    level: Annotated[
        str, typer.Option("--level", "-O", metavar="L", help="The compiler's level: 0, 1, 2, 3 or s.")
    ] = "s",
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
    goal: GoalName = "balanced",
    weights: WeightsName = "flash",
    bandwidth: Bandwidth = None,
    recompute: Recompute = 1.0,
    file_format: FormatName = "c",
    tune: Tune = False,
    slices: Slices = False,
    slice_limit: SliceLimit = None,
    checkpoints: Checkpoints = False,
    seed: Seed = 0,
    runs: Annotated[
        int | None,
        typer.Option(
            "--runs",
            min=1,
            metavar="N",
            help="How many random inputs to try; the most that one takes counts. Without: 1, or 4 where inputs choose what runs.",
            show_default=False,
        ),
    ] = None,
    csv: CsvPath = None,
    markdown: MarkdownPath = None,
    node_data: NodeDataFolder = None,
    no_oracle: NoOracle = False,
    as_json: AsJson = False,
) -> None:
    """Measure what a model costs on a device.

    It is compiled and run on the emulated core, which counts RAM, flash, stack and instructions. With --board it says whether
    the model fits the board; `kibi check` is for scripts that are to fail where it does not. With --gdb or --serial it is run on
    the board, too, which compares its bits, its cycles and its stack with those of the emulated core.
    """
    import kibi  # noqa: PLC0415
    from kibi.codegen import Extras  # noqa: PLC0415
    from kibi.reports.coded_weights import coding_record  # noqa: PLC0415
    from kibi.reports.slices import check_slice  # noqa: PLC0415

    ends = ends_of(input_mode, quantized_outputs)
    options = plan_options(
        granularity, ends.handover, external_outputs, external_buffer, ram, goal, weights, bandwidth, recompute
    )
    picked, tool = chosen_processor(target, board, clock, emulator), compiler_named(compiler)
    processor = picked.target
    memory = measured_memory(picked, code_in)
    is_plan = format_named(file_format) == "plan"
    given = {"--format plan": is_plan, "--tune": tune, "--checkpoints": checkpoints, "--weights": weights != "flash"}
    run_target(processor.name, tuple(option for option, is_given in given.items() if is_given))
    check_gdb(gdb, load_into, picked, is_plan=is_plan)
    check_serial(serial, serial_program, picked, gdb=gdb, is_plan=is_plan)
    check_read(weights, is_for_c=not (is_plan or tune))
    if is_plan and checkpoints:
        raise InputError("--checkpoints is for C. What a core's checkpoints take is on Kibi's page on plan files.")
    if is_plan and node_data is not None:
        raise InputError("--node-data is for C, whose layers are those of the model. Leave --format plan out.")
    graph = load_simplified(
        ends.model(model),
        without_pass,
        signature=signature,
        decompress=decompress,
        external_buffers=options["external_buffers"],
        plan=plan,
        goal=goal,
    )
    with working(f"measuring on {processor.name}"), temporary_folder() as folder:
        made = plan_for(graph, processor, plan, options)
        words = [
            *option_words(options, ends),
            *graph_words(without_pass, decompress=decompress),
            *(["--tune"] if tune else []),
        ]
        tunings, digest, board_run = [], None, None
        if tune:
            tuning, made = tuned(
                graph,
                made,
                options,
                picked,
                is_given=plan is not None,
                compiler=tool,
                level=level,
                gdb=gdb,
                load_into=load_into,
            )
            tunings = [tuning]
        if is_plan:
            found = kibi.measure_plan(
                graph,
                made,
                compiler=tool,
                level=level,
                seed=seed,
                runs=runs,
                memory=memory,
                code_in_ram=code_in == "ram",
            )
        else:
            extras = Extras.of(slices=slices or slice_limit is not None, checkpoints=checkpoints)
            command = library_command(
                [graph], place_words(picked, board, is_tuned=tune), None, plan, [*words, *extras.words]
            )
            library = kibi.compile(
                graph, made, folder, target=processor, command=command, package=None, **asdict(extras)
            )
            digest = library.digest
            found = kibi.measure(
                library,
                compiler=tool,
                level=level,
                seed=seed,
                runs=runs,
                oracle=not no_oracle,
                memory=memory,
                code_in_ram=code_in == "ram",
            )
            if node_data is not None:
                write_node_data(library.model, found, model, node_data)
            if serial_program is not None:
                kibi.write_serial_program(library, serial_program, measured=found)
            if gdb is not None and picked.board is not None:
                board_run = kibi.measure_on_board(
                    library, picked.board, gdb, measured=found, load_into=load_into, compiler=tool, level=level
                )
            if serial is not None and picked.board is not None:
                board_run = kibi.measure_over_serial(library, picked.board, serial, measured=found)
        coded, cost = codings([graph], [made], options), None
        if coded and not is_plan:
            cost = measured_coding(graph, coded[0], found, processor, options, compiler=tool, level=level)
    write_tables(found, csv, markdown)
    fitted = None if picked.board is None else measured_fit(found, made, picked.board)
    if as_json:
        weights_record = {"coded_weights": coding_record(coded[0], cost)} if coded else {}
        tuning_found = {"tuning": tuning_record(tunings)} if tune else {}
        fit_record = {"fit": fitted.to_dict()} if fitted else {}
        run_record = {"board_run": board_run.to_dict()} if board_run else {}
        print_json({**found.to_dict(), **tuning_found, **weights_record, **fit_record, **run_record}, library=digest)
    else:
        console = output()
        _show_totals(console, found, picked, fitted)
        say(console)
        if found.is_by_operator:
            _show_operators(console, found)
        if board_run is not None:
            show_board_run(console, board_run)
        show_serial_program(console, serial_program, "kibi measure")
        if found.checkpoints is not None:
            show_checkpoint_cost(found.checkpoints)
        show_tunings(tunings)
        show_codings(coded, cost)
    if not found.bit_exact:
        raise MismatchError(f"{graph.source}: the device's bits differ. Run `kibi verify` to find the operator.")
    if board_run is not None and not board_run.bit_exact:
        raise MismatchError(f"{graph.source}: the bits of {board_run.board} differ from those of the emulated core.")
    if slice_limit is not None and found.longest_step is not None:
        check_slice(found.longest_step, slice_limit, processor.name, graph.source)
    if found.oracle_failure is not None:
        raise not_compared(found.oracle_failure)


def same_bits_text(found: "Measurement") -> "Text":
    """Says whether the device gave the same bits, and as which engines."""
    from rich.text import Text  # noqa: PLC0415

    if not found.bit_exact:
        return Text("no", BAD)
    return Text("yes", GOOD).append(f": device, Python{' and TFLM' if found.oracle else ''}", "default")


def _show_totals(console: "Console", found: "Measurement", picked: Chosen, fitted: "Fit | None") -> None:
    from rich.text import Text  # noqa: PLC0415

    from kibi.reports.fetches import fetches_text  # noqa: PLC0415

    code = found.waits.code_ram_bytes if found.waits else 0
    other = found.ram_bytes - found.arena_bytes - found.state_bytes - found.stack_bytes - code
    parts = f"arena {found.arena_bytes:,} + state {found.state_bytes:,} + stack {found.stack_bytes:,}"
    parts += f" + code {code:,}" if code else ""
    parts += f" + data {other:,}" if other else ""
    facts(
        console,
        [
            ("model", f"{found.model} on {found.target}"),
            *emulator_line(picked.target),
            ("RAM", Text(f"{found.ram_bytes:,} bytes", FIGURE).append(f" = {parts}", "default")),
            (
                "flash",
                Text(f"{found.flash_bytes:,} bytes", FIGURE).append(
                    f" = code {found.code_bytes:,} (plan tables {found.plan_table_bytes:,}) + weights {found.weights_bytes:,}",
                    "default",
                ),
            ),
            *_counted(found),
            *([("vectors", _vectors(found))] if found.vector_instructions else []),
            *([("weights", fetches_text(found.fetches))] if found.fetches else []),
            *([("longest step", _longest(found.longest_step))] if found.longest_step else []),
            *time_lines(found, picked),
            ("same bits", same_bits_text(found)),
            *_of_inputs(found),
            *([fit_line(fitted)] if fitted else []),
        ],
    )


def _vectors(found: "Measurement") -> "Text":
    from rich.text import Text  # noqa: PLC0415

    return Text(f"{found.vector_instructions:,}", FIGURE).append(
        f" of these instructions: {found.beats:,} beats", "default"
    )


def _counted(found: "Measurement") -> "list[tuple[str, str | Text]]":
    """What was counted, and of WebAssembly the memory of the module."""
    from rich.text import Text  # noqa: PLC0415

    for_macs = f" for {found.macs:,} MACs"
    lines: list[tuple[str, str | Text]] = []
    if found.counter:
        lines.append((found.counter, Text(f"{found.instructions:,}", FIGURE).append(for_macs, "default")))
    else:
        lines.append(("instructions", "not counted: QEMU is not installed, or takes no plugins"))
    if found.linear_memory_bytes is not None:
        lines.append(("linear memory", f"{found.linear_memory_bytes:,} bytes, with the whole room of the stack"))
    return lines


def _longest(longest: "LongestStep") -> "Text":
    from rich.text import Text  # noqa: PLC0415

    return Text(f"{longest.instructions:,}", FIGURE).append(f" instructions, {longest.text}", "default")


def _of_inputs(found: "Measurement") -> "list[tuple[str, str | Text]]":
    """Says for which inputs the figures hold, if there were several, and which subgraphs none of them ran."""
    from rich.text import Text  # noqa: PLC0415

    lines: list[tuple[str, str | Text]] = []
    if len(found.seeds) > 1:
        what = f"seeds {found.seeds[0]} to {found.seeds[-1]}"
        if found.varies_with_inputs:
            what += (
                f"; the figures are the most on these inputs: {found.counter or 'instructions'} {found.instructions_min:,} to "
                f"{found.instructions:,}, stack {found.stack_bytes_min:,} to {found.stack_bytes:,}"
            )
        lines.append(("inputs", what))
    if found.not_executed:
        missing = f"{', '.join(found.not_executed)}: none of these inputs runs it, so nothing of it is counted"
        lines.append(("not measured", Text(missing, BAD)))
    return lines


def _show_operators(console: "Console", found: "Measurement") -> None:
    columns = ("!operator", "output", ">MACs", ">instructions", ">per MAC", ">share", ">scratch")
    further = (">cycles", ">waits") if found.waits else ()
    has_bars = console.is_terminal and is_roomy(console)
    rows = table(console, *columns, *further, *([""] if has_bars else []))
    most = max((cost.instructions for cost in found.ops), default=0) or 1
    for cost in found.ops:
        share = cost.instructions / max(found.instructions, 1)
        rows.add_row(
            cost.op,
            name_of(cost.name, 28),
            f"{cost.macs:,}" if cost.macs else "",
            f"{cost.instructions:,}",
            f"{cost.instructions / cost.macs:.2f}" if cost.macs else "",
            f"{share:.1%}",
            f"{cost.scratch_bytes:,}" if cost.scratch_bytes else "",
            *(wait_cells(cost) if further else ()),
            *([_bar(cost.instructions / most)] if has_bars else []),
        )
    rest = found.calls_instructions
    rows.add_row("calls of kernels", "", "", f"{rest:,}", "", f"{rest / max(found.instructions, 1):.1%}", "")
    rows.add_section()
    per_mac = f"{found.instructions / found.macs:.2f}" if found.macs else ""
    ends = total_cells(found) if further else ()
    rows.add_row("total", "", f"{found.macs:,}", f"{found.instructions:,}", per_mac, "100.0%", "", *ends, style="bold")
    show(console, rows)


def _bar(part: float) -> "Text":
    """A bar of eighths of a column."""
    from rich.text import Text  # noqa: PLC0415

    whole, eighths = divmod(round(part * _BAR_COLUMNS * 8), 8)
    return Text("█" * whole + (" ▏▎▍▌▋▊▉"[eighths] if eighths else ""), "cyan", no_wrap=True)
