"""Fully connected layers with four channels in a word: the assembly and the C, any shape, the ends of halves."""

import numpy as np
import pytest

import kibi
from kibi.ir import KernelCall
from kibi.kernels.params.halves import FullyConnectedHalvesParams
from kibi.quant import requantize
from kibi.selection.fully_connected_halves import pack_convolution, pack_fully_connected
from tests.kernels.emulated import Bench, Kernels, linked, run
from tests.ops.comparison import assert_same, graph_of
from tests.ops.convolutions import Geometry, convolution
from tests.quant.boundaries import TRIPLES

_KERNEL = "kibi_fully_connected_s8_halves"
_BUILDS = [
    ("rv32imac", "zig", "s"),
    ("cortex-m4", "zig", "s"),
    pytest.param(("rv32imc", "zig", "2"), marks=pytest.mark.slow),
]
"""A core of the set, one that runs the plain C, and another."""


_SHAPES = (
    *((1, 8, 1, 1), (70, 24, 1, 3), (99, 16, 3, 1), (8, 64, 4, 1)),
    *((70, 120, 1, 3), (99, 88, 3, 1), (131, 63, 1, 2), (640, 16, 1, 1)),
)
"""Elements, channels, pieces and vectors: of small layers, whose vectors are not weighed, and of large ones."""


@pytest.fixture(params=_BUILDS, ids=" ".join)
def kernels(request: pytest.FixtureRequest) -> Kernels:
    """The kernel for a core."""
    return linked((_KERNEL,), *request.param)


@pytest.fixture(params=_BUILDS, ids=" ".join)
def least_kernels(request: pytest.FixtureRequest) -> Kernels:
    """The same without the code that leaves out zeros."""
    return linked((_KERNEL,), *request.param, frozenset())


def _call(
    weights: np.ndarray, *, pieces: int = 1, vectors: int = 1, is_often_least: bool = True, **constants: np.ndarray
) -> KernelCall:
    """The general call of a layer, `weights` [O, K]; after a ReLU, or not."""
    outputs, depth = weights.shape
    given = {
        "bias": np.zeros(outputs),
        "multiplier": np.full(outputs, 1 << 30),
        "shift": np.full(outputs, -8),
        **constants,
    }
    values: dict[str, object] = {
        "filter": weights.astype(np.int8).reshape(-1), "bias": given["bias"].astype(np.int32),
        "multiplier": given["multiplier"].astype(np.int32), "shift": given["shift"].astype(np.int8), "depth": depth,
        "piece": depth // pieces, "pieces": pieces, "vectors": vectors, "vectors_per_row": vectors, "output_channels": outputs,
        "output_zero_point": 3, "activation_min": -100, "activation_max": 127,
    }  # fmt: skip
    return KernelCall.of("kibi_fully_connected_s8", values, is_often_least=is_often_least)


def _packed(call: KernelCall) -> KernelCall:
    packed = pack_fully_connected(call)
    assert packed is not None
    return packed


def _outputs(kernels: Kernels, call: KernelCall, vectors: np.ndarray) -> np.ndarray:
    """What the kernel makes of vectors [N, K]: one after another in a row, or one in rows."""
    params = call.params_as(FullyConnectedHalvesParams)
    bench = Bench(kernels, np.random.default_rng(len(vectors)))
    output = bench.place("output", np.zeros(len(vectors) * params.output_channels, np.int8), writable=True)
    rows = vectors.astype(np.int8).reshape(params.pieces, -1)
    pointers = bench.rows([bench.place("input", row) for row in rows])
    bench.call(_KERNEL, output, pointers, bench.params(call), 0)
    return bench.read(output, len(vectors) * params.output_channels).reshape(len(vectors), -1)


def _expected(weights: np.ndarray, inputs: np.ndarray) -> np.ndarray:
    sums = (inputs.astype(np.int64) @ weights.T.astype(np.int64)).astype(np.int32)
    scaled = requantize(sums, np.full(len(weights), 1 << 30), np.full(len(weights), -8)) + 3
    return np.clip(scaled, -100, 127)


