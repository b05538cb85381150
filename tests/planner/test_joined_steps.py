"""Copies of rows that are stored one after another: one step for all of them."""

from dataclasses import replace

import numpy as np
import pytest

import kibi
from kibi.engines.core import CoreEngine, core_library
from kibi.errors import PlanError
from kibi.frontends.text import parse_text
from kibi.ir import Graph
from kibi.planner import Granularity, Plan, Run, plan, validate
from kibi.runtime import Interpreter, seeded_inputs
from kibi.targets import target

_WEIGHTS = ", ".join(str(number % 7 - 3) for number in range(16 * 256))
_NET = f"""
graph "copies" from "text" (%0) -> (%8) {{
  %0 "x": s8[1, 4, 2, 8] (scale 0.5, zero 0)
  %1 "axis": s32[1] = [3]
  %2 "filter": s8[256, 1, 2, 8] (scale 0.0625, zero 0) = [{_WEIGHTS}]
  %3 "relu": s8[1, 4, 2, 8] (scale 0.5, zero 0) = RELU #0 (input %0)
  %4 "low": s8[1, 4, 2, 4] (scale 0.5, zero 0) = SPLIT #1 (input %3, axis %1) {{part 0, parts 2}}
  %5 "high": s8[1, 4, 2, 4] (scale 0.5, zero 0) = SPLIT #1 (input %3, axis %1) {{part 1, parts 2}}
  %6 "turned": s8[1, 4, 2, 8] (scale 0.5, zero 0) = CONCATENATION #2 (input0 %5, input1 %4) {{axis 3}}
  %7 "twice": s8[1, 8, 2, 8] (scale 0.5, zero 0) = CONCATENATION #3 (input0 %6, input1 %0) {{axis 1}}
  %8 "y": s8[1, 8, 1, 256] (scale 1, zero 0) = CONV_2D #4 (input %7, filter %2)
}}
"""


def _planned(granularity: Granularity = Granularity.TENSOR) -> tuple[Graph, Plan]:
    graph = parse_text(_NET, "copies")
    return graph, plan(graph, target("cortex-m4"), granularity=granularity)


def _separate(graph: Graph, made: Plan) -> Plan:
    """The plan of the same order whose steps are not joined."""
    runs = [Run(node, 0, view.steps) for node, view in enumerate(graph.views)]
    return plan(graph, target("cortex-m4"), runs=runs, kernels=made.kernels)


def test_copies_have_one_step_each() -> None:
    """RELU and CONV_2D keep a step for each row: they compute."""
    graph, made = _planned()
    assert made.joined == (1, 2, 3, 4)
    assert {run.node: run.steps for run in made.runs} == {0: 4, 1: 1, 2: 1, 3: 1, 4: 1, 5: 8}
    assert [view.steps for view in graph.views] == [4, 4, 4, 4, 8, 8]


def test_arena_stays_as_it_is() -> None:
    """Bytes stay where they are, and live from the one step on that makes them."""
    graph, made = _planned()
    validate(graph, made)
    separate = _separate(graph, made)
    assert separate.joined == ()
    assert made.arena_bytes == separate.arena_bytes
    assert made.lower_bound_bytes == separate.lower_bound_bytes


@pytest.mark.parametrize("granularity", list(Granularity))
def test_all_engines_give_the_same_bits(granularity: Granularity) -> None:
    """Python, and a plan file on NumPy and in C, as without joined steps."""
    graph, made = _planned(granularity)
    file = kibi.compile_plan(graph, made)
    separate, joined = Interpreter(graph, _separate(graph, made)), Interpreter(graph, made)
    opened = CoreEngine(file, library=core_library(file.kernels)), kibi.open_plan(file, engine="numpy")
    for seed in range(3):
        inputs = seeded_inputs(graph, seed)
        wanted = separate.run(inputs)
        for found in (joined.run(inputs), *(each.run(inputs) for each in opened)):
            np.testing.assert_array_equal(found[0], wanted[0])


