"""Plans in several memories: capacities hold, the cost is what is stated and the least, shortfalls are named."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

import kibi
import kibi.demo
from kibi.dtypes import Array, DType
from kibi.errors import PlanError
from kibi.ir import Graph, KernelCall, NodeView, Operator
from kibi.kernels.params import Params, array
from kibi.planner import Buffer, Granularity, Handover, Plan, PlannedModel, place, plan, validate
from kibi.planner.handover import as_planned
from kibi.planner.in_place import in_place_rules
from kibi.planner.placement.items import PairRule
from kibi.planner.regions.bound import relax, unrelaxed
from kibi.planner.regions.file import Region
from kibi.planner.regions.planning import assign_regions
from kibi.planner.regions.problem import RegionProblem, Unit
from kibi.planner.slow_weights import lowered_for
from kibi.targets import target
from tests.planner.networks import Window, by_row, chain, constant, graph, residual, tallied
from tests.support.amount import amount

M4 = target("cortex-m4")
ROOMY = (Region("fast", 1 << 20, 1.0), Region("slow", 1 << 20, 3.0))


class _WeightedParams(Params):
    """The parameters of a kernel with weights."""

    filter: Array = array(DType.S8)


@dataclass(frozen=True, slots=True)
class Weighted(Window):
    """A window whose kernel takes its second input whole, packed."""

    name: ClassVar[str] = "WEIGHTED"
    inputs: ClassVar[tuple[str, ...]] = ("input", "filter")

    def kernel_call(self, view: NodeView) -> KernelCall:
        """A call with a packed constant."""
        params = _WeightedParams(filter=view.constant("filter").reshape(-1))
        return KernelCall("kibi_window_s8", params, self.scratch_bytes)


def weighted(rows: int = 6) -> Graph:
    """t0 → window with 40 bytes of weights (t1) → t2 → window with 10 bytes (t3) → t4."""
    image = (1, rows, 4, 1)
    nodes: list[tuple[Operator, tuple[int, ...], int]]
    nodes = [(Weighted(3, 1, 1), (0, 1), 2), (Weighted(1, scratch_bytes=8), (2, 3), 4)]
    return constant(constant(graph([image, (40,), image, (10,), image], nodes), 1), 3)


@st.composite
def networks(draw: st.DrawFn) -> Graph:
    """Small graphs: a chain of windows of random widths, some read twice."""
    rows = draw(st.integers(1, 5))
    shapes: list[tuple[int, ...]] = [(1, rows, draw(st.integers(1, 4)), 1)]
    nodes: list[tuple[Operator, tuple[int, ...], int]] = []
    for index in range(draw(st.integers(1, 4))):
        height = draw(st.integers(1, 3))
        op = Window(height, 1, draw(st.integers(0, height - 1)), draw(st.sampled_from((0, 0, 4))))
        shapes.append((1, rows, draw(st.integers(1, 6)), 1))
        nodes.append((op, (draw(st.integers(max(0, index - 1), index)),), index + 1))
    read = {index for _, indices, _ in nodes for index in indices}
    ends = tuple(made for _, _, made in nodes if made not in read)
    return graph(shapes, nodes, outputs=ends)


@st.composite
def memories(draw: st.DrawFn, most: int) -> tuple[Region, ...]:
    """One to three regions, about as large as what must go into them."""
    count = draw(st.integers(1, 3))
    sizes = [draw(st.integers(1, most)) for _ in range(count)]
    return tuple(Region(f"m{n}", size, draw(st.sampled_from((0, 1, 1.5, 4)))) for n, size in enumerate(sizes))


def counted(net: Graph, made: Plan) -> dict[str, int]:
    """Bytes of buffers that one inference reads and writes in each region, step by step as the documentation says."""
    of_tensor = {each.tensor: each.region for each in made.buffers if each.tensor is not None}
    of_scratch = {node: each.region for each in made.buffers for node in each.nodes}
    total: Counter[str] = Counter({use.name: 0 for use in made.regions})
    for index in (*net.stored_inputs, *net.outputs):
        total[of_tensor[index]] += net.tensors[index].type.size_bytes
    for node, step in made.steps:
        view = net.views[node]
        for tensor, access in zip(view.row_tensors, view.op.accesses(view), strict=True):
            total[of_tensor[tensor.index]] += tensor.type.row_bytes * sum(
                each is not None for each in access.positions(step)
            )
        total[of_tensor[view.output.index]] += view.output.type.row_bytes * len(view.made_rows(step))
        if node in of_scratch:
            total[of_scratch[node]] += 2 * view.op.kernel_call(view).scratch_bytes
    return dict(total)


def least_cost(net: Graph, made: Plan, regions: Sequence[Region]) -> float | None:
    """The least cost of all assignments, by trying each of them; None where none fits."""
    units = list(dict.fromkeys((each.tensor, each.node) for each in made.buffers))
    apart = tuple(replace(each, region=str(units.index((each.tensor, each.node)))) for each in made.buffers)
    bytes_ = counted(net, replace(made, buffers=apart))
    rules = in_place_rules(net, made.runs, made.buffers)
    peaks: dict[tuple[int, ...], int] = {}
    best = None
    for at in product(range(len(regions)), repeat=len(units)):
        cost = sum(bytes_[str(unit)] * regions[number].cost for unit, number in enumerate(at))
        if best is None or cost < best:
            moved = tuple(replace(each, region=regions[at[int(each.region)]].name) for each in apart)
            if all(_fits(moved, rules, region, peaks) for region in regions):
                best = cost
    return best


def _fits(
    buffers: Sequence[Buffer], rules: Sequence[PairRule], region: Region, peaks: dict[tuple[int, ...], int]
) -> bool:
    inside = tuple(index for index, buffer in enumerate(buffers) if buffer.region == region.name)
    if inside not in peaks:
        number = {index: position for position, index in enumerate(inside)}
        kept = [
            PairRule(number[r.first], number[r.second], r.minimum_distance_bytes)
            for r in rules
            if r.first in number and r.second in number
        ]
        placement = place([buffers[index] for index in inside], rules=kept)
        assert placement.proven_optimal
        peaks[inside] = placement.peak_bytes
    return peaks[inside] <= region.size_bytes


@settings(max_examples=40)
@given(st.data())
def test_regions_small_networks_cost_is_the_least(data: st.DataObject) -> None:
    """On small networks the cost equals that of the best of all assignments, and is proven; what fits is found."""
    net = data.draw(networks())
    made = plan(net, M4, runs=by_row(net) if data.draw(st.booleans()) else None)
    regions = data.draw(memories(made.arena_bytes))
    wanted = least_cost(net, made, regions)
    if wanted is None:
        with pytest.raises(PlanError, match="does not fit its memory regions"):
            assign_regions(net, M4, made, regions)
    else:
        found = assign_regions(net, M4, made, regions)
        validate(net, found)
        assert found.cost == pytest.approx(wanted)
        assert found.cost_lower_bound == found.cost


@settings(max_examples=amount(20, 60))
@given(st.data())
def test_regions_plans_are_right_and_cost_what_they_say(data: st.DataObject) -> None:
    """Capacities hold, each tensor is in one region, and the stated cost is that of the bytes counted step by step."""
    net = data.draw(networks())
    whole = plan(net, M4)
    regions = data.draw(memories(2 * whole.arena_bytes))
    try:
        made = plan(net, M4, granularity=data.draw(st.sampled_from(Granularity)), regions=regions)
    except PlanError:
        reject()
    validate(net, made)
    bytes_ = counted(net, made)
    assert [use.name for use in made.regions] == list(made.region_names) == [region.name for region in regions]
    for use, region in zip(made.regions, regions, strict=True):
        inside = [each for each in made.buffers if each.region == use.name]
        top = max((each.offset + each.size_bytes for each in inside), default=0)
        assert use.lower_bound_bytes <= top == use.used_bytes <= use.size_bytes == region.size_bytes
        assert use.accessed_bytes == bytes_[use.name]
    assert made.arena_bytes == sum(use.used_bytes for use in made.regions)
    assert made.cost == pytest.approx(sum(bytes_[region.name] * region.cost for region in regions))
    assert made.cost_lower_bound <= made.cost
    assert Plan.from_json(made.to_json()) == made


@pytest.mark.parametrize("net", [chain(3, 5, 3), residual(scratch_bytes=8), tallied(3, 3, scratch_bytes=4)])
def test_regions_everything_fits_the_cheapest_as_without_regions(net: Graph) -> None:
    """Where the cheapest region holds all, order and offsets are those of the plan with one arena."""
    for granularity in Granularity:
        plain, made = (plan(net, M4, granularity=granularity, regions=regions) for regions in (None, ROOMY[::-1]))
        assert made.runs == plain.runs
        assert made.buffers == tuple(replace(each, region="fast") for each in plain.buffers)
        assert [use.used_bytes for use in made.regions] == [0, plain.arena_bytes]
        assert made.cost == made.cost_lower_bound
        validate(net, made)


def test_regions_small_fast_memory_takes_what_is_read_most() -> None:
    """A small region of low cost is given to the tensor whose bytes are read most often."""
    image = (1, 6, 4, 1)
    net = graph([image] * 4, [(Window(1), (0,), 1), (Window(5, 1, 2), (1,), 2), (Window(1), (2,), 3)])
    made = plan(net, M4, regions=(Region("fast", 24, 1), Region("slow", 200, 10)))
    assert {each.tensor for each in made.buffers if each.region == "fast"} >= {1}
    validate(net, made)


def test_regions_inputs_and_outputs_of_the_caller_take_none() -> None:
    """Inputs that stream, and outputs that lie in the caller's own buffer, are planned for in regions, too."""
    net = residual(rows=8, row_bytes=8)
    made = plan(
        net, M4, granularity=Granularity.ROW, inputs=Handover.STREAMED, outputs=Handover.EXTERNAL,
        regions=(Region("a", 60, 1), Region("b", 400, 2)),
    )  # fmt: skip
    validate(net, made)
    assert made.input is Handover.STREAMED
    assert not made.buffers_of(PlannedModel.of(net, made).graph.outputs[0])


