"""For the least flash, plans with other kernels are compared where the order of steps takes more than kernels save."""

from collections.abc import Sequence

import pytest

import kibi
import kibi.demo
from kibi.codegen import least_flash as module
from kibi.codegen.least_flash import least_flash
from kibi.planner import Granularity, Plan, PlannedModel
from kibi.planner import plan as make_plan
from kibi.selection import Goal, choose
from kibi.targets import target

_CORE = target("cortex-m4")


@pytest.mark.parametrize(
    ("order_bytes", "is_other"), [((0, 0), False), ((100_000, 99_000), False), ((100_000, 0), True)]
)
def test_smaller_order_decides_where_it_saves_more_than_the_kernels(
    order_bytes: tuple[int, int], is_other: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The plan with the kernels for balance is made only where it could win, and taken only where it does."""
    graph, asked = kibi.load(kibi.demo.model_path()), list[Sequence[str] | None]()
    left = list(order_bytes)

    def make(kernels: Sequence[str] | None) -> Plan:
        asked.append(kernels)
        return make_plan(graph, _CORE, goal=Goal.FLASH, kernels=kernels)

    monkeypatch.setattr(module, "_order_bytes", lambda *_: left.pop(0))
    found = least_flash(graph, _CORE, make)
    goal = Goal.BALANCED if is_other else Goal.FLASH
    assert found.kernels == tuple(call.kernel for call in choose(graph.general_calls, _CORE, goal))
    assert found.goal is Goal.FLASH
    assert len(asked) == (1 if not any(order_bytes) else 2)


def test_order_by_rows_takes_more_than_an_order_of_complete_operators() -> None:
    """As the estimate has it, so that it may decide."""
    graph = kibi.load(kibi.demo.model_path())
    rows, tensors = (make_plan(graph, _CORE, granularity=each) for each in (Granularity.ROW, Granularity.TENSOR))
    by_rows, whole = (module._order_bytes(PlannedModel.of(graph, each), _CORE) for each in (rows, tensors))
    assert by_rows > whole > 0
