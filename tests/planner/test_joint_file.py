"""Joint plans from files, of any contents: a plan that fits its models, or a `PlanError` that says what is wrong."""

import json
from collections.abc import Callable
from dataclasses import asdict, replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import kibi
from kibi.errors import KibiError, PlanError
from kibi.planner import Plan
from kibi.planner.joint_file import joint_plan_of, load_plans, validate_joint
from kibi.planner.plan import FORMAT
from kibi.planner.together import ApplicationBuffer, JointPlan, PlacedBuffer, plan_together
from tests.engines.networks import pooled_network
from tests.planner.changed_fields import fields_of, with_field
from tests.planner.networks import residual
from tests.support.amount import amount

_MODELS = (residual(), pooled_network("MEAN"))
_VALUES: tuple[Any, ...] = (
    None, True, -1, 0, 1, 2**31, 2**53, 2**63, 1.5, float("nan"), "", "x", "int main", "*/", "\ud800", [], [1], [[1]], {}, {"a": 1},
)  # fmt: skip


@cache
def _joint() -> JointPlan:
    buffers = [ApplicationBuffer.of(text) for text in ("rx:30@0.3-0.6", "tx:9", "late:40@1.5-2")]
    return plan_together(_MODELS, [kibi.plan(model) for model in _MODELS], buffers)


def _saved() -> dict[str, Any]:
    joint = _joint()
    plans = [json.loads(plan.to_json()) for plan in joint.plans]
    record = asdict(replace(joint, plans=()))
    return json.loads(json.dumps({**record, "format": FORMAT, "plans": plans}))  # type: ignore[no-any-return]


def test_joint_plan_that_was_saved_reads_back(tmp_path: Path) -> None:
    """All of it, and a plan of one model by the same function."""
    path = tmp_path / "joint.json"
    path.write_text(json.dumps(_saved()), encoding="utf-8")
    assert load_plans(path) == _joint()
    assert [each.plan for each in validate_joint(_MODELS, _joint())] == list(_joint().plans)
    path.write_text(_joint().plans[0].to_json(), encoding="utf-8")
    assert load_plans(path) == _joint().plans[0]


def test_every_field_of_a_joint_plan_with_any_value_is_read_or_refused(tmp_path: Path) -> None:
    """Whatever is read and found right is written as C without a word of its own."""
    saved, read = _saved(), 0
    for number, field in enumerate([*fields_of(saved)][:: amount(3, 1)]):
        for value in _VALUES:
            try:
                joint = joint_plan_of(with_field(saved, field, value))
                validate_joint(_MODELS, joint)
                read += 1
                if field[0] != "plans" or number % 7 == 0:
                    kibi.compile(_MODELS, joint, tmp_path / "made")
            except KibiError as error:
                assert len(str(error)) < 8192  # noqa: PT017 - success is right, too
    assert read


def _with(**changes: object) -> Callable[[JointPlan], JointPlan]:
    """Gives a joint plan a first buffer that is changed."""

    def changed(joint: JointPlan) -> JointPlan:
        first = replace(joint.buffers[0], **changes)  # type: ignore[arg-type]  # of any type
        return replace(joint, buffers=(first, *joint.buffers[1:]))

    return changed


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (_with(name="a b"), "has no name"),
        (_with(name="é"), "has no name"),
        (_with(name="TX"), "two buffers are called 'T"),
        (_with(size_bytes=0), "has 0 bytes"),
        (_with(offset=4), "no multiple of 8"),
        (_with(offset=-8), "no multiple of 8"),
        (_with(start=5, end=5), "needed from step 5 to 5"),
        (_with(end=10**6), "needed from step"),
        (_with(size_bytes=1 << 20), "ends at"),
        (lambda joint: _with(offset=joint.buffers[1].offset, size_bytes=8)(joint), "share bytes"),
        (lambda joint: replace(joint, arena_bytes=joint.arena_bytes + 1), "ends at"),
        (lambda joint: replace(joint, lower_bound_bytes=joint.arena_bytes + 1), "lower bound"),
        (
            lambda joint: replace(joint, plans=joint.plans[:1]),
            "is for these models, in this order: net. Given were: net, pooled",
        ),
        (lambda joint: replace(joint, plans=joint.plans[::-1]), "in this order: pooled, net. Given"),
        (lambda joint: replace(joint, buffers=(PlacedBuffer("x", 8, 0, 0, 1),) * 300), "300 buffers"),
    ],
)
def test_joint_plan_that_is_wrong_is_refused(change: Callable[[JointPlan], JointPlan], why: str) -> None:
    """The error says what, and how to make it again."""
    with pytest.raises(PlanError, match=why):
        validate_joint(_MODELS, change(_joint()))


def test_buffer_on_bytes_that_a_model_needs_in_one_step_is_refused() -> None:
    """The first such step is named; a step earlier, the plan is right."""
    joint = _joint()
    other = max(joint.plans[0].buffers, key=lambda each: each.start)
    at = -(-other.offset // 8) * 8
    changed = replace(joint, buffers=(PlacedBuffer("x", 1, at, other.start, other.start + 1),))
    top = max(plan.arena_bytes for plan in joint.plans)
    with pytest.raises(PlanError, match=f"shares bytes with {_MODELS[0].name} in step {other.start}"):
        validate_joint(_MODELS, replace(changed, arena_bytes=max(top, at + 1), lower_bound_bytes=0))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('{"plans": []}', "not of format"),
        (f'{{"format": {FORMAT}, "plans": []}}', "no list of 1 to 64 plans"),
        (f'{{"format": {FORMAT}, "plans": [{{}}]}}', "no arena_bytes"),
        ("[", "no saved plan"),
        ("3", "no saved plan"),
    ],
)
def test_text_that_is_no_joint_plan_is_refused(text: str, why: str, tmp_path: Path) -> None:
    """In words; and a joint plan where one of one model is wanted."""
    path = tmp_path / "joint.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(PlanError, match=why):
        load_plans(path)
    with pytest.raises(PlanError, match="joint plan of several models"):
        Plan.from_json(json.dumps(_saved()))
