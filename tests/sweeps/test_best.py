"""The best of a sweep."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kibi.errors import InputError
from kibi.reports.pareto import Choice, pareto_optimal
from kibi.sweeps.best import Budget, Objective, best, front
from kibi.sweeps.rows import Outcome, Row, Status
from kibi.sweeps.settings import Setting
from tests.sweeps.work import row

_REFUSED = Row("refused", "", (), Setting("cortex-m4"), "", Outcome(Status.REFUSED, "it is no model"))
ROWS = (
    row("small", 1000, 9000, 500, accuracy=0.7),
    row("large", 9000, 9000, 900, accuracy=0.95),
    row("middle", 4000, 9500, 700, accuracy=0.9),
    row("worse", 4100, 9500, 700, accuracy=0.9),
    _REFUSED,
)


def test_best_is_within_the_budget_and_in_the_order_of_the_objective() -> None:
    """Equals are in the order of their costs."""
    budget = Budget((("ram_bytes", 5000.0),))
    found = best(ROWS, budget, Objective("accuracy", is_maximized=True))
    assert [each.model for each in found] == ["middle", "worse", "small"]
    found = best(ROWS, Budget(), Objective())
    assert [each.model for each in found] == ["small", "middle", "worse", "large"]
    assert [each.model for each in best(ROWS, Budget((("accuracy", 0.8),)), Objective(), most=1)] == ["small"]
    assert best(ROWS, Budget((("ram_bytes", 10.0),)), Objective()) == ()


def test_row_that_lacks_a_figure_is_in_no_budget_for_it() -> None:
    """Nobody knows whether it keeps to it."""
    rows = (row("known", 1, 1, 1, error=0.1), row("unknown", 1, 1, 1))
    assert [each.model for each in best(rows, Budget((("error", 0.5),)), Objective())] == ["known"]


def test_unknown_objective_or_limit_lists_what_there_is() -> None:
    """Costs and figures."""
    for budget, objective in ((Budget(), Objective("precision")), (Budget((("precision", 1.0),)), Objective())):
        with pytest.raises(InputError, match=r"no row has 'precision'.* gives accuracy"):
            best(ROWS, budget, objective)


def test_front_is_what_nothing_beats_on_its_target() -> None:
    """Another target is another device."""
    other = row("other", 9999, 9999, 999, target="cortex-m0plus", accuracy=0.1)
    found = front((*ROWS, other), Objective("accuracy", is_maximized=True))
    assert [each.model for each in found] == ["small", "large", "middle", "other"]


@given(st.lists(st.tuples(*[st.integers(1, 4)] * 3), min_size=1, max_size=12))
def test_front_agrees_with_the_one_of_kibi_pareto(costs: list[tuple[int, int, int]]) -> None:
    """Of equals, only the first is taken here."""
    rows = [row(str(number), *cost) for number, cost in enumerate(costs)]
    choices = [Choice("by the row", "s", ram, ram, True, ram, flash, steps, None, 0.0) for ram, flash, steps in costs]
    wanted = {choice.costs for choice, is_best in zip(choices, pareto_optimal(choices), strict=True) if is_best}
    found = front(rows, Objective())
    assert {
        (each.value("ram_bytes"), each.value("flash_bytes"), each.value("instructions")) for each in found
    } == wanted
    assert len(found) == len(wanted)


def test_front_of_many_rows_is_found() -> None:
    """Twenty thousand rows take a moment, since each is compared with the best alone."""
    rows = [row(f"{a} {b}", 100 + a, 300 - a, 10 + b) for a, b in product(range(100), range(200))]
    assert len(front(rows, Objective())) == 100
