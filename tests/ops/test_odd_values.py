"""Values that models do not expect: infinities, NaN, negative factors. No exception, no warning, and TFLM's bits."""

from collections.abc import Sequence

import numpy as np
import pytest

from kibi.dtypes import Array, DType
from kibi.ops import operators
from kibi.oracle import Oracle
from kibi.runtime import Interpreter, seeded_inputs
from tests.ops.comparison import assert_same, graph_of
from tests.support.case import Case, one
from tests.support.choices import Seeded
from tests.support.operator_models import OPERATOR_MODELS
from tests.support.tflite_builder import ModelBuilder

_ODD = np.array([np.inf, -np.inf, np.nan, 3e38, -3e38, 1e-45, -1e-40, 0.0, -0.0, 1e10, -(2.0**31), 2.0**31], np.float32)
_SAMPLES = 12
_LIKE_TFLM = {
    "ARG_MAX",
    "ARG_MIN",
    "MUL",
    "ADD",
    "SUB",
    "CUMSUM",
    "PRELU",
    "MAXIMUM",
    "GREATER",
    "TRANSPOSE",
    "CONCATENATION",
}
"""Operators whose every output is TFLM's for such inputs, but for which NaN it is."""


def _odd(inputs: Sequence[Array], seed: int) -> list[Array]:
    """The inputs with odd values in two fifths of the floats."""
    rng = np.random.default_rng(seed)
    return [
        np.where(rng.random(array.shape) < 0.4, rng.choice(_ODD, array.shape), array).astype(np.float32)
        if array.dtype == np.float32
        else array
        for array in inputs
    ]


def _cases(operator: str) -> list[tuple[int, Case]]:
    """Models with inputs of floats."""
    drawn = ((seed, OPERATOR_MODELS[operator](Seeded(seed))) for seed in range(_SAMPLES))
    return [(seed, case) for seed, case in drawn if any(array.dtype == np.float32 for array in case.inputs)]


@pytest.mark.parametrize("operator", operators())
def test_any_operator_of_odd_floats_runs_where_floating_point_errors_raise(operator: str) -> None:
    """A program may have made NumPy's warnings errors: the engine computes all the same."""
    for seed, case in _cases(operator):
        with np.errstate(all="raise"):
            Interpreter(graph_of(case)).run(_odd(case.inputs, seed))


@pytest.mark.parametrize("operator", sorted(_LIKE_TFLM))
def test_operator_of_odd_floats_equals_tflm(operator: str, oracle: Oracle) -> None:
    """Comparisons with NaN are false, in the reference as in C."""
    for seed, case in _cases(operator):
        graph, inputs = graph_of(case), _odd(case.inputs, seed)
        outputs, wanted = Interpreter(graph).run(inputs), oracle.run(case.model, [inputs])[0].outputs
        assert_same(graph, [*map(_with_one_nan, outputs)], [*map(_with_one_nan, wanted)])


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
