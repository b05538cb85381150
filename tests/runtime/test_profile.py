"""Profiles of operators: labels, kernels, steps, ticks."""

from itertools import count, groupby
from typing import Any

import pytest

import kibi
from kibi.errors import InputError
from kibi.runtime import seeded_inputs
from kibi.runtime.profiling import OperatorRun
from tests.engines.networks import residual_network, two_input_network

MODELS = {"residual": residual_network(), "two inputs": two_input_network()}


@pytest.mark.parametrize("mode", ["stored", "streamed"])
@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_profile_has_every_operator_with_its_kernel_steps_and_ticks(model: kibi.Graph, mode: str) -> None:
    """A clock that ticks once for each look: each step takes one tick. The callback hears of the steps in the plan's order."""
    interpreter = kibi.Interpreter(model, kibi.plan(model, input=mode))
    heard: list[OperatorRun] = []
    inputs = seeded_inputs(model, 0)
    ticks = count()
    with interpreter.profile(heard.append, clock=lambda: next(ticks)) as profile:
        outputs = interpreter.run(inputs)
    graph = interpreter.model
    assert [each.number for each in profile.operators] == list(range(len(graph.nodes)))
    for each, view, call in zip(profile.operators, graph.views, graph.calls, strict=True):
        assert (each.label, each.kernel, each.steps, each.ticks) == (
            view.node.label,
            call.kernel,
            view.steps,
            view.steps,
        )
    assert profile.ticks == len(interpreter.plan.steps)
    runs = [(node, len(list(steps))) for node, steps in groupby(node for node, _ in interpreter.plan.steps)]
    assert _joined(heard) == runs
    assert outputs[0].tobytes() == interpreter.run(inputs)[0].tobytes()
    assert profile.ticks == len(interpreter.plan.steps)
    assert len(str(profile).splitlines()) == len(graph.nodes)
    profile.clear()
    assert (profile.operators, profile.ticks) == ((), 0)


def _joined(heard: list[OperatorRun]) -> list[tuple[int, int]]:
    """Runs of one node, which a pushed row may have parted."""
    return [(node, sum(each.steps for each in runs)) for node, runs in groupby(heard, key=lambda each: each.number)]


def test_profile_counts_several_inferences_and_rows_that_are_pushed() -> None:
    """`run`, `invoke`, `push_row`: all are measured, in seconds."""
    model = MODELS["residual"]
    interpreter = kibi.Interpreter(model, kibi.plan(model, granularity="row", input="streamed"))
    inputs = seeded_inputs(model, 0)
    with interpreter.profile() as profile:
        interpreter.run(inputs)
        for row in inputs[0][0]:
            interpreter.push_row(row)
        interpreter.invoke()
    assert sum(each.steps for each in profile.operators) == 2 * len(interpreter.plan.steps)
    assert all(0 < each.ticks < 60 for each in profile.operators)


def test_error_forgets_the_steps_that_ran_last() -> None:
    """The next inference is measured from its own beginning; a callback that raises ends the inference."""
    model = MODELS["residual"]
    interpreter = kibi.Interpreter(model)
    heard: list[OperatorRun] = []

    def hear(run: OperatorRun) -> None:
        heard.append(run)
        if len(heard) == 2:
            raise ValueError("enough")

    inputs = seeded_inputs(model, 0)
    with interpreter.profile(hear):
        with pytest.raises(ValueError, match="enough"):
            interpreter.run(inputs)
        heard += heard  # so that it does not raise again
        interpreter.run(inputs)
    assert [each.number for each in heard[4:]] == list(range(len(model.nodes)))


@pytest.mark.parametrize("arguments", [{"on_operator": 1}, {"clock": None}])
def test_profile_of_no_functions_is_refused(arguments: dict[str, Any]) -> None:
    """And so is a second profile inside of one, whose steps would be missing from the first."""
    interpreter = kibi.Interpreter(MODELS["residual"])
    with pytest.raises(InputError, match="cannot be called"), interpreter.profile(**arguments):
        pytest.fail("it began")
    with (
        interpreter.profile(),
        pytest.raises(InputError, match="another profile of this interpreter"),
        interpreter.profile(),
    ):
        pytest.fail("it began")
    with interpreter.profile() as profile:
        interpreter.run(seeded_inputs(MODELS["residual"], 0))
    assert profile.operators
