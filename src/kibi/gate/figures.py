"""What a budget can be about: each figure with its name, its unit and its direction, and amounts as people write them."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType
from typing import Final

_AMOUNT = re.compile(r"([0-9][0-9_]{0,19}(?:\.[0-9]{1,9})?) ?(?:([kKmMgG])(?:i?[bB])?)?", re.ASCII)
_PERCENT = re.compile(r"([0-9]{1,4}(?:\.[0-9]{1,6})?) ?%", re.ASCII)
_POWERS: Final[Mapping[str, int]] = MappingProxyType({"": 0, "k": 1, "m": 2, "g": 3})
LARGEST = 1 << 53
"""No figure is larger: every reader of JSON holds whole numbers up to here."""


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of figure.

    Attributes:
        name: the key in kibi.toml and in the baseline.
        label: the words for people.
        unit: `bytes`, `instructions`, `cycles`, `part` (0 to 1) or `bits` (1: they are equal).
    """

    name: str
    label: str
    unit: str

    @property
    def is_floor(self) -> bool:
        """True if a budget is the least that the figure may be, not the most."""
        return self.unit in ("part", "bits")

    def text(self, value: float) -> str:
        """A value in words."""
        if self.unit == "bits":
            return "equal" if value else "different"
        return f"{value * 100:.6g}%" if self.unit == "part" else f"{value:,.0f}"

    def worst(self, recorded: float, growth: Fraction) -> float:
        """The worst value that is allowed where another one was recorded; counts are rounded down."""
        exact = Fraction(recorded)
        return float(exact * (1 - growth)) if self.is_floor else float(int(exact * (1 + growth)))

    def problem(self, value: object) -> str:
        """Says why a value of kibi.toml is no budget of this kind; empty if it is one."""
        if self.unit == "bits":
            return "" if value is True else "Write true, or leave it out"
        if self.unit == "part":
            is_part = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1
            return "" if is_part else "Give a number from 0 to 1, such as 0.9"
        example = '16_384 or "16 KiB"' if self.unit == "bytes" else '2_500_000 or "2.5M"'
        return f"Give a whole number, such as {example}" if self.amount(value) is None else ""

    def amount(self, value: object) -> float | None:
        """Returns the budget that a value of kibi.toml states; None if it states none.

        Of bytes, `k` is 1,024; of instructions, 1,000.
        """
        if isinstance(value, bool):
            return 1.0 if self.unit == "bits" and value else None
        if isinstance(value, int):
            return float(value) if 0 <= value <= LARGEST else None
        if isinstance(value, float):
            return value if self.unit == "part" and math.isfinite(value) else None
        found = _AMOUNT.fullmatch(value.strip()) if isinstance(value, str) and self.unit != "part" else None
        if found is None:
            return None
        unit = 1024 if self.unit == "bytes" else 1000
        amount = round(float(found[1].replace("_", "")) * unit ** _POWERS[(found[2] or "").lower()])
        return float(amount) if amount <= LARGEST else None


KINDS: Final[Mapping[str, Kind]] = MappingProxyType({
    kind.name: kind
    for kind in (
        Kind("ram", "RAM", "bytes"),
        Kind("arena", "arena", "bytes"),
        Kind("stack", "stack", "bytes"),
        Kind("flash", "flash", "bytes"),
        Kind("instructions", "instructions", "instructions"),
        Kind("cycles", "cycles", "cycles"),
        Kind("longest_step", "longest step", "instructions"),
        Kind("accuracy", "accuracy", "part"),
        Kind("auc", "area under the curve", "part"),
        Kind("equal_bits", "bits", "bits"),
    )
})  # fmt: skip
"""All kinds, by name, in the order of tables."""


def growth_of(value: object) -> Fraction | None:
    """Returns the growth that a text such as `"1%"` states, as a part of the recorded figure; None if it states none."""
    found = _PERCENT.fullmatch(value.strip()) if isinstance(value, str) else None
    return None if found is None else Fraction(found[1]) / 100
