"""Names that somebody chose: what they may be in a library, and what is refused."""

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

import kibi
from kibi.codegen import generate
from kibi.errors import InputError, PlanError
from kibi.ir import Graph
from kibi.planner import PlannedModel, validate
from kibi.planner.plan import Plan
from kibi.planner.regions.file import Region, check_regions
from tests.engines.networks import residual_network

_REGIONS = (Region("fast", 1 << 9, 1.0), Region("slow", 1 << 20, 2.0))


@pytest.fixture(scope="module")
def small() -> Graph:
    """A network of convolutions."""
    return residual_network()


@pytest.mark.parametrize(
    "name", ["../../x", "a b", "x;", "", "kibi_x", "string", "all", "int", "_x", "a\n#error", "con", "NULL"]
)
def test_library_of_a_name_that_would_break_it_is_refused(small: Graph, name: str, tmp_path: Path) -> None:
    """Nothing is written, inside of the folder or outside, and the error says what to do."""
    plan = kibi.plan(small, granularity="tensor")
    if name:
        with pytest.raises(InputError, match=r"the library cannot be called .*such as 'my_model'"):
            kibi.compile(small, plan, tmp_path / "in" / "out", name=name)
    with pytest.raises(InputError, match=r"the (library|model) cannot be called"):
        kibi.compile(replace(small, name=name), replace(plan, model=name), tmp_path / "in" / "out")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("names", "library", "file"),
    [
        (("a", "a_weights"), None, "a_weights.h"),
        (("a_weights", "a"), None, "a_weights.h"),
        (("a", "b_models"), "b", "b_models.h"),
        (("a", "A"), None, "A.h"),
    ],
)
def test_file_name_that_is_taken_twice_is_refused(
    small: Graph, names: tuple[str, ...], library: str | None, file: str, tmp_path: Path
) -> None:
    """Two models, or a model and the joint header, never overwrite each other, on systems without upper case neither."""
    plan = kibi.plan(small, granularity="tensor")
    models = [replace(small, name=name) for name in names]
    with pytest.raises(InputError, match=f"two parts of the library would be the file {file}. .*rename its file"):
        kibi.compile(models, [replace(plan, model=name) for name in names], tmp_path / "out", name=library)
    assert not list(tmp_path.iterdir())


def test_library_with_a_name_too_long_for_a_file_is_refused(small: Graph, tmp_path: Path) -> None:
    """Before anything is written."""
    name = "x" * 250
    with pytest.raises(InputError, match="with 260 characters; 255 are allowed"):
        kibi.compile(replace(small, name=name), None, tmp_path / "out")


_INJECTED = "a[9]; int stolen"


def _renamed(record: Any, old: str, new: object) -> Any:
    """A saved plan in which a region has another name wherever it is named."""
    if isinstance(record, dict):
        return {key: _renamed(value, old, new) for key, value in record.items()}
    if isinstance(record, list):
        return [_renamed(value, old, new) for value in record]
    return new if record == old else record


@pytest.mark.parametrize("name", [_INJECTED, "a\n#error", "", "1a", "a*/", "é", "x" * 64, 5, None, ["a"]])
def test_region_name_of_a_saved_plan_follows_the_rule_of_files(small: Graph, name: object) -> None:
    """What no region file may say, no saved plan says; a plan by hand fails where it is checked."""
    plan = kibi.plan(small, regions=_REGIONS, granularity="tensor")
    saved = json.dumps(_renamed(json.loads(plan.to_json()), "fast", name))
    with pytest.raises(PlanError, match="the text is no saved plan"):
        Plan.from_json(saved)
    if isinstance(name, str):
        uses = tuple(replace(use, name=name if use.name == "fast" else use.name) for use in plan.regions)
        buffers = tuple(replace(each, region=name if each.region == "fast" else each.region) for each in plan.buffers)
        forged = replace(plan, regions=uses, buffers=buffers)
        with pytest.raises(PlanError, match="Name it like a variable in C"):
            validate(small, forged)
        with pytest.raises(InputError, match="no part of names in C"):
            generate([PlannedModel.of(small, forged)], kibi.target("host"))


@pytest.mark.parametrize("pair", [("a", "a_bytes"), ("A_ALIGNMENT", "a"), ("a", "A")])
def test_regions_that_need_one_macro_are_refused(pair: tuple[str, str]) -> None:
    """`X_REGION_A_BYTES` is the size of one, and would be the number of the other."""
    with pytest.raises(PlanError, match=r"Give (one of them another name|each a name of its own)"):
        check_regions([Region(name, 1 << 20, 1.0) for name in pair])


def test_saved_plan_comes_back_the_same(small: Graph) -> None:
    """Names of regions that mean something in C are names of regions."""
    regions = (Region("int", 1 << 9, 1.0), Region("main", 1 << 20, 2.0))
    plan = kibi.plan(small, regions=regions, granularity="tensor")
    assert asdict(Plan.from_json(plan.to_json())) == asdict(plan)
    assert "region_main" in generate([PlannedModel.of(small, plan)], kibi.target("host")).example.memory.text
