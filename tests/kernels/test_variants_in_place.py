"""Every kernel that replaces a general one, in C of its own and in plain C, with its output over the row that it reads."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import pytest

from kibi.dtypes import Array
from kibi.frontends.tflite import parse_tflite
from kibi.ir import Graph, KernelCall
from kibi.runtime import seeded_inputs
from kibi.selection.choice import VARIANTS
from kibi.selection.variant import Variant
from tests.kernels.emulated import linked
from tests.kernels.in_place import differing_distances
from tests.ops.comparison import graph_of
from tests.ops.convolutions import GEOMETRIES, Geometry, convolution, convolution_f32, convolution_s16
from tests.support.amount import amount
from tests.support.choices import Seeded
from tests.support.dense_models import dense_network
from tests.support.operator_models import OPERATOR_MODELS

_BUILDS = (
    pytest.param("helium", "cortex-m55", 4, marks=pytest.mark.slow),
    ("riscv", "rv32imc", 3),
    ("armv7em", "cortex-m4", 14),
    ("portable", "cortex-m4", 22),
)
"""A set of kernels, a core, and how many kernels run one of the layers in place: `portable` has plain C for those of all sets."""
_ROOMS = (1 << 14, 512, 0)
"""Bytes of scratch: all that is of use, little and none."""


_MULTIPLIED = (
    Geometry(4, 8, groups=0),
    Geometry(2, 8, groups=0, stride=2, size=(5, 12)),
    Geometry(1, 16, kernel=(10, 8), groups=0, stride=2, size=(12, 12)),
)
"""Depthwise layers with several channels for each of the input."""
_DENSE = ((24, 16, 1), (16, 24, 1), (33, 7, 1), (8, 12, 3), (40, 9, 2), (128, 128, 1))
"""Elements of a vector, channels, and vectors."""


def _layers() -> Iterator[tuple[Graph, Array]]:
    """Models of one layer, and their inputs."""
    for seed, geometry in enumerate((*GEOMETRIES, *_MULTIPLIED)):
        made = (convolution(geometry, seed), convolution(geometry, seed, is_cut=True))
        for case in (*made, convolution_f32(geometry, seed), convolution_s16(geometry, seed)):
            yield graph_of(case), case.inputs[0]
    for seed in range(amount(9, 100)):
        case = OPERATOR_MODELS["FULLY_CONNECTED"](Seeded(seed))
        yield graph_of(case), case.inputs[0]
    for depth, channels, vectors in _DENSE:
        graph = parse_tflite(dense_network((depth, channels), batch=vectors), "dense")
        yield graph, seeded_inputs(graph, 0)[0]


def _variants(kernel_set: str) -> list[Variant]:
    if kernel_set == "portable":
        return [each for each in VARIANTS if each.kernel_set != "host"]
    return [each for each in VARIANTS if each.kernel_set == kernel_set]


def _calls(graph: Graph, kernel_set: str) -> Iterator[KernelCall]:
    """What the variants of a set make of a layer, each once."""
    general, found = graph.general_calls[0], list[KernelCall]()
    for variant in _variants(kernel_set):
        for room in _ROOMS if variant.of == general.kernel else ():
            call = variant.pack(replace(general, scratch_bytes=room))
            if call is not None and call not in found and call.inplace_distance_bytes[:1] not in ((), (None,)):
                found.append(call)
                yield call


@pytest.mark.parametrize(("kernel_set", "core", "least"), _BUILDS)
def test_rows_may_be_overwritten_from_the_declared_distance_on(kernel_set: str, core: str, least: int) -> None:
    """Convolutions of each element type, and fully connected layers."""
    kernels = tuple(sorted({each.kernel for each in _variants(kernel_set)}))
    image = linked(kernels, core, "zig", "s", sets=("portable",) if kernel_set == "portable" else ())
    tried = Counter[str]()
    for graph, data in _layers():
        for call in _calls(graph, kernel_set):
            distance = call.inplace_distance_bytes[0]
            assert distance is not None
            wrong, count = differing_distances(image, graph.views[0], call, data, [distance])
            assert not wrong, (call, graph)
            tried[call.kernel] += count
    assert len(tried) >= least, sorted(set(kernels) - set(tried))
