"""Saved plans of any contents: a plan, or a `PlanError` that names the field."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import kibi
from kibi.errors import PlanError
from kibi.planner import Plan, validate
from kibi.planner.plan import load_plan
from kibi.planner.regions.file import Region
from tests.planner.changed_fields import fields_of, with_field
from tests.planner.networks import residual
from tests.support.amount import amount

_VALUES: tuple[Any, ...] = (
    None, True, -1, 0, 2**31, 2**53, 2**53 + 1, 2**63, -(2**63), 1.5, 1e308, float("nan"), float("inf"), "", "x", "\ud800",
    "stored", [], [1], [[1]], [None], ["x"], {}, {"a": 1},
)  # fmt: skip


def _saved() -> dict[str, Any]:
    """A saved plan in two regions, so that every field holds something."""
    regions = [Region("fast", 64, 1.0), Region("slow", 1 << 16, 2.5)]
    return json.loads(kibi.plan(residual(), regions=regions, place_weights=False).to_json())  # type: ignore[no-any-return]


def test_every_field_of_a_saved_plan_with_any_value_is_read_or_refused() -> None:
    """A plan with any one field of any type ends in a plan that can be validated or a `PlanError`."""
    saved, graph, read = _saved(), residual(), 0
    for field in [*fields_of(saved)][:: amount(3, 1)]:
        for value in _VALUES:
            try:
                validate(graph, Plan.from_json(json.dumps(with_field(saved, field, value))))
                read += 1
            except PlanError as error:
                assert len(str(error)) < 4096  # noqa: PT017 - success is right, too
    assert read


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda saved: saved | {"external_buffers": 3}, "external_buffers is 3, not a list"),
        (lambda saved: saved | {"external_buffers": ["x"]}, r"external_buffers\[0\] is 'x', not a whole number"),
        (lambda saved: saved | {"external_buffers": [True]}, r"external_buffers\[0\] is True"),
        (lambda saved: saved | {"arena_bytes": 2**53 + 1}, "arena_bytes is 9007199254740993"),
        (lambda saved: saved | {"model": "\ud800"}, "model is"),
        (lambda saved: saved | {"model": "x" * 5000}, "at most 4096 characters"),
        (lambda saved: saved | {"input": "sideways"}, "one of stored, streamed, external"),
        (lambda saved: saved | {"cost_lower_bound": float("nan")}, "NaN is no number"),
        (lambda saved: saved | {"weight_regions": [[1, "a", 2]]}, "3 entries, not 2"),
        (lambda saved: saved | {"buffers": [saved["buffers"][0] | {"shared_by": "x"}]}, "shared_by is 'x', not a list"),
        (lambda saved: saved | {"buffers": [saved["buffers"][0] | {"more": 1}]}, "unknown field 'more'"),
        (lambda _: {"format": 3}, "has no model"),
        (lambda saved: [saved], "not an object"),
        (lambda _: None, "not an object"),
    ],
)
def test_field_of_a_wrong_type_is_named(change: Callable[[dict[str, Any]], object], text: str) -> None:
    """The error says which field it is, what it holds, and what belongs there."""
    with pytest.raises(PlanError, match=text):
        Plan.from_json(json.dumps(change(_saved())))


def _of_format_2(saved: dict[str, Any]) -> dict[str, Any]:
    """A saved plan with the names of format 2."""
    old = {key: value for key, value in saved.items() if key != "external_buffers"}
    old["runs"] = [{"node": x["node"], "first_row": x["first_step"], "rows": x["steps"]} for x in saved["runs"]]
    for side in ("input", "output"):
        old[side] = saved[side].replace("external", "supplied")
    inner = [_of_format_2(each) for each in saved["subgraphs"]]
    return old | {"format": 2, "supplied": saved["external_buffers"], "subgraphs": inner}


@pytest.mark.parametrize("depth", [0, 2])
def test_plan_of_the_format_before_is_read_with_a_warning(depth: int) -> None:
    """Earlier names of fields and values are known, in plans of plans, too."""
    wanted = kibi.plan(residual(), input="external", external_buffers=[1])
    for _ in range(depth):
        wanted = replace(wanted, subgraphs=(wanted,))
    old = json.dumps(_of_format_2(json.loads(wanted.to_json())))
    with pytest.warns(FutureWarning, match="format 2"):
        assert Plan.from_json(old) == wanted


def test_hostile_plan_of_the_format_before_is_refused() -> None:
    """Renaming neither trusts what it renames nor recurses without end."""
    saved = before = _of_format_2(_saved())
    for _ in range(100):
        saved = {**before, "runs": [3, None], "subgraphs": [saved, 1]}
    with pytest.warns(FutureWarning), pytest.raises(PlanError, match="no saved plan"):
        Plan.from_json(json.dumps(saved))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[" * 100_000, "no saved plan"),
        ('{"plan": ' * 100_000, "no saved plan"),
        ('{"format": ' + "9" * 5000 + "}", "no saved plan"),
        ('{"format": 1, "format": 1}', "the key 'format' is there twice"),
        ("", "no saved plan"),
        ("\ufeff{}", "no saved plan"),
        ('"plan"', "not an object"),
        ("Infinity", "Infinity is no number"),
    ],
)
def test_text_that_is_no_plan_is_refused(text: str, message: str) -> None:
    """Nesting, digits and keys are bounded before anything is read of them."""
    with pytest.raises(PlanError, match=message):
        Plan.from_json(text)


def test_plans_in_plans_are_bounded() -> None:
    """A plan holds plans of nested control flow, but not without end."""
    saved = _saved()
    for _ in range(40):
        saved = {**_saved(), "subgraphs": [saved]}
    with pytest.raises(PlanError, match="nested more than 24 deep"):
        Plan.from_json(json.dumps(saved))


@pytest.mark.parametrize("alignment", [24, 1 << 40])
def test_validate_alignment_that_no_memory_has_is_wrong(alignment: int) -> None:
    """An alignment is a power of two that an arena can have, or the plan is refused before an arena is made for it."""
    saved = json.loads(kibi.plan(residual()).to_json())
    saved["buffers"][0] |= {"alignment": alignment, "offset": 0}
    with pytest.raises(PlanError, match="power of two"):
        validate(residual(), Plan.from_json(json.dumps(saved)))


def test_load_plan_of_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    """Bytes that are no UTF-8 are named as such."""
    path = tmp_path / "plan.json"
    path.write_bytes(b"\x80\xfe{\0}\0")
    with pytest.raises(PlanError, match="no text file"):
        load_plan(path)
