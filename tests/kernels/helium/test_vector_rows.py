"""Poolings and sums for cores with vectors: any shape, every rounding, in place; QEMU runs the assembly."""

import numpy as np
import pytest

import kibi
from kibi.dtypes import Array, DType
from kibi.frontends.tflite import parse_tflite
from kibi.frontends.tflite.builder import ModelBuilder
from kibi.ir import Graph, KernelCall
from kibi.kernels.params.binary import AddLinearParams
from tests.kernels.emulated import Bench, Kernels, linked, run
from tests.kernels.in_place import differing_distances

_ADD, _MAX, _AVERAGES = "kibi_add_s8_linear", "kibi_max_pool2d_s8", "kibi_average_pool2d_s8"
_MAX_OF_IMAGE, _AVERAGE = "kibi_max_pool2d_s8_accumulate", "kibi_average_pool2d_s8_accumulate_small"
_BUILDS = [
    ("cortex-m55", "zig", "s"),
    pytest.param(("cortex-m55", "gcc", "2"), marks=[pytest.mark.slow, pytest.mark.cross]),
]
_SHAPES = (
    # height and width, channels, window, strides, padding, activation
    ((4, 9), 16, (2, 2), (2, 2), "VALID", "NONE"),
    ((5, 8), 7, (3, 3), (2, 2), "SAME", "RELU"),
    ((6, 7), 17, (3, 2), (1, 1), "SAME", "NONE"),
    ((4, 5), 40, (2, 5), (2, 1), "VALID", "RELU6"),
    ((3, 4), 1, (1, 7), (1, 3), "SAME", "RELU_N1_TO_1"),
    ((18, 17), 3, (17, 16), (1, 1), "VALID", "NONE"),
)
_WHOLE = (((8, 8), 64), ((25, 5), 12), ((3, 4), 1), ((1, 13), 9), ((16, 16), 19))
"""Images that one window covers."""


@pytest.fixture(params=_BUILDS, ids=" ".join)
def kernels(request: pytest.FixtureRequest) -> Kernels:
    """The kernels for the core."""
    name, compiler, level = request.param
    return linked((_ADD, _MAX, _AVERAGES, _MAX_OF_IMAGE, _AVERAGE), name, compiler, level)


