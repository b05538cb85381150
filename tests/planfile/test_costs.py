"""What plan files cost beside generated C: the table of the page, measured."""

import re
from pathlib import Path

import pytest

import kibi
from kibi.engines.core_device import core_image
from kibi.planfile.reader import PlanFile
from kibi.planfile.writer import plan_file
from kibi.planner import PlannedModel
from tests.docs.documents import DOCS
from tests.support import zoo
from tests.support.amount import sample

_LINE = re.compile(r"^\| (\w+) \| (\d\.\d{3}) \| (\d+) \| ([\d,]+) \|$", re.MULTILINE)
_TABLE = [(line[1], line[0]) for line in _LINE.finditer((DOCS / "plan-file.md").read_text("utf-8"))]
"""Each model of the table, and its line."""
_PAIR = re.compile(r"^\| (\w+), (\w+) \| ([\d,]+) \| ([\d,]+) \|$", re.MULTILINE)
_PAIRS = [(*line.groups()[:2], line[0]) for line in _PAIR.finditer((DOCS / "plan-file.md").read_text("utf-8"))]
"""The models of each pair of the table below it, and its line."""


@zoo.requires_zoo
@pytest.mark.parametrize(("name", "line"), sample(_TABLE, _TABLE[3:4]))
def test_costs_are_those_of_the_table(name: str, line: str, tmp_path: Path) -> None:
    """Times the instructions, and bytes more of stack and of flash."""
    graph = kibi.simplify(kibi.load(zoo.catalog()[name].path))
    plan = kibi.plan(graph, target="cortex-m4")
    own, file = kibi.measure(kibi.compile(graph, plan, tmp_path)), kibi.measure_plan(graph, plan)
    assert file.arena_bytes == own.arena_bytes
    times, stack = file.instructions / own.instructions, file.stack_bytes - own.stack_bytes
    assert line == f"| {name} | {times:.3f} | {stack} | {file.flash_bytes - own.flash_bytes:,} |"


@zoo.requires_zoo
@pytest.mark.slow
@pytest.mark.parametrize(("one", "other", "line"), sample(_PAIRS, _PAIRS[:1]))
def test_models_that_share_their_kernels_take_about_as_much_in_one_core(
    one: str, other: str, line: str, tmp_path: Path
) -> None:
    """A core that opens files, describes their ends and runs them, and both files, beside both libraries."""
    graphs = [kibi.simplify(kibi.load(zoo.catalog()[name].path)) for name in (one, other)]
    plans = [kibi.plan(graph, target="cortex-m4") for graph in graphs]
    own = sum(
        kibi.measure(kibi.compile(graph, plan, tmp_path / graph.name)).flash_bytes
        for graph, plan in zip(graphs, plans, strict=True)
    )
    files = [
        PlanFile(plan_file(PlannedModel.of(graph, plan), with_names=False))
        for graph, plan in zip(graphs, plans, strict=True)
    ]
    assert not any(file.state_bytes for file in files)
    kernels, parts = (frozenset().union(*(getattr(file, what) for file in files)) for what in ("kernels", "parts"))
    functions = ("open_trusted", "input", "output", "invoke")
    core = core_image(sorted(kernels), kibi.target("cortex-m4"), parts=parts, functions=functions)
    found = core.code_bytes + sum(len(file.data) for file in files)
    assert line == f"| {one}, {other} | {found:,} | {own:,} |"
    assert -2_000 <= found - own <= 3_500
