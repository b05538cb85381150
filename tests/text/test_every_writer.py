"""Every writer with hostile names: what comes out compiles and parses, and C without its comments is the same for any names."""

import csv
import io
import json
import re
import subprocess
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from itertools import dropwhile
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

import kibi
from kibi.codegen import Library, generate
from kibi.eager.memory import Kind, LinearArena, Recording
from kibi.frontends.tflite import parse_tflite
from kibi.ir import Graph, Signature
from kibi.packages import packaged
from kibi.planner import PlannedModel
from kibi.planner.ascii_map import memory_ascii
from kibi.planner.plan import Plan
from kibi.planner.regions.file import Region
from kibi.reports.fences import fences
from kibi.reports.fences_svg import fences_svg
from kibi.reports.measurement import Measurement, OperatorCost
from kibi.reports.measurement_tables import measurement_csv, measurement_markdown
from kibi.reports.memory_comparison_svg import memory_comparison_svg
from kibi.reports.memory_picture import memory_picture
from kibi.reports.memory_svg import memory_svg
from kibi.reports.pareto import Choice
from kibi.reports.pareto_svg import pareto_svg
from kibi.reports.plan_comparison import ComparedPlan
from kibi.reports.plan_record import plan_record
from kibi.reports.recording_svg import recording_svg
from kibi.sweeps.best import Budget, Objective
from kibi.sweeps.picture import sweep_svg
from kibi.text.json import json_text
from kibi.toolchain import compile_objects
from tests.engines.networks import residual_network, two_input_network
from tests.support.choices import Seeded
from tests.support.operator_models import OPERATOR_MODELS
from tests.sweeps.work import row
from tests.text.hostile import COMMENT, NAMES, bare, named, renamed
from tests.toolchain.tools import check_gcc

_REGIONS = (
    Region("int", 1 << 9, 1.0, holds_weights=True),
    Region("main", 1 << 20, 2.0, holds_weights=True),
    Region("NULL", 1 << 20, 3.0),
)
"""Names that mean something in C: they are parts of names there."""
_MEASURED = Measurement(
    *("m", "t"), *(1,) * 10, cycles_estimate=None, calls_instructions=0, calls_cycles_estimate=None, bit_exact=True,
    oracle=None, ops=(), seeds=(0,), varies_with_inputs=False, instructions_min=1, stack_bytes_min=1, not_executed=(),
)  # fmt: skip
_STARTS = range(0, len(NAMES), 13)
_PLAIN = ("plain",)
_C_TOKEN = re.compile(r"[A-Za-z_]\w*|\S")
_OF_ROWS = re.compile(r"(plan_)?[a-z][a-z0-9_]{0,50}_(row|rows|offsets|offsets_places)")
_STRICT = ("-std=c99", "-Wall", "-Wextra", "-Wtrigraphs", "-Wcomment", "-Wpedantic", "-Werror", "-fsyntax-only")


def _graph(operator: str, seed: int = 0) -> Graph:
    return parse_tflite(OPERATOR_MODELS[operator](Seeded(seed)).model, f"{operator.lower()}.tflite")


@cache
def _planned() -> Mapping[str, tuple[Graph, Plan]]:
    """A graph and its plan for each form that a library has."""
    small, two, body, state = residual_network(), two_input_network(), _graph("IF"), _graph("ASSIGN_VARIABLE")
    made = {
        "whole": (small, kibi.plan(small, granularity="tensor")),
        "rows": (small, kibi.plan(small)),
        "streamed": (two, kibi.plan(two, input="streamed")),
        "external": (small, kibi.plan(small, input="external", output="external", granularity="tensor")),
        "regions": (small, kibi.plan(small, regions=_REGIONS, place_weights=True, granularity="tensor")),
        "subgraphs": (body, kibi.plan(body)),
        "state": (state, kibi.plan(state)),
    }
    return {form: (replace(graph, name=form), replace(plan, model=form)) for form, (graph, plan) in made.items()}


