"""Windows that are read ahead: what is started when, in how much RAM, what such plans are refused for, and how much it hides."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import kibi
import kibi.demo
from kibi.dtypes import DType
from kibi.engines import HostEngine
from kibi.errors import InputError, InternalError, PlanError
from kibi.frontends.tflite import parse_tflite
from kibi.frontends.tflite.builder import ModelBuilder
from kibi.ir import Graph
from kibi.planner import Plan, PlannedModel, Run, validate
from kibi.planner.compute_time import node_seconds
from kibi.planner.lifetimes import lifetimes
from kibi.planner.read_ahead import Asked, Overlap, Room, Transfers, planned_ahead
from kibi.planner.weights_option import ReadWeights, weights_named
from kibi.planner.windows import places
from kibi.reports.fetches import fetches_of, fetches_text
from kibi.reports.measurement import same_bits
from kibi.runtime import seeded_inputs
from tests.engines.networks import pooled_network, residual_network, two_input_network
from tests.support.amount import sample
from tests.support.late_weights import late_weights

_READ, _AHEAD = "read:storage", "read:storage,ahead"
_AMPLE = 100_000
_DEPTH = 16


@pytest.fixture(scope="module")
def glyphs() -> Graph:
    """The shipped model, simplified."""
    return kibi.simplify(kibi.load(kibi.demo.model_path()))


@pytest.fixture(scope="module")
def ample(glyphs: Graph) -> Plan:
    """Its plan with RAM in which every window can be read ahead."""
    return kibi.plan(glyphs, weights=_AHEAD, bandwidth=1_000_000, ram=_AMPLE)


def _kinds(model: Graph, plan: Plan) -> list[tuple[str, int]]:
    """What each step of a plan does: `start` or `wait` with the number of the window, or `run` with the node."""
    graph, found = validate(model, plan).graph, list[tuple[str, int]]()
    for node, row in plan.steps:
        view = graph.views[node]
        what = "start" if view.op.starts else "wait" if view.op.waits else "run"
        window = view.output.index if view.op.starts else view.row_tensors[0].index if view.op.waits else node
        found.append((what, window * 1000 + row if what != "run" else node))
    return found


def _ahead(model: Graph, plan: Plan) -> int:
    """How many transfers run while steps compute."""
    kinds = _kinds(model, plan)
    return sum(what == "start" and kinds[step + 1][0] == "run" for step, (what, _) in enumerate(kinds))


@pytest.mark.parametrize(
    ("mode", "granularity"),
    sample(
        [(mode, granularity) for mode in ("stored", "streamed", "external") for granularity in ("row", "tensor")],
        [("streamed", "row")],
    ),
)
@pytest.mark.parametrize("ram", [pytest.param(None, marks=pytest.mark.slow), _AMPLE])
def test_python_gives_the_same_bits(mode: str, granularity: str, ram: int | None) -> None:
    """Nobody knows the bytes of a window during its transfer, and no kernel reads them."""
    for model in (residual_network(), two_input_network(), pooled_network("FULLY_CONNECTED")):
        plan = kibi.plan(model, input=mode, granularity=granularity, weights=_AHEAD, bandwidth=1_000_000, ram=ram)
        inputs = seeded_inputs(model, 1)
        assert same_bits(kibi.run(model, plan, inputs), kibi.run(model, kibi.plan(model), inputs))


def test_each_window_is_started_right_after_the_wait_before_it(glyphs: Graph, ample: Plan) -> None:
    """Where RAM is no matter: one start, one wait, and steps only while the next transfer runs."""
    kinds = _kinds(glyphs, ample)
    transfers = [(what, window) for what, window in kinds if what != "run"]
    assert transfers[::2] == [("start", window) for _, window in transfers[1::2]]
    assert {what for what, _ in transfers[1::2]} == {"wait"}
    waits = [step for step, (what, _) in enumerate(kinds) if what == "wait"]
    assert all(kinds[step + 1][0] == "start" for step in waits[:-1])


def test_window_lives_from_its_start_to_its_last_reading(glyphs: Graph, ample: Plan) -> None:
    """The buffer is the transfer's before the kernel's: nothing else is there from the start on."""
    graph = validate(glyphs, ample).graph
    for step, (node, row) in enumerate(ample.steps):
        if graph.views[node].op.starts:
            window = graph.views[node].output.index
            held = next(each for each in ample.buffers_of(window) if each.first_row <= row < each.first_row + each.rows)
            assert held.start == step
            low, high = held.offset, held.offset + held.size_bytes
            for each in ample.buffers:
                if each is not held and each.start < held.end and held.start < each.end:
                    assert each.offset + each.size_bytes <= low or high <= each.offset


@pytest.mark.slow
def test_less_ram_hides_less_until_nothing_is_read_ahead(glyphs: Graph) -> None:
    """Each limit is met; in the arena of the plan that reads nothing ahead, starts and waits come together where they must."""
    least = kibi.plan(glyphs, weights=_READ, bandwidth=500_000, ram=5_000).arena_bytes
    hidden = []
    for ram in (_AMPLE, 7_000, least):
        plan = kibi.plan(glyphs, weights=_AHEAD, bandwidth=500_000, ram=ram)
        assert plan.arena_bytes <= ram
        found = fetches_of(validate(glyphs, plan))
        assert found is not None
        assert found.hidden_seconds <= found.seconds
        hidden.append(found.hidden_share)
    assert hidden == sorted(hidden, reverse=True)
    assert hidden[0] > 0.4 > hidden[-1]
    with pytest.raises(PlanError, match="the smallest that was found needs"):
        kibi.plan(residual_network(), weights=_AHEAD, bandwidth=1_000_000, ram=100)


@pytest.mark.slow
def test_without_a_limit_time_decides() -> None:
    """A slow memory gets RAM for windows; where transfers are nothing beside what kernels take, they get none."""
    model = residual_network(24, 12, 8)
    made = {rate: kibi.plan(model, weights=_AHEAD, bandwidth=rate) for rate in (100_000, 1_000_000_000)}
    plain = kibi.plan(model, weights=_READ, bandwidth=100_000)
    needed = {
        rate: each.lower_bound_bytes for rate, each in made.items()
    }  # how near to that plans come differs by some bytes
    assert needed[100_000] > plain.lower_bound_bytes
    assert needed[100_000] > needed[1_000_000_000]


def test_plan_is_the_same_each_time_and_after_it_was_saved(glyphs: Graph, ample: Plan) -> None:
    """A saved plan says that its windows are read ahead."""
    again = kibi.plan(glyphs, weights=_AHEAD, bandwidth=1_000_000, ram=_AMPLE)
    saved = Plan.from_json(ample.to_json())
    assert ample == again == saved
    assert saved.slow_weights is not None
    assert saved.slow_weights.ahead
    assert saved.slow_weights.functions == ("storage_start", "storage_wait")
    inputs = seeded_inputs(glyphs, 3)
    assert same_bits(kibi.run(glyphs, saved, inputs), kibi.run(glyphs, kibi.plan(glyphs), inputs))


def _swapped(plan: Plan, graph: Graph, change: str) -> Plan:
    """A plan with a step at a place where it must not be; buffers follow the order again, each in bytes of its own."""
    runs = list(plan.runs)
    ops = [graph.views[run.node].op for run in runs]
    waits = [place for place, op in enumerate(ops) if op.waits]
    if change == "two at once":
        runs[waits[0]], runs[waits[0] + 1] = runs[waits[0] + 1], runs[waits[0]]
    else:  # the wait comes after the kernel
        runs.insert(waits[1] + 2, runs.pop(waits[1]))
    return replace(plan, runs=tuple(runs))


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ("two at once", r"starts a transfer while that of row 0 of 'weights of stem' runs; one may run at a time"),
        ("late wait", r"waits for the transfer of row 0 of .*, but that of"),
    ],
)
def test_order_of_transfers_that_cannot_be_is_refused(glyphs: Graph, ample: Plan, change: str, what: str) -> None:
    """A second transfer, a wait for another one."""
    graph = validate(glyphs, ample).graph
    with pytest.raises(PlanError, match=what):
        validate(glyphs, _swapped(ample, graph, change))


def test_kernel_that_would_run_before_the_wait_is_refused() -> None:
    """The arrival is not made yet, whoever makes the order."""
    model = pooled_network("MEAN")
    plan = kibi.plan(model, granularity="tensor", weights=_AHEAD, bandwidth=1_000_000, ram=_AMPLE)
    graph = validate(model, plan).graph
    runs = list(plan.runs)
    last = max(place for place, run in enumerate(runs) if graph.views[run.node].op.waits)
    reader = next(place for place in range(last, len(runs)) if graph.views[runs[place].node].window is not None)
    runs[last], runs[reader] = runs[reader], runs[last]
    with pytest.raises(PlanError, match="reads row 0 of tensor 'arrival at"):
        lifetimes(graph, runs)
    with pytest.raises(PlanError, match=r"'arrival at .*' is not there: it has no bytes"):
        validate(model, replace(plan, runs=tuple(runs)))


def test_buffer_in_the_window_of_a_transfer_is_refused(glyphs: Graph, ample: Plan) -> None:
    """Whatever lives while a transfer writes has bytes of its own."""
    graph = validate(glyphs, ample).graph
    record = json.loads(ample.to_json())
    starts = {view.output.index for view in graph.views if view.op.starts}
    window = next(each for each in ample.buffers if each.tensor in starts and each.start > 0)
    place = next(
        number
        for number, each in enumerate(ample.buffers)
        if each.tensor not in starts and each.size_bytes and each.start < window.start < each.end
    )
    record["buffers"][place]["offset"] = window.offset - window.offset % record["buffers"][place]["alignment"]
    with pytest.raises(PlanError, match=r"share bytes|is not there|in an arena of"):
        validate(glyphs, Plan.from_json(json.dumps(record)))


def test_write_to_a_window_during_its_transfer_is_found(glyphs: Graph, ample: Plan) -> None:
    """The interpreter looks at the window when the transfer ends."""
    arena = np.zeros(ample.arena_bytes, np.uint8)
    interpreter = kibi.Interpreter(glyphs, ample, arena, guard=False)
    starts = [node.outputs[0] for node in interpreter.model.nodes if node.op.starts]
    place = ample.buffers_of(starts[2])[0].offset

    def spoil(index: int, _: object) -> None:
        if index == starts[2]:
            arena[place + 1] ^= 1

    with pytest.raises(InternalError, match="has written to the window during its transfer"):
        interpreter.run(seeded_inputs(glyphs, 0), spoil)


def _ending_model() -> Graph:
    """A convolution, a buffer that ends two of three inferences, and two more convolutions."""
    b = ModelBuilder()
    random = np.random.default_rng(5)

    def conv(x: int, rows: int) -> int:
        weights = b.constant(random.integers(-127, 128, (_DEPTH, 1, 1, _DEPTH)).astype(np.int8), 0.004, 0)
        y = b.tensor([1, rows, 1, _DEPTH], DType.S8, 0.5, 3)
        b.operator("CONV_2D", [x, weights], [y], {"padding": "VALID", "stride_h": 1, "stride_w": 1})
        return y

    held = b.tensor([1, 4, 1, _DEPTH], DType.S8, 0.5, 3, variable=True)
    first = conv(b.input([1, 1, 1, _DEPTH], DType.S8, 0.5, 3, name="x"), 1)
    options = b"cycles_max\0\1\x0c\1\1\1\3\4\2\x24\1"
    b.operator("CUSTOM", [first], [held], custom_code="CIRCULAR_BUFFER", custom_options=options)
    return parse_tflite(b.finish([conv(conv(held, 4), 4)]), "ending.tflite")


@pytest.mark.parametrize("mode", ["stored", "streamed"])
def test_no_transfer_runs_where_an_operator_may_end_the_inference(mode: str, tmp_path: Path) -> None:
    """Each transfer has its wait: the next window is started after it, and a plan that starts it before is refused."""
    model = _ending_model()
    plan = kibi.plan(model, "host", input=mode, weights=_AHEAD, bandwidth=1_000_000, ram=_AMPLE)
    graph = validate(model, plan).graph
    assert _ahead(model, plan) == 1
    library = kibi.compile(model, plan, tmp_path)
    engine, plain = (
        HostEngine(library, storage=[late_weights(library, tmp_path)]),
        kibi.Interpreter(model, kibi.plan(model)),
    )
    interpreter = kibi.Interpreter(model, plan)
    ended = 0
    for seed in range(7):
        inputs = seeded_inputs(model, seed)
        expected = plain.run(inputs)
        ended += not expected
        assert same_bits(engine.run(inputs), expected)
        assert same_bits(interpreter.run(inputs), expected)
    assert 0 < ended < 7
    runs = list(plan.runs)
    ends = next(place for place, run in enumerate(runs) if graph.nodes[run.node].op.name == "CIRCULAR_BUFFER")
    start = next(place for place in range(ends, len(runs)) if graph.views[runs[place].node].op.starts)
    runs.insert(ends, runs.pop(start))
    with pytest.raises(PlanError, match=r"may end the inference while the transfer of row 0 of .* runs"):
        validate(model, replace(plan, runs=tuple(runs)))


def test_nothing_is_started_before_the_first_row_of_a_stream() -> None:
    """To ask which row is expected starts no transfer."""
    model = residual_network()
    plan = kibi.plan(model, input="streamed", weights=_AHEAD, bandwidth=1_000_000, ram=_AMPLE)
    first, _ = plan.steps[0]
    assert PlannedModel.of(model, plan).graph.views[first].op.receives


def test_starts_are_as_early_as_the_bytes_allow() -> None:
    """Five steps, two fetches: the second one's window, of 8 bytes, may live from where 12 bytes do."""
    runs = tuple(Run(node, 0, 1) for node in range(6))
    transfers = Transfers(
        runs,
        fetched=np.array([0, 4]),
        sizes=np.array([4, 8]),
        levels=np.array([10, 20, 12, 12, 20, 20]),
        seconds=np.array([0.0, 1.0, 2.0, 3.0, 0.0, 1.0]),
        earliest=np.array([0, 1]),
        bandwidth=2,
    )
    status = 4
    assert transfers.starts().tolist() == [0, 1]
    assert transfers.starts(28 + status).tolist() == [0, 1]
    assert transfers.starts(27 + status).tolist() == [0, 2]
    assert transfers.starts(19 + status).tolist() == [0, 4]
    assert transfers.hidden_seconds(np.array([0, 1])) == 4.0
    assert transfers.hidden_seconds(np.array([0, 3])) == 3.0
    assert transfers.inference_seconds(np.array([0, 4])) == 7.0 + 2.0 + 4.0
    assert transfers.least_bytes(9.0) == 20 + status
    assert transfers.least_bytes(13.0) == 20
    assert transfers.least_bytes(0.0) == 28 + status


