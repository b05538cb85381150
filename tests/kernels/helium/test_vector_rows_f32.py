"""Sums, products, averages and quantization of floats for cores with vectors: any shape and number, in place."""

import numpy as np
import pytest

import kibi
from kibi.dtypes import Array, DType
from kibi.frontends.tflite import parse_tflite
from kibi.frontends.tflite.builder import ModelBuilder
from kibi.ir import Graph, KernelCall
from kibi.qemu import why_not_emulated
from kibi.targets import target
from tests.kernels.emulated import Bench, Kernels, linked, run
from tests.kernels.in_place import differing_distances

_PAIRS = ("ADD", "SUB", "MUL")
_QUANTIZE, _DEQUANTIZE, _AVERAGES = "kibi_quantize_f32_s8", "kibi_dequantize_s8_f32", "kibi_average_pool2d_f32"
_KERNELS = (*(f"kibi_{name.lower()}_f32" for name in _PAIRS), _QUANTIZE, _DEQUANTIZE, _AVERAGES)
_BUILDS = [
    ("cortex-m55", "zig", "s"),
    pytest.param(("cortex-m55", "gcc", "2"), marks=[pytest.mark.slow, pytest.mark.cross]),
]
_SPECIAL = np.array([np.nan, np.inf, -np.inf, 3e38, -3e38, 0.0, -0.0, 1e-40, -1e-45, 1.2e-38, 1e-20], np.float32)
_WINDOWS = (
    # height and width, channels, window, strides, padding, activation
    ((4, 8), 8, (2, 2), (2, 2), "VALID", "NONE"),
    ((5, 8), 7, (3, 3), (2, 2), "SAME", "RELU"),
    ((6, 7), 17, (3, 2), (1, 1), "SAME", "RELU6"),
    ((3, 4), 1, (1, 7), (1, 3), "SAME", "NONE"),
)


@pytest.fixture(params=_BUILDS, ids=" ".join)
def kernels(request: pytest.FixtureRequest) -> Kernels:
    """The kernels for the core."""
    name, compiler, level = request.param
    return linked(_KERNELS, name, compiler, level)


def _drawn(rng: np.random.Generator, shape: tuple[int, ...], special: float) -> Array:
    """Usual numbers, and a share of those that are infinite, none, denormal, or have such results."""
    usual = rng.standard_normal(shape).astype(np.float32)
    return np.where(rng.random(shape) < special, rng.choice(_SPECIAL, shape), usual).astype(np.float32)


def _pair(name: str, shape: tuple[int, ...], other: tuple[int, ...], activation: str) -> Graph:
    """A model of one operator of two inputs."""
    b = ModelBuilder()
    operands = [b.input(each, DType.F32) for each in (shape, other)]
    y = b.tensor(shape, DType.F32)
    b.operator(name, operands, [y], {"fused_activation_function": activation})
    return parse_tflite(b.finish([y]), "pair.tflite")


