"""Control flow inside of control flow: how deep it may be nested, and what is said of more."""

import numpy as np
import pytest

import kibi
from kibi.codegen import generate
from kibi.dtypes import DType
from kibi.frontends.tflite import parse_tflite
from kibi.frontends.tflite.builder import ModelBuilder
from kibi.planner import PlannedModel, validate
from kibi.planner.plan import Plan
from kibi.reports.inspection import inspect
from kibi.runtime import Interpreter, seeded_inputs
from tests.frontends.models import problems_of

_DEEPEST = 15


def _chain(count: int, *, is_shared: bool = False) -> bytes:
    """IF nested that many times: each first branch holds the next IF, or both do; the innermost branches are RELU."""
    b = ModelBuilder()
    for number in range(count):
        condition, x = b.input([1], DType.BOOL), b.input([1, 4], DType.S8, 0.5, 0)
        y = b.tensor([1, 4], DType.S8, 0.5, 0)
        inner = number + 1 if number < count - 1 else count
        numbers = {"then_subgraph_index": inner, "else_subgraph_index": inner if is_shared else count}
        b.operator("IF", [condition, condition, x], [y], numbers)
        b.end_subgraph([y])
    b.input([1], DType.BOOL)
    x, y = b.input([1, 4], DType.S8, 0.5, 0), b.tensor([1, 4], DType.S8, 0.5, 0)
    b.operator("RELU", [x], [y])
    return b.finish([y])


def test_control_flow_nested_as_deep_as_may_be_does_all_that_models_do() -> None:
    """IFs that are nested 15 deep are loaded, simplified, planned, saved, run and written as C within Python's usual stack."""
    graph = kibi.simplify(parse_tflite(_chain(_DEEPEST), "deep.tflite"))
    plan = kibi.plan(graph)
    validate(graph, Plan.from_json(plan.to_json()))
    inputs = seeded_inputs(graph, 0)
    assert np.array_equal(Interpreter(graph, plan).run(inputs)[0], np.maximum(inputs[1], 0))
    assert generate([PlannedModel.of(graph, plan)], kibi.target("cortex-m4")).files
    assert inspect(graph).operators
    assert graph == kibi.simplify(parse_tflite(_chain(_DEEPEST), "deep.tflite"))


@pytest.mark.parametrize("count", [_DEEPEST + 1, 200, 2000])
def test_control_flow_nested_deeper_is_refused_at_load(count: int) -> None:
    """IFs that are nested deeper end in one problem that says how deep they may be."""
    (problem,) = problems_of(_chain(count))
    assert f"nested more than {_DEEPEST} deep" in problem.what


def test_subgraphs_that_are_used_again_count_with_all_their_levels() -> None:
    """A subgraph that was imported already is not a way around the bound."""
    assert "nested more" in problems_of(_chain(_DEEPEST + 1, is_shared=True))[0].what


def test_subgraph_with_problems_that_is_used_twice_is_described_once() -> None:
    """The second use says where the problems are, and neither that the subgraph calls itself nor all of them again."""
    b = ModelBuilder()
    condition, x = b.input([1], DType.BOOL), b.input([1, 4], DType.S8, 0.5, 0)
    y, z = (b.tensor([1, 4], DType.S8, 0.5, 0) for _ in range(2))
    b.operator("IF", [condition, x], [y], then_subgraph_index=1, else_subgraph_index=1)
    b.operator("IF", [condition, y], [z], then_subgraph_index=1, else_subgraph_index=1)
    b.end_subgraph([z])
    x, y = b.input([1, 4], DType.S8, 0.5, 0), b.tensor([1, 4], DType.S8, 0.5, 0)
    b.operator("RNN", [x], [y])
    texts = [problem.what for problem in problems_of(b.finish([y]))]
    assert sum("RNN is not supported" in text for text in texts) == 1
    assert sum("listed where it is used first" in text for text in texts) == 1
