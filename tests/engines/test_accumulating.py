"""Networks that end in a mean, a pooling or a vector over all rows: taken row by row, in all engines."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import kibi
from kibi.dtypes import Array
from kibi.engines import DeviceEngine, HostEngine
from kibi.planner import validate
from kibi.runtime import seeded_inputs
from tests.engines.networks import pooled_network
from tests.planner.networks import by_row
from tests.support.amount import sample, share

_HEADS = ("MEAN", "AVERAGE_POOL_2D", "MAX_POOL_2D", "FULLY_CONNECTED")
_CORES = ("cortex-m4", "cortex-m0plus")
each_head = pytest.mark.parametrize("head", _HEADS)


@pytest.mark.share(2, part=0)
@pytest.mark.parametrize(
    ("head", "target"),
    sample(
        [(head, core) for head in _HEADS for core in _CORES],
        [(head, _CORES[number % 2]) for number, head in enumerate(_HEADS)][1:3],
    ),
)
def test_accumulating_by_row_gives_the_same_bits_in_all_engines(head: str, target: str, tmp_path: Path) -> None:
    """Rows that are added up as soon as they are made give what operators run to completion give, in a smaller arena."""
    model = pooled_network(head)
    assert model.views[-1].op.accumulates(model.views[-1])
    plan = kibi.plan(model, target, runs=by_row(model))
    whole = kibi.plan(model, target, granularity="tensor")
    validate(model, plan)
    assert plan.arena_bytes < whole.arena_bytes
    library = kibi.compile(model, plan, tmp_path)
    engines = (kibi.Interpreter(model, plan), HostEngine(library), DeviceEngine(library))
    reference = kibi.Interpreter(model, whole)
    for seed in range(3):
        inputs = seeded_inputs(model, seed)
        expected = reference.run(inputs)[0]
        for engine in engines:
            np.testing.assert_array_equal(engine.run(inputs)[0], expected)


@pytest.mark.parametrize("head", share(_HEADS, 0, 2))
def test_interpreter_accumulates_in_the_planned_scratch(head: str) -> None:
    """A byte of the accumulator that is changed between two steps changes the output: nothing is kept elsewhere."""
    model = pooled_network(head)
    plan = kibi.plan(model, runs=by_row(model))
    scratch = plan.scratch_of(2)
    assert scratch is not None
    memory = np.zeros(plan.arena_bytes, np.uint8)
    inputs = seeded_inputs(model, 0)
    expected = kibi.Interpreter(model, plan, memory).run(inputs)[0]

    def spoil(index: int, array: Array) -> None:
        del array
        if index == model.views[1].output.index:  # the last row is made, but not added yet
            memory[scratch.offset : scratch.offset + scratch.size_bytes] = 0x7F

    spoiled = kibi.Interpreter(model, plan, memory).run(inputs, spoil)[0]
    assert (spoiled != expected).any()


@pytest.mark.share(2, part=1)
@pytest.mark.parametrize("head", share(_HEADS, 1, 2))
def test_generated_call_passes_the_step(head: str, tmp_path: Path) -> None:
    """The kernel of the last operator is told which row it is given."""
    model = replace(pooled_network(head), name="pooled")
    kibi.compile(model, kibi.plan(model), tmp_path)
    text = (tmp_path / "pooled.c").read_text(encoding="utf-8")
    assert re.search(r"rows, &params_2, arena( \+ \d+)?, step\);", text)
    assert re.search(r"rows, &params_1, (NULL|arena( \+ (\d+|scratch_1\[step\]))?)\);", text)