@pytest.mark.parametrize("reach", [127, 40, 4])
def test_layers_of_any_shape_equal_the_rule(kernels: Kernels, reach: int) -> None:
    """Sums that end by flags and by the elements, pieces, vectors, channels that are no whole blocks, several words of flags."""
    rng, small = np.random.default_rng(reach), set[bool]()
    for depth, outputs, pieces, vectors in _SHAPES:
        weights = rng.integers(-reach, reach + 1, (outputs, depth))
        weights[0] = rng.integers(reach // 2, reach + 1, depth)  # of one sign: its sums are the greatest
        call = _packed(_call(weights, pieces=pieces, vectors=vectors))
        params = call.params_as(FullyConnectedHalvesParams)
        rows = params.breaks.reshape(-(-outputs // 8), -1).astype(np.int64)
        for few in (0.0, 0.7, 0.99) if params.numbers else (0.0,):
            inputs = np.where(
                rng.random((vectors, depth)) < few, -128, rng.choice([-127, 127, *range(-5, 6)], (vectors, depth))
            )
            totals, saved = (inputs + 128).sum(axis=1), (inputs == -128).sum(axis=1) * 3 // 8
            if params.numbers:
                limits, ends = rows[:, :2].T
                small |= set((totals <= limits[:, None] * (ends[:, None] + saved)).reshape(-1).tolist())
            np.testing.assert_array_equal(_outputs(kernels, call, inputs), _expected(weights, inputs))
    assert small == {False, True}


def test_only_large_layers_after_a_relu_leave_out_zeros() -> None:
    """Others have no numbers for that, and do without its code."""
    for weights, is_often_least, count in (((64, 128), True, 10), ((64, 128), False, 0), ((64, 127), True, 0)):
        call = _packed(_call(np.ones(weights), is_often_least=is_often_least))
        assert call.params_as(FullyConnectedHalvesParams).numbers == count
        assert call.features == ({"KIBI_HALVES_OF_ZEROS"} if count else set())


def test_convolutions_to_rows_of_one_pixel_equal_the_reference(kernels: Kernels) -> None:
    """Windows of several rows and columns, also with columns outside."""
    for geometry in (
        Geometry(6, 16, kernel=(3, 1), size=(5, 1)),
        Geometry(4, 8, kernel=(2, 5), padding="VALID", size=(3, 5)),
    ):
        case = convolution(geometry)
        graph = graph_of(case)
        packed = pack_convolution(graph.general_calls[0])
        assert packed is not None
        found = run(kernels, graph.views[0], case.inputs, np.random.default_rng(0), packed)
        assert_same(graph, [found], kibi.run(graph, None, case.inputs))


def test_sums_at_the_ends_of_a_half(least_kernels: Kernels) -> None:
    """The largest weights that fit, with the inputs that make their sums least and greatest, in each channel of a word.

    After other elements, which are nothing, they are multiplied one after another, or four at once.
    """
    signs = np.array(np.meshgrid(*[[1, -1]] * 4)).reshape(4, -1).T
    weights = np.concatenate([signs * 64, signs * [127, 127, 1, 0], signs * [-128, 127, 127, 127]])
    weights = np.clip(weights, -128, 127)
    weights[:, 1::2] = np.maximum(weights[:, 1::2], -127)
    inputs = np.where(np.concatenate([signs, -signs]) > 0, 127, -128)
    for before in (0, 1, 4):
        wide, taken = (np.pad(each, ((0, 0), (before, 0))) for each in (weights, inputs))
        call = _packed(_call(wide, vectors=len(taken)))
        np.testing.assert_array_equal(_outputs(least_kernels, call, taken), _expected(wide, taken))


def test_every_boundary(least_kernels: Kernels) -> None:
    """Sums of nothing but the bias, each with its multiplier and shift, to the left and to the right."""
    acc, multiplier, shift = np.array(TRIPLES, np.int32).T
    call = _packed(_call(np.zeros((len(acc), 2)), bias=acc, multiplier=multiplier, shift=shift))
    moved = (requantize(acc, multiplier, shift).astype(np.int64) + 3 + (1 << 31)) % (1 << 32) - (1 << 31)
    np.testing.assert_array_equal(_outputs(least_kernels, call, np.zeros((1, 2)))[0], np.clip(moved, -100, 127))


def test_the_kernel_refuses_many_channels_without_weights() -> None:
    """Such layers keep the general kernel: those channels take as much flash as others."""
    assert pack_fully_connected(_call(np.ones((10, 4)))) is None
