"""What the options of a plan mean: `kibi plan`, and the verbs that plan before they do something else."""

from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

from kibi.errors import PlanError

if TYPE_CHECKING:
    from kibi.cli.options.ends import Ends
    from kibi.ir import Graph
    from kibi.planner import Plan
    from kibi.targets import Target


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
    recompute: float
    effort: int
    time_limit: float


DEFAULTS: PlanOptions = {
    "granularity": "row", "input": "stored", "output": "stored", "external_buffers": [], "ram": None, "goal": "balanced",
    "weights": "flash", "recompute": 1.0,
}  # fmt: skip


def plan_options(
    granularity: str,
    input_mode: str | None,
    external_outputs: bool,
    external_buffer: list[str] | None,
    ram: int | None,
    goal: str,
    weights: str = "flash",
    bandwidth: int | None = None,
    recompute: float = 1.0,
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
        input=input_mode or "stored",
        output=output,
        external_buffers=external_buffer or [],
        ram=ram,
        goal=goal,
        weights=weights,
        recompute=recompute,
    )
    if bandwidth is not None:
        made["bandwidth"] = bandwidth
    return made


def option_words(options: PlanOptions, ends: "Ends | None" = None) -> list[str]:
    """The words of a command line for these options and these inputs and outputs; defaults have none."""
    given = {name: value for name, value in options.items() if value != DEFAULTS.get(name)}
    if ends is not None and ends.inputs:
        given["input"] = ends.value
    flags = ["--external-outputs"] if given.pop("output", None) else []
    flags += [word for name in options.get("external_buffers", []) for word in ("--external-buffer", name)]
    given.pop("external_buffers", None)
    flags += ["--quantized-outputs"] if ends is not None and ends.outputs else []
    return [*(word for name, value in given.items() for word in (f"--{name}", str(value))), *flags]


def graph_words(without: list[str] | None, *, decompress: bool = False) -> list[str]:
    """The words of a command line that leave these passes out, and decode weights."""
    return [
        *(word for name in without or () for word in ("--without-pass", name)),
        *(["--decompress"] if decompress else []),
    ]


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
