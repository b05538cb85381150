"""Arguments that several commands take, and their conversions."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Final, TypedDict

import typer

from kibi.cli.failure import say_warning
from kibi.cli.paths import given_model, given_path, given_plan
from kibi.cli.sizes import byte_count
from kibi.errors import InputError, OracleError, PlanError, TargetError, ToolchainError

if TYPE_CHECKING:
    from kibi.ir import Graph
    from kibi.passes import Simplified
    from kibi.planner import Plan
    from kibi.targets import Target

DEFAULT_TARGET = "cortex-m4"
_MOST_PASSPHRASE_FILE = 4096
GOALS = "balanced: the smallest arena, fast kernels. speed: the fewest instructions. flash: the least code."
WEIGHTS = (
    "How weights are stored. flash: as they are. rice: coded, decoded as they are used, where that saves flash. read:NAME: in slow "
    "memory, from which your C function NAME reads them into the arena. read:NAME,ahead: NAME_start and NAME_wait read them while "
    "kernels run."
)
HANDOVERS = "Inputs are stored, streamed row by row, or in external buffers: yours."

RENAMED_FLAGS: Final[Mapping[str, str]] = MappingProxyType({
    "--supply": "--external-buffer",
    "--supply-outputs": "--external-outputs",
    "--offline": "--use-embedded-plan",
    "--embed": "--write-embedded-plan",
    "--optimize": "--goal",
})  # fmt: skip
"""The new name of each flag that was renamed. This version takes the earlier ones, too, with a warning; no `--help` shows them."""
RENAMED_HANDOVERS: Final[Mapping[str, str]] = MappingProxyType({"supplied": "external"})
"""The new name of each value of `--input` that was renamed."""


def current_flags(words: Sequence[str]) -> list[str]:
    """Returns the words of a command line with the new names of flags, and warns of each earlier one."""
    end = words.index("--") if "--" in words else len(words)
    current = []
    for word in words[:end]:
        flag, equals, value = word.partition("=")
        if flag in RENAMED_FLAGS:
            warn_renamed(flag, RENAMED_FLAGS[flag])
        current.append(RENAMED_FLAGS.get(flag, flag) + equals + value)
    return [*current, *words[end:]]


def current_handover(name: str | None) -> str | None:
    """Returns the new name of a value of `--input`, and warns of an earlier one."""
    if name is None or name not in RENAMED_HANDOVERS:
        return name
    warn_renamed(f"--input {name}", f"--input {RENAMED_HANDOVERS[name]}")
    return RENAMED_HANDOVERS[name]


def warn_renamed(old: str, new: str) -> None:
    """Warns of the earlier name of an option or of a value."""
    say_warning(f"{old} is now {new}. The next version does not take the earlier name.")


FORMATS = ("c", "plan")
FormatName = Annotated[
    str,
    typer.Option("--format", metavar="F", help="c: a C library. plan: a plan file, which a core runs (`kibi core`)."),
]
LikePath = Annotated[
    Path | None,
    typer.Option(
        "--like",
        metavar="OLD",
        help="A plan file of an older version of the model: its kernels, order and places are kept.",
        parser=given_path,
        show_default=False,
    ),
]
CorePath = Annotated[
    Path | None,
    typer.Option(
        "--core",
        metavar="FILE",
        help="core.json of the core that runs the plan file; its kernels are taken.",
        parser=given_path,
        show_default=False,
    ),
]
ModelPath = Annotated[
    Path,
    typer.Argument(
        metavar="MODEL",
        help="A .tflite file, C source or a zip archive with one.",
        parser=given_model,
        show_default=False,
    ),
]
SignatureName = Annotated[
    str | None,
    typer.Option(
        "--signature", metavar="NAME", help="An entry point of the file. Without: its first graph.", show_default=False
    ),
]
SchedulerAddress = Annotated[
    str | None,
    typer.Option(
        "--scheduler",
        metavar="ADDRESS",
        help="A Dask scheduler whose workers do it, as tcp://host:8786. Without: this machine.",
        show_default=False,
    ),
]
OutputFolder = Annotated[
    Path,
    typer.Option(
        "--output",
        "-o",
        metavar="DIR",
        help="Folder to write; made if absent.",
        parser=given_path,
        show_default=False,
    ),
]
LabelsPath = Annotated[
    Path | None,
    typer.Option(
        "--labels", metavar="FILE", help="The classes' names, one in a line.", parser=given_path, show_default=False
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object, for other programs.")]
PlanPath = Annotated[
    Path | None,
    typer.Option(
        "--plan",
        metavar="FILE",
        help="A plan from `kibi plan --json`. Without: made anew.",
        parser=given_plan,
        show_default=False,
    ),
]
GranularityName = Annotated[
    str,
    typer.Option("--granularity", "-g", metavar="G", help="What is placed: row, or tensor: more RAM, no tables."),
]
InputMode = Annotated[
    str,
    typer.Option("--input", metavar="I", help=HANDOVERS, callback=current_handover),
]
ExternalOutputs = Annotated[
    bool, typer.Option("--external-outputs", help="Outputs are in external buffers: yours, not the arena.")
]
ExternalBuffers = Annotated[
    list[str] | None,
    typer.Option(
        "--external-buffer",
        metavar="NAME",
        help="A tensor in an external buffer; may be given again.",
        show_default=False,
    ),
]
RamLimit = Annotated[
    int | None,
    typer.Option(
        "--ram",
        metavar="N",
        help="The fastest plan whose arena fits N bytes, such as 8k.",
        parser=byte_count,
        show_default=False,
    ),
]
Bandwidth = Annotated[
    int | None,
    typer.Option(
        "--bandwidth",
        min=1,
        metavar="N",
        help="With --weights read:NAME: bytes that are read in a second.",
        show_default=False,
    ),
]
RegionsFile = Annotated[
    Path | None,
    typer.Option(
        "--regions",
        metavar="FILE",
        help="A TOML file that lists the board's memories.",
        parser=given_path,
        show_default=False,
    ),
]
PlaceWeights = Annotated[bool, typer.Option("--place-weights", help="Assign weights to regions, too.")]
Effort = Annotated[
    int | None,
    typer.Option(
        "--effort", metavar="N", help="Search N times as much: the same plan on every machine.", show_default="1"
    ),
]
TimeLimit = Annotated[
    float | None,
    typer.Option(
        "--time-limit",
        metavar="S",
        help="Try ever more effort for S seconds. The plan depends on the machine.",
        show_default=False,
    ),
]
WithoutPasses = Annotated[
    list[str] | None,
    typer.Option(
        "--without-pass",
        metavar="NAME",
        help="Leave out a lossless pass, or all; may be given again.",
        show_default=False,
    ),
]
Decompress = Annotated[
    bool, typer.Option("--decompress", help="Decode compressed weights ahead of time: more flash, faster kernels.")
]
WeightsName = Annotated[str, typer.Option("--weights", metavar="W", help=WEIGHTS)]
GoalName = Annotated[str, typer.Option("--goal", metavar="G", help=GOALS)]
Tune = Annotated[
    bool, typer.Option("--tune", help="Count each kernel that may run a layer on the emulated core; take the best.")
]
KeyPath = Annotated[
    Path,
    typer.Option(
        "--key", "-k", metavar="FILE", help="The private key: NAME.pem.", parser=given_path, show_default=False
    ),
]
PassphraseFile = Annotated[
    Path | None,
    typer.Option(
        "--passphrase-file",
        metavar="FILE",
        help="A file whose first line is the passphrase of the private key.",
        parser=given_path,
        show_default=False,
    ),
]
CompilerName = Annotated[
    str, typer.Option("--compiler", metavar="C", help="zig, which came with Kibi, gcc (arm-none-eabi-gcc), or clang.")
]
NoOracle = Annotated[
    bool,
    typer.Option("--no-oracle", help="Do not run TFLM's build, which is native code that does not check the model."),
]
Slices = Annotated[
    bool, typer.Option("--slices", help="Also write …_run_for, which runs an inference in slices of row steps.")
]
SliceLimit = Annotated[
    int | None,
    typer.Option(
        "--slice",
        min=1,
        metavar="N",
        help="--slices, and fail if a slice of one step takes over N instructions on the emulated core.",
        show_default=False,
    ),
]
Lease = Annotated[
    bool, typer.Option("--lease", help="Report an error if somebody else has used the arena during an inference.")
]
Spare = Annotated[
    bool, typer.Option("--spare", help="--slices, and …_spare, which lends the arena's free bytes between slices.")
]
Checkpoints = Annotated[
    bool,
    typer.Option("--checkpoints", help="--slices, and …_checkpoint and …_resume, which survive the loss of power."),
]
Seed = Annotated[int, typer.Option("--seed", min=0, metavar="N", help="Seed of the random inputs.")]


def passphrase_in(path: Path | None) -> str | None:
    """The passphrase in a file, which is no part of the command line, where every user of the machine can read it.

    Args:
        path: a text file; its first line is the passphrase. None: there is no passphrase.

    Raises:
        InputError: there is no such file, or it is no text.
    """
    from kibi.files import read_text  # noqa: PLC0415 - verbs pay for what they use

    if path is None:
        return None
    text = read_text(path, _MOST_PASSPHRASE_FILE, InputError, "Give a text file whose first line is the passphrase.")
    return text.partition("\n")[0]


class PlanOptions(TypedDict, total=False):
    """The plan options of the command line: the keyword arguments of `kibi.plan`."""

    granularity: str
    input: str
    output: str
    external_buffers: list[str]
    ram: int | None
    goal: str
    weights: str
    regions: Path
    place_weights: bool
    bandwidth: int
    effort: int
    time_limit: float


DEFAULTS: PlanOptions = {
    "granularity": "row", "input": "stored", "output": "stored", "external_buffers": [], "ram": None, "goal": "balanced",
    "weights": "flash",
}  # fmt: skip


def format_named(name: str, core: Path | None = None) -> str:
    """The format's name; raises an error for an unknown one, or if a core was named for C.

    Raises:
        InputError: there is no such format, or a core does not go with it.
    """
    if name not in FORMATS:
        raise InputError(f"unknown format {name!r}. Formats are: {', '.join(FORMATS)}.")
    if core is not None and name != "plan":
        raise InputError("--core is for plan files. Add --format plan, or leave it out.")
    return name


def plan_options(
    granularity: str,
    input_mode: str,
    external_outputs: bool,
    external_buffer: list[str] | None,
    ram: int | None,
    goal: str,
    weights: str = "flash",
    bandwidth: int | None = None,
) -> PlanOptions:
    """Returns the plan options among a command's options.

    Raises:
        InputError: weights cannot be stored so.
    """
    from kibi.planner.weights_option import weights_named  # noqa: PLC0415

    weights_named(weights)
    output = "external" if external_outputs else "stored"
    made = PlanOptions(
        granularity=granularity,
        input=input_mode,
        output=output,
        external_buffers=external_buffer or [],
        ram=ram,
        goal=goal,
        weights=weights,
    )
    if bandwidth is not None:
        made["bandwidth"] = bandwidth
    return made


def option_words(options: PlanOptions) -> list[str]:
    """The words of a command line for these options; defaults have none."""
    given = {name: value for name, value in options.items() if value != DEFAULTS.get(name)}
    flags = ["--external-outputs"] if given.pop("output", None) else []
    flags += [word for name in options.get("external_buffers", []) for word in ("--external-buffer", name)]
    given.pop("external_buffers", None)
    return [*(word for name, value in given.items() for word in (f"--{name}", str(value))), *flags]


def graph_words(without: list[str] | None, *, decompress: bool = False) -> list[str]:
    """The words of a command line that leave these passes out, and decode weights."""
    return [
        *(word for name in without or () for word in ("--without-pass", name)),
        *(["--decompress"] if decompress else []),
    ]


def load_simplified(
    path: Path,
    without: list[str] | None,
    *,
    decompress: bool = False,
    signature: str | None = None,
    external_buffers: Sequence[str] = (),
    plan: "Path | Plan | None" = None,
) -> "Graph":
    """The model after the lossless passes: the graph of `simplified_model`.

    Raises:
        ModelError: it cannot be loaded, or has no such signature.
        InputError: there is no such pass, or no such tensor.
        PlanError: the plan's file holds no plan.
    """
    return simplified_model(
        path, without, decompress=decompress, signature=signature, external_buffers=external_buffers, plan=plan
    ).graph


def simplified_model(
    path: Path,
    without: list[str] | None,
    *,
    decompress: bool = False,
    signature: str | None = None,
    external_buffers: Sequence[str] = (),
    plan: "Path | Plan | None" = None,
) -> "Simplified":
    """What the lossless passes make of a model; tensors in external buffers, also those of a saved plan, stay.

    Raises:
        ModelError: it cannot be loaded, or has no such signature.
        InputError: there is no such pass, or no such tensor.
        PlanError: the plan's file holds no plan.
    """
    import kibi  # noqa: PLC0415
    from kibi.passes import simplify  # noqa: PLC0415
    from kibi.planner import load_plan  # noqa: PLC0415
    from kibi.runtime.preallocated import tensor_index  # noqa: PLC0415

    graph = kibi.load(path, signature, decompress=decompress)
    loaded = load_plan(plan) if isinstance(plan, Path) else plan
    saved = () if loaded is None else _made(graph, loaded.external_buffers)
    keep = [tensor_index(graph, tensor) for tensor in (*external_buffers, *saved)]
    return simplify(graph, without or (), keep)


def _made(graph: "Graph", tensors: Sequence[int]) -> list[int]:
    """Returns the tensors of a list that nodes make; validation later refuses a plan that names others, with a reason."""
    made = {index for node in graph.nodes for index in node.outputs}
    return [index for index in tensors if index in made]


def not_compared(failure: str) -> OracleError:
    """The error that ends a verb after its results, where TFLM's build failed."""
    return OracleError(f"{failure}\nKibi's own result is not compared with it. Leave it out by --no-oracle.")


