"""All passes together: the same bits, on drawn models and on real ones, in Python and in C."""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import pytest
from hypothesis import given, settings

import kibi
from kibi.errors import InputError, ModelError
from kibi.frontends.text import parse_text
from kibi.frontends.tflite import parse_tflite
from kibi.frontends.tflite.importers import RESOLVED
from kibi.ir import verify
from kibi.ir.text import parse_graph
from kibi.ops import Relu, operators
from kibi.ops.registry import operators_by_name
from kibi.passes import PASSES, simplify
from kibi.planner import Granularity, plan
from kibi.runtime import Interpreter, seeded_inputs
from kibi.targets import target
from kibi.tflm import Oracle
from tests.ops.batch import Batch
from tests.ops.comparison import assert_same, graph_of
from tests.ops.orders import interleaved
from tests.passes.comparison import assert_becomes, check_same, only, outputs_of
from tests.passes.networks import foldable, foldables
from tests.passes.streaming_networks import streaming
from tests.support.amount import amount, sample
from tests.support.choices import Seeded
from tests.support.network_models import networks
from tests.support.operator_models import Case
from tests.support.variable_models import stream
from tests.support.zoo import catalog, digest, model_path, requires_zoo, seeded_runs
from tests.toolchain.tools import check_gcc

_KNOWN = [
    name
    for name, entry in catalog().items()
    if not entry.refusal and entry.operators.keys() <= {*operators(), *RESOLVED}
]
_QUICK = [(name,) for name in _KNOWN[1::4] if (catalog()[name].head_bytes or 0) < 200_000]
"""Without those of large pictures, each of which takes many seconds."""


@settings(max_examples=amount(40, 150))
@given(case=foldables())
def test_simplify_any_network_equals_tflm(case: Case, oracle: Oracle) -> None:
    """What is left gives the bits that TFLM gives for the file; nothing more is found in it; ends stay."""
    graph = graph_of(case)
    simplified = simplify(graph)
    assert_same(
        simplified.graph, outputs_of(simplified.graph, case.inputs), oracle.run(case.model, [case.inputs])[0].outputs
    )
    assert simplify(simplified.graph).changes == ()
    assert (simplified.graph.inputs, simplified.graph.outputs) == (graph.inputs, graph.outputs)


@settings(max_examples=amount(15, 60))
@given(case=networks())
def test_simplify_any_ordinary_network_equals_tflm(case: Case, oracle: Oracle) -> None:
    """The same for networks that were not drawn for it."""
    simplified = simplify(graph_of(case))
    assert_same(
        simplified.graph, outputs_of(simplified.graph, case.inputs), oracle.run(case.model, [case.inputs])[0].outputs
    )


@pytest.mark.parametrize("name", [each.name for each in PASSES])
def test_each_pass_alone_keeps_the_bits(name: str) -> None:
    """Whichever passes are left out, the outputs are the same."""
    for seed in range(amount(3, 12)):
        case = foldable(Seeded(seed))
        graph = graph_of(case)
        for without in (only(name), [name]):
            simplified = simplify(graph, without)
            assert {change.by for change in simplified.changes} & set(without) == set()
            check_same(graph, simplified.graph, case.inputs)


def test_drawn_networks_give_each_pass_something_to_do() -> None:
    """The property tests are not empty, and each change says where and why."""
    drawn = [graph_of(foldable(Seeded(seed))) for seed in range(60)]
    drawn += [parse_tflite(stream(Seeded(seed))[0], "stream.tflite") for seed in range(20)]
    drawn += [streaming(Seeded(seed)) for seed in range(10)]
    changes = [change for graph in drawn for change in simplify(graph).changes]
    counts = Counter(change.by for change in changes)
    assert all(counts[each.name] >= 5 for each in PASSES), counts
    assert all(change.what.endswith(".") and change.where for change in changes)


