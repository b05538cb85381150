"""Operators that run graphs: plans inside of plans, C inside of C, and what is refused."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import kibi
from kibi.dtypes import Array, DType
from kibi.engines import DeviceEngine, HostEngine
from kibi.errors import ModelError, PlanError
from kibi.frontends.tflite import parse_tflite
from kibi.frontends.tflite.builder import ModelBuilder
from kibi.ir import Graph
from kibi.passes import expose_intermediates
from kibi.planner import Plan, PlannedModel, validate
from kibi.runtime import Interpreter
from kibi.tflm import Oracle, available
from tests.ops.comparison import assert_same, graph_of
from tests.support.amount import share
from tests.support.choices import Seeded
from tests.support.control_models import CONTROL_MODELS

_SHAPE = [1, 6, 5, 2]
_QUANTIZATION = (0.1, 3)


@pytest.mark.parametrize("processor", ["cortex-m4", pytest.param("cortex-m0plus", marks=pytest.mark.slow)])
def test_device_c_of_drawn_models_equals_python(processor: str, tmp_path: Path) -> None:
    """On the emulated core, too, where every access outside of arena, state, stack and constants stops the run."""
    cases = [draw(Seeded(seed)) for draw in CONTROL_MODELS.values() for seed in (1, 2)]
    for number, case in enumerate(cases):
        graph = expose_intermediates(graph_of(case))
        made = kibi.plan(graph, target=processor)
        library = kibi.compile(graph, made, tmp_path / f"{number}")
        assert_same(graph, DeviceEngine(library).run(case.inputs), Interpreter(graph, made).run(case.inputs))


def _branches(then: Callable[[ModelBuilder, int], int], other: Callable[[ModelBuilder, int], int]) -> bytes:
    """x, RELU, IF of two branches on what comes of it, RELU6."""
    b = ModelBuilder()
    condition, x = b.input([1], DType.BOOL, name="condition"), b.input(_SHAPE, DType.S8, *_QUANTIZATION, name="x")
    y, z, w = (b.tensor(_SHAPE, DType.S8, *_QUANTIZATION, name=name) for name in ("y", "z", "w"))
    b.operator("RELU", [x], [y])
    b.operator("IF", [condition, y], [z], then_subgraph_index=1, else_subgraph_index=2)
    b.operator("RELU6", [z], [w])
    outputs = [w]
    for branch in (then, other):
        b.end_subgraph(outputs)
        outputs = [branch(b, b.input(_SHAPE, DType.S8, *_QUANTIZATION, name="passed"))]
    return b.finish(outputs)


def _sum(b: ModelBuilder, x: int) -> int:
    y = b.tensor(_SHAPE, DType.S8, *_QUANTIZATION)
    b.operator("ADD", [x, b.constant(np.array([21], np.int8), *_QUANTIZATION)], [y])
    return y


def _pool(b: ModelBuilder, x: int) -> int:
    y = b.tensor(_SHAPE, DType.S8, *_QUANTIZATION)
    how: dict[str, int | str] = {"padding": "SAME", "stride_w": 1, "stride_h": 1, "filter_width": 3, "filter_height": 3}
    b.operator("MAX_POOL_2D", [x], [y], how)
    return y


def _same(b: ModelBuilder, x: int) -> int:
    del b
    return x


def _inputs(holds: bool) -> list[Array]:
    values = np.random.default_rng(0).integers(-128, 128, _SHAPE).astype(np.int8)
    return [np.array([holds]), values]


@pytest.mark.parametrize(
    "wish",
    share([{}, {"granularity": "tensor"}, {"goal": "speed"}, {"input": "external", "output": "external"},
     {"input": "streamed"}], 0, 2),
    ids=str,
)  # fmt: skip
def test_branch_between_rows_runs_in_every_kind_of_plan(wish: dict[str, str], oracle: Oracle, tmp_path: Path) -> None:
    """Operators around it work by the row or on whole tensors; all engines give TFLM's bits on both branches."""
    model = _branches(_pool, _sum)
    graph = parse_tflite(model, "branches.tflite")
    made = kibi.plan(graph, **wish)  # type: ignore[arg-type]  # wishes are strings
    validate(graph, made)
    assert [each.subgraphs for each in made.subgraphs] == [(), ()]
    scratch = made.scratch_of(next(run.node for run in made.runs if _name_of(graph, made, run.node) == "IF"))
    assert scratch is not None
    assert scratch.size_bytes >= max(body.arena_bytes for body in made.subgraphs)
    library = kibi.compile(graph, made, tmp_path / "library")
    engines: list[Interpreter | HostEngine | DeviceEngine] = [
        Interpreter(graph, made),
        HostEngine(library),
        DeviceEngine(library),
    ]
    for holds in (True, False, True):
        wanted = oracle.run(model, [_inputs(holds)])[0].outputs
        for engine in engines:
            assert_same(graph, engine.run(_inputs(holds)), wanted)


