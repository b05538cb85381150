"""The story in functions: load, plan, run, compile, measure, verify.

Each imports what it needs when it is called: `import kibi` stays quick, and nobody starts a compiler by accident.
"""

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from kibi.dtypes import Array
from kibi.ir import Graph
from kibi.targets import Target
from kibi.targets import target as target_named

if TYPE_CHECKING:
    from kibi.codegen import Library
    from kibi.planner.plan import Plan, Run
    from kibi.reports.measurement import Measurement
    from kibi.reports.verification import Verification

_DEFAULT_TARGET = "cortex-m4"


def load(path: str | os.PathLike[str]) -> Graph:
    """Read and verify a model file.

    Args:
        path: a `.tflite` file.

    Returns:
        The graph.

    Raises:
        ModelError: the file is missing, broken, or asks for what Kibi does not support; with all problems at once.
    """
    from kibi.frontends import load as read  # noqa: PLC0415 - see the module's docstring, here and below

    return replace(read(path), path=Path(path))


def plan(
    model: Graph,
    target: str | Target = _DEFAULT_TARGET,
    *,
    runs: "Sequence[Run] | None" = None,
    granularity: str = "tensor",
) -> "Plan":
    """Place every byte of a model's memory.

    Args:
        model: the graph.
        target: name of the target, or the target itself.
        runs: an order of row steps; None: the best order of operators that each run to completion, or, by the row, the
            best that is found.
        granularity: `tensor`: each tensor is one buffer. `row`: rows take turns, and each has a place and a lifetime of its
            own, wherever that needs less memory.

    Returns:
        The plan, with its lower bound.

    Raises:
        TargetError: no such target.
        PlanError: the order is impossible, or there is no such granularity.
    """
    from kibi.planner import granularity_named  # noqa: PLC0415
    from kibi.planner import plan as make  # noqa: PLC0415

    return make(model, _target(target), runs=runs, granularity=granularity_named(granularity))


def run(model: Graph, plan: "Plan | None", inputs: Sequence[Array]) -> list[Array]:
    """One inference in Python, inside the planned arena.

    Args:
        model: the graph.
        plan: its plan; None: the default one.
        inputs: one array for each model input, of its shape and type.

    Returns:
        One array for each model output.

    Raises:
        InputError: an input does not fit.
    """
    from kibi.runtime import Interpreter  # noqa: PLC0415

    return Interpreter(model, plan).run(inputs)


def compile(  # noqa: A001 - the field's word; users write kibi.compile
    model: Graph | Sequence[Graph],
    plan: "Plan | Sequence[Plan] | None",
    directory: str | os.PathLike[str],
    *,
    target: str | Target | None = None,
    name: str | None = None,
    command: str | None = None,
) -> "Library":
    """Write a C99 library.

    Args:
        model: the graph, or several that share kernels and can share an arena.
        plan: its plan, or one for each graph; None: default plans.
        directory: where to write; made when it is absent.
        target: the processor; None: the plan's, or Cortex-M4 without a plan.
        name: of the library; None: the first model's.
        command: what stands in each file's first line; None: the equal `kibi compile` line.

    Returns:
        The library, to be measured.

    Raises:
        TargetError: no such target.
        InputError: models of equal names, or more or fewer plans than models.
        PlanError: a plan is not right for its model.
        OutputError: the directory cannot be written.
    """
    from kibi.codegen import generate, write  # noqa: PLC0415
    from kibi.errors import InputError  # noqa: PLC0415
    from kibi.planner import validate  # noqa: PLC0415
    from kibi.planner.plan import Plan  # noqa: PLC0415

    models = [model] if isinstance(model, Graph) else list(model)
    given = [plan] if isinstance(plan, Plan) else list(plan or ())
    if given and len(given) != len(models):
        raise InputError(f"{len(models)} models need as many plans; {len(given)} were given.")
    for graph, its_plan in zip(models, given, strict=bool(given)):
        validate(graph, its_plan)
    processor = _target(target or (given[0].target if given else _DEFAULT_TARGET))
    plans = given or [_plan_for(graph, processor) for graph in models]
    library = generate(list(zip(models, plans, strict=True)), processor, name=name, command=command)
    return write(library, Path(directory))


def measure(
    library: "Library", *, compiler: str = "zig", optimize: str = "s", seed: int = 0, oracle: bool = True
) -> "Measurement":
    """Compile, link and run a library on the emulated core of its target.

    Args:
        library: what `compile` gave.
        compiler: `zig` (from pip) or `gcc` (`arm-none-eabi-gcc`).
        optimize: `0`, `1`, `2`, `3` or `s`.
        seed: of the random inputs.
        oracle: whether to compare with TensorFlow Lite Micro's Python build where it is installed.

    Raises:
        ToolchainError: the compiler is missing or fails.
        EmulationError: the core stopped, or the target is not emulated.
        MismatchError: TensorFlow Lite Micro's outputs differ.
    """
    from kibi.reports.measurement import measure as take  # noqa: PLC0415

    return take(library, compiler=compiler, optimize=optimize, seed=seed, oracle=oracle)


def verify(
    model: Graph,
    plan: "Plan | None" = None,
    *,
    target: str | Target = _DEFAULT_TARGET,
    inputs: Sequence[Sequence[Array]] = (),
    seed: int = 0,
    runs: int = 3,
    compiler: str = "zig",
) -> "Verification":
    """Run the same inputs in Python, in C on this machine, in C on the emulated core, and in TFLM where it is installed.

    Args:
        model: the graph.
        plan: its plan; None: the default one for the target.
        target: the processor to emulate; `host`: none.
        inputs: runs to try; none: `runs` random ones from `seed`.
        seed: of the random inputs.
        runs: how many random inputs.
        compiler: for the device.
    """
    from kibi.reports.verification import verify as compare  # noqa: PLC0415

    return compare(model, plan, _target(target), inputs=inputs, seed=seed, runs=runs, compiler=compiler)


def _target(target: str | Target) -> Target:
    return target_named(target) if isinstance(target, str) else target


def _plan_for(graph: Graph, target: Target) -> "Plan":
    from kibi.planner import plan as make  # noqa: PLC0415

    return make(graph, target)
