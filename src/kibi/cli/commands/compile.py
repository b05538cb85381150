"""`kibi compile`: the C library."""

import shlex
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kibi.cli.options.boards import BoardName, TargetName, chosen_processor, place_words
from kibi.cli.options.checks import emulated_target, format_named
from kibi.cli.options.common import (
    AsJson,
    Bandwidth,
    Checkpoints,
    CorePath,
    Decompress,
    ExternalBuffers,
    ExternalOutputs,
    FormatName,
    GoalName,
    GranularityName,
    InputMode,
    Lease,
    LikePath,
    PlanPath,
    RamLimit,
    Recompute,
    SignatureName,
    SliceLimit,
    Slices,
    Spare,
    Tune,
    WeightsName,
    WithoutPasses,
)
from kibi.cli.options.ends import QuantizedOutputs, ends_of
from kibi.cli.options.gdb import LoadPlace, TuningServer, check_gdb
from kibi.cli.options.joint import joint_plan, show_joint
from kibi.cli.options.models import simplified_model
from kibi.cli.options.package import DEFAULT_PACKAGE, PackageName, check_package, how_to_use, package_words
from kibi.cli.options.paths import given_model, given_path
from kibi.cli.options.planning import graph_words, option_words, plan_for, plan_options
from kibi.cli.options.serial import TuningPort, TuningProgram, check_tuning_over_serial
from kibi.cli.output.board_run import show_serial_program
from kibi.cli.output.outlook import show_outlook
from kibi.cli.output.plan_file import check_like, write_like, write_plan_file
from kibi.cli.output.tuning import show_tunings, tuned, tuning_record
from kibi.cli.output.weights import check_read, codings, show_codings
from kibi.cli.terminal import byte_text, facts, output, print_json, say, working
from kibi.errors import InputError
from kibi.files import temporary_folder

if TYPE_CHECKING:
    from kibi.codegen import Library
    from kibi.ir import Graph
    from kibi.planner import Plan
    from kibi.planner.together import JointPlan
    from kibi.targets import Target


