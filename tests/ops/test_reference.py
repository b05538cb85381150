"""The NumPy references against TFLM, on models that are drawn."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kibi.dtypes import DType
from kibi.frontends.tflite.builder import ModelBuilder
from kibi.ops import operators
from kibi.planner import plan, validate
from kibi.runtime import Interpreter
from kibi.targets import target
from kibi.tflm import Oracle
from tests.ops.comparison import assert_same, assert_same_as_tflm, graph_of, outputs_of, python_outputs_of
from tests.ops.orders import interleaved
from tests.support.amount import amount
from tests.support.choices import Seeded
from tests.support.network_models import networks
from tests.support.operator_models import OPERATOR_MODELS, Case, cases


@pytest.mark.share(3, part=0)
@pytest.mark.parametrize("operator", operators())
@settings(max_examples=amount(3, 100))
@given(data=st.data())
def test_reference_any_model_of_one_operator_equals_tflm(operator: str, data: st.DataObject, oracle: Oracle) -> None:
    """Inside the planned arena each operator gives TFLM's bits, whatever its shapes, attributes and quantization.

    Where TFLM's C library decides, floats are as near as the operator promises.
    """
    _check(data.draw(cases(operator)), oracle)


@pytest.mark.slow
@pytest.mark.parametrize("operator", operators())
def test_reference_many_models_of_one_operator_equal_tflm(operator: str, oracle: Oracle) -> None:
    """The same for four hundred models of each."""
    for seed in range(400):
        _check(OPERATOR_MODELS[operator](Seeded(seed)), oracle)


def _check(case: Case, oracle: Oracle) -> None:
    graph = graph_of(case)
    made = plan(graph, target("host"))
    validate(graph, made)
    interpreter, wanted = Interpreter(graph, made), outputs_of(case, oracle)
    for _ in range(2 if case.further else 1):
        assert_same_as_tflm(graph, python_outputs_of(case, interpreter), wanted)
        interpreter.reset()


@settings(max_examples=amount(6, 100))
@given(case=networks())
def test_reference_any_network_equals_tflm(case: Case, oracle: Oracle) -> None:
    """Operators one behind another give TFLM's bits, run to completion or interleaved row by row."""
    graph, wanted = graph_of(case), oracle.run(case.model, [case.inputs])[0].outputs
    for runs in (None, interleaved(graph)):
        made = plan(graph, target("host"), runs=runs)
        validate(graph, made)
        assert_same(graph, Interpreter(graph, made).run(case.inputs), wanted)


def test_reference_depthwise_with_bias_left_out_equals_one_without() -> None:
    """A -1 for the bias, on which TFLM crashes, means what it means elsewhere: no bias."""
    data = np.arange(-32, 32, dtype=np.int8).reshape(1, 4, 4, 4)
    results = []
    for bias in ((), (-1,)):
        b = ModelBuilder()
        x = b.input([1, 4, 4, 4], DType.S8, 0.1, 3)
        weights = b.constant(np.arange(36, dtype=np.int8).reshape(1, 3, 3, 4), 0.01, 0)
        y = b.tensor([1, 4, 4, 4], DType.S8, 0.5, -5)
        b.operator("DEPTHWISE_CONV_2D", [x, weights, *bias], [y], stride_h=1, stride_w=1, depth_multiplier=1)
        results.append(Interpreter(graph_of(Case("DEPTHWISE_CONV_2D", b.finish([y]), ()))).run([data])[0])
    assert results[0].tobytes() == results[1].tobytes()


@pytest.mark.parametrize(
    ("first", "second"), [(2.774003505706787, 0.6164452433586121), (0.011402309872210026, 0.0039660208858549595)]
)
def test_reference_relu_with_scales_whose_quotient_rounds_otherwise_in_float32_equals_tflm(
    first: float, second: float, oracle: Oracle
) -> None:
    """The quotient of the scales is a double in TFLM's build: in float32 several of the 256 outputs would be others."""
    b = ModelBuilder()
    x, y = b.input([256], DType.S8, first, 0), b.tensor([256], DType.S8, second, 0)
    b.operator("RELU", [x], [y])
    case = Case("RELU", b.finish([y]), (np.arange(-128, 128, dtype=np.int8),))
    wanted = oracle.run(case.model, [case.inputs])[0].outputs
    assert_same(graph_of(case), Interpreter(graph_of(case)).run(case.inputs), wanted)


