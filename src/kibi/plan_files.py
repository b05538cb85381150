"""The functions of `import kibi` for plan files and cores."""

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from kibi.errors import InputError, PlanError, bounded
from kibi.ir import Graph, check_graph
from kibi.printable import printable
from kibi.targets import Memory, Target
from kibi.targets import target as target_named

if TYPE_CHECKING:
    from kibi.engines.core import CoreEngine
    from kibi.engines.plan_numpy import NumpyPlanEngine
    from kibi.passes import Simplified
    from kibi.planfile.core_library import Core
    from kibi.planfile.layout import Layout
    from kibi.planfile.like import LikeFile
    from kibi.planfile.reader import PlanFile
    from kibi.planner.plan import Plan
    from kibi.reports.measurement import Measurement

_MOST_FILE_BYTES = 256 << 20


@bounded
def compile_plan(
    model: Graph,
    plan: "Plan | None" = None,
    path: str | os.PathLike[str] | None = None,
    *,
    target: str | Target | None = None,
    core: "Core | None" = None,
    names: bool = True,
    fences: bool = False,
    simplified: "Simplified | None" = None,
) -> "PlanFile":
    """Makes a plan file: a model as data, which a core in C runs in place.

    Args:
        model: the graph.
        plan: its plan, with one arena; None: the default plan, with kernels that the core has.
        path: where to write the file; None: it is only returned.
        target: the processor; None: the plan's, or Cortex-M4 without a plan.
        core: the core that will run the file, from `compile_core` or `kibi.planfile.core_library.load_core`; None: any that has
            the kernels.
        names: False leaves out the names of the model, its inputs and outputs.
        fences: True: a core that is compiled with KIBI_CORE_WEIGHTS=1 can write weights of the file while it runs.
        simplified: what `kibi.passes.simplify` made of the loaded model, whose graph is `model`: then a layout is written beside
            the file, from which `compile_like` makes later versions.

    Returns:
        The file.

    Raises:
        PlanError: the plan is not right for the model.
        TargetError: no such target, the plan has several regions, or the core is for another one or lacks kernels.
        InputError: the model has an operator of yours, whose kernel no core has; or `simplified` is of another graph.
        OutputError: the file cannot be written.
    """
    from kibi.files import check_path  # noqa: PLC0415 - see kibi.api
    from kibi.planfile.fitting import check_kernels, check_parts, fitted  # noqa: PLC0415
    from kibi.planfile.like import layout_of  # noqa: PLC0415
    from kibi.planfile.reader import PlanFile  # noqa: PLC0415
    from kibi.planfile.writer import written_file  # noqa: PLC0415
    from kibi.planner import Granularity, validate  # noqa: PLC0415
    from kibi.planner import plan as make  # noqa: PLC0415

    check_graph(model)
    place = None if path is None else check_path(path, "path")
    processor = _target(target or (plan.target if plan else core.target if core else "cortex-m4"))
    if plan is None:
        plan = make(model, processor, granularity=Granularity.ROW)
        plan = plan if core is None else fitted(model, plan, core, processor)
    planned = validate(model, plan)
    if core is not None:
        check_kernels(planned, core)
    ids = () if core is None else core.ids
    written = written_file(planned, core=ids, with_names=names, with_fences=fences)
    file = PlanFile(written.data)
    if core is not None:
        check_parts(file, core)
    if place is not None:
        made = None if simplified is None else layout_of(planned, simplified, written, core=ids, names=names)
        layout = made and replace(made, fences=fences)
        _write(place, file.data, layout)
    return file