@cache
def _libraries(names: tuple[str, ...], start: int) -> Mapping[str, Library]:
    """A library of each form, and one of several models, whose texts from outside are such names."""
    target, command = kibi.target("host"), names[start % len(names)]
    made = {
        form: (named(graph, names, start), renamed(plan, names, start)) for form, (graph, plan) in _planned().items()
    }
    planned = {form: PlannedModel.of(graph, plan) for form, (graph, plan) in made.items()}
    libraries = {form: packaged(generate([each], target, command=command), "cmake") for form, each in planned.items()}
    graph, plan = made["whole"]
    entry = Signature(names[start % len(names)], 0, (), ())
    libraries["signature"] = generate([PlannedModel.of(replace(graph, name="entry", signature=entry), plan)], target)
    return {**libraries, "several": generate(list(planned.values())[:4], target, name="several", command=command)}


def _check_same_but_for_rows(found: str, expected: str) -> None:
    """The same C, in which what is named after tensors has other names, each always the same one."""
    pairs = set(zip(_C_TOKEN.findall(found), _C_TOKEN.findall(expected), strict=True))
    different = {pair for pair in pairs if pair[0] != pair[1]}
    assert len({name for name, _ in pairs}) == len({name for _, name in pairs}) == len(pairs)
    for name, other in different:
        assert _OF_ROWS.fullmatch(name)
        assert _OF_ROWS.fullmatch(other)


def _without_first_comments(text: str) -> list[str]:
    """The lines of a build file, or of a licence, after the comments that say where it is from."""
    return list(dropwhile(lambda line: line.startswith("# "), text.split("\n")))


@pytest.mark.share(2, part=0)
@pytest.mark.parametrize("start", _STARTS)
def test_c_without_comments_is_the_same_for_any_names(start: int) -> None:
    """Names of tensors and files, and commands, reach comments alone, but for names of rows; JSON and CMake keep their form."""
    for form, plain in _libraries(_PLAIN, 0).items():
        hostile = _libraries(NAMES, start)[form]
        assert hostile.files.keys() == plain.files.keys()
        for file, text in hostile.files.items():
            if file.endswith((".c", ".h")):
                _check_same_but_for_rows(bare(text), bare(plain.files[file]))
            elif file.endswith(".json"):
                assert json.loads(text).keys() == json.loads(plain.files[file]).keys()
                assert Plan.from_json(text).runs
            else:
                kept = [_without_first_comments(each) for each in (text, plain.files[file])]
                assert kept[0] == kept[1]


def test_libraries_of_hostile_names_compile_without_a_warning(tmp_path: Path) -> None:
    """All forms at once, with warnings of comments and trigraphs as errors, and a region that is called `int`."""
    check_gcc()
    for number, start in enumerate(_STARTS[::4]):
        folder = tmp_path / str(number)
        (folder / "kernels").mkdir(parents=True)
        for form, library in _libraries(NAMES, start).items():
            for file, text in library.files.items():
                name = f"{form}_main.c" if file == "examples/example_main.c" else file
                (folder / name).write_text(text, encoding="utf-8")
        command = ["gcc", *_STRICT, f"-I{folder}", *map(str, sorted(folder.glob("*.c")))]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr


def test_comments_of_hostile_names_give_no_warning_anywhere(tmp_path: Path) -> None:
    """All comments of all forms in one file, for the compiler that comes with Kibi, which warns of other things."""
    comments = {
        found
        for start in _STARTS
        for library in _libraries(NAMES, start).values()
        for file, text in library.files.items()
        if file.endswith((".c", ".h"))
        for found in COMMENT.findall(text)
    }
    source = tmp_path / "comments.c"
    source.write_text("\n".join([*sorted(comments), "int only;\n"]), encoding="utf-8")
    compile_objects([source], kibi.target("host"), flags=("-Wtrigraphs", "-Wcomment"))
    assert len(comments) > len(NAMES)


_CHOICE = Choice("a", "s", 100, 100, True, 200, 300, 400, None, 0.5)
_ROW = row("plain", 1000, 2000, 300)


