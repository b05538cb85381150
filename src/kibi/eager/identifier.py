"""Identifiers: names that compare as fast as integers."""

from functools import total_ordering

from kibi.eager.events import fnv1a


@total_ordering
class Identifier:
    """A text with its hash. Two are compared by hash first, and by text only if the hashes are equal.

    After uTensor's `string` (`src/uTensor/core/utensor_string.hpp`), which compares hashes alone; two texts with one hash are
    different here. Identifiers are ordered by hash, as in a table that a device searches. They are not equal to texts, whose
    own hashes Python changes with each run.

    Args:
        text: the name.
    """

    __slots__ = ("_text", "_value")

    def __init__(self, text: str) -> None:
        self._text = text
        self._value = fnv1a(text)

    @property
    def text(self) -> str:
        """The name."""
        return self._text

    @property
    def value(self) -> int:
        """The 32-bit FNV-1a hash of the name, the same on every machine and in every run."""
        return self._value

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Identifier):
            return NotImplemented
        return self is other or (self._value == other._value and self._text == other._text)

    def __lt__(self, other: "Identifier") -> bool:
        return (self._value, self._text) < (other._value, other._text)

    def __hash__(self) -> int:
        return self._value

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return f"Identifier({self._text!r})"
