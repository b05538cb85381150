"""Stages in stripes: the same bits for any columns, what is refused, and what the search finds."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import inf, nan

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kibi
import kibi.demo
from kibi.errors import PlanError
from kibi.ir import ColumnReach, Graph, evaluator
from kibi.planner import Plan, PlannedModel, validate
from kibi.planner.plan import Stripes
from kibi.planner.stripes import MOST_STRIPES, stage_problem, striped
from kibi.reports.recomputation import recomputation_text, work_factor
from kibi.runtime import seeded_inputs
from tests.engines.networks import residual_network
from tests.ops.comparison import graph_of
from tests.support.amount import amount
from tests.support.choices import Seeded
from tests.support.network_models import networks
from tests.support.operator_models import OPERATOR_MODELS, Case

_COLUMN_BY_COLUMN = (
    "CONV_2D", "DEPTHWISE_CONV_2D", "AVERAGE_POOL_2D", "MAX_POOL_2D", "L2_POOL_2D", "QUANTIZE", "DEQUANTIZE", "RELU",
)  # fmt: skip


@pytest.fixture(scope="module")
def glyphs() -> Graph:
    """The shipped model, simplified."""
    return kibi.simplify(kibi.load(kibi.demo.model_path()))


@pytest.fixture(scope="module")
def usual(glyphs: Graph) -> Plan:
    """Its usual plan."""
    return kibi.plan(glyphs)


@pytest.fixture(scope="module")
def made(glyphs: Graph) -> Plan:
    """Its plan with a tenth more work at most."""
    return kibi.plan(glyphs, recompute=1.1)


def _stages(graph: Graph, most: int) -> Iterator[Stripes]:
    """Some stages of a graph, of one operator or more, each in a few ways."""
    for begin in range(len(graph.nodes)):
        for end in range(begin + 1, min(len(graph.nodes), begin + most) + 1):
            shape = graph.tensors[graph.nodes[end - 1].outputs[0]].type.shape
            width = shape[2] if len(shape) == 4 else 1
            for columns in dict.fromkeys(
                ((1,), (width - 1,), (width // 2,), tuple(range(1, min(width, MOST_STRIPES))))
            ):
                stage = Stripes(begin, end, columns)
                if not stage_problem(graph, stage):
                    yield stage


def _assert_same_bits(graph: Graph, stages: Sequence[Stripes], case: Case) -> None:
    made, wanted = evaluator(striped(graph, stages))(case.inputs), evaluator(graph)(case.inputs)
    assert [each.tobytes() for each in made] == [each.tobytes() for each in wanted], stages


def _kept(graph: Graph, stage: Stripes) -> Iterator[Stripes]:
    """The stage with images that are kept: all of them, the first one, every second one."""
    numbers = tuple(range(stage.begin, stage.end - 1))
    for kept in dict.fromkeys((numbers, numbers[:1], numbers[1::2])):
        made = replace(stage, kept=kept)
        if kept and not stage_problem(graph, made):
            yield made


@pytest.mark.parametrize("operator", _COLUMN_BY_COLUMN)
def test_operator_in_stripes_gives_the_same_bits(operator: str) -> None:
    """Strides, dilation, padding, types and multipliers as they are drawn; stripes down to one column."""
    wanted = amount(12, 1_000)
    for seed in range(400):
        case = OPERATOR_MODELS[operator](Seeded(seed))
        graph = graph_of(case)
        for stage in _stages(graph, 1):
            _assert_same_bits(graph, [stage], case)
            wanted -= 1
        if wanted <= 0:
            break
    assert wanted < amount(12, 1_000)


@settings(max_examples=amount(4, 300))
@given(case=networks())
def test_stage_of_any_network_in_stripes_gives_the_same_bits(case: Case) -> None:
    """Several operators, residual additions among them, whose inputs then have columns of their own."""
    graph = graph_of(case)
    for stage in _stages(graph, 4):
        _assert_same_bits(graph, [stage], case)


@pytest.mark.slow
@settings(max_examples=amount(4, 300))
@given(case=networks())
def test_stage_that_keeps_columns_gives_the_same_bits(case: Case) -> None:
    """Columns of some images are copied for the next stripe instead of computed again, whatever windows read them."""
    graph = graph_of(case)
    for stage in (kept for each in _stages(graph, 4) for kept in _kept(graph, each)):
        made = striped(graph, [stage])
        _assert_same_bits(graph, [stage], case)
        assert made.macs <= striped(graph, [replace(stage, kept=())]).macs


@pytest.mark.parametrize("columns", [(2,), (1, 3, 4), (1, 2, 3, 4, 5)])
@pytest.mark.parametrize("further", [(3,), (1, 2, 3), (2, 5)])
@pytest.mark.parametrize("kept", [(), (2,)])
def test_stage_reads_the_stripes_of_the_one_before(
    columns: tuple[int, ...], further: tuple[int, ...], kept: tuple[int, ...]
) -> None:
    """Stripes of two stages that need not begin at the same columns: no node joins those of the first."""
    model = residual_network()
    stages = [Stripes(0, 1, columns), Stripes(1, 4, further, kept, in_tiles=True)]
    graph = striped(model, stages)
    assert sum(model.nodes[0].outputs[0] in node.outputs for node in graph.nodes) == 0
    inputs = seeded_inputs(model, 5)
    assert np.array_equal(evaluator(graph)(inputs)[0], evaluator(model)(inputs)[0])


def test_columns_that_are_kept_are_computed_once() -> None:
    """Windows of a stage whose images are all kept: the work of the model, and no more."""
    model = residual_network(10, 10, 4)
    stage = Stripes(0, 4, (3, 6))
    assert striped(model, [stage]).macs > model.macs
    assert striped(model, [replace(stage, kept=(0, 1, 2))]).macs == model.macs


@settings(max_examples=amount(30, 300))
@given(
    count=st.integers(1, 4), stride=st.integers(1, 3), dilation=st.integers(1, 3), pad=st.integers(0, 3), width=st.integers(1, 9),
    first=st.integers(0, 5), columns=st.integers(1, 5),
)  # fmt: skip
def test_needed_columns_are_those_under_the_windows(
    count: int, stride: int, dilation: int, pad: int, width: int, first: int, columns: int
) -> None:
    """By the definition of `ColumnReach`: all that are read and exist lie within, the first and the last among them."""
    reach, end = ColumnReach(count, stride, dilation, pad), first + columns
    read = {stride * x + dilation * k - pad for x in range(first, end) for k in range(count)}
    low, high = reach.needed(first, end, width)
    assert low == max(0, min(read))
    assert high == min(width, max(read) + 1)
    front, back = reach.outside(first, end, (low, high))
    assert low - front == min(read)
    assert high + back == max(read) + 1


def test_plan_in_stripes_needs_less_and_gives_the_same_bits(glyphs: Graph, usual: Plan, made: Plan) -> None:
    """The shipped model: a smaller arena, the same plan when it was saved; the interpreter and the validator agree."""
    inputs = seeded_inputs(glyphs, 3)
    assert made.arena_bytes < usual.arena_bytes
    assert made == Plan.from_json(made.to_json())
    planned = validate(glyphs, made)
    assert f"in {len(made.stripes[0].columns) + 1} stripes" in recomputation_text(planned)
    assert recomputation_text(validate(glyphs, usual)) == ""
    assert kibi.run(glyphs, made, inputs)[0].tobytes() == kibi.run(glyphs, usual, inputs)[0].tobytes()


def test_stage_without_halo_computes_nothing_twice(glyphs: Graph, made: Plan) -> None:
    """The shipped model's stage ends with windows that do not overlap, so that its stripes have no column in common."""
    planned = PlannedModel.of(glyphs, made)
    assert planned.graph.nodes[made.stripes[0].end - 1].op.name == "MAX_POOL_2D"
    assert work_factor(planned) == 1


