"""Memory of this machine: what cannot be had ends in an error that says how much it was."""

from collections.abc import Iterator
from contextlib import contextmanager
from math import prod

from kibi.errors import InputError


@contextmanager
def room_for(what: str) -> Iterator[None]:
    """For a with-block: where this machine has no more memory, that is an error of Kibi's own.

    Args:
        what: the owner of the memory, for the text.

    Raises:
        InputError: there is none; it says how many bytes were wanted.
    """
    try:
        yield
    except MemoryError as error:
        raise InputError(
            f"{what}: this machine has no room for {_wanted(error)}. Take a smaller model, or a machine with more memory."
        ) from None


def _wanted(error: MemoryError) -> str:
    """How much it was: NumPy's own error has it as shape and type of an array."""
    shape, dtype = getattr(error, "shape", None), getattr(error, "dtype", None)
    if shape is None or dtype is None:
        return str(error) or "what it needs"
    return f"another {prod(shape) * dtype.itemsize:,} bytes"
