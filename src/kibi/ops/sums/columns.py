"""Sums of columns of bytes: the parts of the C function that averages and means share."""

_FOUR = 4
"""Channels that it takes at once."""
SINGLE_COLUMNS = "KIBI_ADD_COLUMNS_S8_OF_SINGLES"
"""The part that takes channel after channel, however many there are."""


def column_parts(channels: int) -> frozenset[str]:
    """Returns the parts that columns of so many channels need."""
    parts = {"KIBI_ADD_COLUMNS_S8_OF_FOURS": channels >= _FOUR, SINGLE_COLUMNS: channels % _FOUR != 0}
    return frozenset(part for part, is_needed in parts.items() if is_needed)
