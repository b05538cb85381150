"""When constants may be written while inference runs."""

from xml.etree import ElementTree as ET

import pytest

import kibi
from kibi.ir import Graph
from kibi.planner import PlannedModel
from kibi.reports.fence_picture import fence_bar
from kibi.reports.fences import Fence, fences
from kibi.reports.fences_svg import fences_svg
from tests.engines.networks import pooled_network, residual_network
from tests.ops.comparison import graph_of
from tests.support.choices import Seeded
from tests.support.operator_models import OPERATOR_MODELS

_SVG = "{http://www.w3.org/2000/svg}"


def _found(graph: Graph, **wish: str) -> tuple[PlannedModel, tuple[Fence, ...]]:
    planned = PlannedModel.of(graph, kibi.plan(graph, **wish))  # type: ignore[arg-type]
    return planned, fences(planned)


@pytest.mark.parametrize("granularity", ["row", "tensor"])
def test_constant_is_read_by_all_steps_of_its_operator(granularity: str) -> None:
    """From the first step of a convolution to its last one, and no more."""
    planned, found = _found(residual_network(), granularity=granularity)
    for each in found:
        steps = [
            k for k, (node, _) in enumerate(planned.plan.steps) if planned.graph.views[node].output.name == each.name
        ]
        if each.constant.startswith("outside of"):
            assert min(steps) <= each.first <= each.last <= max(steps)
        elif each.readers == 1:
            assert (each.first, each.last) == (min(steps), max(steps))
    assert {each.op for each in found} >= {"CONV_2D"}
    assert [each.first for each in found] == sorted(each.first for each in found)


def test_plan_by_the_tensor_reads_constants_for_a_shorter_time() -> None:
    """The operators come one after another there."""
    shares = []
    for granularity in ("row", "tensor"):
        planned, found = _found(pooled_network("MEAN"), granularity=granularity)
        shares.append(sum(each.last + 1 - each.first for each in found) / len(planned.plan.steps))
    assert shares[1] < 0.8 * shares[0]


@pytest.mark.parametrize("operator", ["IF", "WHILE"])
def test_constants_in_graphs_are_read_by_the_operator_that_runs_them(operator: str) -> None:
    """At each of its steps, whichever graph it runs."""
    inner = 0
    for seed in range(6):
        planned, found = _found(graph_of(OPERATOR_MODELS[operator](Seeded(seed))))
        count = len(planned.plan.steps)
        assert all(0 <= each.first <= each.last < count for each in found)
        inner += sum(each.op not in {view.op.name for view in planned.graph.views} for each in found)
    assert inner > 0


def test_constant_waits_from_its_first_read_to_its_last() -> None:
    """Before the inference begins it does not wait, nor after the last read; a mixture needs a read on both sides."""
    fence = Fence("CONV_2D", "a", "filter", 10, 3, 6, 1)
    assert [fence.must_wait(done) for done in range(9)] == [False, *[True] * 6, False, False]
    assert [fence.mixes(done) for done in range(9)] == [*[False] * 4, *[True] * 3, False, False]


def test_picture_has_a_character_for_each_part_of_the_steps() -> None:
    """Unread, in use, free; a part that is in use for a step is in use."""
    fence = Fence("CONV_2D", "a", "filter", 10, 3, 6, 1)
    assert fence_bar(fence, 10, 10).plain == "---####..."
    assert fence_bar(fence, 10, 20).plain == "------########......"
    assert fence_bar(Fence("A", "a", "b", 1, 0, 999, 1), 1000, 8).plain == "########"
    assert fence_bar(Fence("A", "a", "b", 1, 500, 500, 1), 1000, 10).plain == "-----#...."


def test_drawing_has_a_bar_for_each_part_of_the_steps() -> None:
    """Its width is that part's, and a tooltip says which steps read the constant."""
    found = (Fence("CONV_2D", "a", "filter", 10, 3, 6, 1), Fence("CONV_2D", "b", "bias", 4, 0, 9, 2))
    root = ET.fromstring(fences_svg("model", found, 10))  # noqa: S314 - made here
    bars = [each for each in root.iter(f"{_SVG}rect") if each.find(f"{_SVG}title") is not None]
    told = [(float(each.attrib["width"]), "".join(each.itertext())) for each in bars]
    whole = told[3][0]
    assert [round(width / whole, 3) for width, _ in told] == [0.3, 0.4, 0.3, 1]
    assert [text for _, text in told] == [*["filter: steps 3 to 6 read it"] * 3, "bias: steps 0 to 9 read it"]
    texts = {"".join(each.itertext()) for each in root.iter(f"{_SVG}text")}
    assert {"CONV_2D", "a  filter", "b  bias", "10", "steps that have run"} <= texts


@pytest.mark.parametrize("steps", [1, 2, 9, 177, 4021, 10**6])
def test_axis_of_a_drawing_has_few_round_numbers(steps: int) -> None:
    """From 0 on, at most ten."""
    root = ET.fromstring(fences_svg("model", (), steps))  # noqa: S314 - made here
    texts = ["".join(each.itertext()) for each in root.iter(f"{_SVG}text")]
    numbers = [int(text.replace(",", "")) for text in texts if text.replace(",", "").isdecimal()]
    assert numbers[0] == 0
    assert numbers == [numbers[1] * k for k in range(len(numbers))]
    assert 2 <= len(numbers) <= 10
    assert numbers[-1] <= steps
