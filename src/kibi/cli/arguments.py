"""Arguments that several verbs take, and what they become."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kibi.errors import PlanError, TargetError, ToolchainError

if TYPE_CHECKING:
    from kibi.ir import Graph
    from kibi.planner import Plan
    from kibi.targets import Target

DEFAULT_TARGET = "cortex-m4"

ModelPath = Annotated[Path, typer.Argument(metavar="MODEL", help="A .tflite file.", show_default=False)]
TargetName = Annotated[
    str, typer.Option("--target", "-t", metavar="T", help="The processor; `kibi targets` lists them.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object, for other programs.")]
PlanPath = Annotated[
    Path | None,
    typer.Option(
        "--plan", metavar="FILE", help="A plan from `kibi plan --json`. Without: made anew.", show_default=False
    ),
]
GranularityName = Annotated[
    str,
    typer.Option("--granularity", "-g", metavar="G", help="What is placed: tensor, or row: less RAM, a larger table."),
]
CompilerName = Annotated[
    str, typer.Option("--compiler", metavar="C", help="zig, which came with Kibi, or gcc: arm-none-eabi-gcc.")
]
Seed = Annotated[int, typer.Option("--seed", min=0, metavar="N", help="Seed of the random inputs.")]


def emulated_target(name: str) -> "Target":
    """The target of that name, which must be one that is emulated.

    Raises:
        TargetError: there is no such target, or nothing emulates it.
    """
    from kibi.targets import target, targets  # noqa: PLC0415

    found = target(name)
    if not found.emulated_cpu:
        known = ", ".join(each.name for each in targets() if each.emulated_cpu)
        raise TargetError(f"target {name!r} is not emulated, so nothing can be measured on it. Take one of: {known}.")
    return found


def compiler_named(name: str) -> str:
    """The compiler's name, if there is one of that name.

    Raises:
        ToolchainError: there is none.
    """
    from kibi.toolchain.compilers import COMPILERS  # noqa: PLC0415

    if name not in COMPILERS:
        raise ToolchainError(f"unknown compiler {name!r}. Compilers are: {', '.join(COMPILERS)}.")
    return name


def plan_for(graph: "Graph", target: "Target", path: Path | None, granularity: str) -> "Plan":
    """The plan that a file holds, checked against the model; without a file one of that granularity.

    Raises:
        PlanError: the file holds no plan, or one that is wrong or for something else; or there is no such granularity.
    """
    from kibi.planner import granularity_named, load_plan, validate  # noqa: PLC0415
    from kibi.planner import plan as make  # noqa: PLC0415

    if path is None:
        return make(graph, target, granularity=granularity_named(granularity))
    loaded = load_plan(path)
    if loaded.target != target.name:
        raise PlanError(f"{path}: the plan is for {loaded.target!r}, not for {target.name!r}. Make it for that target.")
    validate(graph, loaded)
    return loaded
