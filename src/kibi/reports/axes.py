"""Axes of plots, and the line through the best dots."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from kibi.reports.memory_shapes import QUIET, line
from kibi.text.markup import Markup

_ROOM = 0.12
"""Free part of an axis beyond the outermost dots."""
_MOST_TICKS = 8
_FREE_LETTERS = 2
"""Letters that would have room between the texts at two ticks."""


@dataclass(frozen=True, slots=True)
class Axis:
    """A linear axis from `low` at `start` to `high` at `end`; ticks are at multiples of `unit`."""

    low: float
    high: float
    start: float
    end: float
    unit: float = 1

    @staticmethod
    def of(
        values: Sequence[float], start: float, end: float, *, from_zero: bool = False, has_fractions: bool = False
    ) -> "Axis":
        """An axis on which all values have room.

        Args:
            values: at least one.
            start: the place of its low end in the picture.
            end: that of its high end.
            from_zero: True if it begins at zero; then no value is negative.
            has_fractions: True if values may be fractions, and negative; else they are whole numbers from zero on.
        """
        low, high = (0 if from_zero else min(values)), max(values)
        room = _ROOM * ((high - low) or max(abs(high), 1))
        least = -math.inf if has_fractions else 0
        span = high - low + 2 * room
        unit = 10.0 ** math.floor(math.log10(span) - 1) if has_fractions else 1
        return Axis(low if from_zero else max(low - room, least), high + room, start, end, unit)

    def at(self, value: float) -> float:
        """The place of a value."""
        return self.start + (self.end - self.start) * (value - self.low) / (self.high - self.low)

    def ticks(self, letter_width: float = 0) -> list[float]:
        """Round values, eight at most.

        Args:
            letter_width: of the texts at the ticks, which have room beside each other; 0: they are one above the other.
        """
        text_width = letter_width * (len(self.text(self.high)) + _FREE_LETTERS)
        most = min(_MOST_TICKS, abs(self.end - self.start) // text_width) if text_width else _MOST_TICKS
        low, high = self.low / self.unit, self.high / self.unit
        step = 1
        while (high - low) / step > max(most, 1):
            step = step * 5 // 2 if str(step).startswith("2") else step * 2
        first = -(-math.floor(low) // step)
        return [
            step * number * self.unit for number in range(first, math.floor(high) // step + 1) if step * number >= low
        ]

    def text(self, value: float) -> str:
        """A tick as text."""
        return f"{value:,.0f}" if self.unit == 1 else f"{value:.4g}"


def staircase(dots: Sequence[tuple[float, float]], *, is_upwards: bool = False) -> list[Markup]:
    """Draws a staircase through the dots that no dot further left is below; above, if it is upwards. `y` grows downwards."""
    lines: list[Markup] = []
    corner: tuple[float, float] | None = None
    sign = -1 if is_upwards else 1
    for x, y in sorted(dots, key=lambda dot: (dot[0], -sign * dot[1])):
        if corner is not None and sign * y <= sign * corner[1]:
            continue  # not better than one to its left
        if corner is not None:
            lines += [line(corner, (x, corner[1]), QUIET, "2 3"), line((x, corner[1]), (x, y), QUIET, "2 3")]
        corner = (x, y)
    return lines
