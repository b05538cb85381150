"""Hostile names in packages: they become neither code nor paths, in any language."""

import re
import tomllib
from dataclasses import replace
from functools import cache

import pytest
import yaml  # type: ignore[import-untyped]  # comes with Dask

import kibi
from kibi.codegen import Library, generate
from kibi.packages import kinds, packaged
from kibi.planner import PlannedModel
from tests.packages.places import sources
from tests.support.amount import amount
from tests.text.hostile import NAMES, named, renamed

_STARTS = range(0, len(NAMES), amount(31, 7))
_C = (".c", ".h", ".cpp", ".ino")
_COMMENT = re.compile(r"(?m)^# .*\n")
_SUMMARY = re.compile(r"made by Kibi of [A-Za-z0-9 ._-]{1,81}")


@cache
def _library(names: tuple[str, ...], start: int) -> Library:
    """The small model whose tensors, operators and file have such names, made by a command with one."""
    planned = sources().model.planned
    graph = replace(named(planned.model, names, start), name=planned.model.name)
    plan = replace(renamed(planned.plan, names, start), model=planned.model.name)
    return generate([PlannedModel.of(graph, plan)], kibi.target("host"), command=names[start % len(names)])


def _without_names(text: str) -> str:
    """A file without comments of CMake's and without the sentence that names the model's file, which has harmless letters alone."""
    return _COMMENT.sub("", _SUMMARY.sub("", text))


@pytest.mark.parametrize("name", [each.name for each in kinds()])
def test_hostile_names_change_no_more_than_one_harmless_sentence(name: str) -> None:
    """Files have the same names; manifests, build files and scripts the same text."""
    plain = packaged(_library(("plain",), 0), name)
    for start in _STARTS:
        hostile = packaged(_library(NAMES, start), name)
        assert hostile.files.keys() == plain.files.keys()
        assert hostile.data.keys() == plain.data.keys()
        for path, text in hostile.files.items():
            if path.endswith(_C) or path in {each.path for each in hostile.records}:
                continue  # tests/text/test_every_writer.py compares them
            assert _without_names(text) == _without_names(plain.files[path])
            assert all(character in "\n\t" or " " <= character <= "~" for character in text)


@pytest.mark.parametrize("start", _STARTS)
def test_manifests_of_hostile_names_are_read(start: int) -> None:
    """YAML and TOML with any name of a file in the description."""
    library = _library(NAMES, start)
    component = yaml.safe_load(packaged(library, "esp-idf").files["idf_component.yml"])
    assert component["description"].startswith("A neural network in plain C, made by Kibi of ")
    project = tomllib.loads(packaged(library, "python").files["pyproject.toml"])
    crate = tomllib.loads(packaged(library, "rust").files["Cargo.toml"])
    assert project["project"]["description"] == crate["package"]["description"] == component["description"]
