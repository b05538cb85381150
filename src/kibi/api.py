"""The functions of `import kibi` from a model to its C: load, simplify, plan, run, embed, compile.

Each function imports what it needs when it is called. So `import kibi` stays quick, and starts no compiler by accident.
"""

import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kibi.dtypes import Array
from kibi.errors import bounded
from kibi.ir import Graph, check_graph
from kibi.renames import renamed_keywords
from kibi.targets import Target
from kibi.targets import target as target_named

if TYPE_CHECKING:
    from kibi.codegen import Library
    from kibi.engines.tuning import Tuning
    from kibi.planner.plan import PixelRows, Plan, Run, Stripes
    from kibi.planner.regions.file import Region
    from kibi.planner.together import JointPlan
    from kibi.tflm.embedding import Embedding

DEFAULT_TARGET = "cortex-m4"
"""The processor where a caller names none."""


@bounded
def load(
    path: str | os.PathLike[str],
    signature: str | None = None,
    *,
    decompress: bool = False,
    shapes: Mapping[str, Sequence[int]] | None = None,
    quantized_inputs: bool = False,
    quantized_outputs: bool = False,
) -> Graph:
    """Reads a model file, verifies it, and returns its graph.

    Args:
        path: a `.tflite` file, C source with its bytes as an array, or a zip archive with one of them. Where there are several
            models, the name of one follows after a slash: `models.zip/folder/model.tflite`, `models.h/array`.
        signature: the entry point whose graph is wanted; its inputs and outputs then have the signature's names. None: the
            first graph, which TFLM runs.
        decompress: True to decode all compressed weights ahead of time: more flash, and the fastest kernels. False: weights with
            codebooks and weights of int4 stay as they are where kernels can decode them and that saves flash.
        shapes: of inputs, by name and in its own order of axes, where a model leaves sizes open. The graph then has no
            `path`: to compare it with TFLM, convert the model first.
        quantized_inputs: True to take integers at each float32 input: those that the model's QUANTIZE makes of it. `path` is then
            that of a copy in the cache, which TFLM runs, too.
        quantized_outputs: True to give integers at each float32 output: those of which the model's DEQUANTIZE makes it.

    Returns:
        The graph; `signatures` lists the entry points of the file.

    Raises:
        ModelError: the file is missing, broken, or asks for what Kibi does not support; with all problems at once. Or
            it has no signature of that name; the text lists those that there are.
    """
    from kibi.frontends import load as read  # noqa: PLC0415 - see the module's docstring, here and below
    from kibi.frontends.model_file import can_be_read_again  # noqa: PLC0415
    from kibi.passes.compressed_weights import compressed_where_it_saves, decompressed  # noqa: PLC0415

    if quantized_inputs or quantized_outputs:
        from kibi.toolchain.model_copies import integer_ends_copy  # noqa: PLC0415

        path = integer_ends_copy(path, inputs=quantized_inputs, outputs=quantized_outputs)
    graph = read(path, signature, shapes)
    is_first = graph.signature is None or graph.signature.subgraph == 0
    # What is no regular file, such as a pipe, cannot be read again by those who compare with TFLM.
    graph = replace(graph, path=Path(path) if is_first and not shapes and can_be_read_again(path) else None)
    return decompressed(graph) if decompress else compressed_where_it_saves(graph)


@bounded
def simplify(
    model: Graph, without: Collection[str] = (), keep: "Collection[int | str]" = (), *, goal: str = "balanced"
) -> Graph:
    """Removes from a model what costs something and changes no bit of its outputs.

    For every input, the outputs are the same, bit by bit, and so are their shapes. Other tensors may change, because
    removed operators are no longer computed. A plan is for the graph that it was made for, simplified or not.

    Args:
        model: the graph.
        without: names of passes to leave out, or `all`. `kibi.passes.PASSES` lists them; `kibi.passes.simplify` says what
            each did.
        keep: tensors, by name or index, that must stay, because they are to be in external buffers or looked at.
        goal: what the model is to be planned for, as for `plan`. For `speed`, PAD stays where the windows after it would take more
            instructions without it; for `speed` and `flash`, nothing is copied to save RAM.

    Returns:
        The new graph, or the same one if nothing can be removed.

    Raises:
        InputError: there is no such pass, no such tensor to keep, or no such goal.
    """
    from kibi.passes import simplify as apply_passes  # noqa: PLC0415
    from kibi.runtime.preallocated import tensor_index  # noqa: PLC0415
    from kibi.selection import goal_named  # noqa: PLC0415

    check_graph(model)
    kept = [tensor_index(model, tensor) for tensor in keep]
    return apply_passes(model, without, kept, goal=goal_named(goal)).graph


