"""Plan files on NumPy kernels give the bits that the Python runtime gives."""

from collections.abc import Sequence

import pytest

import kibi
from kibi.engines.plan_numpy import NumpyPlanEngine
from kibi.errors import InputError, LimitError, PlanError
from kibi.ir import Graph
from kibi.kernels.params import PARAMS
from kibi.kernels.params.layout import Layout
from kibi.planfile.in_numpy.contracts import Shape, holds
from kibi.planfile.in_numpy.program import programs_of
from kibi.planfile.in_numpy.registry import names
from kibi.planfile.reader import PlanFile
from kibi.planfile.records import GRAPH, NODE, PORT
from kibi.planfile.run_reader import runs_of
from kibi.planfile.runs import WIDTHS
from kibi.planfile.writer import plan_file
from kibi.planner import PlannedModel
from kibi.runtime import seeded_inputs
from tests.ops.comparison import graph_of
from tests.ops.convolutions import GEOMETRIES, Geometry, convolution, convolution_f32, convolution_s16
from tests.planfile.mutants import mutants, with_digest
from tests.support import zoo
from tests.support.amount import IS_EXHAUSTIVE, amount, sample, share
from tests.support.choices import Seeded
from tests.support.operator_models import OPERATOR_MODELS
from tests.support.remembering_models import integer_svdf
from tests.support.wider_models import WIDER_MODELS

_TARGETS = ("cortex-m4", "host", "cortex-m0plus", "cortex-m7", "cortex-m33", "cortex-m3")
_GEOMETRIES = (
    *GEOMETRIES,
    *(
        Geometry(channels, outputs, kernel=kernel, stride=stride, size=size, padding=padding)
        for channels, outputs, kernel, stride, size, padding in (
            (16, 16, (3, 3), 1, (5, 12), "SAME"), (8, 5, (3, 3), 1, (4, 7), "SAME"), (12, 3, (1, 3), 1, (3, 5), "SAME"),
            (96, 4, (3, 3), 1, (3, 4), "SAME"), (4, 4, (3, 3), 1, (3, 17), "VALID"), (64, 8, (3, 3), 1, (3, 3), "SAME"),
            (1, 7, (3, 3), 2, (5, 9), "SAME"), (16, 9, (1, 1), 1, (3, 5), "SAME"), (7, 5, (2, 2), 1, (4, 6), "VALID"),
            (24, 11, (4, 1), 1, (4, 1), "VALID"),
        )
    ),
    *(
        Geometry(channels, channels, kernel=kernel, stride=stride, groups=0, size=size)
        for channels, kernel, stride, size in ((8, (3, 3), 1, (5, 9)), (6, (3, 3), 2, (5, 6)), (7, (5, 4), 1, (6, 7)))
    ),
    Geometry(6, 12, stride=2, groups=0, size=(5, 7)),
    Geometry(5, 15, kernel=(5, 4), groups=0, size=(6, 7)),
)  # fmt: skip
"""Those of other tests, and layers whose constants are packed for a processor."""
_MODELS = [(name,) for name, entry in zoo.catalog().items() if not entry.refusal]


def _compare(graph: Graph, target: str, turns: int = 2, width: int = 1, **options: object) -> frozenset[str]:
    """Compares inferences with those of the Python runtime; returns the kernels that ran."""
    plan = kibi.plan(graph, target=target, **options)  # type: ignore[arg-type]
    file = PlanFile(plan_file(PlannedModel.of(graph, plan), least_width=width))
    engine, interpreter = NumpyPlanEngine(file), kibi.Interpreter(graph, plan)
    for turn in range(turns):
        inputs = seeded_inputs(graph, turn)
        expected = interpreter.run(inputs)
        assert [each.tobytes() for each in engine.run(inputs)] == [each.tobytes() for each in expected]
    return frozenset(file.kernels)


def _targets(seed: int, usual: int) -> Sequence[str]:
    """Some of the targets in each run, from one on that a number chooses; all of them in `make check-all`."""
    return _TARGETS if IS_EXHAUSTIVE else [_TARGETS[(seed + k) % len(_TARGETS)] for k in range(usual)]


def test_every_kernel_has_a_form() -> None:
    """Whatever a plan file names."""
    assert names() == set(PARAMS)


@pytest.mark.share(2, part=1)
@pytest.mark.parametrize("operator", share(sorted(OPERATOR_MODELS), 0, 2))
def test_drawn_models_of_an_operator_agree(operator: str) -> None:
    """Several drawn models of each operator, for several targets."""
    for models in (OPERATOR_MODELS, WIDER_MODELS):
        for seed in range(amount(2, 16)) if operator in models else ():
            graph = graph_of(models[operator](Seeded(seed)))
            for target in _targets(seed, 1):
                _compare(graph, target, width=WIDTHS[seed % 3])


