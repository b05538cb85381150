"""Values that models do not expect: infinities, NaN, negative factors. No exception, no warning, and TFLM's bits."""

import itertools
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import kibi
from kibi.dtypes import Array, DType
from kibi.frontends.tflite.builder import ModelBuilder
from kibi.ops import operators
from kibi.planner import plan
from kibi.runtime import Interpreter, seeded_inputs
from kibi.targets import target
from kibi.tflm import Oracle
from tests.ops.batch import Batch
from tests.ops.comparison import assert_same, assert_same_as_tflm, graph_of, outputs_of, python_outputs_of
from tests.support.amount import amount, sample, share
from tests.support.case import Case, one
from tests.support.choices import Seeded
from tests.support.drawn_values import ACTIVATIONS
from tests.support.operator_models import OPERATOR_MODELS

_ODD = np.array([np.inf, -np.inf, np.nan, 3e38, -3e38, 1e-45, -1e-40, 0.0, -0.0, 1e10, -(2.0**31), 2.0**31], np.float32)
_SAMPLES = amount(6, 12)
_MOST_DRAWS, _EACH = 300, 3
_UNLIKE_TFLM = {
    "FLOOR_DIV": "TFLM refuses a divisor of 0",
    "QUANTIZE": "TFLM converts what 32 bits do not hold: undefined in C++",
    "TFLite_Detection_PostProcess": "TFLM stops at boxes without a size",
}
"""Operators for which TFLM's outputs for such inputs, if there are any, mean nothing."""
_ACTIVATED = (
    *("ADD", "AVERAGE_POOL_2D", "CONV_2D", "DEPTHWISE_CONV_2D", "DIV", "FULLY_CONNECTED"),
    *("L2_POOL_2D", "MAX_POOL_2D", "MUL", "SUB", "SVDF"),
)
"""Operators of floats with a fused activation."""
_RUNS_ODD = [name for name, operator in operators().items() if DType.F32 in operator.types and name not in _UNLIKE_TFLM]


def _odd(inputs: Sequence[Array], seed: int) -> list[Array]:
    """The inputs with odd values in two fifths of the floats."""
    rng = np.random.default_rng(seed)
    return [
        np.where(rng.random(array.shape) < 0.4, rng.choice(_ODD, array.shape), array).astype(np.float32)
        if array.dtype == np.float32
        else array
        for array in inputs
    ]


def _odd_case(case: Case, seed: int) -> Case:
    """The same model with odd inputs in each of its inferences."""
    further = tuple(tuple(_odd(inputs, seed + place)) for place, inputs in enumerate(case.further, start=1))
    return replace(case, inputs=tuple(_odd(case.inputs, seed)), further=further)


def _cases(operator: str) -> list[tuple[int, Case]]:
    """Models with inputs of floats."""
    drawn = ((seed, OPERATOR_MODELS[operator](Seeded(seed))) for seed in range(_SAMPLES))
    return [(seed, case) for seed, case in drawn if any(array.dtype == np.float32 for array in case.inputs)]


@pytest.mark.parametrize("operator", share(operators(), 2))
def test_any_operator_of_odd_floats_runs_where_floating_point_errors_raise(operator: str) -> None:
    """A program may have made NumPy's warnings errors: the engine computes all the same."""
    for seed, case in _cases(operator):
        with np.errstate(all="raise"):
            Interpreter(graph_of(case)).run(_odd(case.inputs, seed))


@pytest.mark.parametrize("operator", _RUNS_ODD)
def test_operator_of_odd_floats_equals_tflm(operator: str, oracle: Oracle) -> None:
    """Comparisons with NaN are false, and zeros keep their signs, in the reference as in TFLM; but for which NaN it is."""
    for seed, plain in _cases(operator):
        graph, case = graph_of(plain), _odd_case(plain, seed)
        found, wanted = python_outputs_of(case, Interpreter(graph)), outputs_of(case, oracle)
        assert_same_as_tflm(graph, [*map(_with_one_nan, found)], [*map(_with_one_nan, wanted)])


def _of_each_activation(operator: str) -> list[Case]:
    """For each activation some models of floats with odd inputs."""
    found: dict[str, list[Case]] = {name: [] for name in ACTIVATIONS}
    for seed in range(_MOST_DRAWS):
        case = OPERATOR_MODELS[operator](Seeded(seed))
        if not case.inputs or case.inputs[0].dtype != np.float32:
            continue
        same = found[next(view.op for view in graph_of(case).views).activation.value]  # type: ignore[attr-defined]
        if len(same) < _EACH:
            same.append(_odd_case(case, seed))
        if min(map(len, found.values())) == _EACH:
            break
    assert all(found.values())
    return [case for same in found.values() for case in same]