@renamed_keywords(supply="external_buffers", optimize="goal", offline="use_embedded_plan")
@bounded
def plan(
    model: Graph,
    target: str | Target = DEFAULT_TARGET,
    *,
    runs: "Sequence[Run] | None" = None,
    granularity: str = "row",
    input: str = "stored",  # noqa: A002 - the command line's word
    output: str = "stored",
    external_buffers: "Sequence[int | str]" = (),
    goal: str = "balanced",
    tuning: "Tuning | None" = None,
    weights: str = "flash",
    ram: int | None = None,
    regions: "str | os.PathLike[str] | Sequence[Region] | None" = None,
    place_weights: bool = False,
    bandwidth: int | None = None,
    recompute: float = 1.0,
    stripes: "Sequence[Stripes]" = (),
    pixel_rows: "Sequence[PixelRows] | None" = None,
    use_embedded_plan: bool = False,
    effort: int = 1,
    time_limit: float | None = None,
    watch: Callable[[str], None] | None = None,
) -> "Plan":
    """Plans a model's memory: the order of all row steps, and the place of every buffer.

    Args:
        model: the graph.
        target: name of the target, or the target itself.
        runs: an order of row steps; None: the best order of operators that each run to completion, or, by the row, the
            best that is found.
        granularity: `row`: operators run interleaved, and each row has its own place and lifetime, if that needs less memory.
            `tensor`: each tensor is one buffer.
        input: `stored`: inputs are arrays in the arena. `streamed`: they arrive row by row while the model runs, and are
            never stored whole. `external`: they are in caller-owned buffers, and take none of the arena.
        output: `stored` or `external`.
        external_buffers: further tensors, by name or index, that are stored in caller-owned buffers.
        goal: `balanced`: the smallest arena, with kernels that are packed for the core where what they store is about as
            large. `flash`: the kernels with which code and constants are smallest. `speed`: the least time, with few
            instructions and few reads of flash, whole tensors, and as much scratch as kernels can use.
        tuning: what `tune` found, whose kernels the plan is for, instead of those of `goal`.
        weights: `flash`: weights are stored as kernels read them. `rice`: those of layers that read each weight once are
            stored as Golomb-Rice codes and decoded as they are used, if that saves more flash than the decoder takes. `read:NAME`:
            weights are in slow memory, from which your C function NAME reads them into windows in the arena.
            `read:NAME,ahead`: NAME_start begins to read a window while kernels run on others, and NAME_wait ends it.
        bandwidth: with `read:NAME`, the bytes that are read in a second.
        recompute: the most multiply-accumulates that the plan may compute, as a multiple of the model's. Above 1, some stages are
            computed in stripes, columns of their images, whose borders are computed twice or kept, where that lowers the arena;
            with `ram`, where no other plan fits. For plans by the row, in one arena.
        stripes: the stages that are computed so, as another plan's `stripes` has them, in place of a search; `tuning` and `runs`
            are then for the operators that such a plan has.
        pixel_rows: the convolutions that compute several rows of one pixel as one, as another plan's `pixel_rows` has them; None:
            those of `tuning`, or those that are worth their RAM.
        ram: the most bytes that the arena may have; of the plans that fit, the fastest is taken. None: no limit.
        regions: the memories of the board, or the path of a TOML file that lists them; buffers are shared out among them
            at the least cost of their use. None: there is one arena.
        place_weights: true if weights are assigned to regions, too.
        use_embedded_plan: true to follow the plan that the model file carries, TFLM's `OfflineMemoryAllocation`: complete
            tensors at the offsets that it names, in the file's order, and the others around them. Options that ask for
            anything else are refused; `granularity`, `goal` and what follows mean nothing.
        effort: how long to search: 1 is the usual amount of work, a few seconds at most, and N is N times as much. The same
            effort gives the same plan on every machine.
        time_limit: seconds; larger efforts are tried while they probably end in time. How many are depends on the machine, so
            the plan may: its `effort` says which one found it, and gives it again.
        watch: is told in a few words what has been found, before a search goes on with more effort.

    Returns:
        The plan, with its lower bound.

    Raises:
        TargetError: no such target.
        InputError: there is no such tensor.
        PlanError: the order is impossible, or no plan is that small, or an option has no such value; or the file carries no
            plan, or one whose tensors are in one another's way.
        ModelError: the plan that the file carries does not fit its tensors.
    """
    check_graph(model)
    if use_embedded_plan:
        from kibi.runtime.plan_choice import embedded_plan_only  # noqa: PLC0415

        return embedded_plan_only(
            model,
            processor_of(target),
            ram,
            alone=runs is None
            and regions is None
            and weights == "flash"
            and (input, output) == ("stored", "stored")
            and recompute == 1
            and not stripes,
        )
    from kibi.planner import granularity_named, handover_named  # noqa: PLC0415
    from kibi.planner import plan as make  # noqa: PLC0415
    from kibi.planner.regions.file import load_regions  # noqa: PLC0415
    from kibi.planner.weights_option import weights_named  # noqa: PLC0415
    from kibi.runtime.preallocated import tensor_index  # noqa: PLC0415
    from kibi.selection import Goal, goal_named  # noqa: PLC0415

    listed = load_regions(regions) if isinstance(regions, str | os.PathLike) else regions
    processor, wanted = processor_of(target), goal_named(goal) if tuning is None else tuning.goal
    made = partial(
        make,
        model,
        processor,
        runs=runs,
        granularity=granularity_named(granularity),
        inputs=handover_named(input),
        outputs=handover_named(output, is_output=True),
        external_buffers=[tensor_index(model, tensor) for tensor in external_buffers],
        goal=wanted,
        ram_bytes=ram,
        regions=listed,
        place_weights=place_weights,
        weights=weights_named(weights),
        bandwidth=bandwidth,
        recompute=recompute,
        stripes=stripes,
        pixel_rows=pixel_rows if tuning is None or pixel_rows is not None else tuning.pixel_rows,
        effort=effort,
        seconds=time_limit,
        watch=watch,
    )
    is_plain = listed is None and weights == "flash" and recompute == 1 and not stripes
    if wanted is Goal.FLASH and tuning is None and runs is None and is_plain:
        from kibi.codegen.least_flash import least_flash  # noqa: PLC0415

        return least_flash(model, processor, lambda kernels: made(kernels=kernels))
    return made(kernels=None if tuning is None else tuning.kernels)


