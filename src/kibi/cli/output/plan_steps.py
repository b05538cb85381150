"""`kibi plan`: the longest row step, counted on the emulated core."""

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from kibi.cli.terminal import output, say, working
from kibi.errors import EmulationError, KibiError, PlanError

if TYPE_CHECKING:
    from kibi.planner import PlannedModel
    from kibi.reports.slices import LongestStep
    from kibi.targets import Target

_MOST_MACS = 32_000_000
"""The most multiply-accumulates of a model whose steps are counted unasked."""
_MOST_INSTRUCTIONS = 100_000_000
"""The most instructions of an inference whose steps are counted unasked: about a second of emulation, four times."""
_OPTION = "--longest-step"


@dataclass(frozen=True, slots=True)
class CountedStep:
    """What is known of the longest step of a plan.

    Attributes:
        longest: the step; None if it was not counted.
        reason: why it was not; empty if it was.
    """

    longest: "LongestStep | None"
    reason: str = ""

    @property
    def record(self) -> dict[str, object]:
        """The same for JSON."""
        if self.longest is None:
            return {"longest_step": None, "longest_step_reason": self.reason}
        return {"longest_step": asdict(self.longest)}


def counted_step(planned: "PlannedModel", name: "str | Target", asked: bool | None) -> CountedStep | None:
    """Counts the longest step of a plan, unless that takes long and was not asked for.

    Args:
        planned: a model and its plan.
        name: the core's name, or the core.
        asked: true if it must be counted, false if it must not be; None: if it takes little time.

    Returns:
        The step, or why it was not counted; None if it must not be.

    Raises:
        KibiError: it must be counted and cannot be.
    """
    import kibi  # noqa: PLC0415
    from kibi.qemu import why_not_emulated  # noqa: PLC0415 - as above

    if asked is False:
        return None
    target = kibi.target(name) if isinstance(name, str) else name
    missing = why_not_emulated(target)
    if missing:
        if asked:
            raise PlanError(f"{missing}, so that no step is counted. Leave {_OPTION} out.")
        return CountedStep(None, missing)
    macs = planned.graph.macs
    if asked is None and macs > _MOST_MACS:
        return CountedStep(None, f"{macs:,} MACs take a while; {_OPTION} counts it")
    from kibi.reports.slices import planned_longest_step  # noqa: PLC0415

    try:
        with working("counting steps"):
            most = None if asked else _MOST_INSTRUCTIONS
            return CountedStep(planned_longest_step(planned, target, most=most))
    except KibiError as error:
        if asked:
            raise
        if isinstance(error, EmulationError):
            what = f"an inference takes over {_MOST_INSTRUCTIONS:,} instructions, or fails"
            return CountedStep(None, f"{what}; {_OPTION} counts it, or says why not")
        return CountedStep(None, str(error).splitlines()[0])


def check_one_plan(asked: bool | None, *, is_one: bool) -> bool:
    """Returns true if the plan is one whose steps can be counted.

    Raises:
        PlanError: it is not, and they must be counted.
    """
    if asked and not is_one:
        raise PlanError(f"{_OPTION} is for one plan of one model that Kibi runs. Leave the option out, or the others.")
    return is_one


def show_step(found: CountedStep) -> None:
    """Prints the longest step, or why it was not counted."""
    console = output()
    if found.longest is None:
        say(console, f"\nlongest step not counted: {found.reason}")
    else:
        say(console, f"\nlongest step {found.longest.instructions:,} instructions, {found.longest.text}")