def compile_models(
    models: Annotated[
        list[Path], typer.Argument(metavar="MODEL...", help=".tflite files.", parser=given_model, show_default=False)
    ],
    *,
    directory: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            metavar="PATH",
            help="Folder to write, made if absent; with --format plan the file.",
            parser=given_path,
            show_default=False,
        ),
    ],
    target: TargetName = None,
    board: BoardName = None,
    package: PackageName = DEFAULT_PACKAGE,
    file_format: FormatName = "c",
    core: CorePath = None,
    like: LikePath = None,
    otherwise: Annotated[
        bool, typer.Option("--otherwise", help="With --like: write the file also where it departs from the old one.")
    ] = False,
    fences: Annotated[
        bool, typer.Option("--fences", help="With --format plan: weights of the file can be written while it runs.")
    ] = False,
    name: Annotated[
        str | None,
        typer.Option(
            "--name", metavar="N", help="Prefix of files and symbols. Without: the model's.", show_default=False
        ),
    ] = None,
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
    tune: Tune = False,
    gdb: TuningServer = None,
    load_into: LoadPlace = "flash",
    serial: TuningPort = None,
    serial_program: TuningProgram = None,
    slices: Slices = False,
    slice_limit: SliceLimit = None,
    lease: Lease = False,
    spare: Spare = False,
    checkpoints: Checkpoints = False,
    as_json: AsJson = False,
) -> None:
    """Write a C99 library for a model, or a plan file.

    The library is a package for CMake, Arduino, Zephyr, Python and others, with an example that checks the model's bits.
    Several models share kernels, and can share an arena: the largest, not the sum. A plan file holds one model as data,
    which a core runs in place: see `kibi core`.
    """
    import kibi  # noqa: PLC0415
    from kibi.codegen import Extras  # noqa: PLC0415

    ends = ends_of(input_mode, quantized_outputs)
    options = plan_options(
        granularity, ends.handover, external_outputs, external_buffer, ram, goal, weights, bandwidth, recompute
    )
    picked = chosen_processor(target, board)
    target = picked.target.name
    processor = kibi.target(target) if slice_limit is None else emulated_target(target)
    extras = Extras.of(slices=slices or slice_limit is not None, lease=lease, spare=spare, checkpoints=checkpoints)
    joint = None if plan is None else joint_plan(plan, len(models))
    _check(models, name, None if joint else plan)
    is_plan = format_named(file_format, core) == "plan"
    check_package(package, is_plan=is_plan)
    check_read(weights, is_for_c=not (is_plan or tune))
    check_gdb(gdb, load_into, picked, is_plan=False)
    check_tuning_over_serial(serial, serial_program, picked, gdb=gdb, models=len(models), goal=goal)
    for option, value in (("--gdb", gdb), ("--serial", serial), ("--serial-program", serial_program)):
        if value is not None and not tune:
            raise InputError(f"{option} is for --tune, which counts on the board. Add --tune, or leave {option} out.")
    if joint and (is_plan or tune):
        raise InputError("a joint plan is for C, with its kernels. Leave --format and --tune out.")
    if is_plan and len(models) > 1:
        raise InputError(f"a plan file holds one model; {len(models)} were given. Compile them one by one.")
    if is_plan and extras != Extras():
        raise InputError(
            "--slices, --slice, --lease, --spare and --checkpoints are for C. A core runs any plan file in slices."
        )
    if fences and not is_plan:
        raise InputError("--fences is for plan files. Add --format plan, or leave it out.")
    chosen = [*option_words(options, ends), *graph_words(without_pass)]
    if like is not None:
        given = {
            "--core": core,
            "--name": name,
            "--plan": plan,
            "--tune": tune,
            "--fences": fences,
            " ".join(chosen): chosen,
        }
        check_like(models, is_plan=is_plan, others=[flag for flag, value in given.items() if value])
        write_like(
            models[0], like, directory, signature, target, decompress=decompress, otherwise=otherwise, as_json=as_json
        )
        return
    if otherwise:
        raise InputError("--otherwise says what --like does where the layout cannot stay. Add --like OLD as well.")
    models = [ends.model(each) for each in models]
    parts = joint.plans if joint else (None,) * len(models)
    simplified = [
        simplified_model(
            model,
            without_pass,
            signature=signature,
            decompress=decompress,
            external_buffers=options["external_buffers"],
            plan=part or plan,
            goal=goal,
        )
        for model, part in zip(models, parts, strict=True)
    ]
    graphs = [each.graph for each in simplified]
    with working("compiling"):
        plans = [plan_for(graph, processor, plan, options, part) for graph, part in zip(graphs, parts, strict=True)]
        if name is not None and len(graphs) == 1:
            graphs, plans = [replace(graphs[0], name=name)], [replace(plans[0], model=name)]
        words = [*option_words(options, ends), *graph_words(without_pass, decompress=decompress)]
        words += [*(["--tune"] if tune else []), *extras.words, *package_words(package)]
        tunings = []
        if tune:
            if serial_program is not None:
                kibi.write_tuning_program(
                    graphs[0], serial_program, plans[0], target=picked.target, goal=plans[0].goal.value
                )
            made = [
                tuned(
                    graph, each, options, picked, is_given=plan is not None, gdb=gdb, load_into=load_into, serial=serial
                )
                for graph, each in zip(graphs, plans, strict=True)
            ]
            tunings, plans = [found for found, _ in made], [each for _, each in made]
        if is_plan:
            named = replace(simplified[0], graph=graphs[0])
            is_given = plan is not None
            write_plan_file(named, plans[0], directory, core, is_given=is_given, fences=fences, as_json=as_json)
            if not as_json:
                show_codings(codings(graphs, plans, options))
                show_serial_program(output(), serial_program, "kibi compile")
            return
        if slice_limit is not None:
            check_slices(graphs, plans, processor, slice_limit)
        library = kibi.compile(
            graphs,
            replace(joint, plans=tuple(plans)) if joint else plans,
            directory,
            target=processor,
            name=name,
            command=library_command(graphs, place_words(picked, board, is_tuned=tune), name, plan, words),
            **asdict(extras),
            package=package,
        )
    coded = codings(graphs, plans, options)
    if as_json:
        coding = {"coded_weights": [each.to_dict() for each in coded]} if coded else {}
        tuning = {"tuning": tuning_record(tunings)} if tune else {}
        print_json({**_record(library, directory), **tuning, **coding}, library=library.digest)
    else:
        _show(library, directory, joint)
        if len(models) == 1:
            show_outlook(models[0], graphs[0], target)
        show_tunings(tunings)
        show_codings(coded)
        show_serial_program(output(), serial_program, "kibi compile")


