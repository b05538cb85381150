"""Files that nobody made for good: no mutant leads the core out of its memory, and none runs for ever."""

import pytest

import kibi
from kibi import demo
from kibi.planfile.core_library import Core
from kibi.planfile.reader import PlanFile
from kibi.planfile.writer import plan_file
from kibi.planner import PlannedModel
from kibi.targets import target
from tests.ops.comparison import graph_of
from tests.passes.streaming_networks import streaming
from tests.planfile.mutants import mutants, tried
from tests.support.amount import amount
from tests.support.choices import Seeded
from tests.support.operator_models import OPERATOR_MODELS

_MUTANTS = amount(350, 1_000_000)
"""Of all files together."""
_AT_ONCE = 5_000


def _files() -> list[PlanFile]:
    """Plan files of the shipped model, of a drawn model of each operator, and of streaming ones with rows that are evenly spaced.

    For the M4 and for this machine, with all runs, for a core that has kernels where files expect them, and for one that has not.
    """
    shipped = kibi.load(demo.model_path())
    graphs = [shipped, *(graph_of(OPERATOR_MODELS[name](Seeded(0))) for name in sorted(OPERATOR_MODELS))]
    graphs += [kibi.simplify(streaming(Seeded(seed))) for seed in range(8)]
    planned = [
        PlannedModel.of(graph, kibi.plan(graph, target=("cortex-m4", "host")[number % 2]))
        for number, graph in enumerate(graphs)
    ]
    kernels = sorted({kernel for each in planned for kernel in PlanFile(plan_file(each)).kernels})
    core = Core.of(kernels, target("host")).ids
    return [
        PlanFile(plan_file(each, least_width=(1, 1, 2, 4)[number % 4], core=(core, ())[number // 4 % 2]))
        for number, each in enumerate(planned)
    ]


def test_no_mutant_of_a_file_leaves_its_memory() -> None:
    """Each mutant is refused, or runs twice under sanitizers in memory of exactly its size. What was not changed runs."""
    files = _files()
    kernels = tuple(sorted({kernel for file in files for kernel in file.kernels}))
    assert tried(kernels, [file.data for file in files]) == (0, len(files))
    each = -(-_MUTANTS // len(files))
    refused = ran = 0
    for seed, file in enumerate(files):
        for first in range(0, each, _AT_ONCE):
            made = list(mutants(file, min(_AT_ONCE, each - first), seed + len(files) * (first // _AT_ONCE)))
            found = tried(kernels, made)
            assert sum(found) == len(made)
            refused, ran = refused + found[0], ran + found[1]
    assert min(refused, ran) > (refused + ran) // 10, "mutants of one kind alone test nothing"


@pytest.mark.parametrize("count", [0, 1, 4, 64, 100])
def test_what_is_no_file_is_refused(count: int) -> None:
    """Zeros and noise of any length."""
    kernels = ("kibi_table_s8",)
    assert tried(kernels, [bytes(count), bytes([0xA5]) * count, b"KIBI" + bytes(count)]) == (3, 0)
