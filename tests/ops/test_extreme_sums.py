"""Layers whose biases, weights, zero points and multipliers are at the ends of their ranges: sums wrap, and C defines how."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from kibi.dtypes import Array, DType
from kibi.frontends.tflite.builder import Attribute, ModelBuilder
from kibi.ir import Graph
from kibi.planner import plan
from kibi.runtime import Interpreter
from kibi.selection import Goal
from kibi.targets import target
from kibi.tflm import Oracle
from tests.ops.batch import Batch
from tests.ops.comparison import assert_same, graph_of
from tests.support.amount import sample
from tests.support.case import Case
from tests.toolchain.tools import check_gcc

_LAYERS = ("FULLY_CONNECTED", "CONV_2D", "DEPTHWISE_CONV_2D")
_DRAWN = 12
"""Models of each layer and type."""
_BIASES = {
    DType.S32: (-(1 << 31), (1 << 31) - 1, 1 - (1 << 31), 0, 1 << 30, -(1 << 30)),
    DType.S64: (1 - (1 << 46), (1 << 46) - 1, 1 << 40, 0),
}
"""TFLM's own range of s64; beyond it models are refused."""


def _ends(rng: np.random.Generator, dtype: DType, shape: Sequence[int]) -> Array:
    """All at the lower end, all at the upper, at either, or anywhere."""
    low, high = (int(limit) for limit in dtype.limits)
    ways = ((low, low), (high, high), (low, high))
    way = int(rng.integers(4))
    drawn = rng.integers(low, high, shape, endpoint=True) if way == 3 else rng.choice(ways[way], shape)
    return drawn.astype(dtype.numpy)


def _layer(name: str, dtype: DType, seed: int) -> Case:
    """A layer on inputs that drive its sums as far as they go."""
    rng, b = np.random.default_rng(seed), ModelBuilder()
    is_wide = dtype is DType.S16 and (name == "DEPTHWISE_CONV_2D" or bool(rng.integers(2)))
    bias_type = DType.S64 if is_wide else DType.S32
    depth, outputs, kernel = (
        int(rng.choice(choice)) for choice in ((1, 2, 3, 4, 5, 8, 16), (1, 2, 3, 4, 7, 8), (1, 2, 3))
    )
    image = [1, 4, 5, depth]
    options: dict[str, Attribute] = {"padding": "SAME", "stride_h": 1, "stride_w": 1}
    shapes = {"CONV_2D": (image, [outputs, kernel, kernel, depth], [1, 4, 5, outputs])}
    shapes["DEPTHWISE_CONV_2D"] = (image, [1, kernel, kernel, depth], image)
    shapes["FULLY_CONNECTED"] = ([2, 9 * depth], [outputs, 9 * depth], [2, outputs])
    input_shape, filter_shape, output_shape = shapes[name]
    if name == "DEPTHWISE_CONV_2D":
        options["depth_multiplier"] = 1
    elif dtype is DType.S16:
        options["quantized_bias_type"] = f"INT{8 * bias_type.size_bytes}"
    if name == "FULLY_CONNECTED":
        options = {key: value for key, value in options.items() if key == "quantized_bias_type"}
    zero_points = [0 if dtype is DType.S16 else int(rng.choice((-128, 0, 127))) for _ in range(2)]
    input_scale = float(rng.choice((2.0**-8, 1e-3, 1.0, 100.0)))
    mantissa = float(np.float32(1 - 2.0**-24)) if rng.integers(2) else float(rng.uniform(0.5, 1))
    scale = float(np.float32(mantissa * 2.0 ** int(rng.integers(-34, 3)) / input_scale))
    source = b.input(input_shape, dtype, input_scale, zero_points[0])
    filters = b.constant(_ends(rng, DType.S8, filter_shape), [scale], [0])
    channels = output_shape[-1]
    biases = rng.choice(_BIASES[bias_type], channels).astype(bias_type.numpy)
    operands = [source, filters, b.constant(biases, [input_scale * scale], [0])]
    output = b.tensor(output_shape, dtype, 1.0, zero_points[1])
    b.operator(name, operands, [output], options)
    return Case(name, b.finish([output]), (_ends(rng, dtype, input_shape),))


def _means() -> Iterator[Case]:
    """Means of many elements at the ends, whose sums leave 32 bits."""
    for low in (True, False):
        b, elements = ModelBuilder(), 70_000
        source = b.input([1, 2, elements, 1], DType.S16, 1.0, 0)
        axes = b.constant(np.array([1, 2], np.int32))
        output = b.tensor([1, 1], DType.S16, 1.0, 0)
        b.operator("MEAN", [source, axes], [output], {"keep_dims": False})
        data = np.full((1, 2, elements, 1), DType.S16.limits[0 if low else 1], np.int16)
        yield Case("MEAN", b.finish([output]), (data,))


@pytest.fixture(scope="module")
def extreme() -> list[tuple[Case, Graph]]:
    """Layers of each kind."""
    seeds = range(_DRAWN)
    cases = [_layer(name, dtype, seed) for name in _LAYERS for dtype in (DType.S8, DType.S16) for seed in seeds]
    return [(case, graph_of(case)) for case in cases]


def test_sums_beyond_their_bits_wrap_as_in_tflm(extreme: Sequence[tuple[Case, Graph]], oracle: Oracle) -> None:
    """Python's references and TFLM's build agree on every bit."""
    for case, graph in extreme:
        (result,) = oracle.run(case.model, [case.inputs])
        assert_same(graph, Interpreter(graph).run(case.inputs), result.outputs)


@pytest.mark.parametrize(
    ("processor", "goal"),
    sample(
        [("host", Goal.FLASH), ("host", Goal.SPEED), ("cortex-m4", Goal.SPEED), ("cortex-m55", Goal.SPEED)],
        [("host", Goal.SPEED)],
    ),
    ids=str,
)
def test_sums_beyond_their_bits_are_defined_in_c(
    extreme: Sequence[tuple[Case, Graph]], processor: str, goal: Goal, tmp_path: Path
) -> None:
    """No sanitizer stops general kernels, those of the host, or the plain twins of variants, and the bits are the references'."""
    check_gcc()
    models = [*extreme, *((case, graph_of(case)) for case in _means())]
    graphs = [graph for _, graph in models]
    plans = [plan(graph, target(processor), goal=goal) for graph in graphs]
    batch = Batch(graphs, plans, tmp_path, compiler="gcc", level="0", sanitize=True, processor=processor)
    outcomes = batch.run([case.inputs for case, _ in models])
    for (case, graph), outcome in zip(models, outcomes, strict=True):
        for run in outcome.outputs:
            assert_same(graph, run, Interpreter(graph).run(case.inputs))