def check_slices(graphs: "Sequence[Graph]", plans: "Sequence[Plan]", target: "Target", most: int) -> None:
    """Checks on the emulated core that no slice of one step of these models takes more instructions than `most`.

    Raises:
        PlanError: one does; the error names the step.
    """
    import kibi  # noqa: PLC0415
    from kibi.reports.slices import check_slice, measured_longest_step  # noqa: PLC0415

    with temporary_folder() as folder:
        library = kibi.compile(list(graphs), list(plans), folder, target=target, slices=True, package=None)
        for index, graph in enumerate(graphs):
            check_slice(measured_longest_step(library, index), most, target.name, graph.source)


def _check(models: Sequence[Path], name: str | None, plan: Path | None) -> None:
    """Refuses arguments that contradict each other.

    Raises:
        InputError: one plan for several models, or a name that C does not take.
    """
    from kibi.frontends.naming import identifier  # noqa: PLC0415

    if plan is not None and len(models) > 1:
        raise InputError("--plan is for one model. Compile the models one by one, or without it.")
    if name is not None and name != identifier(name):
        raise InputError(f"--name {name!r} cannot prefix C symbols. Take, for example, {identifier(name)!r}.")


def library_command(
    graphs: "Sequence[Graph]", place: Sequence[str], name: str | None, plan: Path | None, options: Sequence[str]
) -> str:
    """Returns the command that makes the same files: without folders, so that the same input gives the same bytes."""
    words = ["kibi", "compile", *(graph.source for graph in graphs), *place]
    words += ["--name", name] if name else []
    words += ["--signature", graphs[0].signature.key] if graphs[0].signature else []
    words += options
    words += ["--plan", plan.name] if plan else []
    return " ".join(shlex.quote(word) for word in words)


def _record(library: "Library", directory: Path) -> dict[str, object]:
    from kibi.reports.fetches import fetches_record  # noqa: PLC0415

    models = [
        {
            "model": each.graph.name,
            "source": each.graph.source,
            "arena_bytes": each.arena_bytes,
            **fetches_record(each.planned),
        }
        for each in library.models
    ]
    return {
        "library": library.name,
        "target": library.target.name,
        "package": library.package,
        "directory": str(directory),
        "models": models,
        "files": list(library.paths),
    }


def _show(library: "Library", directory: Path, joint: "JointPlan | None") -> None:
    from kibi.reports.fetches import fetches_of, fetches_text  # noqa: PLC0415

    console = output()
    headers = [f"{library.name}_models.h"] if joint else [f"{each.graph.name}.h" for each in library.models]
    kernels = sum("kernels/" in file for file in library.sources)
    facts(
        console,
        [
            ("library", f"{library.name} for {library.target.name}, in {directory}"),
            (
                "files",
                f"{len(library.files) + len(library.data)}, with {kernels} kernels; start with {', '.join(headers)}",
            ),
            *(("arena", f"{byte_text(each.arena_bytes)} for {each.graph.name}") for each in library.models),
            *(("weights", fetches_text(found)) for each in library.models if (found := fetches_of(each.planned))),
            *(show_joint(joint) if joint else ()),
        ],
    )
    say(console)
    say(console, how_to_use(library, directory))
