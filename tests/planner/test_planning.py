"""Plans of whole models."""

from dataclasses import replace

import pytest

from kibi.errors import PlanError
from kibi.frontends import load
from kibi.planner import Plan, Run, file_order, lifetimes, place, plan, validate
from kibi.planner.granularity import Granularity
from kibi.planner.in_place import in_place_rules
from kibi.targets import target
from tests.planner.networks import by_row, chain, random_network, residual
from tests.support.amount import share
from tests.support.choices import Seeded
from tests.support.zoo import model_path, requires_zoo

M4 = target("cortex-m4")

ACTIVATIONS_BYTES = {
    "mlperf_kws_int8": 16_000,
    "mlperf_vww_int8": 55_296,
    "mlperf_ic_int8": 49_152,
    "mlperf_ad_int8": 768,
    "mlperf_sww_int8": 6_656,
    "tflm_person_detect": 55_296,
}
"""The most bytes that live at once, in the file's order, where nothing is made in the place of what it is made from."""


@requires_zoo
@pytest.mark.parametrize("name", ACTIVATIONS_BYTES)
def test_plan_zoo_model_activations_meet_the_lower_bound(name: str) -> None:
    """On the benchmark models activations take no more than what must live at once, and provably as little as they can."""
    net = load(model_path(name))
    made = plan(net, M4, scratch=False)
    validate(net, made, scratch=False)
    assert made.arena_bytes == made.lower_bound_bytes <= ACTIVATIONS_BYTES[name]
    assert made.proven_optimal


@requires_zoo
@pytest.mark.parametrize("name", share(ACTIVATIONS_BYTES, 1, 2))
def test_plan_zoo_model_with_scratch_is_right_and_optimal(name: str) -> None:
    """With scratch, and by the row, plans of the benchmark models are right; in the file's order proven optimal."""
    net = load(model_path(name))
    whole, rows = plan(net, M4), plan(net, M4, runs=by_row(net))
    validate(net, whole)
    validate(net, rows)
    assert whole.proven_optimal
    assert whole.arena_bytes <= ACTIVATIONS_BYTES[name]
    assert rows.arena_bytes <= 1.12 * rows.lower_bound_bytes


def test_plan_without_runs_takes_the_files_order() -> None:
    """The default order is the file's."""
    net = chain(3, 3)
    assert plan(net, M4).runs == file_order(net)


def test_plan_names_its_model_and_target() -> None:
    """A plan says what it is for."""
    made = plan(chain(1), M4)
    assert (made.model, made.target) == ("net", "cortex-m4")


def test_plan_same_graph_same_plan() -> None:
    """Planning is deterministic but for the time that it took."""
    net = residual(scratch_bytes=10)
    first, second = (plan(net, M4, runs=by_row(net)) for _ in range(2))
    assert replace(first, solve_seconds=0.0) == replace(second, solve_seconds=0.0)


def test_plan_saved_and_read_back_is_valid() -> None:
    """A plan survives its JSON form."""
    net = residual(scratch_bytes=10)
    made = plan(net, M4, runs=by_row(net))
    read = Plan.from_json(made.to_json())
    assert read == made
    validate(net, read)


def test_plan_live_bytes_peak_is_below_the_bound() -> None:
    """No step needs more than the lower bound, and it is met where nothing is aligned."""
    net = residual()
    made = plan(net, M4, runs=by_row(net))
    assert max(made.live_bytes()) == made.lower_bound_bytes


def test_plan_order_that_cannot_run_is_an_error() -> None:
    """Runs that read what is not made yet are refused."""
    with pytest.raises(PlanError, match="not made yet"):
        plan(chain(3, 3, rows=4), M4, runs=[Run(1, 0, 4), Run(0, 0, 4)])


def test_plan_by_row_leaves_scratch_to_others_between_runs_where_that_saves_bytes() -> None:
    """The same order needs more where scratch lives from the first step of its node to the last."""
    net = random_network(Seeded(0), 3, 9, scratch=(0, 0, 12, 20))
    made = plan(net, M4, granularity=Granularity.ROW)
    validate(net, made)
    split = {each.tensor for each in made.buffers if each.tensor is not None and len(made.buffers_of(each.tensor)) > 1}
    held = lifetimes(net, made.runs, split=split)
    assert made.arena_bytes < place(held, rules=in_place_rules(net, made.runs, held)).lower_bound_bytes
    assert Plan.from_json(made.to_json()).buffers == made.buffers
    scratch = [each for each in made.buffers if each.tensor is None]
    assert len(scratch) > len({each.nodes for each in scratch})