def _pooling(
    name: str, size: tuple[int, int], channels: int, window: tuple[int, int], strides: tuple[int, int] = (1, 1),
    padding: str = "VALID", activation: str = "NONE",
) -> Graph:  # fmt: skip
    """A model of one pooling."""
    b = ModelBuilder()
    spans = [0 if padding == "SAME" else each - 1 for each in window]
    made = [-(-(each - span) // stride) for each, span, stride in zip(size, spans, strides, strict=True)]
    x = b.input([1, *size, channels], DType.S8, 1 / 32, -3)
    y = b.tensor([1, *made, channels], DType.S8, 1 / 32, -3)
    attributes: dict[str, int | str] = {
        "padding": padding, "stride_h": strides[0], "stride_w": strides[1], "filter_height": window[0],
        "filter_width": window[1], "fused_activation_function": activation,
    }  # fmt: skip
    b.operator(name, [x], [y], attributes)
    return parse_tflite(b.finish([y]), "pooling.tflite")


def _data(graph: Graph, rng: np.random.Generator) -> Array:
    """Bytes of the input, most of them at one end of the range in some draws."""
    low = int(rng.choice([-128, -128, 90]))
    return rng.integers(low, 128, graph.views[0]["input"].type.shape).astype(np.int8)


@pytest.mark.share(2, part=1)
@pytest.mark.parametrize(("name", "kernel"), [("MAX_POOL_2D", _MAX), ("AVERAGE_POOL_2D", _AVERAGES)])
def test_windows_equal_the_reference(kernels: Kernels, name: str, kernel: str) -> None:
    """At every edge, with rows that are outside, rests of channels, bounds of activations, and more elements than 16 bits hold."""
    for seed, shape in enumerate(_SHAPES):
        graph, rng = _pooling(name, *shape), np.random.default_rng(seed)
        data = _data(graph, rng)
        call = graph.general_calls[0]
        assert call.kernel == kernel
        np.testing.assert_array_equal(run(kernels, graph.views[0], [data], rng, call), kibi.run(graph, None, [data])[0])
        (distance,) = call.inplace_distance_bytes
        assert distance is not None
        wrong, _ = differing_distances(kernels, graph.views[0], call, data, [distance, distance + 1, distance + 7])
        assert not wrong, shape


def test_averages_of_images_equal_the_reference(kernels: Kernels) -> None:
    """Sums of up to 256 bytes, halves of both signs among them; the output is written over the row that was read last."""
    for seed, (size, channels) in enumerate(_WHOLE):
        graph, rng = _pooling("AVERAGE_POOL_2D", size, channels, size), np.random.default_rng(seed)
        call = graph.general_calls[0]
        assert call.kernel == _AVERAGE
        count = size[0] * size[1]
        halves = rng.integers(-127, 127, channels) * count + count // 2 * rng.choice([-1, 1], channels)
        each, more = np.divmod(halves, count)
        elements = (each + (np.arange(count)[:, None] < more)).astype(np.int8)
        for data in (_data(graph, rng), elements.reshape(1, *size, channels)):
            wanted = kibi.run(graph, None, [data])[0]
            np.testing.assert_array_equal(run(kernels, graph.views[0], [data], rng, call), wanted)


def test_largest_elements_of_images_equal_the_reference(kernels: Kernels) -> None:
    """One window, row by row."""
    for seed, (size, channels) in enumerate((*_WHOLE[:2], ((9, 3), 21))):
        graph, rng = _pooling("MAX_POOL_2D", size, channels, size, activation="RELU6"), np.random.default_rng(seed)
        call, data = graph.general_calls[0], _data(graph, np.random.default_rng(seed))
        assert call.kernel == _MAX_OF_IMAGE
        np.testing.assert_array_equal(run(kernels, graph.views[0], [data], rng, call), kibi.run(graph, None, [data])[0])


def test_averages_in_the_place_of_the_last_row(kernels: Kernels) -> None:
    """Several windows: each row is read before any output is written."""
    graph = _pooling("AVERAGE_POOL_2D", (4, 6), 12, (4, 3))
    call, rng = graph.general_calls[0], np.random.default_rng(0)
    assert call.kernel == _AVERAGE
    data = _data(graph, rng)
    bench = Bench(kernels, rng)
    rows = [bench.place("row", row.reshape(-1), writable=True) for row in data[0]]
    pointers, params, scratch = bench.rows(rows[:1]), bench.params(call), bench.scratch(call.scratch_bytes)
    for step, row in enumerate(rows):
        bench.write_rows(pointers, [row])
        bench.call(_AVERAGE, rows[-1], pointers, params, scratch, step)
    np.testing.assert_array_equal(bench.read(rows[-1], 48), kibi.run(graph, None, [data])[0].reshape(-1))


def _added(bench: Bench, layer: AddLinearParams, first: Array, second: Array) -> tuple[Array, int]:
    """What the kernel makes of two rows, and its instructions."""
    output = bench.place("output", np.zeros(len(first), np.int8), writable=True)
    rows = bench.rows([bench.place("first", first), bench.place("second", second)])
    call = KernelCall(_ADD, layer.replaced(elements=len(first)))
    count = bench.call(_ADD, output, rows, bench.params(call), bench.scratch(0))
    return bench.read(output, len(first)), count


def _wanted(layer: AddLinearParams, first: Array, second: Array) -> Array:
    """The same by the rule."""
    terms = (each.astype(np.int64) * factor >> 8 for each, factor in ((first, layer.factor1), (second, layer.factor2)))
    return np.clip(sum(terms) + layer.start >> 20, -128, 127).astype(np.int8)


def test_sums_of_rows_equal_the_rule(kernels: Kernels) -> None:
    """Every pair of bytes, any length, factors of both signs, starts so far from 0 that the sum just fits 32 bits."""
    first, second = (plane.reshape(-1).astype(np.int8) for plane in np.mgrid[-128:128, -128:128])
    usual = AddLinearParams(factor1=150_000_001, factor2=-121_234_567, start=-40_000_000, elements=1)
    found, count = _added(Bench(kernels, np.random.default_rng(0)), usual, first, second)
    np.testing.assert_array_equal(found, _wanted(usual, first, second))
    assert count < 2.3 * len(first)
    rng = np.random.default_rng(1)
    for number in range(24):
        factors = [int(each) for each in rng.integers(-(1 << 30), 1 << 30, 2) >> int(rng.integers(0, 20))]
        reach = sum(abs(each) for each in factors) * 128 // 256 + 2
        end = (1 << 31) - 1 - reach
        start = int(rng.choice([-end, end, int(rng.integers(-(1 << 27), 1 << 27))]))
        layer = AddLinearParams(factor1=abs(factors[0]), factor2=factors[1], start=start, elements=1)
        rows = rng.integers(-128, 128, (2, number + 1)).astype(np.int8)
        rows[:, -1] = rng.choice([-128, 127], 2)
        found, _ = _added(Bench(kernels, rng), layer, *rows)
        np.testing.assert_array_equal(found, _wanted(layer, *rows))