@pytest.mark.slow
@pytest.mark.parametrize("factor", [1.05, 1.2])
def test_plan_keeps_its_limit_of_work_and_is_the_same_each_time(factor: float) -> None:
    """The multiply-accumulates of the graph that is planned, as a multiple of the model's."""
    model = residual_network(10, 10, 4)
    made = kibi.plan(model, input="external", recompute=factor)
    assert made == kibi.plan(model, input="external", recompute=factor)
    planned = validate(model, made)
    assert 1 <= work_factor(planned) <= factor
    assert planned.graph.macs == round(model.macs * work_factor(planned))


@pytest.mark.slow
def test_no_further_work_means_the_usual_plan(glyphs: Graph, usual: Plan) -> None:
    """A factor of 1."""
    assert kibi.plan(glyphs, recompute=1) == usual


@pytest.mark.slow
def test_limit_of_ram_takes_stripes_only_where_nothing_else_fits(glyphs: Graph, usual: Plan, made: Plan) -> None:
    """The least work that fits; and the error of no plan at all."""
    assert kibi.plan(glyphs, recompute=1.1, ram=usual.arena_bytes).stripes == ()
    within = kibi.plan(glyphs, recompute=1.1, ram=made.arena_bytes)
    assert within.stripes
    assert within.arena_bytes <= made.arena_bytes
    with pytest.raises(PlanError, match="the smallest that was found needs"):
        kibi.plan(glyphs, recompute=1.1, ram=100)


