"""FULLY_CONNECTED of floats with a filter or a bias that is computed."""

from collections.abc import Sequence

import numpy as np
import pytest

from kibi.dtypes import Array, DType
from kibi.frontends.tflite import parse_tflite
from kibi.frontends.tflite.builder import ModelBuilder
from kibi.planner import Granularity, plan, validate
from kibi.runtime import Interpreter
from kibi.targets import target
from kibi.tflm import Oracle
from tests.frontends.models import problems_of
from tests.ops.orders import interleaved
from tests.support.case import drawn_shape, factors
from tests.support.choices import Choices, Seeded, flip, floats
from tests.support.drawn_values import ACTIVATIONS

_F32 = DType.F32


def _layer(c: Choices) -> tuple[bytes, list[Array]]:
    """Vectors that lie anyhow in the input, times a filter that is an input too; the bias is an input, a constant, or not there."""
    b, depth, channels = ModelBuilder(), c.integer(1, 70), c.integer(1, 9)
    leading = drawn_shape(c, c.integer(0, 3), 4)
    vectors = int(np.prod(leading))
    shape = (*leading, depth) if flip(c) else factors(c, vectors * depth, c.integer(1, 4))
    kept = flip(c) and shape[-1] == depth
    given: list[Array] = [floats(c, shape), floats(c, (channels, depth))]
    operands = [b.input(each.shape, _F32) for each in given]
    bias, bias_shape = c.one_of(("input", "constant", "none", "left out")), c.one_of(((channels,), (1, 1, channels)))
    if bias == "input":
        given.append(floats(c, bias_shape))
        operands.append(b.input(bias_shape, _F32))
    elif bias != "none":
        operands.append(b.constant(floats(c, bias_shape)) if bias == "constant" else -1)
    output = b.tensor((*shape[:-1], channels) if kept else (vectors, channels), _F32)
    b.operator(
        "FULLY_CONNECTED", operands, [output], fused_activation_function=c.one_of(ACTIVATIONS), keep_num_dims=kept
    )
    return b.finish([output]), given


@pytest.mark.parametrize("seed", range(60))
def test_layer_with_a_computed_filter_equals_tflm(seed: int, oracle: Oracle) -> None:
    """The product and the sum that stand for it give the layer's bits, as planned in every way."""
    model, inputs = _layer(Seeded(seed))
    graph = parse_tflite(model, "layer")
    assert {node.op.name for node in graph.nodes} <= {"ADD", "BATCH_MATMUL", "RESHAPE"}
    (wanted,) = oracle.run(model, [inputs])[0].outputs
    for runs in (None, interleaved(graph)):
        made = plan(graph, target("host"), runs=runs, granularity=Granularity.ROW)
        validate(graph, made)
        (found,) = Interpreter(graph, made).run(inputs)
        assert found.tobytes() == wanted.tobytes()


def test_sum_that_is_infinite_is_the_largest_number(oracle: Oracle) -> None:
    """A layer without an activation ends with finite numbers, as TFLM's does; a product of matrices alone would not."""
    b = ModelBuilder()
    x, weights, y = b.input([1, 2], _F32), b.input([1, 2], _F32), b.tensor([1, 1], _F32)
    b.operator("FULLY_CONNECTED", [x, weights], [y])
    model, inputs = b.finish([y]), [np.full((1, 2), 3e38, np.float32)] * 2
    graph = parse_tflite(model, "layer")
    (found,) = Interpreter(graph, plan(graph, target("host"))).run(inputs)
    assert found.tobytes() == oracle.run(model, [inputs])[0].outputs[0].tobytes()
    assert found.item() == np.finfo(np.float32).max


@pytest.mark.parametrize(
    ("shapes", "expected"),
    [
        (((1, 4), (2, 3), (2,), (1, 2)), "do not fit one another"),
        (((2, 3), (2, 3), (2,), (1, 2)), "do not fit one another"),
        (((1, 3), (2, 3), (2,), (2, 1)), "do not fit one another"),
        (((1, 3), (2, 3), (1,), (1, 2)), "bias has shape [1], but 2 elements are required"),
        (((1, 3), (2, 3, 1), (2,), (1, 2)), "filter must be a constant"),
    ],
)
def test_layer_whose_shapes_do_not_fit_is_refused(shapes: Sequence[tuple[int, ...]], expected: str) -> None:
    """Nothing is broadcast that the layer would not."""
    b = ModelBuilder()
    operands, output = [b.input(shape, _F32) for shape in shapes[:3]], b.tensor(shapes[3], _F32)
    b.operator("FULLY_CONNECTED", operands, [output])
    (problem,) = problems_of(b.finish([output]))
    assert expected in problem.what
    assert problem.operator == 0


def test_filter_of_integers_that_is_computed_is_refused() -> None:
    """Of integers, and of hybrid layers, filters are constants."""
    b = ModelBuilder()
    x, weights = b.input([1, 3], DType.S8, 0.5, 0), b.input([2, 3], DType.S8, 0.5, 0)
    y = b.tensor([1, 2], DType.S8, 0.5, 0)
    b.operator("FULLY_CONNECTED", [x, weights], [y])
    assert "filter must be a constant" in problems_of(b.finish([y]))[0].what
