"""Plan files on NumPy kernels give the bits that the Python runtime gives."""

import hashlib

import numpy as np
import pytest

import kibi
from kibi.engines.plan_numpy import NumpyPlanEngine
from kibi.errors import InputError, PlanError
from kibi.ir import Graph
from kibi.planfile.in_numpy.registry import names, numpy_kernels
from kibi.planfile.reader import PlanFile
from kibi.planfile.records import DIGEST_BYTES
from kibi.planfile.writer import plan_file
from kibi.planner import PlannedModel
from kibi.runtime import seeded_inputs
from tests.ops.comparison import graph_of
from tests.support.amount import amount
from tests.support.choices import Seeded
from tests.support.operator_models import OPERATOR_MODELS

_NUMBERS = np.array([0, 1, 2, 3, 7, 64, 255, 1 << 15, 1 << 16, (1 << 24) + 1, 1 << 31, (1 << 32) - 1], np.uint64)


def _compare(graph: Graph, target: str) -> bool:
    """Compares two inferences with those of the Python runtime; False if a kernel has no form on NumPy."""
    plan = kibi.plan(graph, target=target)
    file = PlanFile(plan_file(PlannedModel.of(graph, plan)))
    if not set(file.kernels) <= names():
        return False
    engine, interpreter = NumpyPlanEngine(file), kibi.Interpreter(graph, plan)
    for turn in range(2):
        inputs = seeded_inputs(graph, turn)
        expected = interpreter.run(inputs)
        assert [each.tobytes() for each in engine.run(inputs)] == [each.tobytes() for each in expected]
    return True


@pytest.mark.parametrize("operator", sorted(OPERATOR_MODELS))
def test_drawn_models_of_an_operator_agree(operator: str) -> None:
    """Several drawn models of each operator, those whose kernels have a form."""
    compared = [
        _compare(graph_of(OPERATOR_MODELS[operator](Seeded(seed))), target)
        for seed in range(amount(2, 12))
        for target in ("cortex-m4", "host")
    ]
    if not any(compared):
        pytest.skip("none of these kernels has a form on NumPy")


def test_kernels_without_a_form_are_listed() -> None:
    """The text names them, and the engine that has them."""
    with pytest.raises(PlanError, match=r"1 of the plan file's 2 kernels .* kibi_custom\. Run it with engine='c'"):
        numpy_kernels(["kibi_copy_any", "kibi_custom"])


def test_engine_is_c_or_numpy() -> None:
    """Both give the same bits; another one is refused."""
    graph = graph_of(OPERATOR_MODELS["RESHAPE"](Seeded(0)))
    file = kibi.compile_plan(graph)
    inputs = seeded_inputs(graph, 0)
    one, other = (kibi.open_plan(file, engine=each).run(inputs) for each in ("c", "numpy"))
    assert [each.tobytes() for each in one] == [each.tobytes() for each in other]
    with pytest.raises(InputError, match="Give c or numpy"):
        kibi.open_plan(file, engine="fortran")


def test_damaged_offsets_are_refused() -> None:
    """Mutants with a right digest either run or are refused; none fails in another way."""
    graph = graph_of(OPERATOR_MODELS["CONV_2D"](Seeded(1)))
    data = kibi.compile_plan(graph, target="host").data
    inputs = seeded_inputs(graph, 0)
    random = np.random.default_rng(14)
    refused = 0
    for _ in range(amount(150, 3000)):
        changed = np.frombuffer(data[:-DIGEST_BYTES], np.uint8).copy()
        word = 4 * int(random.integers(2, min(len(changed) // 4, 250)))
        changed[word : word + 4] = np.frombuffer(random.choice(_NUMBERS).astype("<u4").tobytes(), np.uint8)
        body = changed.tobytes()
        try:
            NumpyPlanEngine(PlanFile(body + hashlib.sha256(body).digest())).run(inputs)
        except (PlanError, InputError):
            refused += 1
    assert refused > 20
