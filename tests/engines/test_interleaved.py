"""An order made by hand, whose row steps interleave, in all engines."""

import ctypes
from pathlib import Path

import numpy as np
import pytest

import kibi
from kibi.engines import DeviceEngine, HostEngine
from kibi.planner import Run, validate
from kibi.planner.plan import load_plan
from kibi.reports.verification import verify
from kibi.runtime import seeded_inputs
from tests.engines.networks import residual_network

ROWS = 12


def interleaved_runs() -> tuple[Run, ...]:
    """Each convolution keeps one row ahead of the next; the addition follows the third, row by row."""
    runs = [Run(0, 0, 2), Run(1, 0, 1)]
    for row in range(2, ROWS):
        runs += [Run(0, row, 1), Run(1, row - 1, 1), Run(2, row - 2, 1), Run(3, row - 2, 1)]
    return (*runs, Run(1, ROWS - 1, 1), Run(2, ROWS - 2, 2), Run(3, ROWS - 2, 2))


def test_interleaved_plan_is_valid_and_smaller() -> None:
    """Rows that die one by one need less than whole tensors."""
    model = residual_network()
    whole, by_row = kibi.plan(model, granularity="tensor"), kibi.plan(model, runs=interleaved_runs())
    validate(model, by_row)
    assert by_row.arena_bytes < whole.arena_bytes
    assert len(by_row.buffers_of(model.nodes[1].outputs[0])) == ROWS


@pytest.mark.parametrize("target", ["cortex-m4", pytest.param("cortex-m0plus", marks=pytest.mark.slow)])
def test_interleaved_plan_gives_the_same_bits_in_all_engines(target: str, tmp_path: Path) -> None:
    """Python, C on this machine and C on an emulated core agree with the order of the file, input after input."""
    model = residual_network()
    plan = kibi.plan(model, target, runs=interleaved_runs())
    library = kibi.compile(model, plan, tmp_path)
    host = HostEngine(library)
    engines = (kibi.Interpreter(model, plan), host, DeviceEngine(library))
    reference = kibi.Interpreter(model, kibi.plan(model, target))
    for seed in range(4):
        inputs = seeded_inputs(model, seed)
        expected = reference.run(inputs)[0]
        for engine in engines:
            np.testing.assert_array_equal(engine.run(inputs)[0], expected)
    ctypes.memmove(host.address("input", 0), inputs[0].ctypes.data, inputs[0].nbytes)
    assert host.bound("invoke")() == 0
    np.testing.assert_array_equal(host.outputs()[0], expected)


def test_saved_plan_comes_back_and_runs(tmp_path: Path) -> None:
    """A plan that went through a file is the same plan."""
    model = residual_network()
    plan = kibi.plan(model, runs=interleaved_runs())
    path = tmp_path / "plan.json"
    path.write_text(plan.to_json(), encoding="utf-8")
    assert load_plan(path) == plan


def test_verify_finds_all_engines_equal_on_an_interleaved_plan() -> None:
    """`verify` takes a plan of its own, and reports nothing when all is well."""
    model = residual_network()
    found = verify(model, kibi.plan(model, runs=interleaved_runs()), kibi.target("cortex-m3"), runs=2)
    assert found.is_exact
    assert found.engines == ("host C", "cortex-m3")