def test_stripes_share_the_weights_of_their_stage(glyphs: Graph, made: Plan) -> None:
    """Copies of a node name the same constants."""
    planned = PlannedModel.of(glyphs, made)
    assert planned.graph.weights_bytes - glyphs.weights_bytes < 100  # the numbers of columns that are cut out
    assert len(planned.graph.nodes) > len(glyphs.nodes)


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["streamed", "external"])
def test_ways_of_handing_over_inputs_give_the_same_bits(glyphs: Graph, usual: Plan, mode: str) -> None:
    """However inputs come; stages count the nodes that receive them."""
    inputs, made = seeded_inputs(glyphs, 1), kibi.plan(glyphs, input=mode, recompute=1.1)
    assert made.stripes
    assert made.arena_bytes < kibi.plan(glyphs, input=mode).arena_bytes
    assert kibi.run(glyphs, made, inputs)[0].tobytes() == kibi.run(glyphs, usual, inputs)[0].tobytes()


@pytest.mark.parametrize("factor", [0.99, 0, -1, nan, inf, -inf])
def test_factor_that_is_none_is_refused(glyphs: Graph, factor: float) -> None:
    """Below 1, or no finite number."""
    with pytest.raises(PlanError, match=r"times the multiply-accumulates of the model\. Give a number from 1 on"):
        kibi.plan(glyphs, recompute=factor)


def test_options_that_do_not_go_with_recomputation_are_refused(glyphs: Graph, usual: Plan) -> None:
    """Whole tensors, slow memory, an order that is given."""
    for whole in ({"granularity": "tensor"}, {"goal": "speed"}):
        with pytest.raises(PlanError, match="this plan has whole tensors"):
            kibi.plan(glyphs, recompute=1.1, **whole)  # type: ignore[arg-type]
    with pytest.raises(PlanError, match="Leave runs, kernels"):
        kibi.plan(glyphs, recompute=1.1, weights="read:storage_read", bandwidth=1_000)
    with pytest.raises(PlanError, match="Leave runs, kernels"):
        kibi.plan(glyphs, recompute=1.1, runs=usual.runs)


@pytest.mark.parametrize(
    ("stages", "what"),
    [
        ((Stripes(0, 9, (2,)),), "there are 4 nodes"),
        ((Stripes(2, 2, (2,)),), "there are 4 nodes"),
        ((Stripes(0, 1, (0,)),), "do not divide"),
        ((Stripes(0, 1, (6,)),), "do not divide"),
        ((Stripes(0, 1, (4, 2)),), "do not divide"),
        ((Stripes(0, 2, (3,)),), "is read outside of them"),
        ((Stripes(0, 1, (3,)), Stripes(0, 1, (3,))), "it overlaps the one before"),
        ((Stripes(0, 4, (3,), (1, 0)),), "cannot be kept"),
        ((Stripes(0, 4, (3,), (3,)),), "cannot be kept"),
        ((Stripes(0, 4, (3,), (-1,)),), "cannot be kept"),
        ((Stripes(1, 4, (3,), (), in_tiles=True),), "no stage ends where it begins"),
        ((Stripes(0, 4, (3,), (), in_tiles=True),), "no stage ends where it begins"),
        ((Stripes(0, 1, (3,)), Stripes(1, 2, (3,), (), in_tiles=True)), "is read after it"),
    ],
)
def test_saved_plan_with_wrong_stages_is_refused(stages: tuple[Stripes, ...], what: str) -> None:
    """Nodes that do not exist, columns that divide nothing, an image that others read or that cannot be kept, stages twice."""
    model = residual_network()
    plan = kibi.plan(model, granularity="tensor")
    with pytest.raises(PlanError, match=what):
        validate(model, replace(plan, stripes=stages))


def test_residual_stage_cuts_the_image_that_is_added() -> None:
    """The columns that an addition needs are copied out of those that the windows before it needed."""
    model = residual_network()
    graph = striped(model, [Stripes(0, 4, (2, 4))])
    assert [node.op.name for node in graph.nodes].count("SLICE") == 3
    inputs = seeded_inputs(model, 5)
    assert np.array_equal(evaluator(graph)(inputs)[0], evaluator(model)(inputs)[0])