def test_streaming_models_keep_their_bits_in_all_engines(tmp_path: Path) -> None:
    """Inference after inference: each pass alone, all of them, and what they make in C, of plans with joined steps."""
    check_gcc()
    graphs = [streaming(Seeded(seed)) for seed in range(amount(3, 60))]
    simplified = [simplify(graph).graph for graph in graphs]
    runs = [[seeded_inputs(graph, seed) for seed in range(4)] for graph in graphs]
    for graph, after, inputs in zip(graphs, simplified, runs, strict=True):
        check_same(graph, after, *inputs)
        for each in ("join-depthwise", "append-in-place"):
            check_same(graph, simplify(graph, only(each)).graph, *inputs)
    plans = [plan(graph, target("host")) for graph in simplified]
    assert any(made.joined for made in plans)
    batch = Batch(simplified, plans, tmp_path, compiler="gcc", level="0", sanitize=True)
    sent = [[array for arrays in each for array in arrays] for each in runs]
    for graph, inputs, outcome in zip(graphs, runs, batch.run(sent), strict=True):
        interpreter = Interpreter(graph, plan(graph, target("host")))
        wanted = [output for each in inputs for output in interpreter.run(each)]
        for found in outcome.outputs:
            assert [each.tobytes() for each in found] == [each.tobytes() for each in wanted]


def test_simplified_networks_in_c_under_sanitizers_equal_python(tmp_path: Path) -> None:
    """With rows that take turns, C touches no wrong byte and gives the bits of the graph as it was."""
    check_gcc()
    cases = [foldable(Seeded(seed)) for seed in range(200, 200 + amount(7, 16))]
    graphs = [simplify(graph_of(case)).graph for case in cases]
    plans = [plan(graph, target("host"), runs=interleaved(graph), granularity=Granularity.TENSOR) for graph in graphs]
    batch = Batch(graphs, plans, tmp_path, compiler="gcc", level="0", sanitize=True)
    for case, graph, outcome in zip(cases, graphs, batch.run([case.inputs for case in cases]), strict=True):
        for run in outcome.outputs:
            assert_same(graph, run, outputs_of(graph_of(case), case.inputs))


@requires_zoo
@pytest.mark.parametrize("name", sample([(name,) for name in _KNOWN], _QUICK))
def test_simplify_a_real_model_equals_tflm(name: str) -> None:
    """TFLM's outputs for the seeded inputs, in their order, state and all."""
    try:
        graph = kibi.load(model_path(name))
    except ModelError as error:
        pytest.skip(f"not supported: {error.problems[0].what}")
    simplified = simplify(graph).graph
    interpreter = Interpreter(simplified, plan(simplified, target("host"), granularity=Granularity.TENSOR))
    for inputs, wanted in list(zip(seeded_runs(name), catalog()[name].output_digests, strict=True))[:2]:
        assert tuple(map(digest, interpreter.run(inputs))) == wanted


_CHAIN = """
graph "chain" from "text" (%0) -> (%8) {
  %0 "x": s8[1, 1, 4, 1] (scale 0.5, zero 3)
  %1 "border": s32[4, 2] = [0, 0, 0, 0, 1, 1, 0, 0]
  %2 "filter": s8[2, 1, 3, 1] (scale 0.0625, zero 0) = [10, -20, 30, 40, 50, -60]
  %3 "matrix": s8[1, 2] (scale 0.125, zero 0) = [70, -80]
  %4 "padded": s8[1, 1, 6, 1] (scale 0.5, zero 3) = PAD #0 (input %0, paddings %1)
  %5 "sums": s8[1, 1, 4, 2] (scale 0.5, zero 4) = CONV_2D #1 (input %4, filter %2)
  %6 "positive": s8[1, 1, 4, 2] (scale 0.5, zero 4) = RELU #2 (input %5)
  %7 "vectors": s8[4, 2] (scale 0.5, zero 4) = RESHAPE #3 (input %6)
  %8 "y": s8[4, 1] (scale 2.0, zero 5) = FULLY_CONNECTED #4 (input %7, filter %3)
}
"""


def _tensors(graph: kibi.Graph) -> dict[int, bytes]:
    """What is in each tensor that a run makes."""
    seen: dict[int, bytes] = {}
    Interpreter(graph).run(seeded_inputs(graph, 0), lambda index, array: seen.update({index: array.tobytes()}))
    return seen


def test_simplify_takes_one_pass_after_the_other_until_nothing_is_left() -> None:
    """Three operators vanish from five, each by its pass."""
    after = """
    graph "chain" from "text" (%0) -> (%8) {
      %0 "x": s8[1, 1, 4, 1] (scale 0.5, zero 3)
      %2 "filter": s8[2, 1, 3, 1] (scale 0.0625, zero 0) = [10, -20, 30, 40, 50, -60]
      %3 "matrix": s8[1, 2] (scale 0.125, zero 0) = [70, -80]
      %6 "positive": s8[1, 1, 4, 2] (scale 0.5, zero 4) = CONV_2D #1 (input %0, filter %2)
        {padding ExplicitPadding {height [0, 0], width [1, 1]}, activation RELU}
      %8 "y": s8[4, 1] (scale 2.0, zero 5) = FULLY_CONNECTED #4 (input %6, filter %3)
    }
    """
    graph = parse_text(_CHAIN)
    simplified = simplify(graph)
    assert_becomes(graph, simplified.graph, after)
    assert {change.by for change in simplified.changes} == {
        *("activation-into-producer", "pad-into-window", "reshape-to-nothing")
    }
    assert kibi.simplify(graph) == simplified.graph
    assert kibi.simplify(graph, ["all"]) is graph
    assert simplify(simplified.graph).graph is simplified.graph


