"""Runs with entries of a byte, of 16 bits and of 32 bits say the places of the plan, and give the same bits."""

from collections import defaultdict
from collections.abc import Sequence

import numpy as np
import pytest

import kibi
from kibi import demo
from kibi.codegen.emit_context import EmitContext
from kibi.dtypes import DType
from kibi.engines.core import CoreEngine
from kibi.frontends.tflite import parse_tflite
from kibi.frontends.tflite.builder import ModelBuilder
from kibi.ir import Graph
from kibi.planfile.in_numpy.program import programs_of
from kibi.planfile.kernel_ids import HALVES, WIDE
from kibi.planfile.reader import PlanFile
from kibi.planfile.records import GRAPH, NODE, PLACE, Memory
from kibi.planfile.run_reader import FileRun, runs_of
from kibi.planfile.runs import WIDTHS, Place, Pointers
from kibi.planfile.writer import plan_file
from kibi.planner import PlannedModel
from kibi.runtime import seeded_inputs
from kibi.targets import target
from tests.ops.comparison import graph_of
from tests.ops.convolutions import Geometry, convolution
from tests.support.amount import amount, share
from tests.support.choices import Seeded
from tests.support.operator_models import OPERATOR_MODELS


def _file(graph: Graph, width: int, **wish: object) -> tuple[PlannedModel, PlanFile]:
    planned = PlannedModel.of(graph, kibi.plan(graph, target="cortex-m4", **wish))  # type: ignore[arg-type]
    return planned, PlanFile(plan_file(planned, least_width=width))


def _runs(file: PlanFile) -> list[FileRun]:
    graph = file.record(GRAPH, file.header["graphs"])
    nodes = [file.record(NODE, graph["nodes"] + k * NODE.size_bytes) for k in range(graph["node_count"])]
    return list(runs_of(file, graph, nodes))


def _comparable(places: Sequence[Place]) -> list[Place]:
    """Places without the bytes that the file alone decides: those of its constants."""
    return [(memory, byte if memory != Memory.FILE else 0) for memory, byte in places]


def _fillers(b: EmitContext) -> dict[tuple[int, int], int]:
    """The inputs of nodes where rows of the file replace those outside."""
    return {
        (node, number): 0
        for node in range(len(b.graph.views))
        for number, access in enumerate(b.accesses[node])
        if access.fill is not None
    }


def _width(file: PlanFile) -> int:
    return file.record(GRAPH, file.header["graphs"])["width"]


@pytest.mark.share(2, part=0)
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("operator", share(sorted(OPERATOR_MODELS), 2))
def test_places_are_those_of_the_plan(operator: str, width: int) -> None:
    """What a reader finds for each step of drawn models is where the plan has it; of constants, their memory is compared."""
    for seed in range(amount(1, 8)):
        planned, file = _file(graph_of(OPERATOR_MODELS[operator](Seeded(seed))), width)
        b, program = EmitContext(planned, target("cortex-m4")), programs_of(file)[0]
        pointers = Pointers(b, defaultdict(int), _fillers(b))
        steps = iter([(run.node, run.first_step + k) for run in b.plan.runs for k in range(run.steps)])
        for run in program.runs:
            for further in range(run.steps):
                node, step = next(steps)
                found = [program.place(run, pointer, further) for pointer in range(len(run.entries))]
                assert _comparable(found) == _comparable(pointers.of(node, step))
                assert node == run.node
        assert not list(steps)
        assert _width(file) == width


@pytest.mark.parametrize("width", WIDTHS)
def test_all_forms_give_the_same_bits(width: int) -> None:
    """The shipped model in C, in one go and in slices."""
    graph = kibi.load(demo.model_path())
    _, file = _file(graph, width)
    assert {HALVES, WIDE} & file.parts == {1: set(), 2: {HALVES}, 4: {WIDE}}[width]
    engine, interpreter = CoreEngine(file, kernels=file.kernels), kibi.Interpreter(graph, kibi.plan(graph))
    for turn in range(2):
        inputs = seeded_inputs(graph, turn)
        expected = [each.tobytes() for each in interpreter.run(inputs)]
        assert [each.tobytes() for each in engine.run(inputs, slice_steps=3 * turn)] == expected


def test_runs_of_bytes_have_at_most_255_steps() -> None:
    """Longer ones are divided."""
    graph = graph_of(convolution(Geometry(2, 2, kernel=(1, 1), size=(600, 2))))
    steps = {width: [each.steps for each in _runs(_file(graph, width, granularity="tensor")[1])] for width in WIDTHS}
    assert steps == {1: [255, 255, 90], 2: [600], 4: [600]}


def test_rows_outside_with_the_same_value_are_stored_once() -> None:
    """The longest one stands for all: in a network of many convolutions others would take kilobytes."""
    builder = ModelBuilder()
    tensor = builder.input([1, 8, 6, 1], DType.S8, 0.05, 0)
    for depth, channels in ((1, 5), (5, 2), (2, 3)):
        filters = builder.constant(np.full((channels, 3, 3, depth), 3, np.int8), 0.004, 0)
        output = builder.tensor([1, 8, 6, channels], DType.S8, 0.06, 0)
        builder.operator("CONV_2D", [tensor, filters], [output], {"padding": "SAME", "stride_h": 1, "stride_w": 1})
        tensor = output
    planned, file = _file(parse_tflite(builder.finish([tensor]), "convolutions.tflite"), 1)
    ((_, elements),) = EmitContext(planned, target("cortex-m4")).fills.items()
    record = file.record(GRAPH, file.header["graphs"])
    places = [file.record(PLACE, record["places"] + k * PLACE.size_bytes) for k in range(record["place_count"])]
    (byte,) = [each["offset"] for each in places if each["memory"] == Memory.FILE]
    assert elements == 30
    assert not any(file.data[byte : byte + elements])