def test_regions_weights_lie_where_they_may() -> None:
    """Constants go to regions that hold them, beside the buffers, counted once in each step; none unless asked."""
    net = weighted()
    regions = (Region("sram", 100, 1.0, holds_weights=True), Region("flash", 64, 4.0, False, True))
    made = plan(net, M4, regions=regions, place_weights=True)
    validate(net, made)
    assert sorted(index for index, _ in made.weight_regions) == [1, 3]
    assert sum(use.weights_bytes for use in made.regions) == 40 + 12
    names = dict(made.weight_regions)
    by_hand = Counter(dict.fromkeys(made.region_names, 0)) + Counter({names[1]: 6 * 40})
    by_hand[names[3]] += 6 * 10
    for name, byte_count in counted(net, made).items():
        by_hand[name] += byte_count
    assert {use.name: use.accessed_bytes for use in made.regions} == {name: by_hand[name] for name in made.region_names}
    assert made.cost == made.cost_lower_bound
    assert names[1] == "sram"
    assert Plan.from_json(made.to_json()) == made
    assert plan(net, M4, regions=regions).weight_regions == ()


@pytest.mark.parametrize("spare_bytes", [0, 4, 100])
def test_regions_what_fits_as_one_arena_fits_beside_weights_elsewhere(spare_bytes: int) -> None:
    """A region that holds all buffers and no more is never filled with weights that have room in another one."""
    net = weighted()
    room = plan(net, M4).arena_bytes + spare_bytes
    regions = (
        Region("small", 8, 1, True, True),
        Region("sram", room, 2, True, True),
        Region("flash", 999, 9, False, True),
    )
    validate(net, plan(net, M4, regions=regions, place_weights=True))


