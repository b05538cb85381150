"""Runs whose pointers to inputs are evenly spaced: an entry and a distance say where they lead."""

from collections import defaultdict

import pytest

import kibi
from kibi import demo
from kibi.codegen.emit_context import EmitContext
from kibi.engines.core import CoreEngine, core_library
from kibi.engines.core_device import CoreDeviceEngine
from kibi.engines.plan_numpy import NumpyPlanEngine
from kibi.errors import PlanError, TargetError
from kibi.frontends.text import parse_text
from kibi.ir import Graph
from kibi.planfile.core_library import Core
from kibi.planfile.in_numpy.program import Program, programs_of
from kibi.planfile.kernel_ids import SPACED, kernel_id, part_id
from kibi.planfile.reader import PlanFile
from kibi.planfile.records import GRAPH, MANY, NODE, Memory
from kibi.planfile.run_reader import FileRun, runs_of
from kibi.planfile.runs import WIDTHS, Pointers
from kibi.planfile.writer import plan_file
from kibi.planner import PlannedModel
from kibi.runtime import seeded_inputs
from kibi.targets import target
from tests.passes.streaming_networks import streaming
from tests.planfile.changed_runs import put_entry, with_spare_number
from tests.planfile.mutants import with_digest
from tests.support.amount import amount, sample
from tests.support.choices import Seeded

_MORE = "kibi_add_s8"
"""A kernel of no model here: in a core that has it, others are elsewhere than their files expect them."""


def _planned(seed: int, **wish: str) -> tuple[Graph, PlannedModel]:
    """A streaming model, one of whose layers reads the rows of a variable."""
    graph = kibi.simplify(streaming(Seeded(seed)))
    return graph, PlannedModel.of(graph, kibi.plan(graph, target=("cortex-m4", "host")[seed % 2], **wish))  # type: ignore[arg-type]


def _engine(file: PlanFile) -> CoreEngine:
    """A core whose kernels are where the file expects them."""
    return CoreEngine(file, library=core_library(file.kernels, parts=file.parts))


def _spaced(file: PlanFile) -> tuple[dict[str, int], FileRun]:
    """The record of the graph, and a run of it whose pointers are evenly spaced."""
    graph = file.record(GRAPH, file.header["graphs"])
    nodes = [file.record(NODE, graph["nodes"] + k * NODE.size_bytes) for k in range(graph["node_count"])]
    return graph, next(run for run in runs_of(file, graph, nodes) if run.shifts)


@pytest.mark.parametrize("width", WIDTHS)
def test_places_are_those_of_the_plan(width: int) -> None:
    """Each pointer of each step leads where the plan has its row, with fewer entries than pointers where rows are evenly spaced."""
    seeds, spaced = amount(4, 40), 0
    for seed in range(seeds):
        _, planned = _planned(seed)
        file = PlanFile(plan_file(planned, least_width=width))
        b, program = EmitContext(planned, target("cortex-m4")), programs_of(file)[0]
        pointers = Pointers(b, defaultdict(int), {})
        for run, made in zip(program.runs, b.plan.runs, strict=True):
            found = [program.place(run, pointer, 0) for pointer in range(len(run.entries))]
            assert found == pointers.of(made.node, made.first_step)
        assert (_saved(program, file, width) > 0) is (SPACED in file.parts)
        spaced += SPACED in file.parts
    assert spaced > seeds // 2


def _saved(program: Program, file: PlanFile, width: int) -> int:
    """How many bytes of runs a file has less than if each pointer had an entry."""
    graph = file.record(GRAPH, file.header["graphs"])
    unit = min(width, 2)
    return sum(unit + width * len(run.entries) for run in program.runs) - (graph["runs_end"] - graph["runs"])


@pytest.mark.share(2, part=1)
@pytest.mark.parametrize(
    ("width", "wish"),
    sample(
        [(width, wish) for width in WIDTHS for wish in ({}, {"input": "external"})],
        [(1, {}), (4, {"input": "external"})],
    ),
    ids=lambda each: str(each) if isinstance(each, int) else each.get("input", "arena"),
)
def test_bits_are_those_of_the_plan(width: int, wish: dict[str, str]) -> None:
    """In C, where kernels are where the file expects them and elsewhere, in one go and step by step; and on NumPy."""
    for seed in range(amount(2, 20)):
        graph, planned = _planned(seed, **wish)
        file = PlanFile(plan_file(planned, least_width=width))
        engines = _engine(file), CoreEngine(file, kernels=[*file.kernels, _MORE]), NumpyPlanEngine(file)
        interpreter = kibi.Interpreter(graph, planned.plan)
        for turn in range(4):
            inputs = seeded_inputs(graph, turn)
            expected = [each.tobytes() for each in interpreter.run(inputs)]
            for engine in engines:
                options = {"slice_steps": turn % 3} if isinstance(engine, CoreEngine) else {}
                assert [each.tobytes() for each in engine.run(inputs, **options)] == expected