def _name_of(graph: Graph, made: Plan, node: int) -> str:
    """The operator's name of a node of the planned graph."""
    return PlannedModel.of(graph, made).graph.nodes[node].op.name


def test_plan_with_bodies_saved_and_read_back_is_the_same() -> None:
    """Plans of subgraphs are part of the saved plan."""
    graph = parse_tflite(_branches(_pool, _same), "branches.tflite")
    made = kibi.plan(graph)
    assert len(made.subgraphs) == 2
    assert Plan.from_json(made.to_json()) == made


@pytest.mark.parametrize("count", [0, 1, 3])
def test_plan_without_a_plan_for_each_body_is_refused(count: int) -> None:
    """A plan of another model is not taken for one whose operators run graphs."""
    graph = parse_tflite(_branches(_pool, _sum), "branches.tflite")
    made = kibi.plan(graph)
    wrong = replace(made, subgraphs=(made.subgraphs * 2)[:count])
    with pytest.raises(PlanError, match=f"2 graphs inside of its operators, the plan has {count}"):
        Interpreter(graph, wrong)


def test_plan_with_a_body_in_too_small_an_arena_is_refused() -> None:
    """The plan of each body is checked, and its arena must fit the scratch."""
    graph = parse_tflite(_branches(_pool, _sum), "branches.tflite")
    made = kibi.plan(graph)
    first, second = made.subgraphs
    with pytest.raises(PlanError, match="arena"):
        validate(graph, replace(made, subgraphs=(replace(first, arena_bytes=first.arena_bytes - 1), second)))
    smaller = (replace(each, size_bytes=each.size_bytes - 1) if each.tensor is None else each for each in made.buffers)
    with pytest.raises(PlanError, match="bytes of scratch"):
        validate(graph, replace(made, buffers=tuple(smaller)))


@pytest.mark.parametrize("is_swapped", [False, True])
def test_scratch_of_a_branch_holds_the_larger_of_its_graphs(is_swapped: bool) -> None:
    """One of them runs at a time, and either may."""
    graph = parse_tflite(_branches(_sum, _pool) if is_swapped else _branches(_pool, _sum), "branches.tflite")
    made = kibi.plan(graph)
    planned = PlannedModel.of(graph, made).graph
    (needed,) = (
        call.scratch_bytes for node, call in zip(planned.nodes, planned.calls, strict=True) if node.op.subgraphs
    )
    first, second = (body.arena_bytes for body in made.subgraphs)
    assert first != second
    assert needed == max(first, second)


def test_library_with_bodies_is_the_same_each_time(tmp_path: Path) -> None:
    """The same model gives the same bytes, subgraphs included; each body has a file that names the model."""
    graph = parse_tflite(_branches(_pool, _sum), "branches.tflite")
    first, second = (kibi.compile(graph, kibi.plan(graph), tmp_path / name) for name in ("one", "two"))
    assert first.files == second.files
    assert "branches.tflite, subgraph 1" in first.files["branches_1_then_body.c"]


def _if(
    *, condition: tuple[Sequence[int], DType] = ([1], DType.BOOL), takes: Sequence[Sequence[int]] = ([4],),
    gives: tuple[Sequence[int], DType] = ([4], DType.F32), numbers: tuple[int, int] = (1, 1),
) -> bytes:  # fmt: skip
    """IF on [4] f32 with one wrong thing."""
    b = ModelBuilder()
    holds, x, y = b.input(*condition), b.input([4], DType.F32), b.tensor([4], DType.F32)
    b.operator("IF", [holds, x], [y], then_subgraph_index=numbers[0], else_subgraph_index=numbers[1])
    b.end_subgraph([y])
    inputs = [b.input(shape, DType.F32) for shape in takes]
    output = b.constant(np.zeros(gives[0], gives[1].numpy))
    return b.finish([output], inputs)


def test_if_that_tflm_runs_is_taken() -> None:
    """What the tests below change is all right before."""
    assert parse_tflite(_if(), "right.tflite").nodes[0].op.name == "IF"


