"""The best rows of a sweep: those under a budget, in the order of an objective, and those that no other row beats."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from kibi.errors import InputError
from kibi.sweeps.rows import COST_NAMES, Row, Status

FRONT_COSTS = ("ram_bytes", "flash_bytes", "instructions")
"""Less of each is better, on any device."""


@dataclass(frozen=True, slots=True)
class Budget:
    """The most that a model may take.

    Attributes:
        limits: names of costs or figures, each with the largest value that is allowed.
    """

    limits: tuple[tuple[str, float], ...] = ()

    def holds(self, row: Row) -> bool:
        """True if a row was measured and keeps to all limits; a row without a value does not."""
        if row.outcome.status is not Status.MEASURED:
            return False
        values = [(row.value(name), limit) for name, limit in self.limits]
        return all(value is not None and value <= limit for value, limit in values)

    def limit(self, name: str) -> float | None:
        """Returns the limit of a cost; None for a cost without a limit."""
        return dict(self.limits).get(name)


@dataclass(frozen=True, slots=True)
class Objective:
    """What is to be as small, or as large, as possible.

    Attributes:
        name: of a cost, or of a figure of the evaluation.
        is_maximized: True if more is better.
    """

    name: str = "instructions"
    is_maximized: bool = False

    def cost(self, row: Row) -> float | None:
        """Returns a number that is smaller for better rows; None if the row has no value."""
        value = row.value(self.name)
        return None if value is None else -value if self.is_maximized else value


def best(rows: Iterable[Row], budget: Budget, objective: Objective, most: int = 10) -> tuple[Row, ...]:
    """Returns the best rows under a budget, the best first.

    Where rows are equally good, those with less RAM, flash and instructions come first; then those with earlier names.

    Args:
        rows: of a sweep.
        budget: the limits.
        objective: what decides.
        most: how many to return.

    Raises:
        InputError: rows were measured, and none has such a cost or figure.
    """
    measured = [row for row in rows if row.outcome.status is Status.MEASURED]
    _check_names(measured, [objective.name, *(name for name, _ in budget.limits)])
    ranked: list[tuple[float, tuple[float, ...], str, int]] = []
    for number, row in enumerate(measured):
        cost = objective.cost(row)
        if cost is not None and budget.holds(row):
            ranked.append((cost, _costs(row), row.model, number))
    return tuple(measured[number] for *_, number in sorted(ranked)[:most])


def front(rows: Sequence[Row], objective: Objective) -> tuple[Row, ...]:
    """Returns the Pareto-optimal rows, in the order of the rows.

    A row is among them if no other of the same target needs at most as much RAM, flash and instructions, is at least as good by
    the objective, and is better in one of these. Of equals, the first is taken.
    """
    found: list[int] = []
    for target in dict.fromkeys(row.setting.target for row in rows):
        costs = [
            (*_costs(row), cost, number)
            for number, row in enumerate(rows)
            if row.setting.target == target
            and row.outcome.status is Status.MEASURED
            and (cost := objective.cost(row)) is not None
        ]
        found += _optimal(costs)
    return tuple(rows[number] for number in sorted(found))


def _optimal(costs: list[tuple[float, ...]]) -> list[int]:
    """The numbers of the undominated costs; only one that comes earlier in the sorted order can beat another."""
    kept = np.empty((0, len(FRONT_COSTS) + 1))
    found = []
    for *cost, number in sorted(costs):
        if not (kept <= cost).all(axis=1).any():
            kept = np.vstack([kept, cost])
            found.append(int(number))
    return found


def _costs(row: Row) -> tuple[float, ...]:
    return tuple(row.value(name) or 0.0 for name in FRONT_COSTS)


def _check_names(rows: Sequence[Row], names: Sequence[str]) -> None:
    figures = sorted({name for row in rows for name, _ in row.outcome.figures})
    for name in names:
        if rows and name not in COST_NAMES and name not in figures:
            said = ", ".join(figures) or "nothing: give `evaluate`"
            raise InputError(f"no row has {name!r}. Costs are {', '.join(COST_NAMES)}; the evaluation gives {said}.")