@pytest.mark.parametrize("kernels", [(), (_MORE,)], ids=["expected", "elsewhere"])
def test_bits_on_the_device_are_those_of_the_plan(kernels: tuple[str, ...]) -> None:
    """On a core with the model's kernels, and on one with more."""
    graph, planned = _planned(2)
    file = PlanFile(plan_file(planned))
    device = CoreDeviceEngine(file, target("cortex-m4"), kernels=[*file.kernels, *kernels] if kernels else None)
    interpreter = kibi.Interpreter(graph, planned.plan)
    for turn in range(3):
        inputs = seeded_inputs(graph, turn)
        expected = [each.tobytes() for each in interpreter.run(inputs)]
        assert [each.tobytes() for each in device.run(inputs, slice_steps=turn)] == expected


def test_rows_that_are_too_far_apart_have_an_entry_each() -> None:
    """A distance has 16 bits in most files, with sign."""
    graph = parse_text(
        """
        graph "far" from "text" (%0, %6) -> (%2, %7) {
          %0 "x": s8[1, 1, 1, 2] (scale 0.5, zero 0)
          %1 "past": s8[1, 1, 1, 2] (scale 0.5, zero 0) variable initial [1, 2]
          %2 "both": s8[1, 2, 1, 2] (scale 0.5, zero 0) = CONCATENATION #0 (input0 %1, input1 %0) {axis 1}
          %3 "begin": s32[4] = [0, 1, 0, 0]
          %4 "size": s32[4] = [1, 1, 1, 2]
          %5 "next": s8[1, 1, 1, 2] (scale 0.5, zero 0) updates %1 = SLICE #1 (input %2, begin %3, size %4)
          %6 "rows": s8[1, 17, 4100, 2] (scale 0.5, zero 0)
          %8 "filter": s8[1, 5, 1, 2] (scale 0.5, zero 0) = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]
          %9 "bias": s32[2] (scale 0.25, zero 0) = [1, 2]
          %7 "y": s8[1, 1, 4100, 2] (scale 16, zero 0) = DEPTHWISE_CONV_2D #2 (input %6, filter %8, bias %9) {dilation [4, 1]}
        }
        """,
        "far",
    )
    planned = PlannedModel.of(graph, kibi.plan(graph, target="host", input="external"))
    file = PlanFile(plan_file(planned))
    assert file.record(GRAPH, file.header["graphs"])["width"] == 1
    assert SPACED not in file.parts
    inputs = seeded_inputs(graph, 1)
    expected = [each.tobytes() for each in kibi.run(graph, planned.plan, inputs)]
    assert [each.tobytes() for each in _engine(file).run(inputs)] == expected
    wide = PlanFile(plan_file(planned, least_width=4))
    assert SPACED in wide.parts
    assert [each.tobytes() for each in _engine(wide).run(inputs)] == expected


def test_files_without_variables_have_an_entry_for_each_pointer() -> None:
    """Their cores have no faster way through runs of one step."""
    graph = kibi.load(demo.model_path())
    assert SPACED not in PlanFile(plan_file(PlannedModel.of(graph, kibi.plan(graph)))).parts


def test_core_without_the_part_refuses_the_file() -> None:
    """The text says what is missing; a file that does not say that it needs the part is refused, too."""
    graph, planned = _planned(0)
    file = PlanFile(plan_file(planned))
    core = Core.of(file.kernels, target("cortex-m4"), file.parts - {SPACED})
    with pytest.raises(TargetError, match="for rows that are evenly spaced"):
        kibi.compile_plan(graph, planned.plan, core=core)
    data = bytearray(file.data)
    ids = file.header["kernels"] + 4 * file.kernel_ids.index(part_id(SPACED))
    data[ids : ids + 4] = kernel_id(file.kernels[0]).to_bytes(4, "little")
    library = core_library(file.kernels, parts=file.parts - {SPACED})
    with pytest.raises(PlanError):
        CoreEngine(PlanFile(with_digest(data)), library=library)
    assert _engine(file).file is file


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("far", [-1, 1])
def test_row_outside_of_its_memory_is_refused(width: int, far: int) -> None:
    """The first row is inside, the last one is not: it is before the variables, or after them."""
    _, planned = _planned(0)
    file = with_spare_number(PlanFile(plan_file(planned, least_width=width)))
    graph, run = _spaced(file)
    program = programs_of(file)[0]
    rows = len(run.shifts) - 1
    memory, first = program.place(run, 0, 0)
    assert memory == Memory.STATE
    room = file.state_bytes - first if far > 0 else first + 1
    data = bytearray(file.data)
    put_entry(data, graph, run, 1, far * -(-room // (rows - 1)) % (1 << 8 * max(width, 2)))
    changed = PlanFile(with_digest(data))
    with pytest.raises(PlanError):
        CoreEngine(changed, kernels=file.kernels)
    with pytest.raises(PlanError):
        NumpyPlanEngine(changed).run(seeded_inputs(planned.graph, 0))


def test_run_at_the_end_is_none() -> None:
    """The byte after the runs has the lowest bit set, and a byte 0 may follow it: a core stops there all the same."""
    _, planned = _planned(4)
    file = PlanFile(plan_file(planned))
    graph = file.record(GRAPH, file.header["graphs"])
    data = bytearray(file.data)
    assert data[graph["runs_end"]] == MANY
    data[graph["runs_end"] + 1] = 0
    engine = _engine(PlanFile(with_digest(data)))
    inputs = seeded_inputs(planned.graph, 1)
    assert [each.tobytes() for each in engine.run(inputs)] == [
        each.tobytes() for each in kibi.run(planned.graph, planned.plan, inputs)
    ]
