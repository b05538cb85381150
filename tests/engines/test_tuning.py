"""Tuning: every kernel that may run a layer is counted, and the choice is what the library calls."""

from dataclasses import replace
from pathlib import Path

import pytest

import kibi
import kibi.demo
from kibi.engines.tuning import Candidate, Tuning, tune
from kibi.planner import with_kernels
from kibi.selection import Goal, candidates


@pytest.fixture(scope="module")
def model() -> kibi.Graph:
    """The shipped model."""
    return kibi.load(kibi.demo.model_path())


@pytest.fixture(scope="module")
def plan(model: kibi.Graph) -> kibi.Plan:
    """Its plan."""
    return kibi.plan(model)


def _measured(model: kibi.Graph, plan: kibi.Plan, tuning: Tuning | None, folder: Path) -> tuple[int, int]:
    """Instructions and bytes of flash in the plan's order, with the kernels of a tuning, or with those for flash."""
    made = with_kernels(model, plan, kibi.target("cortex-m4"), tuning.goal, tuning.kernels) if tuning else plan
    library = kibi.compile(model, made if tuning else kibi.plan(model, goal="flash"), folder)
    found = kibi.measure(library, oracle=False)
    assert found.bit_exact
    return found.instructions, found.flash_bytes


@pytest.mark.parametrize("goal", [Goal.BALANCED, Goal.SPEED])
@pytest.mark.slow  # `kibi measure --tune` is tested in each run
def test_the_fastest_candidate_is_chosen_and_called(
    model: kibi.Graph, plan: kibi.Plan, goal: Goal, tmp_path: Path
) -> None:
    """Each layer names all its candidates with their counts; the library calls the ones with the fewest instructions."""
    tuning = tune(model, plan, kibi.target("cortex-m4"), goal)
    assert tuning.layers
    for layer in tuning.layers:
        least = min(each.instructions for each in layer.candidates)
        assert {each.kernel: each.instructions for each in layer.candidates}[layer.chosen] == least
        assert len({each.kernel for each in layer.candidates}) == len(layer.candidates) > 1
    again = kibi.plan(model, tuning=tuning)
    library = kibi.compile(model, again, tmp_path / "library")
    assert library.model.kernels == again.kernels == tuning.kernels
    assert all(tuning.kernels[layer.node] == layer.chosen for layer in tuning.layers)
    instructions, _ = _measured(model, plan, tuning, tmp_path / "tuned")
    general, _ = _measured(model, plan, None, tmp_path / "general")
    assert instructions < general


@pytest.mark.slow
def test_kernels_with_the_fewest_cycles_of_a_board_are_chosen(model: kibi.Graph, tmp_path: Path) -> None:
    """With a memory, cycles of layers decide, not instructions; and the whole model takes no longer."""
    board = kibi.board("nucleo-l4r5zi")
    plan = kibi.plan(model, board.target)
    by_instructions = tune(model, plan, board.target, Goal.BALANCED)
    by_cycles = tune(model, plan, board.target, Goal.BALANCED, memory=board.memory)
    for layer in by_cycles.layers:
        chosen = {each.kernel: each.cycles for each in layer.candidates}[layer.chosen]
        assert chosen == min(each.cycles or 0 for each in layer.candidates) > 0
    assert {each.cycles for layer in by_instructions.layers for each in layer.candidates} == {None}
    spent = []
    for number, tuning in enumerate((by_instructions, by_cycles)):
        library = kibi.compile(
            model, kibi.plan(model, board.target, tuning=tuning), tmp_path / str(number), target=board.target
        )
        spent.append(kibi.measure(library, oracle=False, memory=board.memory).cycles_estimate or 0)
    assert 0 < spent[1] <= spent[0] * 1.01


@pytest.mark.slow
def test_for_flash_no_program_that_was_tried_is_smaller(model: kibi.Graph, plan: kibi.Plan, tmp_path: Path) -> None:
    """Neither the fastest kernels nor those that the rules choose take less flash, in the same order of steps."""
    target = kibi.target("cortex-m4")
    smallest, fastest = (tune(model, plan, target, goal) for goal in (Goal.FLASH, Goal.BALANCED))
    _, flash = _measured(model, plan, smallest, tmp_path / "small")
    assert flash <= _measured(model, plan, fastest, tmp_path / "fast")[1]
    replanned = kibi.compile(model, kibi.plan(model, tuning=smallest), tmp_path / "replanned")
    ruled = _measured(model, plan, None, tmp_path / "ruled")[1]
    assert kibi.measure(replanned, oracle=False).flash_bytes <= ruled


def test_cores_without_variants_have_nothing_to_choose(model: kibi.Graph) -> None:
    """Where every layer has one candidate, nothing is measured."""
    target = kibi.target("cortex-m3")
    planned = kibi.plan(model, target)
    if all(len(candidates(call, target, Goal.BALANCED)) == 1 for call in model.calls):
        assert tune(model, planned, target, Goal.BALANCED).layers == ()


def test_an_unknown_goal_is_refused_with_those_that_exist(model: kibi.Graph) -> None:
    """The text lists the goals."""
    with pytest.raises(kibi.KibiError, match="balanced"):
        kibi.tune(model, goal="small")


def test_fewer_cycles_decide_where_they_are_known() -> None:
    """Else instructions do; constants decide between equals."""
    slow, fast = Candidate("slow", 100, 8, 300), Candidate("fast", 120, 8, 200)
    assert min((slow, fast), key=lambda each: each.cost) is fast
    assert min((replace(slow, cycles=None), replace(fast, cycles=None)), key=lambda each: each.cost).kernel == "slow"
    assert Candidate("small", 100, 4).cost < Candidate("large", 100, 8).cost
