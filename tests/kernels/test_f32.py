"""Layers of floats by their kernels for Armv7E-M: any shape at any address, and sums in the order of the rule."""

import numpy as np
import pytest

import kibi
from tests.kernels.emulated import WIDE_KERNELS, Bench, Kernels, linked, run
from tests.kernels.in_place import differing_distances
from tests.ops.comparison import assert_same, graph_of
from tests.ops.convolutions import GEOMETRIES, Geometry, convolution_f32
from tests.support.amount import IS_EXHAUSTIVE, amount
from tests.support.choices import Seeded
from tests.support.operator_models import OPERATOR_MODELS, Case
from tests.toolchain.tools import check_cross

_KERNELS = (
    "kibi_conv2d_f32", "kibi_depthwise_conv2d_f32", "kibi_fully_connected_f32", "kibi_fully_connected_f32_accumulate",
)  # fmt: skip
_BUILDS = (("cortex-m4", "zig", "s"), ("cortex-m4", "gcc", "2"), ("cortex-m33", "zig", "2"))
_DRAWN = amount(10, 300)
_MORE = (
    *GEOMETRIES[:: amount(3, 1)],
    Geometry(7, 9, kernel=(1, 1), size=(2, 5)),
    Geometry(8, 3, kernel=(1, 1), size=(2, 5)),
    Geometry(12, 4, kernel=(2, 3), size=(3, 2)),
    Geometry(3, 9, stride=2, size=(4, 11)),  # copied windows: the last channels once more, columns left over
    Geometry(1, 6, stride=3, padding="VALID", size=(5, 10)),
    Geometry(1, 8, size=(4, 9)),  # windows in registers
    Geometry(3, 8, stride=2, size=(5, 11)),
    Geometry(3, 4, padding="VALID", size=(3, 7)),
    Geometry(9, 4, kernel=(3, 1), size=(4, 5)),
    Geometry(6, 10, groups=2, size=(3, 5)),
    Geometry(13, 13, groups=0, stride=2, size=(5, 9)),
    Geometry(8, 8, groups=0, kernel=(2, 7), size=(4, 3)),
    Geometry(9, 9, groups=0, dilation=2, size=(4, 6)),
    Geometry(2, 14, groups=0, size=(3, 4)),
    Geometry(1, 8, groups=0, stride=2, size=(3, 7)),
)


@pytest.fixture(params=_BUILDS if IS_EXHAUSTIVE else _BUILDS[:1], ids=" ".join)
def kernels(request: pytest.FixtureRequest) -> Kernels:
    """The kernels, for a core by a compiler."""
    target, compiler, level = request.param
    if compiler == "gcc":
        check_cross()
    return linked(WIDE_KERNELS, target, compiler, level)


def _check(kernels: Kernels, case: Case, seed: int) -> bool:
    graph = graph_of(case)
    if graph.calls[0].kernel not in _KERNELS:
        return False
    found = run(kernels, graph.views[0], case.inputs, np.random.default_rng(seed))
    (wanted,) = kibi.run(graph, None, case.inputs)
    # Which bits a NaN has is up to the processor.
    assert_same(
        graph, [np.where(np.isnan(found), np.float32(0), found)], [np.where(np.isnan(wanted), np.float32(0), wanted)]
    )
    np.testing.assert_array_equal(np.isnan(found), np.isnan(wanted))
    return True


@pytest.mark.parametrize("operator", ["CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED"])
def test_drawn_models_equal_the_reference(kernels: Kernels, operator: str) -> None:
    """Shapes, paddings and values of every kind give the same bits, and no byte outside is touched."""
    tried = [_check(kernels, OPERATOR_MODELS[operator](Seeded(seed)), seed) for seed in range(_DRAWN)]
    assert sum(tried) >= 1


def test_geometries_equal_the_reference(kernels: Kernels) -> None:
    """Blocks of channels and rests, fewer channels than a block, groups, edges, runs of every length modulo eight."""
    for seed, geometry in enumerate(_MORE):
        assert _check(kernels, convolution_f32(geometry, seed, ("NONE", "RELU")[seed // 2 % 2]), seed)


def test_kernels_without_blocks_give_the_same_bits() -> None:
    """Layers of fewer than four channels leave the part out; without it, all others are right, too."""
    kernels = linked(("kibi_conv2d_f32", "kibi_depthwise_conv2d_f32"), "cortex-m4", "zig", "s", frozenset())
    for seed, geometry in enumerate(_MORE):
        assert _check(kernels, convolution_f32(geometry, seed), seed)
    for geometry in (Geometry(3, 3), Geometry(3, 3, groups=0), Geometry(3, 6, groups=3), Geometry(3, 6, groups=0)):
        (call,) = graph_of(convolution_f32(geometry)).calls
        assert not any(part.endswith("_OF_FOURS") for part in call.features)


def test_rows_may_be_overwritten_from_the_declared_distance_on(kernels: Kernels) -> None:
    """No element is overwritten that is still to be read."""
    for geometry in _MORE:
        case = convolution_f32(geometry)
        graph = graph_of(case)
        (call,) = graph.calls
        (distance,) = call.inplace_distance_bytes
        assert distance is not None
        wrong, _ = differing_distances(kernels, graph.views[0], call, case.inputs[0], [distance, distance + 4])
        assert not wrong


@pytest.mark.parametrize(
    ("geometry", "most"),
    [
        (Geometry(64, 16, kernel=(1, 1), size=(2, 12)), 1.8),
        (Geometry(3, 8, size=(5, 24)), 1.8),
        (Geometry(3, 10, size=(5, 24)), 3.1),
        (Geometry(1, 8, size=(5, 24)), 2.55),
        (Geometry(16, 16, groups=0, size=(5, 24)), 4.5),
    ],
    ids=["pointwise", "three channels", "ten of three", "one channel", "depthwise"],
)
def test_multiplications_take_few_instructions(geometry: Geometry, most: float) -> None:
    """For each multiply-accumulate, everything counted."""
    graph = graph_of(convolution_f32(geometry, 0, "RELU"))
    kernels, view, call = linked(WIDE_KERNELS, "cortex-m4", "zig", "s"), graph.views[0], graph.calls[0]
    bench = Bench(kernels, np.random.default_rng(0))
    source = view.row_tensors[0].type
    row = bench.place("input", np.ones(source.row_elements, np.float32))
    output = bench.place("output", np.zeros(view.output.type.row_elements, np.float32), writable=True)
    rows = bench.rows([row] * geometry.kernel[0])
    taken = bench.call(call.kernel, output, rows, bench.params(call), 0)
    assert taken < most * view.op.macs(view) / view.steps
