"""Plans for weights in slow memory: what they fetch, what they are refused for, and that windows hold what kernels read."""

import json

import numpy as np
import pytest

import kibi
import kibi.demo
from kibi.errors import InputError, InternalError, PlanError
from kibi.ir import Graph
from kibi.planner import Plan, validate
from kibi.planner.slow_weights import Fetches
from kibi.planner.weights_option import ReadWeights, weights_named
from kibi.runtime import seeded_inputs
from kibi.selection import Weights
from tests.engines.networks import pooled_network, residual_network, two_input_network
from tests.support.amount import sample, share

_READ = "read:storage_read"


@pytest.fixture(scope="module")
def glyphs() -> Graph:
    """The shipped model, simplified."""
    return kibi.simplify(kibi.load(kibi.demo.model_path()))


def _fetches(model: Graph, plan: Plan) -> Fetches:
    assert plan.slow_weights is not None
    return Fetches.of(validate(model, plan).graph, plan.slow_weights)


@pytest.fixture(scope="module")
def plans(glyphs: Graph) -> dict[int, Plan]:
    """Its plans for a slow memory and for a fast one, by bytes in a second."""
    return {rate: kibi.plan(glyphs, weights=_READ, bandwidth=rate) for rate in (20_000, 100_000_000)}


@pytest.mark.parametrize("rate", share([20_000, 100_000_000], 1, 2))
def test_plan_with_windows_gives_the_same_bits(glyphs: Graph, plans: dict[int, Plan], rate: int) -> None:
    """Whether weights are fetched once or again: the interpreter finds all of them in their windows."""
    inputs = seeded_inputs(glyphs, 2)
    made, expected = kibi.run(glyphs, plans[rate], inputs), kibi.run(glyphs, kibi.plan(glyphs), inputs)
    assert [each.tobytes() for each in made] == [each.tobytes() for each in expected]


@pytest.mark.parametrize(
    ("mode", "granularity"),
    sample(
        [(mode, granularity) for mode in ("stored", "streamed", "external") for granularity in ("row", "tensor")],
        [("external", "row")],
    ),
)
def test_ways_of_handing_over_and_of_placing_give_the_same_bits(mode: str, granularity: str) -> None:
    """However inputs come, and whatever is placed."""
    model = residual_network()
    inputs = seeded_inputs(model, 2)
    plan = kibi.plan(model, input=mode, granularity=granularity, weights=_READ, bandwidth=1_000_000)
    made, expected = kibi.run(model, plan, inputs), kibi.run(model, kibi.plan(model), inputs)
    assert [each.tobytes() for each in made] == [each.tobytes() for each in expected]


@pytest.mark.parametrize(
    "model", share([residual_network(), pooled_network("FULLY_CONNECTED"), two_input_network()], 1)
)
def test_windows_of_other_networks_give_the_same_bits(model: Graph) -> None:
    """Branches, sums by the row, several inputs."""
    inputs = seeded_inputs(model, 0)
    plan = kibi.plan(model, weights=_READ, bandwidth=1_000_000)
    made, expected = kibi.run(model, plan, inputs), kibi.run(model, kibi.plan(model), inputs)
    assert [each.tobytes() for each in made] == [each.tobytes() for each in expected]


def test_slow_memory_is_read_once_and_a_fast_one_again(glyphs: Graph, plans: dict[int, Plan]) -> None:
    """Without a limit of RAM the time decides: the faster the memory, the more is fetched, and the smaller the arena."""
    slow, fast = plans.values()
    assert _fetches(glyphs, slow).share == 1
    assert _fetches(glyphs, fast).share > 2
    assert fast.arena_bytes < slow.arena_bytes
    assert _fetches(glyphs, slow).seconds == _fetches(glyphs, slow).fetched_bytes / 20_000


@pytest.mark.slow
def test_limit_of_ram_is_met_with_the_fewest_bytes_fetched(glyphs: Graph) -> None:
    """Less RAM, more bytes; at last no plan is that small, and the error says how many bytes one takes."""
    limits = (6_000, 4_300)
    plans = [kibi.plan(glyphs, weights=_READ, bandwidth=1_000_000, ram=limit) for limit in limits]
    assert all(plan.arena_bytes <= limit for plan, limit in zip(plans, limits, strict=True))
    fetched = [_fetches(glyphs, plan).fetched_bytes for plan in plans]
    assert fetched == sorted(fetched)
    assert _fetches(glyphs, plans[0]).share == 1
    with pytest.raises(PlanError, match="the smallest that was found needs"):
        kibi.plan(residual_network(), weights=_READ, bandwidth=1_000_000, ram=100)