@pytest.mark.parametrize("operator", ["RELU", "LEAKY_RELU", "ABS"])
def test_reference_every_s16_equals_tflm(operator: str, oracle: Oracle) -> None:
    """All 65,536 inputs agree: quotients of scales are doubles in TFLM's build, and float32 would miss some outputs."""
    data = np.arange(-(1 << 15), 1 << 15).astype(np.int16)
    for source, output in ((0.0200225, 0.0172012), (0.0107, 0.0131), (0.0193, 0.0191)):
        b = ModelBuilder()
        x, y = b.input([1 << 16], DType.S16, source, 0), b.tensor([1 << 16], DType.S16, output, 0)
        b.operator(operator, [x], [y], {"alpha": 0.3} if operator == "LEAKY_RELU" else {})
        case = Case(operator, b.finish([y]), (data,))
        graph = graph_of(case)
        assert_same(graph, Interpreter(graph).run([data]), oracle.run(case.model, [[data]])[0].outputs)


@pytest.mark.parametrize("operator", ["LOGISTIC", "TANH", "SOFTMAX"])
@pytest.mark.parametrize("scale", [2.0**-12, 2.0**-11, 2.0**-13, 0.00021, 0.0007])
def test_reference_functions_of_every_s16_equal_tflm(operator: str, scale: float, oracle: Oracle) -> None:
    """All 65,536 inputs agree, along exact scales and others."""
    data = np.arange(-(1 << 15), 1 << 15).astype(np.int16).reshape(-1, 32)
    b = ModelBuilder()
    x, y = b.input(data.shape, DType.S16, scale, 0), b.tensor(data.shape, DType.S16, 2.0**-15, 0)
    b.operator(operator, [x], [y], {"beta": 1.0} if operator == "SOFTMAX" else {})
    case = Case(operator, b.finish([y]), (data,))
    graph = graph_of(case)
    assert_same(graph, Interpreter(graph).run([data]), oracle.run(case.model, [[data]])[0].outputs)


@pytest.mark.parametrize("operator", ["COS", "ELU", "EXP", "LOG", "SIN", "TANH"])
def test_reference_functions_of_floats_are_as_near_to_tflm_as_promised(operator: str, oracle: Oracle) -> None:
    """Floats of all magnitudes, spread evenly over their bits; and nearly all of them are equal, whatever the C library."""
    bits = np.arange(0, 1 << 32, 65_003, dtype=np.uint64).astype(np.uint32)
    data = bits.view(np.float32)[np.isfinite(bits.view(np.float32))]
    data = np.abs(data) if operator == "LOG" else data
    b = ModelBuilder()
    x, y = b.input(data.shape, DType.F32), b.tensor(data.shape, DType.F32)
    b.operator(operator, [x], [y])
    case = Case(operator, b.finish([y]), (data,))
    graph, wanted = graph_of(case), oracle.run(case.model, [[data]])[0].outputs
    found = Interpreter(graph).run([data])
    assert_same_as_tflm(graph, found, wanted)
    assert np.mean(found[0] == wanted[0]) > 0.95


def test_reference_dequantize_of_scales_per_channel_equals_tflm(oracle: Oracle) -> None:
    """The first scale counts for all channels, as in TFLM."""
    b = ModelBuilder()
    x = b.input([2, 3], DType.S8, 0.5, 0)
    weights = b.constant(np.arange(6, dtype=np.int8).reshape(2, 3), [0.25, 0.5, 4.0], [0, 0, 0], axis=1)
    real, other, y = (b.tensor([2, 3], DType.F32) for _ in range(3))
    b.operator("DEQUANTIZE", [weights], [real])
    b.operator("DEQUANTIZE", [x], [other])
    b.operator("ADD", [real, other], [y])
    data = np.arange(6, dtype=np.int8).reshape(2, 3)
    case = Case("NETWORK", b.finish([y]), (data,))
    graph = graph_of(case)
    assert_same(graph, Interpreter(graph).run([data]), oracle.run(case.model, [[data]])[0].outputs)
