"""Models in which a single line of a kernel, or of the writer of C, decides: drawn ones, which are small, may all miss it.

Each is made or chosen for a property that its docstring states.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import count, islice

import numpy as np

from kibi.dtypes import DType
from kibi.frontends.tflite.builder import Attribute, ModelBuilder
from kibi.ir import Graph
from tests.ops.comparison import graph_of
from tests.support.case import Case, one
from tests.support.choices import Seeded
from tests.support.operator_models import OPERATOR_MODELS

_MOST_SEEDS = 400


def mean_of_large_values() -> Case:
    """A MEAN whose sum needs more than 16 bits."""
    b, shape = ModelBuilder(), (1, 24, 24, 2)
    source, axes = b.input(shape, DType.S8, 0.5, -3), b.constant(np.array([1, 2], np.int32))
    data = np.random.default_rng(0).integers(90, 128, shape).astype(np.int8)
    return one("MEAN", b, [source, axes], b.tensor((1, 2), DType.S8, 0.5, -3), [data], keep_dims=False)


def pool_of_negative_values() -> Case:
    """An AVERAGE_POOL_2D of negative sums, with windows that the border cuts."""
    b, shape = ModelBuilder(), (1, 5, 5, 2)
    source, output = b.input(shape, DType.S8, 0.5, 3), b.tensor(shape, DType.S8, 0.5, 3)
    data = np.random.default_rng(0).integers(-128, 0, shape).astype(np.int8)
    window: dict[str, Attribute] = {
        "filter_height": 3,
        "filter_width": 3,
        "stride_h": 1,
        "stride_w": 1,
        "padding": "SAME",
    }
    return one("AVERAGE_POOL_2D", b, [source], output, [data], **window)


def softmax_of_rising_values() -> Case:
    """A SOFTMAX of rows whose largest element is the last."""
    b, shape = ModelBuilder(), (4, 6)
    source, output = b.input(shape, DType.S8, 0.1, 0), b.tensor(shape, DType.S8, 1 / 256, -128)
    data = np.sort(np.random.default_rng(0).integers(-128, 128, shape)).astype(np.int8)
    return one("SOFTMAX", b, [source], output, [data], beta=1.0)


def enlarged_negative_values() -> Case:
    """A RESIZE_BILINEAR that makes pixels between negative ones."""
    b = ModelBuilder()
    source, size = b.input((1, 3, 3, 2), DType.S8, 0.5, 3), b.constant(np.array([8, 7], np.int32))
    data = np.random.default_rng(0).integers(-128, 0, (1, 3, 3, 2)).astype(np.int8)
    return one("RESIZE_BILINEAR", b, [source, size], b.tensor((1, 8, 7, 2), DType.S8, 0.5, 3), [data])


def border_of_two_lengths() -> Case:
    """Two convolutions whose borders hold one value; the rows of the first are longer than those of the second."""
    rng, b = np.random.default_rng(0), ModelBuilder()
    how: dict[str, Attribute] = {"stride_h": 1, "stride_w": 1, "padding": "SAME"}
    tensor = b.input((1, 5, 6, 16), DType.S8, 0.5, 3)
    for inputs, outputs in ((16, 1), (1, 2)):
        weights = b.constant(
            rng.integers(-127, 128, (outputs, 3, 3, inputs)).astype(np.int8), [0.02] * outputs, [0] * outputs
        )
        made = b.tensor((1, 5, 6, outputs), DType.S8, 0.5, 3)
        b.operator("CONV_2D", [tensor, weights], [made], how)
        tensor = made
    return Case("NETWORK", b.finish([tensor]), (rng.integers(-128, 128, (1, 5, 6, 16)).astype(np.int8),))


def constants_of_equal_bytes() -> Case:
    """Constants of two types whose bytes are the same: all zeros."""
    b = ModelBuilder()
    floats, integers = b.input((1, 2), DType.F32), b.input((1, 2), DType.S32)
    results = [b.tensor((1, 2), DType.F32), b.tensor((1, 2), DType.S32)]
    b.operator("MAXIMUM", [floats, b.constant(np.zeros((1, 2), np.float32))], [results[0]])
    b.operator("MAXIMUM", [integers, b.constant(np.zeros((1, 2), np.int32))], [results[1]])
    inputs = (np.array([[-1.5, 2.5]], np.float32), np.array([[7, -7]], np.int32))
    return Case("NETWORK", b.finish(results), inputs)


def _has_gates(graph: Graph) -> bool:
    """True if an LSTM of int8 has several units."""
    output = graph.tensors[graph.outputs[0]].type
    return output.dtype is DType.S8 and output.shape[-1] > 2


def _has_shifted_memory(graph: Graph) -> bool:
    """True if a variable of int8 has a zero point."""
    return any(
        each.is_variable and each.type.dtype is DType.S8 and each.type.quantization and any(each.type.quantization.zero_points)
        for each in graph.tensors
    )  # fmt: skip


_CHOSEN: Mapping[str, Callable[[Graph], bool]] = {
    "UNIDIRECTIONAL_SEQUENCE_LSTM": _has_gates,
    "SVDF": _has_shifted_memory,
}
_MADE = (
    mean_of_large_values,
    pool_of_negative_values,
    softmax_of_rising_values,
    enlarged_negative_values,
    border_of_two_lengths,
    constants_of_equal_bytes,
)


def telling_models() -> Sequence[Case]:
    """Returns the models that are made, and two of each operator that are chosen among drawn ones."""
    chosen = []
    for name, is_telling in _CHOSEN.items():
        drawn = (OPERATOR_MODELS[name](Seeded(seed)) for seed in islice(count(), _MOST_SEEDS))
        found = list(islice((case for case in drawn if is_telling(graph_of(case))), 2))
        assert len(found) == 2, f"of {_MOST_SEEDS} drawn models of {name} only {len(found)} are telling"
        chosen += found
    return [*(make() for make in _MADE), *chosen]
