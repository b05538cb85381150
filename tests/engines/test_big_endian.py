"""Generated C on processors that store the high byte first."""

from pathlib import Path

import pytest

import kibi
from kibi.ir import Graph
from kibi.planner import Plan
from kibi.runtime import Interpreter, seeded_inputs
from tests.fuzz.checks import is_small, load, same_bits
from tests.fuzz.corpus import corpus
from tests.ops.batch import Batch
from tests.ops.machines import BIG_ENDIAN, Emulated, check_emulator

_MODELS = 40
"""In one program."""


def _cases(turn: int) -> list[tuple[Graph, Plan]]:
    """Small models of the fuzzer's corpus, of every operator, simplified and planned by the row."""
    graphs = [graph for graph in map(load, corpus()[turn::4]) if graph is not None and is_small(graph)]
    simplified = [kibi.simplify(graph) for graph in graphs]
    return [(graph, kibi.plan(graph, "cortex-m4")) for graph in simplified if graph.inputs]


@pytest.mark.slow
@pytest.mark.parametrize("machine", BIG_ENDIAN, ids=lambda machine: machine.emulator)
@pytest.mark.parametrize("turn", range(4))
def test_bits_are_the_same_with_the_high_byte_first(machine: Emulated, turn: int, tmp_path: Path) -> None:
    """The C for a Cortex-M4, whose kernels in assembly give way to plain C, computes what Python computes."""
    check_emulator(machine)
    cases = _cases(turn)
    assert len(cases) > 2 * _MODELS
    for first in range(0, len(cases), _MODELS):
        part = cases[first : first + _MODELS]
        inputs = [seeded_inputs(graph, 3) for graph, _ in part]
        folder = tmp_path / str(first)
        batch = Batch(
            [graph for graph, _ in part], [plan for _, plan in part], folder,
            compiler="zig", level="1", processor="cortex-m4", machine=machine,
        )  # fmt: skip
        for (graph, plan), given, outcome in zip(part, inputs, batch.run(inputs), strict=True):
            wanted = Interpreter(graph, plan).run(given)
            for run in outcome.outputs:
                assert same_bits(list(run), list(wanted)), graph.name