def test_simplify_comes_back_to_a_pass_for_which_a_later_one_makes_room() -> None:
    """The activation reaches the convolution in a second round, when both RESHAPEs are gone."""
    before = """
    graph "net" from "text" (%0) -> (%5) {
      %0 "x": s8[1, 2, 2, 1] (scale 0.5, zero 3)
      %1 "filter": s8[1, 1, 1, 1] (scale 0.125, zero 0) = [90]
      %2 "sums": s8[1, 2, 2, 1] (scale 0.5, zero 4) = CONV_2D #0 (input %0, filter %1)
      %3 "there": s8[1, 4] (scale 0.5, zero 4) = RESHAPE #1 (input %2)
      %4 "and back": s8[1, 2, 2, 1] (scale 0.5, zero 4) = RESHAPE #2 (input %3)
      %5 "y": s8[1, 2, 2, 1] (scale 0.5, zero 4) = RELU #3 (input %4)
    }
    """
    after = """
    graph "net" from "text" (%0) -> (%5) {
      %0 "x": s8[1, 2, 2, 1] (scale 0.5, zero 3)
      %1 "filter": s8[1, 1, 1, 1] (scale 0.125, zero 0) = [90]
      %5 "y": s8[1, 2, 2, 1] (scale 0.5, zero 4) = CONV_2D #0 (input %0, filter %1) {activation RELU}
    }
    """
    graph = parse_text(before)
    assert_becomes(graph, simplify(graph).graph, after)


def test_simplify_tensors_that_are_kept_have_the_same_bits() -> None:
    """Each is still made, so that a caller can own its buffer."""
    graph = parse_text(_CHAIN)
    wanted = _tensors(graph)
    for index in (4, 5, 6, 7, 8):
        kept = kibi.simplify(graph, keep=[index])
        assert index in {output for node in kept.nodes for output in node.outputs}
        assert kept.outputs == graph.outputs
        assert _tensors(kept)[index] == wanted[index]
        assert kibi.plan(kept, external_buffers=[index]).arena_bytes > 0
    assert kibi.simplify(graph, keep=["padded"]) == kibi.simplify(graph, keep=[4])


@dataclass(frozen=True, slots=True)
class _Rectifier(Relu):
    """An operator of somebody else's, which looks like one of Kibi's own."""

    name: ClassVar[str] = "RECTIFIER"


def test_simplify_leaves_custom_operators_alone() -> None:
    """Nobody knows what else a class does that is derived from one of Kibi's."""
    text = """
    graph "net" from "text" (%0) -> (%4) {
      %0 "x": s8[1, 2, 2, 1] (scale 0.5, zero 3)
      %1 "filter": s8[1, 1, 1, 1] (scale 0.125, zero 0) = [90]
      %2 "sums": s8[1, 2, 2, 1] (scale 0.5, zero 4) = CONV_2D #0 (input %0, filter %1)
      %3 "once": s8[1, 2, 2, 1] (scale 0.5, zero 4) = RECTIFIER #1 (input %2)
      %4 "twice": s8[1, 2, 2, 1] (scale 0.5, zero 4) = RECTIFIER #2 (input %3)
    }
    """
    custom = verify(parse_graph(text, {**operators_by_name(), "RECTIFIER": _Rectifier}))
    assert simplify(custom).graph is custom
    ours = parse_text(text.replace("RECTIFIER", "RELU"))
    assert len(simplify(ours).graph.nodes) == 1


def test_simplify_without_a_pass_that_does_not_exist_is_refused() -> None:
    """The error lists the passes."""
    graph = parse_text(_CHAIN)
    with pytest.raises(InputError, match="there is no pass 'fast' to leave out") as caught:
        kibi.simplify(graph, ["unused", "fast"])
    assert all(each.name in str(caught.value) for each in PASSES)
    assert all(each.description.endswith(".") for each in PASSES)