@pytest.mark.slow
def test_plan_without_early_starts_keeps_its_places(glyphs: Graph) -> None:
    """Where no placement with an early start fits: each buffer is where it is without reading ahead, and the plan is right."""
    blocking = kibi.plan(glyphs, weights=_READ, bandwidth=100_000_000)
    assert blocking.slow_weights is not None
    assert max(blocking.slow_weights.loads) > 1
    slow = replace(blocking.slow_weights, ahead=True)
    graph, ahead = (
        PlannedModel.of(glyphs, replace(blocking, slow_weights=each)).graph for each in (blocking.slow_weights, slow)
    )
    target, asked = kibi.target("cortex-m4"), Asked(blocking.arena_bytes, None)

    def place(runs: tuple[Run, ...], room: Room) -> Plan:
        assert room.enough_bytes == blocking.arena_bytes
        return replace(blocking, runs=runs, arena_bytes=room.enough_bytes + 1)

    made = replace(planned_ahead(graph, ahead, blocking, slow, target, asked, place), slow_weights=slow)
    assert made.arena_bytes == blocking.arena_bytes
    validate(glyphs, made)
    assert _ahead(glyphs, made) == 0
    inputs = seeded_inputs(glyphs, 0)
    assert same_bits(kibi.run(glyphs, made, inputs), kibi.run(glyphs, blocking, inputs))


