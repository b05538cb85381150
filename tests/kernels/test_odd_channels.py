"""Layers some of whose channels fast kernels cannot compute: general kernels give the same bytes, wherever the channels are."""

from dataclasses import replace

import numpy as np
import pytest

from kibi.dtypes import Array
from kibi.ir import Graph, KernelCall
from kibi.kernels.params import Params
from kibi.kernels.params.fully_connected import FullyConnectedS8Params
from kibi.selection import Goal
from kibi.selection.choice import choose
from kibi.selection.fully_connected_blocks import FULLY_CONNECTED_BLOCKS
from kibi.selection.odd_channels import ODD_CHANNELS
from kibi.selection.variant import Variant
from kibi.targets import target
from tests.kernels.emulated import Bench, Kernels, linked, run
from tests.kernels.in_place import differing_distances
from tests.kernels.test_fully_connected_variants import fully_connected
from tests.ops.comparison import graph_of
from tests.ops.convolutions import Geometry, convolution

_M4 = ("cortex-m4", "zig", "s")
_BUILDS = [_M4, pytest.param(("cortex-m0plus", "zig", "s"), marks=pytest.mark.slow)]
"""A core of the set, and one that runs the plain C twins."""
_GEOMETRIES = {
    "kibi_conv2d_s8_3x3x1": (Geometry(1, 8), Geometry(1, 7, stride=2, size=(5, 8))),
    "kibi_conv2d_s8_winograd": (Geometry(8, 8), Geometry(4, 9, padding="VALID", size=(5, 8))),
    "kibi_conv2d_s8_columns": (Geometry(8, 9), Geometry(16, 8, size=(3, 6)), Geometry(4, 13, padding="VALID")),
    "kibi_conv2d_s8_blocks": (
        Geometry(32, 9, kernel=(1, 1)), Geometry(16, 8, stride=2), Geometry(3, 8, kernel=(3, 5), size=(4, 12)),
        Geometry(8, 6, dilation=2, size=(5, 6)),
    ),
    "kibi_conv2d_s8_pieces": (Geometry(8, 9, kernel=(5, 5), size=(5, 9)), Geometry(16, 8, stride=2, size=(4, 8))),
    "kibi_depthwise_conv2d_s8_3x3": (Geometry(8, 8, groups=0), Geometry(7, 7, groups=0, stride=2)),
    "kibi_depthwise_conv2d_s8_3x3_relu": (Geometry(8, 8, groups=0), Geometry(13, 13, groups=0, dilation=2, size=(5, 9))),
    "kibi_depthwise_conv2d_s8_columns": (Geometry(9, 9, groups=0, kernel=(4, 5)), Geometry(6, 6, groups=0, kernel=(2, 2))),
    "kibi_fully_connected_s8_blocks": (
        Geometry(8, 12, padding="VALID", size=(4, 3)), Geometry(4, 9, kernel=(1, 3), padding="VALID", size=(3, 3)),
    ),
}  # fmt: skip
_CONVOLUTIONS = tuple(each for each in ODD_CHANNELS if each.of != "kibi_fully_connected_s8")
_KERNELS = tuple(dict.fromkeys(each for variant in ODD_CHANNELS for each in (variant.of, variant.kernel)))
_SEEDS = 2
_DRAWN = 40


@pytest.fixture(params=_BUILDS, ids=" ".join)
def kernels(request: pytest.FixtureRequest) -> Kernels:
    """The fast kernels with odd channels, and the general ones, for a core."""
    return linked(_KERNELS, *request.param)