def emulated_target(name: str) -> "Target":
    """The target of that name; raises an error if it is not emulated.

    Raises:
        TargetError: there is no such target, or nothing emulates it.
    """
    from kibi.targets import target, targets  # noqa: PLC0415

    found = target(name)
    if not found.emulated_cpu:
        known = ", ".join(each.name for each in targets() if each.emulated_cpu)
        raise TargetError(f"target {name!r} is not emulated, so nothing can be measured on it. Emulated are: {known}.")
    return found


def compiler_named(name: str) -> str:
    """The compiler's name; raises an error if it does not exist.

    Raises:
        ToolchainError: no compiler was found.
    """
    from kibi.toolchain.compilers import COMPILERS  # noqa: PLC0415

    if name not in COMPILERS:
        raise ToolchainError(f"unknown compiler {name!r}. Compilers are: {', '.join(COMPILERS)}.")
    return name


def plan_for(
    graph: "Graph", target: "Target", path: Path | None, options: PlanOptions, part: "Plan | None" = None
) -> "Plan":
    """The plan of a file, checked against the model; without a file, a new plan with the options.

    Args:
        graph: the model.
        target: the processor.
        path: the file, or None.
        options: of a new plan.
        part: the plan in the file, where that is a joint plan of several models.

    Raises:
        PlanError: the file holds no plan, or one that is wrong or for something else; or no plan has those options.
    """
    import kibi  # noqa: PLC0415
    from kibi.planner import load_plan, validate  # noqa: PLC0415

    if path is None:
        return kibi.plan(graph, target, **options)
    if words := option_words(options):
        raise PlanError(f"{path} is a plan already, so that {' '.join(words)} cannot change it. Leave one of them out.")
    loaded = part or load_plan(path)
    if loaded.target != target.name:
        raise PlanError(f"{path}: the plan is for {loaded.target!r}, not for {target.name!r}. Make it for that target.")
    try:
        validate(graph, loaded)
    except PlanError as error:
        raise PlanError(f"{error}\nA plan is for one graph: leave the same passes out as when it was made.") from None
    return loaded