def test_overlap_is_that_of_the_order(glyphs: Graph, ample: Plan) -> None:
    """The less of the time of a transfer and of the steps while it runs, added up; none in a plan that reads nothing ahead."""
    graph = validate(glyphs, ample).graph
    seconds = node_seconds(graph, kibi.target("cortex-m4"))
    assert ample.slow_weights is not None
    overlap = Overlap.of(graph, ample, ample.slow_weights, seconds)
    wanted, since, window = 0.0, 0.0, 0
    for node, _ in ample.steps:
        view = graph.views[node]
        if view.op.starts:
            since, window = 0.0, view.output.type.row_bytes
        elif view.op.waits:
            wanted += min(since, window / 1_000_000)
        else:
            since += seconds[node] / view.steps
    assert overlap.hidden_seconds == pytest.approx(wanted)
    assert overlap.ahead == _ahead(glyphs, ample)
    plain = validate(glyphs, kibi.plan(glyphs, weights=_READ, bandwidth=1_000_000))
    found = fetches_of(plain)
    assert found is not None
    assert (found.ahead, found.hidden_seconds) == (0, 0.0)
    assert "ahead" not in fetches_text(found)


def test_nodes_with_windows_stand_side_by_side() -> None:
    """The start of the next window comes between a wait and its reader."""
    made = [(None if each.kind is None else each.kind.name, each.node) for each in places((1, 0, 3), ahead=True)]
    assert made == [
        ("START_WEIGHTS", 0),
        ("WAIT_WEIGHTS", 0),
        ("START_WEIGHTS", 2),
        (None, 0),
        (None, 1),
        ("WAIT_WEIGHTS", 2),
        (None, 2),
    ]


