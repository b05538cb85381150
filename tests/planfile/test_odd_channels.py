"""Plan files with large windows and odd channels: engines give the same bits, and parameters lead no kernel out of its memory."""

from collections.abc import Iterator

import pytest

import kibi
from kibi.engines.core import CoreEngine
from kibi.engines.core_device import CoreDeviceEngine
from kibi.engines.plan_numpy import NumpyPlanEngine
from kibi.ir import Graph
from kibi.planfile.reader import PlanFile
from kibi.planfile.writer import plan_file
from kibi.planner import PlannedModel
from kibi.runtime import seeded_inputs
from tests.ops.comparison import graph_of
from tests.ops.convolutions import Geometry, convolution
from tests.planfile.mutants import mutants, tried
from tests.support.amount import amount

_LAYERS = (
    ("kibi_conv2d_s8_pieces", Geometry(44, 9, kernel=(4, 4), stride=2, size=(4, 7)), ()),
    ("kibi_conv2d_s8_pieces_odd", Geometry(44, 9, kernel=(4, 4), stride=2, size=(4, 7)), (8,)),
    ("kibi_conv2d_s8_blocks_odd", Geometry(5, 7, kernel=(1, 1), size=(2, 5)), (3,)),
    ("kibi_conv2d_s8_columns_odd", Geometry(4, 12, size=(3, 5)), (0, 11)),
    ("kibi_conv2d_s8_3x3x1_odd", Geometry(1, 6, size=(3, 4)), (2,)),
    ("kibi_depthwise_conv2d_s8_3x3_odd", Geometry(7, 7, groups=0, size=(3, 4)), (5,)),
    ("kibi_depthwise_conv2d_s8_columns_odd", Geometry(6, 6, groups=0, kernel=(2, 4), size=(3, 4)), (0,)),
)
_FOR_SPEED = (
    ("kibi_conv2d_s8_winograd_odd", Geometry(4, 7, size=(3, 6)), (6,)),
    ("kibi_fully_connected_s8_blocks_odd", Geometry(3, 12, padding="VALID", size=(4, 3)), (1, 7)),
)
_INT4 = Geometry(5, 7, size=(2, 6))
"""A layer of int4, whose kernel shares a struct with one that another kernel calls."""
_MUTANTS = amount(500, 50_000)
"""Of all files together."""


def _files() -> Iterator[tuple[Graph, kibi.Plan, PlanFile]]:
    """A plan file of each kernel."""
    for goal, layers in (("balanced", _LAYERS), ("speed", _FOR_SPEED)):
        for kernel, geometry, odd in layers:
            graph = graph_of(convolution(geometry, odd=odd))
            plan = kibi.plan(graph, "cortex-m4", goal=goal)
            assert plan.kernels == (kernel,)
            yield graph, plan, PlanFile(plan_file(PlannedModel.of(graph, plan)))


def test_numpy_gives_the_bits_of_the_reference() -> None:
    """It unpacks the constants of the fast kernel and those of odd channels."""
    for number, (graph, plan, file) in enumerate(_files()):
        inputs = seeded_inputs(graph, number)
        expected = [each.tobytes() for each in kibi.Interpreter(graph, plan).run(inputs)]
        assert [each.tobytes() for each in NumpyPlanEngine(file).run(inputs)] == expected


@pytest.mark.slow
def test_cores_give_the_bits_of_the_reference() -> None:
    """C on this machine, and on the device, where other kernels are called with pointers."""
    for number, (graph, plan, file) in enumerate(_files()):
        inputs = seeded_inputs(graph, number)
        expected = [each.tobytes() for each in kibi.Interpreter(graph, plan).run(inputs)]
        for engine in (CoreEngine(file), CoreDeviceEngine(file, kibi.target("cortex-m4"))):
            assert [each.tobytes() for each in engine.run(inputs)] == expected


@pytest.mark.slow
def test_no_mutant_leaves_its_memory() -> None:
    """Each mutant is refused, or runs under sanitizers in memory of exactly its size."""
    files = [file for _, _, file in _files()]
    graph = graph_of(convolution(_INT4, is_int4=True))
    files.append(PlanFile(plan_file(PlannedModel.of(graph, kibi.plan(graph, "cortex-m4")))))
    kernels = tuple(sorted({kernel for file in files for kernel in file.kernels}))
    assert "kibi_conv2d_s8_int4_blocks" in kernels
    assert tried(kernels, [file.data for file in files]) == (0, len(files))
    made = [each for seed, file in enumerate(files) for each in mutants(file, _MUTANTS // len(files), seed)]
    refused, ran = tried(kernels, made)
    assert refused + ran == len(made)
    assert min(refused, ran) > len(made) // 10, "mutants of one kind alone test nothing"