@bounded
def embed(
    model: Graph | str | os.PathLike[str],
    path: str | os.PathLike[str],
    *,
    reorder: bool = True,
    scratch_bytes: Mapping[int, int] | None = None,
) -> "Embedding":
    """Writes a copy of a model file with an embedded plan, which TensorFlow Lite Micro follows.

    The copy carries the smallest plan of whole tensors as TFLM's metadata `OfflineMemoryAllocation`. TFLM then computes the
    same bits in that arena. The file may have operators that Kibi does not run.

    Args:
        model: a `.tflite` file, or a graph that was loaded from one.
        path: where to write.
        reorder: True if the copy may have the operators in another order, where that needs less memory.
        scratch_bytes: bytes of scratch that TFLM's kernels ask for, by the index of the operator. TFLM finds room for it
            around the tensors; for what is named here the plan leaves room.

    Returns:
        The plan, and what TFLM does without it.

    Raises:
        ModelError: the file is missing, corrupt, or of a form that cannot be copied.
        InputError: the graph was not loaded from a file.
        OutputError: the file cannot be written.
    """
    from kibi.errors import InputError  # noqa: PLC0415
    from kibi.files import check_path, write_file  # noqa: PLC0415
    from kibi.frontends.model_file import read_model  # noqa: PLC0415
    from kibi.tflm.embedding import embed_plan  # noqa: PLC0415

    place = check_path(path, "the path of the copy")
    source = model.path if isinstance(model, Graph) else Path(model)
    if source is None:
        raise InputError("the graph was not loaded from a file. Give the path of a .tflite file.")
    made = embed_plan(read_model(source), source.name, reorders=reorder, scratch_bytes=scratch_bytes)
    write_file(place, made.data)
    return made


@bounded
def run(model: Graph, plan: "Plan | None", inputs: Sequence[Array] | Mapping[str, Array]) -> list[Array]:
    """Runs one inference in Python, inside the planned arena, and returns its outputs.

    Args:
        model: the graph.
        plan: its plan; None: the one that the model file carries if it can be followed, else the default one.
        inputs: one array for each model input, of its shape and type; or arrays by the names of inputs, or by the names in a
            signature.

    Returns:
        One array for each model output.

    Raises:
        InputError: an input does not fit.
    """
    from kibi.runtime import Interpreter  # noqa: PLC0415

    return Interpreter(model, plan).run(inputs)