@pytest.mark.parametrize(
    ("wrong", "what"),
    [
        (
            "read:f,later",
            "'later' after read:f says nothing about how weights are read. Write read:NAME,ahead or read:NAME",
        ),
        ("read:f,", "'' after read:f says nothing"),
        ("read:f,ahead,ahead", "'ahead,ahead' after read:f says nothing"),
        ("read:,ahead", "'' cannot be the function"),
        ("read:int,ahead", "'int' cannot be the function"),
        ("rice,ahead", "weights cannot be stored as 'rice,ahead'"),
        ("read:f, ahead", "' ahead' after read:f says nothing"),
    ],
)
def test_option_says_what_is_wrong_and_what_to_write(wrong: str, what: str) -> None:
    """An unknown manner, none, two; a name that is none."""
    with pytest.raises(InputError) as caught:
        weights_named(wrong)
    assert what in str(caught.value)


def test_option_names_two_functions() -> None:
    """`read:NAME,ahead`."""
    assert weights_named("read:flash,ahead") == ReadWeights("flash", ahead=True)


def test_saved_plan_with_another_manner_is_refused(ample: Plan) -> None:
    """A text is no truth value."""
    record = json.loads(ample.to_json())
    record["slow_weights"]["ahead"] = "yes"
    with pytest.raises(PlanError, match="ahead"):
        Plan.from_json(json.dumps(record))
