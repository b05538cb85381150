"""Inputs that arrive row by row, and tensors in the caller's buffers, in the interpreter."""

import numpy as np
import pytest

import kibi
from kibi.dtypes import Array
from kibi.errors import InputError, PlanError
from kibi.ir import Graph
from kibi.planner import Plan, PlannedModel
from kibi.runtime import seeded_inputs
from tests.engines.networks import residual_network, two_input_network

MODELS = {"one": residual_network(), "two": two_input_network()}
each_model = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
each_granularity = pytest.mark.parametrize("granularity", ["tensor", "row"])


def _push_all(interpreter: kibi.Interpreter, inputs: list[Array]) -> None:
    """Hand over every row in the order that is expected."""
    while (expected := interpreter.expected_row) is not None:
        number, row = expected
        kind = interpreter.model.tensors[interpreter.model.inputs[number]].type
        interpreter.push_row(inputs[number].reshape(kind.rows, *kind.row_shape)[row], number)


@each_model
@each_granularity
def test_pushed_rows_and_whole_inputs_give_the_same_bits(model: Graph, granularity: str) -> None:
    """`push_row` and `invoke`, or `run` on the whole arrays: the outputs of a plan that stores its inputs, time after time."""
    plan = kibi.plan(model, granularity=granularity, input="streamed")
    interpreter = kibi.Interpreter(model, plan)
    for seed in range(3):
        inputs = seeded_inputs(model, seed)
        expected = kibi.run(model, None, inputs)
        _push_all(interpreter, inputs)
        for got, want in zip(interpreter.invoke(), expected, strict=True):
            np.testing.assert_array_equal(got, want)
        for got, want in zip(interpreter.run(inputs), expected, strict=True):
            np.testing.assert_array_equal(got, want)


@each_model
@each_granularity
def test_external_tensors_take_no_arena_and_give_the_same_bits(model: Graph, granularity: str) -> None:
    """With inputs and outputs in the caller's buffers no buffer of the plan holds them."""
    stored = kibi.plan(model, granularity=granularity)
    plan = kibi.plan(model, granularity=granularity, input="external", output="external")
    assert plan.arena_bytes <= stored.arena_bytes
    assert not {buffer.tensor for buffer in plan.buffers} & {*model.inputs, *model.outputs}
    inputs = seeded_inputs(model, 3)
    for got, want in zip(kibi.run(model, plan, inputs), kibi.run(model, stored, inputs), strict=True):
        np.testing.assert_array_equal(got, want)


def test_streamed_input_needs_less_than_a_stored_one() -> None:
    """Rows that never lie in the arena all at once are the point of streaming."""
    model = residual_network(height=24)
    stored, streamed = (kibi.plan(model, granularity="row", input=mode) for mode in ("stored", "streamed"))
    assert streamed.arena_bytes < stored.arena_bytes


def test_saved_streaming_plan_comes_back_and_runs() -> None:
    """The saved form keeps how inputs and outputs are handed over."""
    model = residual_network()
    plan = kibi.plan(model, granularity="row", input="streamed", output="external")
    again = Plan.from_json(plan.to_json())
    assert (again, again.input, again.output) == (plan, "streamed", "external")
    assert len(PlannedModel.of(model, again).graph.nodes) == len(model.nodes) + 1


def test_calls_out_of_turn_say_what_is_expected() -> None:
    """Too early, too late, the wrong input, a row of another shape: each has its sentence, and nothing is lost."""
    model = MODELS["two"]
    interpreter = kibi.Interpreter(model, kibi.plan(model, granularity="row", input="streamed"))
    inputs = seeded_inputs(model, 1)
    assert interpreter.expected_row is not None
    first, _ = interpreter.expected_row
    with pytest.raises(InputError, match=f"row 0 of input {first} is missing"):
        interpreter.invoke()
    with pytest.raises(InputError, match=f"expects row 0 of input {first}, not one of input {1 - first}"):
        interpreter.push_row(inputs[1 - first][0, 0], 1 - first)
    with pytest.raises(InputError, match=f"a row of input {first} .* has shape"):
        interpreter.push_row(inputs[first][0, 0, :1], first)
    _push_all(interpreter, inputs)
    with pytest.raises(InputError, match="all rows have come"):
        interpreter.push_row(inputs[first][0, 0], first)
    np.testing.assert_array_equal(interpreter.invoke()[0], kibi.run(model, None, inputs)[0])


def test_reset_forgets_rows_that_were_pushed() -> None:
    """After `reset` the first row is expected again."""
    model = MODELS["one"]
    interpreter = kibi.Interpreter(model, kibi.plan(model, granularity="row", input="streamed"))
    inputs = seeded_inputs(model, 1)
    interpreter.push_row(inputs[0][0, 0])
    assert interpreter.expected_row == (0, 1)
    interpreter.reset()
    assert interpreter.expected_row == (0, 0)
    np.testing.assert_array_equal(interpreter.run(inputs)[0], kibi.run(model, None, inputs)[0])


def test_push_row_on_a_plan_that_stores_is_refused() -> None:
    """The text says which call, or which plan, is meant."""
    model = MODELS["one"]
    interpreter = kibi.Interpreter(model)
    with pytest.raises(InputError, match="this plan stores its inputs"):
        interpreter.push_row(seeded_inputs(model, 0)[0][0, 0])
    with pytest.raises(InputError, match="this plan stores its inputs"):
        interpreter.invoke()


@pytest.mark.parametrize(("wish", "named"), [({"input": "later"}, "later"), ({"output": "streamed"}, "streamed")])
def test_unknown_ways_of_handing_over_are_refused(wish: dict[str, str], named: str) -> None:
    """The text lists the ways that there are."""
    with pytest.raises(PlanError, match=f"cannot be '{named}'. They can be: stored"):
        kibi.plan(MODELS["one"], **wish)  # type: ignore[arg-type]  # wishes are strings


def test_ram_limit_takes_the_fastest_plan_that_fits() -> None:
    """Whole tensors where they fit; rows where only they do; an error with the smallest possible where nothing does."""
    model = residual_network(height=40)
    whole, by_row = (kibi.plan(model, granularity=granularity).arena_bytes for granularity in ("tensor", "row"))
    assert kibi.plan(model, granularity="row", ram=whole).arena_bytes == whole
    assert by_row <= kibi.plan(model, granularity="row", ram=whole - 1).arena_bytes < whole
    fastest = kibi.plan(model, granularity="row", goal="speed")  # whole tensors, and more scratch
    assert len(fastest.runs) == len(model.nodes)
    assert fastest.arena_bytes >= whole
    with pytest.raises(PlanError, match=f"fits {by_row - 1} bytes: the smallest that was found needs {by_row}"):
        kibi.plan(model, granularity="row", ram=by_row - 1)
    with pytest.raises(InputError, match=r"optimized for 'fun'\. It can be for: speed, balanced, flash"):
        kibi.plan(model, goal="fun")
