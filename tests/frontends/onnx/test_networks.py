"""Drawn networks: what Kibi computes beside ONNX's reference, ONNX Runtime and TFLM."""

from collections.abc import Callable

import numpy as np
import pytest
from onnx.reference import ReferenceEvaluator

from kibi.frontends.onnx import convert
from kibi.frontends.tflite import parse_tflite
from kibi.tflm import Oracle
from tests.frontends.onnx.elsewhere import computed_elsewhere, last_scale
from tests.frontends.onnx.running import given, run, taken
from tests.ops.comparison import assert_same
from tests.support.amount import amount
from tests.support.choices import Choices, Seeded
from tests.support.onnx_models import (
    SCHEMES,
    OnnxCase,
    Scheme,
    attention_network,
    image_network,
    quantized,
    sequence_network,
)

_MOST_STEPS = 8
_LEAST_NEAR, _LEAST_NEAR_S16 = 0.95, 0.8
_NETWORKS = pytest.mark.parametrize("network", [image_network, sequence_network, attention_network])


@_NETWORKS
@pytest.mark.parametrize("seed", range(amount(8, 60)))
def test_float_network_computes_what_onnx_does(network: Callable[[Choices], OnnxCase], seed: int) -> None:
    """ONNX's reference, ONNX Runtime and Kibi agree up to the rounding of float32."""
    case = network(Seeded(seed))
    conversion = convert(case.model.SerializeToString(), "model.onnx")
    graph = parse_tflite(conversion.data, "model.tflite")
    names = [output.name for output in case.model.graph.output]
    (mine,) = taken(conversion, names, run(graph, given(graph, conversion, case.inputs)), [np.float32])
    (its,) = computed_elsewhere(case.model, case.inputs)
    (reference,) = ReferenceEvaluator(case.model).run(None, dict(case.inputs))
    np.testing.assert_allclose(mine, its, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(mine, np.asarray(reference), rtol=1e-4, atol=1e-5)


@pytest.mark.share(3, part=1)
@pytest.mark.parametrize("network", [image_network, sequence_network])
@pytest.mark.parametrize(
    "scheme", SCHEMES, ids=lambda scheme: f"{scheme.activations.__name__}-{scheme.weights.__name__}"
)
def test_quantized_networks_are_a_few_steps_from_onnx_runtime(
    network: Callable[[Choices], OnnxCase], scheme: Scheme
) -> None:
    """Almost all elements are within one step of the output's scale, and none is far away."""
    steps = []
    for seed in range(amount(6, 60)):
        case = quantized(network(Seeded(seed)), scheme)
        conversion = convert(case.model.SerializeToString(), "model.onnx")
        graph = parse_tflite(conversion.data, "model.tflite")
        outputs = run(graph, given(graph, conversion, case.inputs))
        names = [output.name for output in case.model.graph.output]
        (mine,) = taken(conversion, names, outputs, [np.float32])
        (its,) = computed_elsewhere(case.model, case.inputs)
        steps.append(np.rint(np.abs(mine - its) / last_scale(case.model)).reshape(-1))
    apart = np.concatenate(steps)
    assert apart.max() <= _MOST_STEPS
    assert (apart <= 1).mean() >= (_LEAST_NEAR_S16 if scheme.activations is np.int16 else _LEAST_NEAR)


@pytest.mark.share(3, part=2)
@pytest.mark.parametrize("network", [image_network, sequence_network])
@pytest.mark.parametrize("seed", range(amount(4, 30)))
def test_quantized_network_gives_tflm_the_same_bits(
    network: Callable[[Choices], OnnxCase], seed: int, oracle: Oracle
) -> None:
    """The file that Kibi writes is one that TFLM reads and runs."""
    for scheme in SCHEMES:
        case = quantized(network(Seeded(seed)), scheme)
        conversion = convert(case.model.SerializeToString(), "model.onnx")
        graph = parse_tflite(conversion.data, "model.tflite")
        inputs = given(graph, conversion, case.inputs)
        assert_same(graph, run(graph, inputs), oracle.run(conversion.data, [inputs])[0].outputs)


@_NETWORKS
@pytest.mark.parametrize("seed", range(amount(4, 30)))
def test_float_network_gives_tflm_the_same_numbers(
    network: Callable[[Choices], OnnxCase], seed: int, oracle: Oracle
) -> None:
    """Up to the last bits, which TFLM's C library decides."""
    case = network(Seeded(seed))
    conversion = convert(case.model.SerializeToString(), "model.onnx")
    graph = parse_tflite(conversion.data, "model.tflite")
    inputs = given(graph, conversion, case.inputs)
    for mine, its in zip(run(graph, inputs), oracle.run(conversion.data, [inputs])[0].outputs, strict=True):
        np.testing.assert_allclose(mine, np.asarray(its, np.float32), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("network", [image_network, sequence_network])
def test_networks_have_no_transpose_but_of_their_own(network: Callable[[Choices], OnnxCase]) -> None:
    """Channels are last from the first operator to the last, and flattening goes into weights."""
    for seed in range(amount(20, 60)):
        case = network(Seeded(seed))
        graph = parse_tflite(convert(case.model.SerializeToString(), "model.onnx").data, "model.tflite")
        assert "TRANSPOSE" not in [view.op.name for view in graph.views], seed