def test_regions_weights_need_a_region_that_holds_them() -> None:
    """Weights for which no region is meant are an error that says which line to write."""
    with pytest.raises(PlanError, match=r"no region may hold the weights.*`weights = true`"):
        plan(weighted(), M4, regions=ROOMY, place_weights=True)


@settings(max_examples=40)
@given(st.data())
def test_regions_shortfall_is_named_and_what_is_named_fits(data: st.DataObject) -> None:
    """For each region the text says how many bytes are missing, and with so many more there is a plan."""
    net = data.draw(networks())
    regions = data.draw(memories(max(1, plan(net, M4).arena_bytes // 2)))
    try:
        plan(net, M4, regions=regions)
    except PlanError as error:
        text = str(error)
    else:
        reject()
    assert "net does not fit its memory regions" in text
    for number, region in enumerate(regions):
        line = next(line for line in text.splitlines() if f"- {region.name} has {region.size_bytes} bytes" in line)
        words = line.replace(",", " ").split()
        missing, needed = int(words[words.index("are") - 1]), int(words[words.index("would") - 1])
        assert needed == region.size_bytes + missing
        larger = list(regions)
        larger[number] = replace(region, size_bytes=needed)
        validate(net, plan(net, M4, regions=larger))


def test_regions_two_shortfalls_at_once_are_said_to_be_two() -> None:
    """Where more of a region alone would not help, the text says so."""
    regions = (Region("sram", 8, 1), Region("flash", 8, 1, False, True))
    with pytest.raises(PlanError, match=r"sram has 8 bytes; more of it alone would not do"):
        plan(weighted(), M4, regions=regions, place_weights=True)


def test_regions_many_units_are_searched_with_a_stated_gap() -> None:
    """A long chain by the row in tight regions ends soon, with a bound."""
    net = chain(*(1 + index % 5 for index in range(40)), rows=6, width=7)
    whole = plan(net, M4)
    half = whole.arena_bytes // 2
    made = plan(net, M4, regions=(Region("a", half, 1), Region("b", half, 5), Region("c", whole.arena_bytes, 20)))
    validate(net, made)
    assert 0 < made.cost_lower_bound <= made.cost


def test_regions_same_input_same_plan() -> None:
    """The assignment is deterministic."""
    net = residual(rows=8, row_bytes=8, scratch_bytes=12)
    regions = (Region("a", 100, 1), Region("b", 150, 2))
    first, second = (plan(net, M4, regions=regions, runs=by_row(net)) for _ in range(2))
    assert first == second


@pytest.mark.slow
def test_scratch_in_regions_is_no_less_than_kernels_need() -> None:
    """Each run of a node has all of it, in one region and at one offset."""
    model = kibi.simplify(kibi.load(kibi.demo.model_path()))
    made = kibi.plan(model, target="cortex-m4", regions=[Region("fast", 3000, 1), Region("slow", 30_000, 4)])
    validate(model, made)
    wanted = lowered_for(as_planned(model, made), None, M4, made.goal, made.kernels, made.subgraphs).calls
    taken = PlannedModel.of(model, made).graph.calls
    assert all(more.scratch_bytes >= less.scratch_bytes for more, less in zip(taken, wanted, strict=True))
    for node, call in enumerate(taken):
        own = [each for each in made.buffers if node in each.nodes]
        assert bool(own) == bool(call.scratch_bytes)
        assert len({(each.region, each.offset, each.size_bytes) for each in own}) <= 1
        assert all(each.size_bytes >= call.scratch_bytes for each in own)


def test_regions_do_not_go_with_a_limit_of_ram() -> None:
    """Two kinds of limits at once are refused, as are weights without regions."""
    with pytest.raises(PlanError, match="for one arena"):
        plan(chain(1), M4, regions=ROOMY, ram_bytes=100)
    with pytest.raises(PlanError, match="weights are placed in regions"):
        plan(chain(1), M4, place_weights=True)
    with pytest.raises(PlanError, match="there is no region"):
        plan(chain(1), M4, regions=())


def test_api_plan_takes_a_file_or_regions(tmp_path: Path) -> None:
    """`kibi.plan` reads the file of regions."""
    path = tmp_path / "memory.toml"
    path.write_text('[[region]]\nname = "sram"\nbytes = 4096\ncost = 1.0\n', encoding="utf-8")
    net = residual()
    made = kibi.plan(net, regions=str(path))
    assert made == kibi.plan(net, regions=path) == kibi.plan(net, regions=[Region("sram", 4096, 1.0)])
    assert kibi.plan(net).region_names == ("arena",)


def _changed(made: Plan, index: int, **changes: int | str) -> Plan:
    buffers = list(made.buffers)
    buffers[index] = replace(buffers[index], **changes)  # type: ignore[arg-type]  # each test names its own field
    return replace(made, buffers=tuple(buffers))


def _use(made: Plan, **changes: float | str) -> Plan:
    first = replace(made.regions[0], **changes)  # type: ignore[arg-type]  # as above
    return replace(made, regions=(first, *made.regions[1:]))


def _in_two_regions() -> tuple[Graph, Plan]:
    net = weighted()
    regions = (Region("sram", 44, 1.0), Region("more", 200, 2.0, holds_weights=True))
    made = plan(net, M4, regions=regions, place_weights=True)
    assert all(use.used_bytes for use in made.regions)
    return net, made


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda made: _changed(made, 0, region="attic"), "no region 'attic'"),
        (lambda made: _changed(made, 0, offset=made.regions[0].used_bytes), "in region"),
        (lambda made: _changed(made, 0, offset=-4), "in region"),
        (lambda made: _use(made, size_bytes=8), "in 8"),
        (lambda made: _use(made, used_bytes=made.regions[0].used_bytes + 4), "the arena is said to have"),
        (lambda made: _use(made, accessed_bytes=1), "one inference reads and writes"),
        (lambda made: _use(made, lower_bound_bytes=1 << 20), "the lower bound is 1048576 bytes"),
        (
            lambda made: replace(made, regions=(*made.regions, made.regions[0])),
            "name is taken by another region, 'sram'",
        ),
        (lambda made: _use(made, weights_bytes=4), "its constants have 0 bytes, not 4"),
        (lambda made: _use(made, cost=float("nan")), "cannot cost nan"),
        (lambda made: replace(made, cost_lower_bound=made.cost + 1), "the lower bound of the cost"),
        (lambda made: replace(made, weight_regions=((0, "more"),)), "no constant that a kernel reads"),
        (lambda made: replace(made, weight_regions=made.weight_regions[:1] * 2), "is assigned twice"),
        (lambda made: replace(made, weight_regions=((1, "attic"),)), "'attic', which does not exist"),
        (lambda made: replace(made, regions=()), "no region"),
    ],
)
def test_validate_wrong_regions_are_named(change: Callable[[Plan], Plan], text: str) -> None:
    """Each kind of wrong region, offset, sum and weight is caught and named."""
    net, made = _in_two_regions()
    validate(net, made)
    with pytest.raises(PlanError, match=text):
        validate(net, change(made))


