"""Saved plans: what is read back is checked."""

import pytest

import kibi
from kibi.errors import PlanError
from kibi.planner import Plan
from tests.planner.networks import residual


@pytest.mark.parametrize(
    ("old", "new", "text"),
    [
        ('"offset": 0', '"offset": "0"', "offset is '0'"),
        ('"arena_bytes": ', '"arena_bytes": "x", "was": ', "arena_bytes is 'x'"),
        ('"format": 3', '"format": 1', "not of format 3"),
        ('"runs"', '"walks"', "runs"),
        ("{", "", "no saved plan"),
    ],
)
def test_from_json_refuses_what_is_no_plan(old: str, new: str, text: str) -> None:
    """A field of a wrong type is a wrong plan now, not a crash later."""
    saved = kibi.plan(residual()).to_json()
    assert old in saved
    with pytest.raises(PlanError, match=text):
        Plan.from_json(saved.replace(old, new, 1))


def test_from_json_gives_the_plan_back() -> None:
    """What was saved is what is read."""
    plan = kibi.plan(residual())
    assert Plan.from_json(plan.to_json()) == plan
