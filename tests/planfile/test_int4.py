"""Plan files with weights of int4: every engine gives the same bits, and no parameters lead a kernel out of its weights."""

from collections.abc import Iterator

import pytest

import kibi
from kibi.engines.core import CoreEngine
from kibi.engines.core_device import CoreDeviceEngine
from kibi.engines.plan_numpy import NumpyPlanEngine
from kibi.frontends.tflite import parse_tflite
from kibi.ir import Graph
from kibi.kernels.params import PARAMS
from kibi.kernels.params.layout import Layout
from kibi.planfile.in_numpy.program import programs_of
from kibi.planfile.reader import PlanFile
from kibi.planfile.records import DIGEST_BYTES, GRAPH, NODE
from kibi.planfile.writer import plan_file
from kibi.planner import PlannedModel
from kibi.runtime import seeded_inputs
from tests.ops.comparison import graph_of
from tests.ops.convolutions import Geometry, convolution
from tests.planfile.mutants import mutants, tried, with_digest
from tests.support.amount import amount, sample, share
from tests.support.compressed_models import int4_network
from tests.support.operator_models import s8_case

_GENERAL = ("kibi_conv2d_s8_int4", "kibi_fully_connected_s8_int4", "kibi_fully_connected_s8_int4_accumulate")
_BLOCKS = (
    "kibi_conv2d_s8_int4_blocks", "kibi_fully_connected_s8_int4_blocks", "kibi_fully_connected_s8_int4_blocks_accumulate",
)  # fmt: skip
_TARGETS = {"cortex-m0plus": _GENERAL, "cortex-m4": _BLOCKS}
_GEOMETRIES = (Geometry(5, 7, size=(4, 6)), Geometry(8, 3, kernel=(1, 1), size=(2, 5)))
_MUTANTS = amount(800, 100_000)
"""Of all files together."""


def _graphs() -> Iterator[Graph]:
    """A network that adds rows up, convolutions that gather and that do not, and drawn fully connected layers."""
    yield parse_tflite(int4_network(4, 6), "rows.tflite")
    yield from (graph_of(convolution(each, is_int4=True)) for each in _GEOMETRIES)
    drawn = (graph_of(s8_case("FULLY_CONNECTED", seed)) for seed in range(60))
    of_int4 = [graph for graph in drawn if graph.calls[0].kernel == "kibi_fully_connected_s8_int4"]
    assert len(of_int4) > 2
    yield from of_int4[:3]


def _files(target: str) -> list[tuple[Graph, kibi.Plan, PlanFile]]:
    """The graphs, each as a plan file."""
    plans = ((graph, kibi.plan(graph, target)) for graph in _graphs())
    return [(graph, plan, PlanFile(plan_file(PlannedModel.of(graph, plan)))) for graph, plan in plans]


@pytest.mark.parametrize("target", sample([(each,) for each in _TARGETS]))
def test_engines_give_the_bits_of_the_unpacked_layer(target: str) -> None:
    """NumPy, C on this machine and C on the device unpack what the Python runtime never packed."""
    ran = set[str]()
    for number, (graph, plan, file) in enumerate(_files(target)):
        ran |= set(file.kernels)
        inputs = seeded_inputs(graph, number)
        expected = [each.tobytes() for each in kibi.Interpreter(graph, plan).run(inputs)]
        engines: list[NumpyPlanEngine | CoreEngine | CoreDeviceEngine] = [
            NumpyPlanEngine(file), CoreEngine(file), CoreDeviceEngine(file, kibi.target(target)),
        ]  # fmt: skip
        for engine in engines:
            assert [each.tobytes() for each in engine.run(inputs)] == expected
    assert ran >= set(_TARGETS[target])


@pytest.mark.parametrize("target", share(_TARGETS, 0, 2))
def test_no_mutant_leaves_its_memory(target: str) -> None:
    """Each mutant is refused, or runs under sanitizers in memory of exactly its size."""
    files = [file for _, _, file in _files(target)]
    kernels = tuple(sorted({kernel for file in files for kernel in file.kernels}))
    assert tried(kernels, [file.data for file in files]) == (0, len(files))
    made = [each for seed, file in enumerate(files) for each in mutants(file, _MUTANTS // len(files), seed)]
    refused, ran = tried(kernels, made)
    assert refused + ran == len(made)
    assert min(refused, ran) > len(made) // 10, "mutants of one kind alone test nothing"


@pytest.mark.parametrize("target", _TARGETS)
def test_weights_that_end_too_soon_are_refused(target: str) -> None:
    """A filter that begins so late that its last word is after the file's end is none of the file's."""
    made = []
    for _, _, file in _files(target):
        graph = file.record(GRAPH, file.header["graphs"])
        params = file.record(NODE, graph["nodes"])["params"]
        kind = PARAMS[programs_of(file)[0].nodes[0].kernel]
        weights = next(number for number, each in enumerate(kind.fields) if each.name in ("filter", "stream"))
        first = params + Layout.of(kind).offsets[weights]
        data = bytearray(file.data)
        late = len(data) - DIGEST_BYTES - 4 - params & ~3
        data[first : first + 4] = late.to_bytes(4, "little")
        made.append(with_digest(data))
    assert tried(_TARGETS[target], made) == (len(made), 0)