@bounded
def compile_like(
    model: Graph,
    old: str | os.PathLike[str],
    path: str | os.PathLike[str] | None = None,
    *,
    otherwise: bool = False,
) -> "LikeFile":
    """Makes the plan file of a later version of a model, with the kernels, the order and the places of the older version's file.

    After fine-tuning, the two files differ in weights alone, so an update is small. Where the new weights do not allow that, the
    departures say which layer differs, and why: a channel that was constant must stay, or a layer needs its general kernel.

    Args:
        model: the graph as it was loaded, not simplified.
        old: the path of the older plan file, with its layout beside it, as `kibi compile --format plan` writes both.
        path: where to write the new file and its layout; None: they are only returned.
        otherwise: True: a file that departs from the old one is written, too.

    Returns:
        The new file, its layout, and the departures.

    Raises:
        PlanError: there is no such file, no layout beside it, or the file would depart from the old one.
        InputError: the layout leaves out a pass that this version does not have.
        OutputError: the files cannot be written.
    """
    from kibi.files import check_path, read_file  # noqa: PLC0415
    from kibi.planfile.layout import load_layout  # noqa: PLC0415
    from kibi.planfile.like import written_like  # noqa: PLC0415

    check_graph(model)
    source, place = Path(check_path(old, "old")), None if path is None else check_path(path, "path")
    data = read_file(source, _MOST_FILE_BYTES, PlanError, "Give the path of a plan file.")
    made = written_like(model, load_layout(source, data))
    if made.departures and not otherwise:
        listed = "\n".join(f"  - {each}" for each in made.departures)
        raise PlanError(
            f"{model.source} cannot keep the layout of {source.name}:\n{listed}\n"
            "Take another layout there (otherwise=True, or --otherwise), or send the whole model."
        )
    if place is not None:
        _write(place, made.data, made.layout)
    return made


def _write(path: Path, data: bytes, layout: "Layout | None") -> None:
    """Writes a plan file, and its layout first, so that no layout is missing. A device or a pipe gets the file alone."""
    from kibi.files import write_file  # noqa: PLC0415
    from kibi.planfile.layout import layout_path  # noqa: PLC0415

    if layout is not None and (path.is_file() or not path.exists()):
        write_file(layout_path(path), layout.text().text.encode())
    write_file(path, data)


@bounded
def compile_core(
    models: "Sequence[Graph | PlanFile]",
    directory: str | os.PathLike[str],
    *,
    target: str | Target = "cortex-m4",
    kernels: Sequence[str] = (),
    command: str | None = None,
) -> "Core":
    """Writes a core: the C library that runs plan files, with the kernels that models need, and the parts of these.

    Args:
        models: graphs, whose default plans count, or plan files.
        directory: where to write; made when it is absent.
        target: the processor.
        kernels: names of further kernels, or of lists of them: `all`, `cnn-s8`.
        command: what stands in each file's first line; None: the equal `kibi core` line.

    Returns:
        What the core can run; `core.json` in its folder says the same.

    Raises:
        TargetError: no such target.
        InputError: no kernels, no kernel or list of a name, or a model has an operator of yours.
        OutputError: the directory cannot be written.
    """
    from kibi.codegen.earlier import obsolete_files  # noqa: PLC0415
    from kibi.files import check_path, write_folder  # noqa: PLC0415
    from kibi.planfile.core_library import Core, core_files  # noqa: PLC0415
    from kibi.planfile.kernel_ids import parts_of  # noqa: PLC0415
    from kibi.planfile.kernel_lists import kernels_of  # noqa: PLC0415

    folder, processor = check_path(directory, "directory"), _target(target)
    listed = set(kernels_of(kernels, processor))
    wanted, parts = set(listed), parts_of(listed) if listed else frozenset[str]()
    for model in models:
        file = compile_plan(model, target=processor) if isinstance(model, Graph) else model
        wanted |= set(file.kernels)
        parts |= file.parts
    if not wanted:
        raise InputError("a core needs kernels: give models, or the names of kernels or of lists of them: all, cnn-s8.")
    core = Core.of(sorted(wanted), processor, parts)
    sources = [model.source for model in models if isinstance(model, Graph)]
    files = core_files(core, processor, command or _command(sources, processor, kernels))
    write_folder(folder, files, obsolete_files(folder, files))
    return core