def test_saved_plan_has_joined_steps() -> None:
    """A plan is for the steps that it names."""
    graph, made = _planned()
    assert Plan.from_json(made.to_json()) == made
    validate(graph, Plan.from_json(made.to_json()))


@pytest.mark.parametrize("node", [0, 5, 6, -1])
def test_plan_that_joins_what_cannot_be_is_refused(node: int) -> None:
    """A node that computes, and nodes that there are not."""
    graph, made = _planned()
    with pytest.raises(PlanError, match="does not make its rows in one step"):
        validate(graph, replace(made, joined=(node,)))


def test_rows_that_are_apart_are_found_by_the_validator() -> None:
    """A kernel gets a pointer to the first row alone."""
    graph, made = _planned()
    source, end = next(each for each in made.buffers if each.tensor == 6), made.arena_bytes
    halves = (
        replace(source, rows=2, size_bytes=32, offset=end),
        replace(source, first_row=2, rows=2, size_bytes=32, offset=end + 33),
    )
    buffers = (*(each for each in made.buffers if each is not source), *halves)
    wrong = replace(made, buffers=buffers, arena_bytes=end + 65, proven_optimal=False)
    with pytest.raises(PlanError, match="'turned' are read together but are apart"):
        validate(graph, wrong)


def test_joined_step_is_no_longer_than_the_longest() -> None:
    """So slices of one step take no more than without: where nothing computes much, copies keep their steps."""
    text = _NET.replace("CONV_2D #4 (input %7, filter %2)", "RELU6 #4 (input %7)").replace(
        '"y": s8[1, 8, 1, 256] (scale 1, zero 0)', '"y": s8[1, 8, 2, 8] (scale 0.5, zero 0)'
    )
    graph = parse_text(text, "copies")
    made = plan(graph, target("cortex-m4"))
    assert made.joined == ()
    assert {run.node: run.steps for run in made.runs} == {0: 4, 1: 4, 2: 4, 3: 4, 4: 8, 5: 8}


def test_order_that_is_given_keeps_its_steps() -> None:
    """Who says the order says how many steps it has."""
    graph, _ = _planned()
    runs = [Run(node, 0, view.steps) for node, view in enumerate(graph.views)]
    assert plan(graph, target("cortex-m4"), runs=runs).runs == tuple(runs)


def _moving(core: str, channels: int) -> Plan:
    """The plan of a network that moves 64 rows of a variable along, and adds as many products up in one step."""
    weights, first = (", ".join(str(number % 7 - 3) for number in range(64 * channels)) for _ in range(2))
    text = f"""
graph "moving" from "text" (%0) -> (%5) {{
  %0 "x": s8[1, 1, 1, {channels}] (scale 0.5, zero 0)
  %1 "past": s8[1, 64, 1, {channels}] (scale 0.5, zero 0) variable initial [{first}]
  %2 "filter": s8[1, {64 * channels}] (scale 0.0625, zero 0) = [{weights}]
  %3 "next": s8[1, 64, 1, {channels}] (scale 0.5, zero 0) updates %1 = CONCATENATION #0 (input0 %1, input1 %0) {{axis 1, skip 1}}
  %5 "y": s8[1, 1] (scale 16, zero 0) = FULLY_CONNECTED #1 (input %3, filter %2)
}}
""".replace("%5", "%4")
    graph = parse_text(text, "moving")
    made = plan(graph, target(core))
    validate(graph, made)
    return made


def test_words_are_moved_in_one_step_where_the_core_copies_several_at_once() -> None:
    """A sum of 1,024 products takes longer than to move 1,024 bytes word by word, but not byte by byte."""
    assert _moving("cortex-m4", 16).joined == (0,)
    assert _moving("cortex-m4", 15).joined == ()
    assert _moving("cortex-m3", 16).joined == (0,)
    assert _moving("cortex-m0plus", 16).joined == ()