def _pooling(
    size: tuple[int, int],
    channels: int,
    window: tuple[int, int],
    strides: tuple[int, int],
    padding: str,
    activation: str,
) -> Graph:
    """A model of one pooling."""
    b = ModelBuilder()
    spans = [0 if padding == "SAME" else each - 1 for each in window]
    made = [-(-(each - span) // stride) for each, span, stride in zip(size, spans, strides, strict=True)]
    x, y = b.input([1, *size, channels], DType.F32), b.tensor([1, *made, channels], DType.F32)
    attributes: dict[str, int | str] = {
        "padding": padding, "stride_h": strides[0], "stride_w": strides[1], "filter_height": window[0],
        "filter_width": window[1], "fused_activation_function": activation,
    }  # fmt: skip
    b.operator("AVERAGE_POOL_2D", [x], [y], attributes)
    return parse_tflite(b.finish([y]), "pooling.tflite")


def _quantization(name: str, elements: int, scale: float, zero_point: int) -> Graph:
    """A model of one QUANTIZE or DEQUANTIZE."""
    b = ModelBuilder()
    kinds: list[tuple[object, ...]] = [(DType.F32,), (DType.S8, scale, zero_point)]
    source, made = kinds if name == "QUANTIZE" else reversed(kinds)
    x = b.input([1, elements], *source)  # type: ignore[arg-type]
    y = b.tensor([1, elements], *made)  # type: ignore[arg-type]
    b.operator(name, [x], [y], {})
    return parse_tflite(b.finish([y]), "quantization.tflite")


def _check(kernels: Kernels, graph: Graph, inputs: list[Array], kernel: str) -> KernelCall:
    """The kernel gives the reference's bits; which bits a NaN has is up to the processor."""
    (call,) = graph.general_calls
    assert call.kernel == kernel
    with np.errstate(all="ignore"):
        (wanted,) = kibi.run(graph, None, inputs)
    found = run(kernels, graph.views[0], inputs, np.random.default_rng(0), call)
    if wanted.dtype == np.float32:
        np.testing.assert_array_equal(np.isnan(found), np.isnan(wanted))
        found, wanted = (np.where(np.isnan(each), np.float32(0), each).view(np.int32) for each in (found, wanted))
    np.testing.assert_array_equal(found, wanted)
    return call


@pytest.mark.parametrize("name", _PAIRS)
def test_pairs_equal_the_reference(kernels: Kernels, name: str) -> None:
    """Rows of whole eights and others, inputs that broadcast, each activation; numbers of every kind."""
    for seed, (shape, other, activation, special) in enumerate(
        (
            ((2, 3, 4, 8), (2, 3, 4, 8), "NONE", 0.3), ((1, 2, 5, 11), (1, 2, 5, 11), "RELU6", 0.02),
            ((1, 2, 3, 16), (1, 1, 1, 16), "RELU", 0.05), ((1, 2, 3, 9), (1, 1, 1, 1), "NONE", 0.1),
        )
    ):  # fmt: skip
        rng = np.random.default_rng(seed)
        inputs = [_drawn(rng, shape, special), _drawn(rng, other, special)]
        _check(kernels, _pair(name, shape, other, activation), inputs, f"kibi_{name.lower()}_f32")


def test_averages_equal_the_reference(kernels: Kernels) -> None:
    """At every edge, with rows that are outside, rests of channels, bounds of activations, denormal numbers; in place."""
    for seed, shape in enumerate(_WINDOWS):
        graph, rng = _pooling(*shape), np.random.default_rng(seed)
        data = _drawn(rng, graph.views[0]["input"].type.shape, (0.0, 0.05)[seed % 2])
        call = _check(kernels, graph, [np.multiply(data, np.float32((1, 1, 1e-38, 1e-44)[seed]))], _AVERAGES)
        (distance,) = call.inplace_distance_bytes
        assert distance is not None
        data = rng.standard_normal(data.shape).astype(np.float32)
        wrong, _ = differing_distances(kernels, graph.views[0], call, data, [distance, distance + 4, distance + 16])
        assert not wrong, shape


@pytest.mark.parametrize("compiler", ["zig", pytest.param("gcc", marks=[pytest.mark.slow, pytest.mark.cross])])
def test_compilers_make_no_vectors_of_loops(compiler: str) -> None:
    """Averages of denormal numbers by a kernel in plain C, at a level at which compilers would take vectors, which flush them."""
    reason = why_not_emulated(target("cortex-m55"))
    if reason:
        pytest.skip(reason)
    kernel = "kibi_average_pool2d_f32_accumulate"
    graph = _pooling((3, 4), 16, (3, 4), (1, 1), "VALID", "NONE")
    data = np.random.default_rng(0).integers(1, 999, (1, 3, 4, 16)).astype(np.float32) * np.float32(1e-45)
    _check(linked((kernel,), "cortex-m55", compiler, "3"), graph, [data], kernel)


def test_quantized_numbers_equal_the_reference(kernels: Kernels) -> None:
    """Halves of both signs and their neighbours, what is beyond all ranges, denormal scales; any length; and back."""
    for scale, zero_point in ((0.25, 3), (0.0471, -128), (0.1, 127), (1e-38, 0), (1e38, -5)):
        halves = np.clip(np.arange(-600, 601) * 0.5 * scale, -3e38, 3e38).astype(np.float32)
        found = np.concatenate([halves, _SPECIAL])
        values = np.concatenate(
            [found, np.nextafter(found, np.float32(np.inf)), np.nextafter(found, np.float32(-np.inf))]
        )
        graph = _quantization("QUANTIZE", len(values), scale, zero_point)
        _check(kernels, graph, [values[None]], _QUANTIZE)
        graph = _quantization("DEQUANTIZE", 255, scale, zero_point)
        _check(kernels, graph, [np.arange(-127, 128).astype(np.int8)[None]], _DEQUANTIZE)


def test_rows_in_their_own_place(kernels: Kernels) -> None:
    """Outputs are written over the input at the declared distance, in rows of every length modulo four."""
    for name, kernel in (("QUANTIZE", _QUANTIZE), ("DEQUANTIZE", _DEQUANTIZE)):
        for elements in (21, 22, 23, 24):
            graph, rng = _quantization(name, elements, 0.1, 3), np.random.default_rng(elements)
            (call,) = graph.general_calls
            (distance,) = call.inplace_distance_bytes
            assert distance is not None
            shape, made = graph.views[0]["input"].type.shape, graph.views[0].output.type
            data = _drawn(rng, shape, 0.1) if name == "QUANTIZE" else rng.integers(-128, 128, shape).astype(np.int8)
            bench = Bench(kernels, rng)
            field = bench.place("field", np.zeros(elements, np.float32), writable=True)
            bench.write(field + distance, data)
            bench.call(kernel, field, bench.rows([field + distance]), bench.params(call), 0)
            (wanted,) = kibi.run(graph, None, [data])
            found = bench.read(field, made.size_bytes).view(made.dtype.numpy)
            np.testing.assert_array_equal(found, wanted.reshape(-1))


def test_instructions_of_an_element(kernels: Kernels) -> None:
    """Long rows take few."""
    rng = np.random.default_rng(0)
    for graph, most in ((_pair("ADD", (1, 512), (1, 512), "RELU"), 3.2), (_quantization("QUANTIZE", 512, 0.1, 3), 3.0)):
        (call,), bench = graph.general_calls, Bench(kernels, rng)
        sources = [bench.place("input", _drawn(rng, (512,), 0.0)) for _ in graph.views[0].row_tensors]
        output = bench.place("output", np.zeros(512, graph.views[0].output.type.dtype.numpy), writable=True)
        taken = bench.call(call.kernel, output, bench.rows(sources), bench.params(call), 0)
        assert taken < most * 512
