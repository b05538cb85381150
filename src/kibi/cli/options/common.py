"""Options that several verbs take."""

from pathlib import Path
from typing import Annotated

import typer

from kibi.cli.options.paths import given_model, given_path, given_plan
from kibi.cli.options.renamed import current_handover
from kibi.cli.options.sizes import byte_count

DEFAULT_TARGET = "cortex-m4"
GOALS = "balanced: the smallest arena, fast kernels. speed: the least time. flash: the least code."
WEIGHTS = (
    "How weights are stored. flash: as they are. rice: coded, decoded as they are used, where that saves flash. read:NAME: in slow "
    "memory, from which your C function NAME reads them into the arena. read:NAME,ahead: NAME_start and NAME_wait read them while "
    "kernels run."
)
HANDOVERS = (
    "Inputs are stored, streamed row by row, or in external buffers: yours. quantized, also with a comma before one of these: "
    "integers where the model quantizes its float32 input."
)

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
RECOMPUTE = "Compute up to F times the model's MACs, such as 1.1, where that needs less RAM."
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
Recompute = Annotated[
    float,
    typer.Option(
        "--recompute",
        metavar="F",
        help=RECOMPUTE,
        show_default="1",
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
