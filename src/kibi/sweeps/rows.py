"""The results of a sweep: one row for each model in each setting, with its costs or the reason why there are none."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from enum import StrEnum
from typing import Any

from kibi.errors import InputError
from kibi.reports.measurement import Measurement
from kibi.sweeps.settings import Setting

Value = bool | int | float | str
"""What a parameter of a model may be."""
PARAMETER, FIGURE = "parameter_", "figure_"
"""The first part of the names of columns: of a model's parameters, and of what an evaluation says of it."""


_MOST_REASON = 10_000
"""Characters of a reason that tables and journals keep."""


class Status(StrEnum):
    """The end of a task."""

    MEASURED = "measured"
    REFUSED = "refused"
    """Kibi refused the model or the setting. The same task ends in the same way, so that a resumed sweep keeps the row."""
    FAILED = "failed"
    """Something else went wrong: a compiler is missing, memory ran out, a worker died. A resumed sweep tries it again."""


@dataclass(frozen=True, slots=True)
class Costs:
    """The costs of one inference; the fields are those of `kibi.reports.measurement.Measurement`. Sizes are in bytes."""

    macs: int
    arena_bytes: int
    state_bytes: int
    stack_bytes: int
    ram_bytes: int
    code_bytes: int
    plan_table_bytes: int
    weights_bytes: int
    flash_bytes: int
    instructions: int
    cycles_estimate: int | None

    @staticmethod
    def of(found: Measurement) -> "Costs":
        """Returns the costs of a measurement."""
        return Costs(**{each.name: getattr(found, each.name) for each in fields(Costs)})


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a task found; the same for the same key.

    Attributes:
        status: how it ended.
        reason: why it was refused or failed, or empty.
        costs: None if nothing was measured.
        figures: what the evaluation says of the model, by name, in the order of the names.
    """

    status: Status
    reason: str = ""
    costs: Costs | None = None
    figures: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True, slots=True)
class Row:
    """One row of a sweep's table.

    Attributes:
        model: the name of the model: its path, or what the generator says.
        model_sha256: the digest of its bytes; empty if it could not be read.
        parameters: of the architecture, by name.
        setting: how it was put on a device.
        key: the digest of all that the outcome depends on; empty if the model could not be read.
        outcome: what was found.
    """

    model: str
    model_sha256: str
    parameters: tuple[tuple[str, Value], ...]
    setting: Setting
    key: str
    outcome: Outcome

    @property
    def is_final(self) -> bool:
        """True if a resumed sweep keeps the row."""
        return bool(self.key) and self.outcome.status is not Status.FAILED

    def value(self, name: str) -> float | None:
        """Returns a cost, or a figure of the evaluation, by its name; None if the row has none."""
        figures = dict(self.outcome.figures)
        if name in figures:
            return figures[name]
        return None if self.outcome.costs is None or name not in COST_NAMES else getattr(self.outcome.costs, name)

    def record(self) -> dict[str, Any]:
        """Returns the row as plain data, one entry for each column; `row_of` reads it."""
        costs = dict.fromkeys(COST_NAMES) if self.outcome.costs is None else asdict(self.outcome.costs)
        return {
            "model": self.model,
            "model_sha256": self.model_sha256,
            **{PARAMETER + name: value for name, value in self.parameters},
            **asdict(self.setting),
            "status": str(self.outcome.status),
            "reason": self.outcome.reason[:_MOST_REASON],
            **costs,
            **{FIGURE + name: value for name, value in self.outcome.figures},
            "key": self.key,
        }


COST_NAMES = tuple(each.name for each in fields(Costs))
SETTING_NAMES = tuple(each.name for each in fields(Setting))
COLUMNS = ("model", "model_sha256", *SETTING_NAMES, "status", "reason", *COST_NAMES, "key")
"""The columns that every table has; those of parameters and figures come on top of them."""
_KNOWN, _WHOLE, _STATUSES = frozenset(COLUMNS), frozenset((*COST_NAMES, "seed")), frozenset(Status)


def is_whole(name: str) -> bool:
    """True if a column of `COLUMNS` has whole numbers; the others have texts."""
    return name in _WHOLE


def row_of(record: object) -> Row:
    """Reads what `Row.record` returns.

    Raises:
        InputError: it is no mapping, or a column is missing, unknown, or of another type.
    """
    if not isinstance(record, Mapping):
        raise InputError("it is no row")
    further = [name for name in record if name not in _KNOWN]
    unknown = [name for name in further if not name.startswith((PARAMETER, FIGURE))]
    missing = [name for name in COLUMNS if name not in record]
    if unknown or missing:
        what = f"there is no column {unknown[0]!r}" if unknown else f"the column {missing[0]} is missing"
        raise InputError(what)
    for name in COLUMNS:
        _check(name, record[name])
    costs = {name: record[name] for name in COST_NAMES}
    is_empty = all(value is None for value in costs.values())
    if not is_empty and any(value is None for name, value in costs.items() if name != "cycles_estimate"):
        raise InputError("some costs are missing, and others are there")
    return Row(
        model=record["model"],
        model_sha256=record["model_sha256"],
        parameters=tuple(
            (name.removeprefix(PARAMETER), _parameter(name, record[name]))
            for name in further
            if name.startswith(PARAMETER) and record[name] is not None
        ),
        setting=Setting(**{name: record[name] for name in SETTING_NAMES}),
        key=record["key"],
        outcome=Outcome(
            status=Status(record["status"]),
            reason=record["reason"],
            costs=None if is_empty else Costs(**costs),
            figures=tuple(
                (name.removeprefix(FIGURE), _figure(name, record[name]))
                for name in further
                if name.startswith(FIGURE) and record[name] is not None
            ),
        ),
    )


def _check(name: str, value: object) -> None:
    if name in _WHOLE:
        is_right = (value is None and name in COST_NAMES) or (isinstance(value, int) and not isinstance(value, bool))
    else:
        is_right = isinstance(value, str) and (name != "status" or value in _STATUSES)
    if not is_right:
        raise InputError(f"the column {name} has {str(value)[:40]!r}")


def _parameter(name: str, value: object) -> Value:
    if not isinstance(value, bool | int | float | str):
        raise InputError(f"the column {name} has {str(value)[:40]!r}")
    return value


def _figure(name: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InputError(f"the column {name} has {str(value)[:40]!r}")
    return float(value)
