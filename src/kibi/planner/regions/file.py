"""Memory regions as text: a small TOML file that says what memories a board has.

One table for each region: `name`, a C identifier; `bytes`, its capacity; `cost`, of reading or writing one byte there, in any
unit; and, where they differ from the defaults, `buffers` (true) and `weights` (false), whether those may be placed there.
"""

import os
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from kibi.errors import PlanError
from kibi.files import read_text
from kibi.planner.regions.names import names_problem
from kibi.text.c import name_problem

LARGEST_BYTES = 1 << 40
"""No region has more."""
_MOST_BYTES = 1 << 20
_LARGEST_COST = 1_000_000
_COST_DECIMALS = 6
_REQUIRED = ("name", "bytes", "cost")
_OPTIONAL = ("buffers", "weights")


@dataclass(frozen=True, slots=True)
class Region:
    """A memory of a board.

    Attributes:
        name: a C identifier.
        size_bytes: its capacity, at least 1.
        cost: of reading or writing one byte, in any unit: 0 to 1,000,000, with at most six decimals.
        holds_buffers: true if rows of tensors and scratch may be placed there.
        holds_weights: true if constants may be placed there.

    Raises:
        PlanError: a field has no such value.
    """

    name: str
    size_bytes: int
    cost: float
    holds_buffers: bool = True
    holds_weights: bool = False

    def __post_init__(self) -> None:
        for field, value, problem in (
            ("name", self.name, name_problem(self.name)),
            ("bytes", self.size_bytes, _bytes_problem(self.size_bytes)),
            ("cost", self.cost, _cost_problem(self.cost)),
            ("buffers", self.holds_buffers, _flag_problem(self.holds_buffers)),
            ("weights", self.holds_weights, _flag_problem(self.holds_weights)),
        ):
            if problem:
                raise PlanError(f"region {str(self.name)[:40]!r}: {field} is {_shown(value)}. {problem}.")
        if not (self.holds_buffers or self.holds_weights):
            raise PlanError(
                f"region {self.name!r}: buffers and weights are both false, so nothing may be placed there. "
                "Make one of them true, or remove the region."
            )

    @property
    def cost_millionths(self) -> int:
        """The cost of a byte as a whole number of millionths."""
        return int(Decimal(repr(self.cost)) * 10**_COST_DECIMALS)


def load_regions(path: str | os.PathLike[str]) -> tuple[Region, ...]:
    """Read the regions from a file.

    Raises:
        PlanError: there is no such file, or it does not describe regions.
    """
    text = read_text(path, _MOST_BYTES, PlanError, "Give the path of a file that lists regions.")
    return read_regions(text, os.fspath(path))


def read_regions(text: str, source: str) -> tuple[Region, ...]:
    """Read the regions from TOML.

    Args:
        text: the file's text.
        source: the file's name, for errors.

    Returns:
        The regions in the order of the file.

    Raises:
        PlanError: the text is no TOML, or a field is missing, unknown or has no such value; the text names file, region and
            field.
    """
    try:
        table = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, ValueError, RecursionError) as error:
        raise PlanError(f"{source}: {error}. Write TOML, each region under a line [[region]].") from None
    unknown = sorted(set(table) - {"region"})
    if unknown:
        raise PlanError(
            f"{source}: there is no key {unknown[0]!r} outside regions. Write each region under [[region]]."
        )
    entries = table.get("region", [])
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise PlanError(f"{source}: 'region' is no list of tables. Write [[region]], with two brackets on each side.")
    regions = tuple(_region(entry, number, source) for number, entry in enumerate(entries, 1))
    try:
        return check_regions(regions)
    except PlanError as error:
        raise PlanError(f"{source}: {error}") from None


def check_regions(regions: Sequence[Region]) -> tuple[Region, ...]:
    """Regions that go together.

    Raises:
        PlanError: the list is empty, or two have one name, in upper or lower case, or need one macro.
    """
    if not regions:
        raise PlanError("there is no region. Describe one at least, under a line [[region]].")
    problem = names_problem([region.name for region in regions])
    if problem:
        raise PlanError(problem)
    return tuple(regions)


def _region(entry: Mapping[str, object], number: int, source: str) -> Region:
    name = entry.get("name")
    where = f"{source}, region {name[:40]!r}" if isinstance(name, str) else f"{source}, region {number}"
    unknown = [key for key in entry if key not in (*_REQUIRED, *_OPTIONAL)]
    if unknown:
        known = ", ".join((*_REQUIRED, *_OPTIONAL))
        raise PlanError(f"{where}: there is no field {unknown[0]!r}. Fields are: {known}.")
    missing = [key for key in _REQUIRED if key not in entry]
    if missing:
        raise PlanError(f"{where}: {missing[0]} is missing. Give it, as in `{_example(missing[0])}`.")
    values = [entry["name"], entry["bytes"], entry["cost"], entry.get("buffers", True), entry.get("weights", False)]
    try:
        return Region(*values)  # type: ignore[arg-type]  # the class checks what TOML gave
    except PlanError as error:
        what = str(error).partition(": ")[2]
        raise PlanError(f"{where}: {what}") from None


def _example(field: str) -> str:
    return {"name": 'name = "sram"', "bytes": "bytes = 262144", "cost": "cost = 1.0"}[field]


def _shown(value: object) -> str:
    """A value as TOML writes it, near enough."""
    return str(value).lower() if isinstance(value, bool) else repr(value)[:60]


def _bytes_problem(size_bytes: object) -> str:
    if isinstance(size_bytes, int) and not isinstance(size_bytes, bool) and 1 <= size_bytes <= LARGEST_BYTES:
        return ""
    return f"Give the capacity as a whole number of bytes, 1 to {LARGEST_BYTES}"


def _cost_problem(cost: object) -> str:
    is_number = isinstance(cost, int | float) and not isinstance(cost, bool)
    if is_number and 0 <= cost <= _LARGEST_COST:  # type: ignore[operator]  # NaN is refused here, too
        millionths = Decimal(repr(cost)) * 10**_COST_DECIMALS
        if millionths == millionths.to_integral_value():
            return ""
    return f"Give a number from 0 to {_LARGEST_COST}, with at most {_COST_DECIMALS} decimals"


def _flag_problem(flag: object) -> str:
    return "" if isinstance(flag, bool) else "Give true or false"
