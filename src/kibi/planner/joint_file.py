"""Joint plans from files: read without trust, and checked by rules that share no code with what places buffers."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np

from kibi.errors import PlanError, listed
from kibi.files import read_text
from kibi.ir import Graph
from kibi.planner.plan import FORMAT, MOST_PLAN_BYTES, Plan
from kibi.planner.planned_model import PlannedModel
from kibi.planner.saved_records import RecordError, load_json, read_record
from kibi.planner.together import BUFFER_ALIGNMENT, JointPlan, PlacedBuffer
from kibi.planner.validation import validate
from kibi.text.c import name_problem

_MOST_BUFFERS = 256
_MOST_MODELS = 64
_SHOWN_PROBLEMS = 20
_AGAIN = "Make it again with `kibi plan A B --buffer … -o FILE`."


@dataclass(frozen=True, slots=True)
class _Joint:
    """What a joint plan says beside the plans of its models."""

    arena_bytes: int
    lower_bound_bytes: int
    separate_bytes: int
    buffers: tuple[PlacedBuffer, ...]


def load_plans(path: Path) -> Plan | JointPlan:
    """Reads a saved plan, of one model or of several, from a file.

    Raises:
        PlanError: there is no such file, or it holds no plan.
    """
    text = read_text(path, MOST_PLAN_BYTES, PlanError, "Give the path of a saved plan.")
    try:
        saved = load_json(text)
    except RecordError as error:
        raise PlanError(f"the text is no saved plan: {error}. Make it again with `kibi plan --json`.") from None
    return joint_plan_of(saved) if isinstance(saved, dict) and "plans" in saved else Plan.from_record(saved)


def joint_plan_of(saved: object) -> JointPlan:
    """Returns the joint plan that JSON describes: the output of `kibi plan A B --buffer … --json`. Further facts are ignored.

    Raises:
        PlanError: it describes none, or one of another version.
    """
    if not isinstance(saved, dict) or saved.get("format") != FORMAT:
        raise PlanError(f"the joint plan is not of format {FORMAT}. {_AGAIN}")
    plans = saved.get("plans")
    if not isinstance(plans, list) or not 0 < len(plans) <= _MOST_MODELS:
        raise PlanError(f"the text is no joint plan: it has no list of 1 to {_MOST_MODELS} plans. {_AGAIN}")
    try:
        found = read_record(_Joint, saved)
    except RecordError as error:
        raise PlanError(f"the text is no joint plan: {error}. {_AGAIN}") from None
    made = tuple(Plan.from_record(each) for each in plans)
    return JointPlan(made, found.buffers, found.arena_bytes, found.lower_bound_bytes, found.separate_bytes)


def validate_joint(models: Sequence[Graph], joint: JointPlan) -> tuple[PlannedModel, ...]:
    """Checks that a joint plan is right for models: each plan by itself, then the buffers of the application among them.

    Args:
        models: in the order in which they run.
        joint: from the planner or from a file.

    Returns:
        The models with their plans.

    Raises:
        PlanError: it is not; the text has all problems of the first stage that found some.
    """
    names, wanted = [graph.name for graph in models], [plan.model for plan in joint.plans]
    if names != wanted:
        what = f"the joint plan is for these models, in this order: {', '.join(wanted)}"
        raise PlanError(f"{what}. Given were: {', '.join(names)}. Give the same, in the same order.")
    planned = tuple(validate(graph, plan) for graph, plan in zip(models, joint.plans, strict=True))
    steps = sum(len(plan.steps) for plan in joint.plans)
    for problems in (list(_places(joint, steps)), list(_overlaps(joint))):
        if problems:
            raise PlanError("\n".join([f"the joint plan is wrong. {_AGAIN}", *listed(problems, _SHOWN_PROBLEMS)]))
    return planned


def _places(joint: JointPlan, steps: int) -> Iterator[str]:
    """Each buffer by itself, and the sums."""
    if len(joint.buffers) > _MOST_BUFFERS:
        yield f"it has {len(joint.buffers)} buffers; {_MOST_BUFFERS} are the most"
        return
    if len({plan.target for plan in joint.plans}) > 1:
        yield "its plans are for different targets"
    yield from (f"{plan.model} has a plan with regions" for plan in joint.plans if plan.regions)
    folded = [each.name.upper() for each in joint.buffers]
    for each in joint.buffers:
        if problem := name_problem(each.name):
            yield f"buffer {each.name[:40]!r} has no name. {problem}"
        elif folded.count(each.name.upper()) > 1:
            yield f"two buffers are called {each.name!r}, in upper or lower case"
        if each.size_bytes < 1 or each.offset < 0 or each.offset % BUFFER_ALIGNMENT:
            yield f"buffer {each.name[:40]!r} has {each.size_bytes} bytes at {each.offset}, no multiple of {BUFFER_ALIGNMENT}"
        if not 0 <= each.start < each.end <= steps:
            yield f"buffer {each.name[:40]!r} is needed from step {each.start} to {each.end}, of {steps} steps"
    tops = [each.offset + each.size_bytes for each in joint.buffers]
    top = max([*tops, *(plan.arena_bytes for plan in joint.plans)])
    if joint.arena_bytes != top:
        yield f"it takes {joint.arena_bytes} bytes, but what it places ends at {top}"
    if not 0 <= joint.lower_bound_bytes <= joint.arena_bytes:
        yield f"the lower bound is {joint.lower_bound_bytes} bytes, the memory has {joint.arena_bytes}"


def _overlaps(joint: JointPlan) -> Iterator[str]:
    """No buffer of the application shares bytes with another one, or with one of a model, during a step."""
    for one, other in combinations(joint.buffers, 2):
        both_live = one.start < other.end and other.start < one.end
        if both_live and one.offset < other.offset + other.size_bytes and other.offset < one.offset + one.size_bytes:
            yield f"buffers {one.name!r} and {other.name!r} share bytes"
    first = 0
    for plan in joint.plans:
        facts = [(each.start, each.end, each.offset, each.offset + each.size_bytes) for each in plan.buffers]
        start, end, low, top = np.array(facts, np.int64).reshape(-1, 4).T
        for each in joint.buffers:
            lives = (start + first < each.end) & (end + first > each.start)
            met = lives & (low < each.offset + each.size_bytes) & (top > each.offset) & (top > low)
            if met.any():
                at = int(np.flatnonzero(met)[0])
                step = max(int(start[at]) + first, each.start)
                yield f"buffer {each.name!r} shares bytes with {plan.model} in step {step}"
        first += len(plan.steps)
