"""Declares which input rows an output row reads, for the planner, the runtime and the code generator alike."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

_Ints = NDArray[np.int64]
_FEW = 2048
"""Rows and steps of an access whose answers are kept: many layers of a model read alike, and each is asked several times."""


@dataclass(frozen=True, slots=True)
class ColumnReach:
    """Output column `x` reads the `count` input columns `stride * x + dilation * k - pad`, `0 <= k < count`, that exist.

    Attributes:
        count: columns that one output column reads.
        stride, dilation: as those of `RowAccess`, across.
        pad: columns of padding before the first one.
    """

    count: int = 1
    stride: int = 1
    dilation: int = 1
    pad: int = 0

    def needed(self, first: int, end: int, width: int) -> tuple[int, int]:
        """Returns from which to before which column of an input of that width the output columns `[first, end)` read."""
        last = (end - 1) * self.stride - self.pad + (self.count - 1) * self.dilation
        return max(0, first * self.stride - self.pad), min(width, last + 1)

    def outside(self, first: int, end: int, given: tuple[int, int]) -> tuple[int, int]:
        """Returns how far windows of output columns `[first, end)` reach beyond the input columns `given`, before and after them.

        Negative: so many of these columns are not read.
        """
        front = given[0] - first * self.stride + self.pad
        span = (end - first - 1) * self.stride + (self.count - 1) * self.dilation + 1
        return front, span - front - (given[1] - given[0])


@dataclass(frozen=True, slots=True)
class RowAccess:
    """Output row `y` reads the `count` input rows `start + stride * y + dilation * k`, `0 <= k < count`.

    `y` and the rows count within one batch; batch `n` of the output reads batch `n` of the input. Where `parts > 1`, each row
    of the input is divided into that many parts of equal size, and "row" above means such a part. A reshape needs this, because
    the rows of its input and its output have different sizes.

    Attributes:
        rows: rows (or parts) of one batch of the input.
        output_rows: rows of one batch of the output.
        count: rows that one output row reads; at least 1.
        stride: input rows between the first rows of two neighbouring output rows; 0 where all read the same.
        start: first row that output row 0 reads; negative by the padding above.
        dilation: distance of the rows that one output row reads.
        parts: number of parts that each row of the input is divided into; at least 1.
        fill: value of the constant row (or part) that replaces one outside the input; None: the kernel gets a null pointer.
        is_shared: true if all batches of the output read the one batch of the input.
        is_joined: true if the rows that an output row reads are stored one after another: the kernel gets a pointer to the first.
        elements: which elements of a row (or part) the kernel gets, from the first to before the end; None: all. A constant row
            that replaces one outside the input begins with the first of them.
    """

    rows: int
    output_rows: int
    count: int = 1
    stride: int = 1
    start: int = 0
    dilation: int = 1
    parts: int = 1
    fill: int | None = None
    is_shared: bool = False
    is_joined: bool = False
    elements: tuple[int, int] | None = None

    def taken(self, row_elements: int) -> tuple[int, int]:
        """Returns of each row (or part) the first element that the kernel gets, and how many from there on.

        Args:
            row_elements: elements of a whole row of the input.
        """
        first, end = self.elements or (0, row_elements // self.parts)
        return first, end - first

    @property
    def pointers(self) -> int:
        """Pointers that a kernel gets for an output row."""
        return 1 if self.is_joined else self.count

    def positions(self, y: int) -> tuple[int | None, ...]:
        """Returns the `count` rows (or parts) that output row `y` of all batches reads; None for each outside the input."""
        base, low, high = self._inside(y)
        outside = (None,)
        return outside * low + tuple(base[low:high]) + outside * (self.count - high)

    def needs(self, y: int) -> tuple[int, ...]:
        """Returns the input rows that must be complete before output row `y` is computed, ascending; never parts of rows."""
        rows, low, high = self._inside(y)
        inside = rows[low:high]
        return tuple(inside) if self.parts == 1 else tuple(dict.fromkeys(index // self.parts for index in inside))

    def _inside(self, y: int) -> tuple[range, int, int]:
        """Returns the `count` rows (or parts) of output row `y`, and `low` and `high`: those in `[low, high)` are inside the input.

        It does not visit single rows, because a window may reach far beyond its input.
        """
        batch, inner = divmod(y, self.output_rows)
        first, dilation = self.start + self.stride * inner, self.dilation
        low = min(self.count, max(0, -(first // dilation)))
        high = max(low, min(self.count, -((first - self.rows) // dilation)))
        first += 0 if self.is_shared else batch * self.rows
        return range(first, first + dilation * self.count, dilation), low, high

    def last_rows(self, steps: int) -> _Ints:
        """The last whole row that each of so many steps needs, `[steps]`, read-only; -1 where it needs none."""
        return _few_last_rows(self, steps) if steps <= _FEW else _last_rows(self, steps)

    def first_rows(self, steps: ArrayLike, begin: ArrayLike, end: ArrayLike) -> _Ints:
        """The first whole row from `begin` to before `end` that each step needs; -1 where it needs none. Arrays broadcast."""
        first, low, high = _all_inside(self, np.asarray(steps, np.int64))
        reached = -((first - np.asarray(begin, np.int64) * self.parts) // self.dilation)
        taken = np.maximum(low, reached)
        row = (first + self.dilation * taken) // self.parts
        found: _Ints = np.where((taken < high) & (row < end), row, -1)
        return found

    def last_steps(self, rows: int, steps: int) -> _Ints:
        """The last of so many steps that needs each of so many whole rows, `[rows]`, read-only; -1 where none does."""
        return _few_last_steps(self, rows, steps) if rows + steps <= _FEW else _last_steps(self, rows, steps)

    @property
    def stays_inside(self) -> bool:
        """True if no output row reads outside the input."""
        last = self.start + self.stride * (self.output_rows - 1) + self.dilation * (self.count - 1)
        return self.start >= 0 and last < self.rows

    @staticmethod
    def same(rows: int) -> "RowAccess":
        """Output row `y` reads input row `y`."""
        return RowAccess(rows=rows, output_rows=rows)

    @staticmethod
    def every(rows: int, output_rows: int, parts: int = 1) -> "RowAccess":
        """Each output row reads all rows (or parts) of its batch."""
        return RowAccess(rows=rows, output_rows=output_rows, count=rows, stride=0, parts=parts)


def _all_inside(access: RowAccess, steps: _Ints) -> tuple[_Ints, _Ints, _Ints]:
    """Returns of each step the first row (or part), inside or not, and from which to before which of its rows lie inside."""
    batch, inner = np.divmod(steps, access.output_rows)
    first = access.start + access.stride * inner
    low = np.minimum(np.maximum(-(first // access.dilation), 0), access.count)
    high = np.maximum(low, np.minimum(access.count, -((first - access.rows) // access.dilation)))
    return first if access.is_shared else first + batch * access.rows, low, high


def _last_rows(access: RowAccess, steps: int) -> _Ints:
    """Returns what `RowAccess.last_rows` says."""
    first, low, high = _all_inside(access, np.arange(steps))
    return _read_only(np.where(low < high, (first + access.dilation * (high - 1)) // access.parts, -1))


def _last_steps(access: RowAccess, rows: int, steps: int) -> _Ints:
    """Returns what `RowAccess.last_steps` says."""
    asking = np.arange(steps)
    if access.stride == 0:  # all steps of a batch read the same: the last one settles it
        asking = asking[((asking + 1) % access.output_rows == 0) | (asking + 1 == steps)]
    first, low, high = _all_inside(access, asking)
    found = np.full(rows, -1, np.int64)
    if len(asking) < access.count:
        for step, begin, at, end in zip(asking.tolist(), first.tolist(), low.tolist(), high.tolist(), strict=True):
            found[(begin + access.dilation * np.arange(at, end)) // access.parts] = step
        return _read_only(found)
    for place in range(access.count):
        inside = (low <= place) & (place < high)
        np.maximum.at(found, (first[inside] + access.dilation * place) // access.parts, asking[inside])
    return _read_only(found)


_few_last_rows = lru_cache(maxsize=512)(_last_rows)
_few_last_steps = lru_cache(maxsize=512)(_last_steps)


def _read_only(numbers: _Ints) -> _Ints:
    numbers.setflags(write=False)
    return numbers
