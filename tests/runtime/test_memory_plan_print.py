"""The interpreter prints its memory plan in TFLM's form."""

import io

import numpy as np
import pytest

import kibi
from kibi.planner import PlannedModel
from kibi.planner.ascii_map import memory_ascii
from tests.engines.networks import pooled_network, residual_network


@pytest.mark.parametrize("granularity", ["tensor", "row"])
def test_interpreter_prints_its_plan(granularity: str, capsys: pytest.CaptureFixture[str]) -> None:
    """On standard output, or in a file; what is printed is the plan that it follows."""
    model = residual_network()
    plan = kibi.plan(model, granularity=granularity)
    interpreter = kibi.Interpreter(model, plan)
    interpreter.print_memory_plan()
    file = io.StringIO()
    interpreter.print_memory_plan(file)
    assert capsys.readouterr().out == file.getvalue() == memory_ascii(PlannedModel.of(model, plan))
    steps = [line for line in file.getvalue().splitlines() if line.endswith("k)")]
    assert len({len(line) for line in steps}) == 1
    assert any("." in line.partition(": ")[2].partition(" ")[0] for line in steps)


def test_plan_can_be_printed_before_all_is_allocated(capsys: pytest.CaptureFixture[str]) -> None:
    """So that one sees what a preallocated tensor spares; it is not in the plan any more."""
    model = pooled_network("MEAN")
    name = model.tensors[model.inputs[0]].name
    interpreter = kibi.Interpreter(model, allocate=False)
    interpreter.print_memory_plan()
    assert f" {name}: size=" in capsys.readouterr().out
    interpreter.register_preallocated(name, np.zeros(model.tensors[model.inputs[0]].type.size_bytes, np.int8))
    interpreter.print_memory_plan()
    assert f" {name}: size=" not in capsys.readouterr().out