@renamed_keywords(optimize="goal")
@bounded
def compile(  # noqa: A001 - the field's word; users write kibi.compile
    model: Graph | Sequence[Graph],
    plan: "Plan | Sequence[Plan] | JointPlan | None",
    directory: str | os.PathLike[str],
    *,
    target: str | Target | None = None,
    name: str | None = None,
    command: str | None = None,
    goal: str | None = None,
    weights: str | None = None,
    slices: bool = False,
    lease: bool = False,
    spare: bool = False,
    checkpoints: bool = False,
    package: str | None = "cmake",
) -> "Library":
    """Writes a C99 library, in a package with an example that compares bits.

    Args:
        model: the graph, or several that share kernels and can share an arena.
        plan: its plan, or one for each graph; or a joint plan of `kibi.planner.together.plan_together`, whose buffers get macros;
            None: default plans.
        directory: where to write; made when it is absent.
        target: the processor; None: the plan's, or Cortex-M4 without a plan.
        name: of the library; None: the first model's.
        command: what stands in each file's first line; None: the equal `kibi compile` line.
        goal: of default plans, as for `plan`. Plans that are given have their kernels; they must be for the same goal.
        weights: of default plans, as for `plan`; None: `flash`. Plans that are given have their kernels already.
        slices: true to add `…_run_for`, which runs an inference in slices of row steps.
        lease: true to add a word to the arena, by which calls notice that somebody else has used it during an inference.
        spare: true to add slices, and `…_spare`, which lends free bytes of the arena between two slices.
        checkpoints: true to add slices, and `…_checkpoint` and `…_resume`, which survive the loss of power.
        package: the kind of package, such as `cmake` or `arduino`; `kibi.packages.kinds` lists them. None: the sources alone.

    Returns:
        The library, to be measured.

    Raises:
        TargetError: no such target.
        InputError: models of equal names, or of names that need one file, a name that would break the library, more or fewer
            plans than models, no such goal or not that of the plans, no such weights or weights beside plans, no such package or
            one that cannot hold this library, or an empty path.
        PlanError: a plan is not right for its model.
        OutputError: the directory cannot be written.
    """
    from kibi.codegen import Extras, generate, write  # noqa: PLC0415
    from kibi.errors import InputError  # noqa: PLC0415
    from kibi.files import check_path  # noqa: PLC0415
    from kibi.packages import kind, packaged  # noqa: PLC0415
    from kibi.planner import validate  # noqa: PLC0415
    from kibi.planner.joint_file import validate_joint  # noqa: PLC0415
    from kibi.planner.plan import Plan  # noqa: PLC0415
    from kibi.planner.together import JointPlan  # noqa: PLC0415
    from kibi.selection import goal_named  # noqa: PLC0415

    folder = check_path(directory, "directory")
    if package is not None:
        kind(package)  # an unknown one is refused before the work
    models = _models(model)
    joint = plan if isinstance(plan, JointPlan) else None
    planned = [] if joint is None else list(validate_joint(models, joint))
    parts = plan.plans if isinstance(plan, JointPlan) else plan
    given = [parts] if isinstance(parts, Plan) else list(parts or ())
    if given and len(given) != len(models):
        raise InputError(f"{len(models)} models need as many plans; {len(given)} were given.")
    processor = processor_of(target or (given[0].target if given else DEFAULT_TARGET))
    wanted = goal_named(goal or "balanced")
    others = [each.goal for each in given if goal and each.goal is not wanted]
    if others:
        raise InputError(
            f"the plan is for {others[0]}, not for {wanted}. Make it with goal={wanted.value!r}, or leave it out."
        )
    if given and weights is not None:
        raise InputError("a plan that is given has its kernels. Give weights to `kibi.plan`, or leave the plan out.")
    plans = given or [default_plan(graph, processor, wanted.value, weights or "flash") for graph in models]
    planned = planned or [validate(graph, each) for graph, each in zip(models, plans, strict=True)]
    extras = Extras.of(slices=slices, lease=lease, spare=spare, checkpoints=checkpoints)
    library = generate(planned, processor, name=name, command=command, extras=extras, joint=joint)
    return write(library if package is None else packaged(library, package), folder)


def _models(given: object) -> list[Graph]:
    """The model that is given, or the models.

    Raises:
        InputError: one is no graph.
    """
    models: list[Any] = list(given) if isinstance(given, Iterable) and not isinstance(given, str) else [given]
    for each in models:
        check_graph(each)
    return models


def processor_of(target: str | Target) -> Target:
    """A processor that is given by its name, or as it is.

    Raises:
        TargetError: no such target.
    """
    return target_named(target) if isinstance(target, str) else target


def default_plan(graph: Graph, target: Target, goal: str = "balanced", weights: str = "flash") -> "Plan":
    """The plan of a model for a processor, with no other option than these."""
    return plan(graph, target, goal=goal, weights=weights)
