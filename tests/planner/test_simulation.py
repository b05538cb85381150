"""The simulation of runs at once says what the simulation step by step says."""

import random
from collections.abc import Iterator
from dataclasses import replace

import pytest

import kibi
import kibi.demo
from kibi.ir import Graph, Operator
from kibi.planner import Plan, plan, simulation
from kibi.planner.order.orders import file_order
from kibi.targets import target
from tests.planner.networks import Sum, Tally, Window, graph
from tests.planner.test_in_place import Shifting
from tests.support.amount import share

M4 = target("cortex-m4")


def _drawn(rng: random.Random) -> Graph:
    """A chain of windows, some in place, with scratch, accumulators and a sum over both ends."""
    rows = rng.randrange(6, 12)
    shape: tuple[int, ...] = (1, rows, rng.randrange(1, 5), 1)
    nodes, shapes = list[tuple[Operator, tuple[int, ...], int]](), [shape]
    for index in range(rng.randrange(1, 4)):
        height = rng.randrange(1, 4)
        above, scratch_bytes = rng.randrange(height), rng.choice((0, 0, 4))
        kind = Window if rng.random() < 0.3 else Shifting
        overlap = {} if kind is Window else {"overlap": rng.randrange(6)}
        nodes.append((kind(height, 1, above, scratch_bytes, rng.choice((1, 1, 2)), **overlap), (index,), index + 1))
        shapes.append(shape)
    if rng.random() < 0.5:
        nodes.append((Sum(), (len(shapes) - 1, 0), len(shapes)))
        shapes.append(shape)
    if rng.random() < 0.5:
        nodes.append((Tally(scratch_bytes=4), (len(shapes) - 1,), len(shapes)))
        shapes.append((1, 1, 4, 1))
    return graph(shapes, nodes)


def _damaged(rng: random.Random, made: Plan) -> Iterator[Plan]:
    """The plan, and with a buffer that is moved, or lives for a shorter time."""
    yield made
    for _ in range(12):
        buffers = list(made.buffers)
        place = rng.randrange(len(buffers))
        its = buffers[place]
        room = made.arena_bytes - its.size_bytes
        changed = (
            replace(its, offset=rng.randrange(room + 1)),
            replace(its, offset=min(room, max(0, its.offset + rng.choice((-2, -1, 1, 2))))),
            replace(its, start=rng.randrange(its.start, its.end)),
            replace(its, end=rng.randrange(its.start + 1, its.end + 1)),
        )
        buffers[place] = rng.choice(changed)
        yield replace(made, buffers=tuple(buffers))


@pytest.mark.parametrize("seed", share(range(60), 0, 2))
def test_runs_at_once_and_steps_one_by_one_find_the_same(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """For drawn networks, their plans, and plans that are damaged: the same sentences."""
    rng = random.Random(seed)
    net = _drawn(rng)
    wrong = 0
    for each in _damaged(rng, plan(net, M4, runs=file_order(net))):
        monkeypatch.setattr(simulation, "_FEW_STEPS", 0)
        at_once = list(simulation.simulate(net, each))
        monkeypatch.setattr(simulation, "_FEW_STEPS", 1 << 20)
        assert at_once == list(simulation.simulate(net, each))
        wrong += bool(at_once)
    assert wrong < 13


def test_runs_of_a_right_plan_are_played_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """No step of the shipped model's whole operators needs a closer look."""
    model = kibi.simplify(kibi.load(kibi.demo.model_path()))
    made = kibi.plan(model, granularity="tensor")
    looked: list[int] = []
    arena = simulation._Arena
    original = arena.step

    def counting(self: simulation._Arena, step: int, node: int, row: int) -> Iterator[str]:
        looked.append(node)
        return original(self, step, node, row)

    monkeypatch.setattr(arena, "step", counting)
    kibi.planner.validate(model, made)
    long = {run.node for run in made.runs if run.steps > simulation._FEW_STEPS}
    assert long
    assert not long & set(looked)