@pytest.mark.parametrize(
    ("model", "text"),
    [
        (_if(condition=([2], DType.BOOL)), r"the condition has shape \[2\], not one element"),
        (_if(condition=([1], DType.S32)), "input of type s32 is not supported; supported: bool"),
        (_if(takes=([4], [4])), r"the branch taken takes \[4\] float32, \[4\] float32, but the operator passes \[4\] float32"),
        (_if(takes=()), r"the branch taken takes nothing, but the operator passes \[4\] float32"),
        (_if(takes=([5],)), r"the branch taken takes \[5\] float32, but the operator passes \[4\] float32"),
        (_if(gives=([5], DType.F32)), r"the branch taken gives \[5\] float32, but the operator gives \[4\] float32"),
        (_if(gives=([4], DType.S32)), r"the branch taken gives \[4\] int32, but the operator gives \[4\] float32"),
        (_if(numbers=(1, 2)), "subgraph 2 is asked for, but there are 2"),
        (_if(numbers=(0, 1)), "subgraph 0 calls itself"),
    ],
)  # fmt: skip
def test_if_that_cannot_be_run_rightly_is_refused(model: bytes, text: str) -> None:
    """What TFLM refuses, and what it would read wrongly, ends in an error that says what does not fit."""
    with pytest.raises(ModelError, match=text):
        parse_tflite(model, "wrong.tflite")


def _while(
    *,
    answer: tuple[Sequence[int], DType] = ([1], DType.BOOL),
    gives: Sequence[int] = (4,),
    makes: Sequence[int] = (4,),
) -> bytes:
    """WHILE on [4] f32 that ends at once."""
    b = ModelBuilder()
    x, y = b.input([4], DType.F32), b.tensor(makes, DType.F32)
    b.operator("WHILE", [x], [y], cond_subgraph_index=1, body_subgraph_index=2)
    b.end_subgraph([y])
    b.input([4], DType.F32)
    b.end_subgraph([b.constant(np.zeros(answer[0], answer[1].numpy))])
    b.input([4], DType.F32)
    return b.finish([b.constant(np.ones(gives, np.float32))])


def test_while_that_never_turns_gives_its_input(oracle: Oracle) -> None:
    """As in TFLM the condition comes first."""
    data = np.arange(4, dtype=np.float32)
    graph = parse_tflite(_while(), "never.tflite")
    assert_same(graph, Interpreter(graph).run([data]), oracle.run(_while(), [[data]])[0].outputs)


@pytest.mark.parametrize(
    ("model", "text"),
    [
        (_while(answer=([2], DType.BOOL)), r"the condition gives \[2\] bool, not one bool"),
        (_while(answer=([1], DType.S8)), r"the condition gives \[1\] int8, not one bool"),
        (_while(gives=[5]), r"the body gives \[5\] float32, but it takes \[4\] float32"),
        (_while(makes=[5]), r"the body gives \[4\] float32, but the operator gives \[5\] float32"),
    ],
)
def test_while_that_cannot_be_run_rightly_is_refused(model: bytes, text: str) -> None:
    """What TFLM refuses, and what it would read wrongly, ends in an error that says what does not fit."""
    with pytest.raises(ModelError, match=text):
        parse_tflite(model, "wrong.tflite")


def test_variable_in_a_branch_is_refused_with_its_name() -> None:
    """What a branch remembers would have to be state of the whole model."""

    def remembering(b: ModelBuilder, x: int) -> int:
        y = b.tensor(_SHAPE, DType.S8, *_QUANTIZATION)
        b.operator("ADD", [x, b.tensor(_SHAPE, DType.S8, *_QUANTIZATION, name="memory", variable=True)], [y])
        return y

    with pytest.raises(ModelError, match=r"the branch taken has variables \(memory\), which is not supported"):
        parse_tflite(_branches(remembering, _same), "wrong.tflite")


def test_several_outputs_are_compared_with_tflm(tmp_path: Path) -> None:
    """One node makes them all, in Kibi as in the file."""
    path = tmp_path / "loop.tflite"
    path.write_bytes(CONTROL_MODELS["WHILE"](Seeded(5)).model)
    graph = kibi.load(path)
    loop = graph.nodes[0]
    assert loop.op.name == "WHILE"
    assert len(loop.outputs) > 1
    found = kibi.verify(graph, target="host", runs=1)
    assert found.is_exact
    assert ("tflm" in found.engines) == available()


def test_offline_plan_of_a_file_with_several_graphs_is_followed(tmp_path: Path) -> None:
    """The offsets are for the first graph; subgraphs and scratch find places of their own."""
    for name, model in (("loop", CONTROL_MODELS["WHILE"](Seeded(5)).model), ("branches", _branches(_pool, _sum))):
        path, copy = tmp_path / f"{name}.tflite", tmp_path / f"{name}_planned.tflite"
        path.write_bytes(model)
        kibi.embed(path, copy)
        graph = kibi.load(copy)
        made = kibi.plan(graph, use_embedded_plan=True)
        validate(graph, made)
        assert made.subgraphs