@bounded
def open_plan(
    source: "str | os.PathLike[str] | bytes | PlanFile", *, engine: str = "c", compiler: str = "zig"
) -> "CoreEngine | NumpyPlanEngine":
    """Opens a plan file on this machine, so that it can be tested before it ships.

    Args:
        source: the path of the file, its bytes, or the file.
        engine: `c`, a core as on a device, which checks all of the file first; or `numpy`, which needs no compiler, and checks
            what nodes ask for first, and each access when it is made.
        compiler: `zig` (from pip), `gcc` or `clang`, which makes the core.

    Returns:
        The open model: `run` takes an array for each input and returns one for each output; `file` describes them.

    Raises:
        PlanError: there is no such file, it is damaged or of another version, needs a kernel that this version has not, or asks
            for what no model may do.
        InputError: there is no such engine.
        ToolchainError: the compiler is missing or fails.
    """
    from kibi.engines.core import CoreEngine  # noqa: PLC0415
    from kibi.engines.plan_numpy import NumpyPlanEngine  # noqa: PLC0415
    from kibi.files import check_path, read_file  # noqa: PLC0415
    from kibi.planfile.reader import PlanFile  # noqa: PLC0415

    if engine not in ("c", "numpy"):
        raise InputError(f"no engine runs plan files that is called {printable(engine)}. Give c or numpy.")
    if isinstance(source, str | os.PathLike):
        path = check_path(source, "path")
        source = read_file(Path(path), _MOST_FILE_BYTES, PlanError, "Give the path of a plan file.")
    file = source if isinstance(source, PlanFile) else PlanFile(source)
    return NumpyPlanEngine(file) if engine == "numpy" else CoreEngine(file, compiler=compiler)


@bounded
def measure_plan(
    model: Graph,
    plan: "Plan",
    *,
    compiler: str = "zig",
    level: str = "s",
    seed: int = 0,
    runs: int | None = None,
    memory: Memory | None = None,
    code_in_ram: bool = False,
) -> "Measurement":
    """Runs a model's plan file by a core on the emulated processor of its plan, as `measure` does for generated C.

    Flash is the core with this model's kernels, and the file, which counts as weights.

    Args:
        model: the graph.
        plan: its plan, for a target that is emulated.
        compiler: `zig` (from pip), `gcc` (`arm-none-eabi-gcc`) or `clang` (with `ld.lld`).
        level: of the compiler: `0`, `1`, `2`, `3` or `s`.
        seed: the seed of the first random inputs.
        runs: how many inputs to try; None: one, or several where elements of the input choose what runs.
        memory: how the processor reads its flash, at the clock of the plan's target; None for a flash without wait states.
        code_in_ram: True if the core's code runs from a RAM without wait states; the file stays in flash.

    Returns:
        The costs of one inference; `ops` has a line for each kernel.

    Raises:
        PlanError: the plan is not right for the model.
        InputError: seed or runs are out of range, or the model has an operator of yours.
        ToolchainError: the compiler is missing or fails.
        EmulationError: the core stopped, or the target is not emulated.
    """
    from kibi.planner import validate  # noqa: PLC0415
    from kibi.reports.plan_file_costs import measure_plan_file  # noqa: PLC0415

    check_graph(model)
    planned = validate(model, plan)
    return measure_plan_file(
        planned,
        _target(plan.target),
        compiler=compiler,
        level=level,
        seed=seed,
        runs=runs,
        memory=memory,
        code_in_ram=code_in_ram,
    )


def _target(target: str | Target) -> Target:
    return target_named(target) if isinstance(target, str) else target


def _command(sources: Sequence[str], target: Target, kernels: Sequence[str]) -> str:
    """The command that makes an equal core."""
    words = ["kibi core", *sources, f"--target {target.name}"]
    return " ".join([*words, *(f"--kernels {each}" for each in kernels)])