@pytest.mark.share(3, part=1)
@pytest.mark.parametrize(
    "operator", sample([(name,) for name in _ACTIVATED], [(name,) for name in ("CONV_2D", "MUL", "SVDF")])
)
def test_fused_activation_of_odd_floats_equals_tflm_in_python_and_c(
    operator: str, oracle: Oracle, tmp_path: Path
) -> None:
    """Each activation, after sums that are infinite or no number: most keep a NaN, and those of SVDF do not."""
    cases = _of_each_activation(operator)
    graphs = [graph_of(case) for case in cases]
    wanted = [[*map(_with_one_nan, outputs_of(case, oracle))] for case in cases]
    for graph, case, outputs in zip(graphs, cases, wanted, strict=True):
        assert_same(graph, [*map(_with_one_nan, python_outputs_of(case, Interpreter(graph)))], outputs)
    compiler, plans = "gcc" if shutil.which("gcc") else "zig", [plan(graph, target("host")) for graph in graphs]
    batch = Batch(graphs, plans, tmp_path, compiler=compiler, level="0", sanitize=True)
    for graph, outcome, outputs in zip(graphs, batch.run([case.every_input for case in cases]), wanted, strict=True):
        for run in outcome.outputs:
            assert_same(graph, [*map(_with_one_nan, run)], outputs)


@pytest.mark.parametrize(("activation", "wanted"), sample([("RELU", 0.0), ("RELU6", 6.0), ("RELU_N1_TO_1", 1.0)]))
def test_svdf_of_no_number_is_a_bound_in_python_and_on_the_device(
    activation: str, wanted: float, oracle: Oracle
) -> None:
    """Rule N36: TFLM's minimum and maximum pass over a NaN."""
    b = ModelBuilder()
    constants = [b.constant(np.ones(shape, np.float32)) for shape in ((2, 3), (2, 3), (2,))]
    x, state = b.input((1, 3), DType.F32), b.tensor((1, 6), DType.F32, variable=True)
    y = b.tensor((1, 2), DType.F32)
    b.operator("SVDF", [x, *constants, state], [y], rank=1, fused_activation_function=activation)
    case = Case("SVDF", b.finish([y]), (np.array([[np.inf, -np.inf, 0.0]], np.float32),))
    graph = graph_of(case)
    (found,) = Interpreter(graph).run(case.inputs)
    assert found.tolist() == [[wanted, wanted]]
    assert_same(graph, [found], outputs_of(case, oracle))
    assert kibi.verify(graph, target="cortex-m0plus", inputs=[case.inputs], runs=1).is_exact


def test_largest_zero_is_the_first_one(oracle: Oracle) -> None:
    """REDUCE_MAX and REDUCE_MIN over zeros of both signs, in Python and on the device."""
    data = np.array([[0.0, -0.0, 0.0], [-0.0, 0.0, -0.0], [-1.0, -0.0, 0.0]], np.float32)
    for name, sign in itertools.product(("REDUCE_MAX", "REDUCE_MIN"), (1, -1)):
        b = ModelBuilder()
        x, y = b.input((3, 3), DType.F32), b.tensor((3,), DType.F32)
        b.operator(name, [x, b.constant(np.array([1], np.int32))], [y])
        case = Case(name, b.finish([y]), (np.asarray(sign * data, np.float32),))
        graph = graph_of(case)
        assert_same(graph, Interpreter(graph).run(case.inputs), outputs_of(case, oracle))
        assert kibi.verify(graph, target="cortex-m0plus", inputs=[case.inputs], runs=1).is_exact


def _with_one_nan(array: Array) -> Array:
    """Every NaN as the same one: signs of NaN differ between processors."""
    return np.where(np.isnan(array), np.float32(np.nan), array) if array.dtype == np.float32 else array


def test_product_of_infinity_and_zero_is_no_number_and_no_warning(oracle: Oracle) -> None:
    """MUL of broadcast floats, which once ended in a warning of NumPy."""
    b = ModelBuilder()
    x, y, z = b.input([1, 4], DType.F32), b.input([4, 1], DType.F32), b.tensor([4, 4], DType.F32)
    values = np.array([np.inf, 0.0, -1.0, 3e38], np.float32)
    case = one("MUL", b, [x, y], z, [values.reshape(1, 4), values.reshape(4, 1)])
    graph = graph_of(case)
    (found,) = Interpreter(graph).run(case.inputs)
    assert np.isnan(found[0, 1])
    assert_same(graph, [_with_one_nan(found)], [_with_one_nan(oracle.run(case.model, [case.inputs])[0].outputs[0])])


@pytest.mark.parametrize("beta", [-1.0, -1e-9, -0.0, -3.7, -1024.0])
def test_softmax_of_s16_with_a_negative_beta_equals_tflm(beta: float, oracle: Oracle) -> None:
    """Which gives all elements the same share."""
    b = ModelBuilder()
    x, y = b.input([3, 7], DType.S16, 2.0**-12, 0), b.tensor([3, 7], DType.S16, 2.0**-15, 0)
    b.operator("SOFTMAX", [x], [y], beta=beta)
    model = b.finish([y])
    graph = graph_of(Case("SOFTMAX", model, ()))
    for seed in range(5):
        inputs = seeded_inputs(graph, seed)
        assert_same(graph, Interpreter(graph).run(inputs), oracle.run(model, [inputs])[0].outputs)
