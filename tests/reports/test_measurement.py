"""Measurements over several inputs: models that choose what runs, and all others."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import kibi
from kibi.demo import model_path
from kibi.errors import InputError, ModelError, PlanError
from kibi.frontends.tflite import parse_tflite
from kibi.ir import Graph
from kibi.ops import operators
from kibi.reports.branches import usual_runs
from kibi.reports.measurement import Measurement, measure
from tests.engines.networks import residual_network
from tests.support import hostile
from tests.support.amount import sample
from tests.support.branching_models import branches
from tests.support.zoo import catalog, check_zoo, requires_zoo


def _measured(graph: Graph, folder: Path, runs: int | None = None) -> Measurement:
    return measure(kibi.compile(graph, None, folder), runs=runs)


def test_measure_same_branches_in_either_order_take_the_same(tmp_path: Path) -> None:
    """The larger branch counts, wherever it is; the figures say that they vary, and from what on."""
    found = []
    for pools_first in (True, False):
        graph = parse_tflite(branches(pools_first=pools_first), "branches.tflite")
        found.append(_measured(graph, tmp_path / f"{pools_first}"))
    assert found[0].stack_bytes == found[1].stack_bytes > found[0].stack_bytes_min
    for each in found:
        assert each.seeds == (0, 1, 2, 3)
        assert each.varies_with_inputs
        assert each.instructions > 2 * each.instructions_min
        assert each.not_executed == ()
        assert each.bit_exact
        assert sum(cost.instructions for cost in each.ops) <= each.instructions
    assert abs(found[0].instructions - found[1].instructions) < 20


@pytest.mark.parametrize("name", ["if_conv_else_relu", "if_relu_else_conv"])
def test_measure_file_whose_convolution_is_in_a_branch_takes_its_stack(name: str, tmp_path: Path) -> None:
    """In one of the files the convolution was once never run, and a stack of 160 bytes was reported."""
    assert _measured(kibi.load(hostile.path(f"{name}.tflite")), tmp_path).stack_bytes == 356


def test_measure_model_without_choices_is_run_on_one_input(tmp_path: Path) -> None:
    """Its figures are those of the first seed; more inputs only where they are asked for."""
    graph = residual_network()
    one, three = _measured(graph, tmp_path / "one"), _measured(graph, tmp_path / "three", 3)
    assert (one.seeds, three.seeds) == ((0,), (0, 1, 2))
    assert (one.instructions, one.varies_with_inputs, one.instructions_min) == (
        one.instructions,
        False,
        one.instructions,
    )
    assert three.instructions >= one.instructions >= three.instructions_min


def test_measure_and_verify_name_a_branch_that_no_input_takes(tmp_path: Path) -> None:
    """Of what never ran nothing is known, and nobody is told otherwise."""
    graph = parse_tflite(branches(pools_first=True, condition="computed"), "branches.tflite")
    found = _measured(graph, tmp_path)
    assert found.not_executed == ("subgraph 1",)
    assert not found.varies_with_inputs
    assert kibi.verify(graph, target="host").not_executed == ("subgraph 1",)
    one = parse_tflite(branches(pools_first=True), "branches.tflite")
    assert kibi.verify(one, target="host", runs=3).not_executed == ()
    assert len(kibi.verify(one, target="host", runs=1).not_executed) == 1


@pytest.mark.parametrize("wish", [{"runs": 0}, {"runs": 1.5}, {"seed": -1}, {"seed": None}], ids=str)
def test_measure_and_verify_of_no_input_are_refused(wish: dict[str, Any], tmp_path: Path) -> None:
    """No runs prove nothing."""
    graph = residual_network()
    library = kibi.compile(graph, None, tmp_path)
    for work in (lambda: measure(library, **wish), lambda: kibi.verify(graph, target="host", **wish)):
        with pytest.raises(InputError, match="Give a whole number"):
            work()


_AHEAD: Mapping[str, Any] = {"weights": "read:flash,ahead", "bandwidth": 1_000_000, "ram": 8_000}


def _assert_parts_add_up(found: Measurement) -> None:
    """Compares the sums over operators and what is outside of them with the totals."""
    assert found.calls_instructions > 0
    assert found.calls_instructions + sum(cost.instructions for cost in found.ops) == found.instructions
    if found.cycles_estimate is not None:
        assert found.calls_cycles_estimate is not None
        cycles = [cost.cycles_estimate or 0 for cost in found.ops]
        assert found.calls_cycles_estimate + sum(cycles) == found.cycles_estimate


@pytest.mark.share(3, part=1)
@pytest.mark.parametrize(
    ("target", "options", "extras"),
    [
        ("cortex-m4", {}, {}),
        ("cortex-m0plus", {"input": "streamed"}, {"slices": True}),
        ("cortex-m4", _AHEAD, {"slices": True}),  # several nodes of one operator, and several that share a function
    ],
    ids=["plain", "streamed", "ahead"],
)
def test_operators_and_calls_add_up_to_the_totals(
    target: str, options: Mapping[str, Any], extras: Mapping[str, Any], tmp_path: Path
) -> None:
    """Nothing is counted twice or left out, in instructions and in cycles."""
    graph = kibi.simplify(kibi.load(model_path()))
    plan = kibi.plan(graph, target, **options)
    found = measure(kibi.compile(graph, plan, tmp_path, target=target, **extras), oracle=False)
    _assert_parts_add_up(found)


def test_operators_of_branches_and_kernels_of_plan_files_add_up_to_the_totals(tmp_path: Path) -> None:
    """What runs inside of an operator counts for it; in a plan file, costs are those of kernels."""
    graph = parse_tflite(branches(pools_first=True), "branches.tflite")
    _assert_parts_add_up(_measured(graph, tmp_path))
    small = residual_network()
    _assert_parts_add_up(kibi.measure_plan(small, kibi.plan(small)))


@requires_zoo
@pytest.mark.parametrize("name", sample(((name,) for name in catalog()), usual=()))
def test_operators_of_every_model_add_up_to_the_totals(name: str, tmp_path: Path) -> None:
    """The whole zoo; a model that is refused has no figures."""
    check_zoo()
    try:
        graph = kibi.simplify(kibi.load(catalog()[name].path))
        library = kibi.compile(graph, None, tmp_path, target="cortex-m4")
    except (ModelError, InputError, PlanError) as error:
        pytest.skip(f"not compiled: {error}")
    _assert_parts_add_up(measure(library, oracle=False))


def test_operators_whose_inputs_choose_what_runs_say_so() -> None:
    """Those that run graphs, and the suppression of boxes; their models are tried on several inputs."""
    choosing = {name for name, operator in operators().items() if operator.flow_depends_on_elements}
    assert choosing == {"IF", "WHILE", "TFLite_Detection_PostProcess"}
    assert usual_runs(residual_network()) == 1
    assert usual_runs(parse_tflite(branches(pools_first=True), "branches.tflite")) >= 3