def _drawings(names: tuple[str, ...], start: int) -> dict[str, str]:
    graph, plan = _planned()["rows"]
    regions = _planned()["regions"]
    hostile, hostile_plan = named(graph, names, start), renamed(plan, names, start)
    hostile = replace(hostile, name=names[start % len(names)])
    placed, placed_plan = named(regions[0], names, start), renamed(regions[1], names, start)
    recording = Recording(LinearArena(256))
    recording.allocate(16, Kind.SCRATCH)
    both = [
        ComparedPlan(PlannedModel.of(hostile, hostile_plan), names[start % len(names)]),
        ComparedPlan(PlannedModel.of(placed, placed_plan), "b"),
    ]
    return {
        "plan": memory_svg(PlannedModel.of(hostile, hostile_plan)),
        "regions": memory_svg(PlannedModel.of(placed, placed_plan)),
        "comparison": memory_comparison_svg(both),
        "titled": memory_comparison_svg(both, names[start % len(names)]),
        "sweep": sweep_svg([replace(_ROW, model=names[start % len(names)]), _ROW], Objective(), Budget()),
        "pareto": pareto_svg(hostile.name, "host", [replace(_CHOICE, variant=names[start % len(names)]), _CHOICE]),
        "fences": fences_svg(hostile.name, fences(PlannedModel.of(hostile, hostile_plan)), 1000),
        "recording": recording_svg(recording, names[start % len(names)]),
    }


def _tags(svg: str) -> list[str]:
    return [each.tag for each in ET.fromstring(svg).iter()]  # noqa: S314 - made here


@pytest.mark.parametrize("start", _STARTS)
def test_pictures_of_hostile_names_have_the_same_elements(start: int) -> None:
    """An XML parser finds what it finds with plain names; labels differ, and some have no room."""
    plain = _drawings(_PLAIN, 0)
    for kind, svg in _drawings(NAMES, start).items():
        svg.encode("utf-8")
        assert set(_tags(svg)) == set(_tags(plain[kind])), kind
        assert "\x1b" not in svg
        assert "\u202e" not in svg


def test_measurements_as_tables_hold_hostile_names() -> None:
    """A line for each operator in both; cells that read back as visible text and begin no formula; no markup in Markdown."""
    costs = tuple(OperatorCost(name, name, 1, 2, 3) for name in (*NAMES, "=1+1", "+1", "-1", "@SUM(A1)"))
    found = replace(_MEASURED, model=NAMES[0], target=NAMES[-1], ops=costs, instructions=2 * len(costs))
    rows = list(csv.reader(io.StringIO(measurement_csv(found).text)))
    assert {len(each) for each in rows} == {20}
    assert [each[3] for each in rows[1:-2]] == [each[4] for each in rows[1:-2]]
    for cells in rows[1:]:
        assert all(cell.isprintable() and not cell.startswith(("=", "+", "-", "@")) for cell in cells)
    lines = measurement_markdown(found).split("\n")
    table = [line for line in lines if " | 1 | 2 | 2.00 | " in line]
    assert len(table) == len(costs)
    for line in table:
        assert len(re.findall(r"(?<!\\)\|", line)) == 8
        assert line.isprintable()


@pytest.mark.parametrize("start", _STARTS)
@pytest.mark.parametrize("form", ["rows", "regions", "subgraphs"])
def test_texts_for_people_and_programs_hold_hostile_names(form: str, start: int) -> None:
    """The map in characters, the picture of the terminal, the record: visible lines, and JSON that reads back."""
    graph, plan = _planned()[form]
    hostile, hostile_plan = named(graph, NAMES, start), renamed(plan, NAMES, start)
    lines = memory_ascii(PlannedModel.of(hostile, hostile_plan)).split("\n")
    assert len(lines) == len(memory_ascii(PlannedModel.of(graph, plan)).split("\n"))
    assert all(line.isprintable() for line in lines)
    picture = memory_picture(PlannedModel.of(hostile, hostile_plan), width=100).plain
    assert all(line.isprintable() for line in picture.split("\n"))
    record = json_text(plan_record(PlannedModel.of(hostile, hostile_plan))).text
    assert record.isascii()
    assert Plan.from_json(record).runs == plan.runs
