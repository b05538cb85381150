"""Plans that model files carry, for `kibi plan`: follow one, or write one for TensorFlow Lite Micro."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from kibi.cli.options.planning import PlanOptions
from kibi.cli.terminal import byte_text, working
from kibi.errors import PlanError

if TYPE_CHECKING:
    from kibi.reports.plan_comparison import ComparedPlan


def check_alone(models: Sequence[Path], *, compare: bool, writes: bool, follows: bool) -> None:
    """Refuses options that show or write one plan of one model together with options for several plans.

    Raises:
        PlanError: the options ask for several models or plans.
    """
    if len(models) != 1 or compare:
        what = "--write-embedded-plan, --use-embedded-plan and --ascii are for one plan of one model"
        raise PlanError(f"{what}. Give the models one by one, without --compare.")
    if writes and follows:
        raise PlanError(
            "--write-embedded-plan makes a plan, --use-embedded-plan follows the one that is there. Leave one of them out."
        )


def followed(model: Path, target: str, given: PlanOptions) -> "list[ComparedPlan]":
    """The model with the plan that its file carries.

    Raises:
        PlanError: there are options that such a plan cannot have, or the file carries none.
    """
    import kibi  # noqa: PLC0415
    from kibi.planner import PlannedModel  # noqa: PLC0415
    from kibi.reports.plan_comparison import ComparedPlan  # noqa: PLC0415

    _check(given, "--use-embedded-plan")
    graph = kibi.load(model)
    with working("planning"):
        return [ComparedPlan(PlannedModel.of(graph, kibi.plan(graph, target, use_embedded_plan=True)), "")]


def embedded(model: Path, path: Path, given: PlanOptions) -> "tuple[list[ComparedPlan], str]":
    """The model with its plan for TFLM, which is written into a copy of the file; and a sentence on it.

    Raises:
        PlanError: there are options that such a plan cannot have.
    """
    import kibi  # noqa: PLC0415
    from kibi.planner import PlannedModel  # noqa: PLC0415
    from kibi.reports.plan_comparison import ComparedPlan  # noqa: PLC0415

    _check(given, "--write-embedded-plan")
    with working("planning"):
        made = kibi.embed(model, path)
    order = "its operators in a better order" if made.is_reordered else "its operators as they were"
    before = byte_text(made.before.arena_bytes)
    text = (
        f"{path} carries this plan for TensorFlow Lite Micro, {order}. Without it, its tensors take {before} there. "
        "Scratch of its kernels comes on top, where it finds no room between them."
    )
    return [ComparedPlan(PlannedModel.of(made.graph, made.plan), "")], text


def _check(given: PlanOptions, option: str) -> None:
    if given:
        names = ", ".join(given)
        what = f"{option} is a plan of whole tensors in one arena, with inputs and outputs stored"
        raise PlanError(f"{what}: it has no use for {names}. Leave out one or the other.")