@pytest.mark.slow
def test_plan_is_the_same_each_time_and_after_it_was_saved(glyphs: Graph, plans: dict[int, Plan]) -> None:
    """The search is an amount of work; a saved plan runs as the one that was made."""
    first, second = plans[20_000], kibi.plan(glyphs, weights=_READ, bandwidth=20_000)
    assert first == second == Plan.from_json(first.to_json())
    validate(glyphs, Plan.from_json(first.to_json()))


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"function": "int"}, "cannot be the function"),
        ({"function": "f(); int g"}, "cannot be the function"),
        ({"bandwidth": 0}, "no bandwidth"),
        ({"parts": [1]}, "the plan divides 1 nodes"),
        ({"parts": [10_000] * 14}, "falls into at most"),
        ({"loads": []}, "fetches weights of 0 nodes"),
        ({"loads": 3}, "cannot fetch its weights"),
        ({"loads": -1}, "cannot fetch its weights"),
    ],
)
def test_saved_plan_that_cannot_be_is_refused(
    glyphs: Graph, plans: dict[int, Plan], change: dict[str, object], what: str
) -> None:
    """Parts that a layer does not have, fetches that do not divide its steps, names that would be other C code."""
    record = json.loads(plans[20_000].to_json())
    slow = record["slow_weights"]
    if isinstance(change.get("loads"), int):
        slow["loads"][0] = change["loads"]
    else:
        slow |= change
    with pytest.raises(PlanError, match=what.replace("(", r"\(")):
        validate(glyphs, Plan.from_json(json.dumps(record)))


def test_window_that_was_overwritten_is_found(glyphs: Graph, plans: dict[int, Plan]) -> None:
    """The interpreter compares each window with the weights when a step reads it."""
    plan = plans[20_000]
    arena = np.zeros(plan.arena_bytes, np.uint8)
    interpreter = kibi.Interpreter(glyphs, plan, arena, guard=False)
    window = next(tensor for tensor in interpreter.model.tensors if tensor.name.startswith("weights of"))
    place = plan.buffers_of(window.index)[0].offset

    def spoil(index: int, _: object) -> None:
        if index == window.index:
            arena[place] ^= 1

    with pytest.raises(InternalError, match="does not hold its weights"):
        interpreter.run(seeded_inputs(glyphs, 0), spoil)


def test_option_names_a_function() -> None:
    """`read:NAME`; other values are the ways in which weights are stored."""
    assert weights_named("rice") is Weights.RICE
    assert weights_named("read:flash_read") == ReadWeights("flash_read")
    for wrong in ("read", "read:", "read:9", "read:int", "read:kibi_x", "rice ", "", "read:a b"):
        with pytest.raises(InputError, match=r"weights cannot be|cannot be the function"):
            weights_named(wrong)


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"weights": _READ}, "Add --bandwidth"),
        ({"bandwidth": 5}, "Add --weights"),
        ({"weights": _READ, "bandwidth": 0}, "no bandwidth"),
        ({"weights": _READ, "bandwidth": 5, "runs": []}, "Leave runs, regions and kernels out"),
        ({"weights": _READ, "bandwidth": 5, "regions": []}, "Leave runs, regions and kernels out"),
    ],
)
def test_options_that_do_not_go_together_are_refused(glyphs: Graph, options: dict[str, object], what: str) -> None:
    """One without the other says too little; orders and regions are for plans of their own."""
    with pytest.raises(PlanError, match=what):
        kibi.plan(glyphs, **options)  # type: ignore[arg-type]


def test_kernels_of_such_a_plan_are_not_changed(glyphs: Graph, plans: dict[int, Plan]) -> None:
    """Windows hold what is packed for the kernels that were chosen."""
    plan = plans[20_000]
    with pytest.raises(PlanError, match="Plan without --weights"):
        kibi.planner.with_kernels(glyphs, plan, kibi.target("cortex-m4"), plan.goal, ())
