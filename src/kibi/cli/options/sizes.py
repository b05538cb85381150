"""Numbers of bytes and of instructions, as people write them: `8k`, `64k`, `3M`."""

import re

import typer

_NUMBER = re.compile(r"([0-9]+(?:\.[0-9]+)?)([kKmMgG]?)")
_POWERS = {"": 0, "k": 1, "m": 2, "g": 3}
_MOST_CHARACTERS = 20


def byte_count(text: str) -> int:
    """Returns a number of bytes; of memory, `k` is 1,024, `M` is 1,024 k.

    Raises:
        BadParameter: it is no such number.
    """
    return _number(text, 1024, "8192, 8k or 1M")


def count(text: str) -> int:
    """Returns a number of things; `k` is 1,000, `M` is a million.

    Raises:
        BadParameter: it is no such number.
    """
    return _number(text, 1000, "250000, 250k or 3M")


def _number(text: str, unit: int, example: str) -> int:
    found = _NUMBER.fullmatch(text.strip()) if len(text) <= _MOST_CHARACTERS else None
    value = 0 if found is None else round(float(found[1]) * unit ** _POWERS[found[2].lower()])
    if value < 1:
        raise typer.BadParameter(f"{text[:_MOST_CHARACTERS]!r} is no number of at least 1. Give {example}.")
    return value