def _with_odd_channels(call: KernelCall, rng: np.random.Generator, signs: tuple[int, ...] = (-1, 1)) -> KernelCall:
    """A general call with a few channels that no fast kernel computes: large biases, and shifts to the left."""
    params = call.params_as(Params)
    arrays = {name: params.by_name[name].copy() for name in ("bias", "multiplier", "shift")}
    channels = len(arrays["bias"])
    for odd in rng.choice(channels, int(rng.integers(1, channels // 6 + 1)), replace=False):
        if rng.integers(2):
            arrays["shift"][odd] = rng.integers(0, 4)
            arrays["bias"][odd] = rng.integers(-200, 200)
        else:
            sign = int(rng.choice(signs))
            # Of these sums, an output is 2**25: the bias is where it changes.
            arrays["bias"][odd] = (sign * (2 * int(rng.integers(32, 62)) + 1)) << 24
            arrays["multiplier"][odd], arrays["shift"][odd] = 1 << 30, -24
    return replace(call, params=params.replaced(**arrays))


def _drawn(variant: Variant, geometry: Geometry, seed: int) -> tuple[KernelCall, KernelCall, Graph, Array]:
    """A general call with odd channels, the variant's, the graph with its geometry, and an input."""
    case, rng = convolution(geometry, seed), np.random.default_rng(seed)
    graph = graph_of(case)
    call = graph.general_calls[0]
    if "relu" not in variant.kernel:
        call = _with_odd_channels(call, rng)
    else:
        # What a ReLU cuts off is one output for all inputs.
        call = _with_odd_channels(call, rng, signs=(1,))
        params = call.params_as(Params)
        call = replace(call, params=params.replaced(activation_min=params.by_name["output_zero_point"]))
    room = replace(call, scratch_bytes=max(call.scratch_bytes, variant.scratch_bytes(call, Goal.SPEED)))
    made = variant.pack(room)
    assert made is not None, (variant.kernel, geometry, seed)
    assert made.scratch_bytes <= room.scratch_bytes
    return call, made, graph, case.inputs[0]


def _cases() -> list[tuple[Variant, Geometry, int]]:
    return [
        (variant, geometry, seed)
        for variant in _CONVOLUTIONS
        for geometry in _GEOMETRIES[variant.kernel.removesuffix("_odd")]
        for seed in range(_SEEDS)
    ]


def test_odd_channels_anywhere_give_the_general_bytes(kernels: Kernels) -> None:
    """Windows inside and at edges, of every kernel: odd channels at drawn places get what the general kernel gives them."""
    varying = 0
    for variant, geometry, seed in _cases():
        call, made, graph, data = _drawn(variant, geometry, seed)
        rng = np.random.default_rng(seed)
        general = run(kernels, graph.views[0], [data], rng, call)
        found = run(kernels, graph.views[0], [data], rng, made)
        np.testing.assert_array_equal(found, general, err_msg=f"{variant.kernel} {geometry} {seed}")
        odd = general[..., made.constants["odd_numbers"]].reshape(-1, len(made.constants["odd_numbers"]))
        varying += bool((odd != odd[0]).any())
    assert varying > len(_cases()) // 2


def test_odd_channels_of_vectors_give_the_general_bytes(kernels: Kernels) -> None:
    """Fully connected layers: vectors in pieces, and several in a row."""
    variant = next(each for each in ODD_CHANNELS if each.of == "kibi_fully_connected_s8")
    rng, tried = np.random.default_rng(0), 0
    for _ in range(_DRAWN):
        values, sizes = fully_connected(rng)
        general = KernelCall.of("kibi_fully_connected_s8", values)
        layer = general.params_as(FullyConnectedS8Params)
        if layer.output_channels < 6 or FULLY_CONNECTED_BLOCKS[0].pack(general) is None:
            continue
        call = _with_odd_channels(general, rng)
        made = variant.pack(call)
        if made is None:  # an odd channel has one output
            continue
        bench, size = Bench(kernels, rng), layer.vectors * layer.output_channels
        rows = bench.rows([bench.place("input", rng.integers(-128, 128, each).astype(np.int8)) for each in sizes])
        outputs = []
        for each in (call, made):
            output = bench.place("output", np.zeros(size, np.int8), writable=True)
            bench.call(each.kernel, output, rows, bench.params(each), bench.scratch(each.scratch_bytes))
            outputs.append(bench.read(output, size))
        np.testing.assert_array_equal(outputs[1], outputs[0])
        tried += 1
    assert tried > _DRAWN // 4


def test_one_odd_channel_does_not_send_a_layer_to_the_general_kernel() -> None:
    """Fast kernels are chosen again, unless more than a sixth of the channels are odd."""
    graph = graph_of(convolution(Geometry(16, 12, kernel=(1, 1))))
    call = graph.general_calls[0]
    for odd, kernel in ((0, "kibi_conv2d_s8_blocks"), (2, "kibi_conv2d_s8_blocks_odd"), (3, "kibi_conv2d_s8")):
        params = call.params_as(Params)
        shift = params.by_name["shift"].copy()
        shift[:odd] = 1
        given = replace(call, params=params.replaced(shift=shift))
        assert choose([given], target("cortex-m4"), Goal.BALANCED)[0].kernel == kernel


def test_rows_may_be_overwritten_from_the_declared_distance_on() -> None:
    """Odd channels are computed before anything is written: a layer may run in place as with the fast kernel alone."""
    kernels, tried = linked(_KERNELS, *_M4), 0
    for variant, geometry, seed in _cases()[::_SEEDS]:
        _, made, graph, data = _drawn(variant, geometry, seed)
        if made.inplace_distance_bytes and made.inplace_distance_bytes[0] is not None:
            distance = made.inplace_distance_bytes[0]
            wrong, count = differing_distances(kernels, graph.views[0], made, data, [distance, distance + 1])
            assert not wrong, (variant.kernel, geometry, wrong)
            tried += count
    assert tried > 5
