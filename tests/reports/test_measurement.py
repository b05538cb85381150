"""Measurements over several inputs: models that choose what runs, and all others."""

from pathlib import Path
from typing import Any

import pytest

import kibi
from kibi.errors import InputError
from kibi.frontends.tflite import parse_tflite
from kibi.ir import Graph
from kibi.ops import operators
from kibi.reports.branches import usual_runs
from kibi.reports.measurement import Measurement, measure
from tests.engines.networks import residual_network
from tests.support import hostile
from tests.support.branching_models import branches


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
    assert _measured(kibi.load(hostile.path(f"{name}.tflite")), tmp_path).stack_bytes == 408


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


def test_operators_whose_inputs_choose_what_runs_say_so() -> None:
    """Those that run graphs, and the suppression of boxes; their models are tried on several inputs."""
    choosing = {name for name, operator in operators().items() if operator.flow_depends_on_elements}
    assert choosing == {"IF", "WHILE", "TFLite_Detection_PostProcess"}
    assert usual_runs(residual_network()) == 1
    assert usual_runs(parse_tflite(branches(pools_first=True), "branches.tflite")) >= 3
