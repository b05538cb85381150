"""Depthwise convolutions with a multiplier above 1, pass by pass: each core's bits, in place, what is refused, what they cost."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import kibi
from kibi.ir import KernelCall
from kibi.selection import Goal, choose
from kibi.selection.depthwise_multiplied import DEPTHWISE_MULTIPLIED
from kibi.selection.depthwise_multiplied_wide import DEPTHWISE_MULTIPLIED_WIDE
from kibi.targets import target
from tests.kernels.emulated import linked, run
from tests.kernels.in_place import differing_distances
from tests.ops.comparison import assert_same, graph_of
from tests.ops.convolutions import Geometry, convolution, convolution_f32, convolution_s16
from tests.support.amount import sample

_KERNELS = tuple(variant.kernel for variant in DEPTHWISE_MULTIPLIED)
_WIDE = {"kibi_depthwise_conv2d_f32": convolution_f32, "kibi_depthwise_conv2d_s16": convolution_s16}
_FAST = {variant.of: variant.kernel for variant in DEPTHWISE_MULTIPLIED_WIDE}
_BUILDS = (
    ("cortex-m4", "zig", "s"), ("cortex-m4", "zig", "2"), ("cortex-m3", "zig", "s"), ("cortex-m0plus", "zig", "s"),
)  # fmt: skip
_GEOMETRIES = (
    Geometry(8, 32, groups=0),
    Geometry(5, 10, groups=0, stride=2, size=(5, 11)),
    Geometry(6, 18, groups=0, padding="VALID"),
    Geometry(4, 8, groups=0, kernel=(2, 4), dilation=2, size=(5, 9)),
    Geometry(7, 14, groups=0, kernel=(5, 5), size=(6, 8)),
    Geometry(40, 80, groups=0, size=(3, 13)),  # more pixels than are computed at once
    Geometry(100, 200, groups=0, kernel=(1, 3), stride=2, size=(2, 9)),
)


def _packed(call: KernelCall) -> list[KernelCall]:
    """The calls of all variants that fit, with the scratch that they may take."""
    found = (
        each.pack(replace(call, scratch_bytes=max(call.scratch_bytes, each.scratch_bytes(call, Goal.BALANCED))))
        for each in (*DEPTHWISE_MULTIPLIED, *DEPTHWISE_MULTIPLIED_WIDE)
        if each.of == call.kernel
    )
    return [each for each in found if each is not None]


@pytest.mark.parametrize(("core", "compiler", "level"), sample(_BUILDS, [_BUILDS[0], _BUILDS[3]]))
def test_geometries_equal_the_reference(core: str, compiler: str, level: str) -> None:
    """Edges, strides, dilations, blocks of channels that share some, rows in several pieces: the bits of the reference."""
    kernels, tried = linked(_KERNELS, core, compiler, level), set[str]()
    for seed, geometry in enumerate(_GEOMETRIES):
        case = convolution(geometry, seed)
        graph = graph_of(case)
        for packed in _packed(graph.calls[0]):
            found = run(kernels, graph.views[0], case.inputs, np.random.default_rng(seed), packed)
            assert_same(graph, [found], kibi.run(graph, None, case.inputs))
            tried.add(packed.kernel)
    assert tried == {*_KERNELS}


@pytest.mark.parametrize("kernel", _KERNELS)
def test_rows_may_be_overwritten_from_the_declared_distance_on(kernel: str) -> None:
    """At the distance that is declared, and at larger ones, no element is overwritten that is still to be read."""
    kernels, tried = linked((kernel,), "cortex-m4", "zig", "s"), 0
    for geometry in _GEOMETRIES:
        case = convolution(geometry)
        graph = graph_of(case)
        for packed in _packed(graph.calls[0]):
            if packed.kernel != kernel:
                continue
            (distance,) = packed.inplace_distance_bytes
            assert distance is not None
            distances = [distance + more for more in (0, 1, 3, geometry.channels)]
            wrong, count = differing_distances(kernels, graph.views[0], packed, case.inputs[0], distances)
            assert not wrong, (geometry, distance)
            tried += count
    assert tried > 5


@pytest.mark.parametrize("general", sorted(_WIDE))
def test_geometries_of_other_types_equal_the_reference(general: str) -> None:
    """The same of floats and of s16: every row, and in place at the declared distance and larger ones."""
    kernels = linked((*_FAST.values(), *_FAST), "cortex-m4", "zig", "s")
    tried, distances_tried = 0, 0
    for seed, geometry in enumerate(_GEOMETRIES):
        case = _WIDE[general](geometry, seed)
        graph = graph_of(case)
        for packed in _packed(graph.calls[0]):
            assert packed.kernel == _FAST[general]
            found = run(kernels, graph.views[0], case.inputs, np.random.default_rng(seed), packed)
            assert_same(graph, [found], kibi.run(graph, None, case.inputs))
            (distance,) = packed.inplace_distance_bytes
            assert distance is not None
            element = graph.views[0]["input"].type.dtype.size_bytes
            distances = [distance + element * more for more in (0, 1, geometry.channels)]
            wrong, count = differing_distances(kernels, graph.views[0], packed, case.inputs[0], distances)
            assert not wrong, (geometry, distance)
            tried, distances_tried = tried + 1, distances_tried + count
    # Of floats, the general kernel computes four output channels of one input channel at once.
    has_fours = general == "kibi_depthwise_conv2d_f32"
    assert tried == sum(not (has_fours and each.outputs // each.channels % 4 == 0) for each in _GEOMETRIES)
    assert distances_tried > 5


@pytest.mark.parametrize(
    "geometry",
    [Geometry(3, 12, groups=0), Geometry(8, 16, groups=2), Geometry(8, 16), Geometry(8, 8, groups=0)],
)
def test_layer_of_another_kind_is_refused(geometry: Geometry) -> None:
    """Fewer than four input channels, groups of several, no groups, and multiplier 1 have other kernels."""
    call = graph_of(convolution(geometry)).calls[0]
    assert call.kernel != "kibi_conv2d_s8" or _packed(call) == []


@pytest.mark.parametrize(
    ("core", "kernel"),
    [("cortex-m4", _KERNELS[0]), ("cortex-m3", _KERNELS[-1]), ("cortex-m0plus", _KERNELS[-1])],
)
def test_each_core_takes_its_kernel(core: str, kernel: str) -> None:
    """The first that fits, where the goal is not the least flash."""
    calls = graph_of(convolution(Geometry(8, 32, groups=0))).calls
    assert choose(calls, target(core), Goal.BALANCED)[0].kernel == kernel


@pytest.mark.parametrize("general", sorted(_WIDE))
def test_multiplied_layers_of_other_types_take_few_instructions(general: str, tmp_path: Path) -> None:
    """A multiplier of 2 leaves no four output channels of one input channel; one after another takes 18 a product, or 23 of s16."""
    graph = graph_of(_WIDE[general](Geometry(16, 32, groups=0, size=(7, 7))))
    (view,) = graph.views
    plan = kibi.plan(graph, "cortex-m4")
    assert plan.kernels == (_FAST[general],)
    assert kibi.measure(kibi.compile(graph, plan, tmp_path)).instructions < 6 * view.op.macs(view)