@pytest.mark.parametrize("goal", ["speed", "flash"])
@pytest.mark.parametrize("geometry", sample([(each,) for each in _GEOMETRIES], [(each,) for each in _GEOMETRIES[1::4]]))
def test_convolutions_with_packed_constants_agree(geometry: Geometry, goal: str) -> None:
    """Layers of many geometries, with the constants that suit a target and a goal."""
    graph = graph_of(convolution(geometry))
    for target in _TARGETS[:2]:
        _compare(graph, target, goal=goal)


def test_convolutions_of_int16_with_packed_constants_agree() -> None:
    """Windows of any size with weights of 8 bits and of 16, of odd numbers of channels, and depthwise ones."""
    geometries = (
        Geometry(3, 5, size=(4, 7)), Geometry(8, 4, dilation=2, size=(5, 6)), Geometry(6, 6, groups=0),
        Geometry(8, 8, kernel=(2, 3), stride=2, groups=0),
    )  # fmt: skip
    kernels = set[str]()
    for seed, geometry in enumerate(geometries):
        for goal in ("balanced", "speed"):
            kernels |= _compare(graph_of(convolution_s16(geometry, seed, "RELU6")), "cortex-m4", goal=goal)
    assert kernels >= {"kibi_conv2d_s16_blocks", "kibi_depthwise_conv2d_s16_blocks"}


def test_depthwise_layers_of_floats_and_s16_with_a_multiplier_agree() -> None:
    """Channels that are no fours, pixels in several passes, a stride."""
    kernels = set[str]()
    for seed, geometry in enumerate((Geometry(5, 10, groups=0, size=(4, 7)), Geometry(8, 24, groups=0, stride=2))):
        for case in (convolution_f32(geometry, 2 * seed), convolution_s16(geometry, seed)):
            kernels |= _compare(graph_of(case), "cortex-m4")
    assert kernels >= {"kibi_depthwise_conv2d_f32_multiplied", "kibi_depthwise_conv2d_s16_blocks_multiplied"}


