"""`kibi compile A B --plan joint.json`: models and buffers of the application that were planned together."""

from pathlib import Path
from typing import TYPE_CHECKING

from kibi.cli.terminal import byte_text
from kibi.errors import PlanError

if TYPE_CHECKING:
    from kibi.planner.together import JointPlan


def joint_plan(path: Path, models: int) -> "JointPlan | None":
    """Returns the joint plan in a file; None if it holds the plan of one model.

    Args:
        path: of the file.
        models: how many models were given.

    Raises:
        PlanError: there is no such file, or it holds no plan, or one of more or fewer models.
    """
    from kibi.planner.joint_file import load_plans  # noqa: PLC0415
    from kibi.planner.together import JointPlan  # noqa: PLC0415

    found = load_plans(path)
    if not isinstance(found, JointPlan):
        return None
    if len(found.plans) != models:
        names = ", ".join(plan.model for plan in found.plans)
        raise PlanError(
            f"{path} is for {len(found.plans)} models, in this order: {names}. Give these; {models} were given."
        )
    return found


def show_joint(joint: "JointPlan") -> "list[tuple[str, str]]":
    """Returns the lines on the memory of a joint plan, without what a lease takes."""
    lines = [("memory", f"{byte_text(joint.arena_bytes)} for all of it")]
    return lines + [("buffer", f"{byte_text(each.size_bytes)} for {each.name}") for each in joint.buffers]