def test_validate_weights_begin_where_an_array_can() -> None:
    """Behind buffers of an odd number of bytes a region needs room for what aligns its constants."""
    image = (1, 5, 3, 1)
    net = constant(graph([image, (40,), image], [(Weighted(3, 1, 1), (0, 1), 2)]), 1)
    made = plan(net, M4, regions=(Region("all", 200, 1.0, holds_weights=True),), place_weights=True)
    (use,) = made.regions
    start = -(-use.used_bytes // M4.arena_alignment_bytes) * M4.arena_alignment_bytes
    assert start > use.used_bytes
    validate(net, _use(made, size_bytes=start + use.weights_bytes))
    with pytest.raises(PlanError, match="bytes of buffers and 40 of constants"):
        validate(net, _use(made, size_bytes=start + use.weights_bytes - 1))


@settings(max_examples=amount(20, 60))
@given(st.data())
def test_validate_buffer_in_another_region_is_caught(data: st.DataObject) -> None:
    """A buffer that is moved to another region is caught: the stated cost is another one, if nothing else."""
    net, made = _in_two_regions()
    index = data.draw(st.integers(0, len(made.buffers) - 1))
    other = next(name for name in made.region_names if name != made.buffers[index].region)
    offset = 4 * data.draw(st.integers(0, 50))
    with pytest.raises(PlanError):
        validate(net, _changed(made, index, region=other, offset=offset))


def test_validate_rows_of_a_tensor_in_two_regions_are_caught() -> None:
    """All rows of a tensor lie in one region."""
    net = chain(3, 3, rows=6)
    made = plan(net, M4, runs=by_row(net), regions=ROOMY)
    tensor, index = next((each.tensor, place_) for place_, each in enumerate(made.buffers) if each.rows == 1)
    fast, slow = made.regions
    slow = replace(slow, used_bytes=4)
    wrong = replace(
        _changed(made, index, region="slow", offset=0), regions=(fast, slow), arena_bytes=made.arena_bytes + 4
    )
    with pytest.raises(PlanError, match=f"t{tensor}: its rows are in several regions: fast, slow"):
        validate(net, replace(wrong, proven_optimal=False))


def test_validate_equal_offsets_in_two_regions_are_right() -> None:
    """Bytes of different regions are different bytes."""
    net, made = _in_two_regions()
    at_zero = {each.region for each in made.buffers if each.offset == 0}
    assert at_zero == set(made.region_names)
    validate(net, made)


@pytest.mark.parametrize(
    ("old", "new", "text"),
    [
        ('"size_bytes": 44', '"size_bytes": "44"', "size_bytes is '44'"),
        ('"name": "sram"', '"nom": "sram"', "nom"),
        ('"weight_regions": [\n  [\n   1', '"weight_regions": [\n  [\n   "1"', "weight_regions.*is '1'"),
    ],
)
def test_from_json_refuses_regions_of_wrong_types(old: str, new: str, text: str) -> None:
    """Fields of regions are checked when a plan is read."""
    saved = _in_two_regions()[1].to_json()
    assert old in saved
    with pytest.raises(PlanError, match=text):
        Plan.from_json(saved.replace(old, new, 1))


def test_weighted_network_is_a_right_one() -> None:
    """The network of these tests has the constants that it says."""
    assert np.asarray(weighted().views[0].constant("filter")).nbytes == 40


def test_bound_of_the_cost_counts_what_capacities_give_back() -> None:
    """Two units of ten bytes, of which the cheap region holds one: prices prove the least cost, and no more."""
    buffers = [Buffer(tensor, None, 0, 1, 0, 10, 1, 0, 1) for tensor in (0, 1)]
    units = tuple(Unit((number,), None, 10, 10) for number in range(2))
    regions = (Region("fast", 10, 1.0), Region("slow", 100, 5.0))
    problem = RegionProblem(regions, units, place(buffers), (), 1)
    assert unrelaxed(problem).bound == 20
    assert 20 < relax(problem, 60).bound <= 60