def test_svdfs_with_packed_weights_agree() -> None:
    """Of both forms and both kinds of states, with and without elements after whole fours, and with long memories."""
    kernels = set[str]()
    for seed in range(12):
        is_s16, memory = seed % 2 == 1, (8, 12)[seed // 2 % 2]
        graph = graph_of(
            integer_svdf(Seeded(seed), (1, 4 + seed), 1, 8, memory, is_usual=not is_s16, is_usual_s16=is_s16)
        )
        kernels |= _compare(graph, "cortex-m4")
    assert kernels >= {"kibi_svdf_s8_blocks", "kibi_svdf_s8_s16_blocks"}


@pytest.mark.parametrize("goal", ["speed", "flash"])
def test_convolutions_with_weights_of_int4_agree(goal: str) -> None:
    """The same of weights that are unpacked as they are used."""
    for geometry in _GEOMETRIES[::3]:
        graph = graph_of(convolution(geometry, is_int4=True))
        for target in _TARGETS[:2]:
            _compare(graph, target, goal=goal)


@zoo.requires_zoo
@pytest.mark.parametrize("name", sample(_MODELS, _MODELS[2::20]))
def test_real_model_agrees(name: str) -> None:
    """Real models, planned by the row."""
    for seed, target in enumerate(_targets(len(name), 1)):
        _compare(kibi.load(zoo.catalog()[name].path), target, turns=1 if seed else 2)


@pytest.mark.parametrize("operator", ["ADD", "MAX_POOL_2D"])
def test_drawn_models_that_are_planned_for_speed_keep_to_contracts(operator: str) -> None:
    """Kernels that are faster have contracts of their own, which no file that Kibi made breaks."""
    for seed in range(10, 10 + amount(8, 150)):
        _compare(graph_of(OPERATOR_MODELS[operator](Seeded(seed))), "cortex-m4", turns=1, goal="speed")


def test_input_of_which_every_row_is_outside_agrees() -> None:
    """A circular buffer of one slot reads nothing of what it held before: all pointers to it are null."""
    graph = graph_of(OPERATOR_MODELS["CIRCULAR_BUFFER"](Seeded(14)))
    _compare(graph, "cortex-m4")
    file, inputs = kibi.compile_plan(graph), seeded_inputs(graph, 0)
    (expected,) = kibi.Interpreter(graph, kibi.plan(graph)).run(inputs)
    assert kibi.open_plan(file).run(inputs)[0].tobytes() == expected.tobytes()


def test_engine_is_c_or_numpy() -> None:
    """Both give the same bits; another one is refused."""
    graph = graph_of(OPERATOR_MODELS["RESHAPE"](Seeded(0)))
    file = kibi.compile_plan(graph)
    inputs = seeded_inputs(graph, 0)
    one, other = (kibi.open_plan(file, engine=each).run(inputs) for each in ("c", "numpy"))
    assert [each.tobytes() for each in one] == [each.tobytes() for each in other]
    with pytest.raises(InputError, match="Give c or numpy"):
        kibi.open_plan(file, engine="fortran")


@pytest.mark.share(2, part=0)
@pytest.mark.parametrize("operator", share(sorted(OPERATOR_MODELS), 0))
def test_mutants_run_or_are_refused(operator: str) -> None:
    """Files with a right digest and any numbers; none fails in another way, and none takes more than memories have."""
    graph = graph_of(OPERATOR_MODELS[operator](Seeded(1)))
    target = _TARGETS[len(operator) % 2]
    file = PlanFile(plan_file(PlannedModel.of(graph, kibi.plan(graph, target=target, goal="speed"))))
    refused = 0
    for mutant in mutants(file, amount(10, 400), seed=len(operator) + 1):
        try:
            NumpyPlanEngine(PlanFile(mutant)).run(seeded_inputs(graph, 0))
        except (PlanError, InputError, LimitError):
            refused += 1
    assert refused > 1


def test_parameters_that_break_a_contract_are_refused_before_they_run() -> None:
    """An output of two thousand million columns, which the machine has room for."""
    graph = graph_of(convolution(GEOMETRIES[3]))
    file = PlanFile(plan_file(PlannedModel.of(graph, kibi.plan(graph, target="host"))))
    (program,) = programs_of(file)
    width = program.nodes[0].numbers["output_width"]
    kernel = program.nodes[0].kernel
    place = dict(zip((each.name for each in PARAMS[kernel].fields), Layout.of(PARAMS[kernel]).offsets, strict=True))
    data = bytearray(file.data)
    params = file.record(NODE, file.record(GRAPH, file.header["graphs"])["nodes"])["params"]
    at = params + place["output_width"]
    assert int.from_bytes(data[at : at + 4], "little") == width
    data[at : at + 4] = ((1 << 31) - 1).to_bytes(4, "little")
    with pytest.raises(PlanError, match=f"a node asks {kernel} for what it may not"):
        NumpyPlanEngine(PlanFile(with_digest(data)))


@pytest.mark.parametrize("operator", ["IF", "WHILE"])
def test_kernel_that_runs_graphs_writes_as_many_outputs_as_its_node_has(operator: str) -> None:
    """Its parameters say how many it writes: a node with one output less or more would give it pointers that there are not."""
    graph = graph_of(OPERATOR_MODELS[operator](Seeded(1)))
    file = PlanFile(plan_file(PlannedModel.of(graph, kibi.plan(graph, target="host"))))
    main = file.record(GRAPH, file.header["graphs"])
    for number, node in enumerate(programs_of(file)[0].nodes):
        if node.bodies:
            params = file.record(NODE, main["nodes"] + number * NODE.size_bytes)["params"]
            for groups, is_right in (
                (node.groups, True),
                (node.groups[:-1], False),
                (node.groups + node.groups[-1:], False),
            ):
                shape = Shape(node.steps, groups, node.reads, node.states, node.scratch_bytes)
                assert holds(file, node.kernel, params, shape) == is_right


def test_order_of_more_steps_than_there_are_is_refused() -> None:
    """So an inference ends, whatever the runs say."""
    graph = graph_of(convolution(GEOMETRIES[3]))
    file = PlanFile(plan_file(PlannedModel.of(graph, kibi.plan(graph, target="host", granularity="tensor"))))
    data, record = bytearray(file.data), file.record(GRAPH, file.header["graphs"])
    nodes = [file.record(NODE, record["nodes"])]
    run = next(each for each in runs_of(file, record, nodes) if each.steps > 1)
    data[run.offset - 1] = 255  # how many steps it has
    with pytest.raises(PlanError, match="a run has more steps than its node"):
        NumpyPlanEngine(PlanFile(with_digest(data))).run(seeded_inputs(graph, 0))


@pytest.mark.parametrize("row_bytes", [0, 5, 1 << 20])
def test_input_whose_rows_do_not_fill_it_is_refused(row_bytes: int) -> None:
    """A row of no bytes, one that does not divide the input, and one that is larger than all of it."""
    graph = graph_of(OPERATOR_MODELS["FLOOR_MOD"](Seeded(1)))
    file = PlanFile(plan_file(PlannedModel.of(graph, kibi.plan(graph))))
    place = file.header["ports"] + PORT.offsets["row_bytes"]
    data = bytearray(file.data)
    data[place : place + 4] = row_bytes.to_bytes(4, "little")
    with pytest.raises(PlanError, match="is empty, or has another size than its rows"):
        NumpyPlanEngine(PlanFile(with_digest(data))).run(seeded_inputs(graph, 0))


def test_input_without_elements_is_refused() -> None:
    """Its size is 0, as its shape says."""
    graph = graph_of(OPERATOR_MODELS["FLOOR_MOD"](Seeded(1)))
    file = PlanFile(plan_file(PlannedModel.of(graph, kibi.plan(graph))))
    port, data = file.header["ports"], bytearray(file.data)
    shape = int.from_bytes(data[port + PORT.offsets["shape"] :][:4], "little")
    for place in (shape, port + PORT.offsets["bytes"], port + PORT.offsets["row_bytes"]):
        data[place : place + 4] = bytes(4)
    with pytest.raises(PlanError, match="input 0 of the plan file is empty"):
        PlanFile(with_digest(data)).inputs  # noqa: B018 - it is read then
