"""Memory of this machine: a failed allocation becomes an error that says how much was wanted."""

from collections.abc import Iterator
from contextlib import contextmanager
from math import prod

from kibi.errors import InputError


@contextmanager
def room_for(what: str) -> Iterator[None]:
    """Converts a `MemoryError` in a with-block into an `InputError` that names the owner of the memory.

    Args:
        what: the owner of the memory, for the text.

    Raises:
        InputError: this machine has no more memory; the text says how many bytes were wanted.
    """
    try:
        yield
    except MemoryError as error:
        raise InputError(
            f"{what}: this machine has no room for {_wanted(error)}. Take a smaller model, or a machine with more memory."
        ) from None


def _wanted(error: MemoryError) -> str:
    """Returns the wanted size in words; NumPy's error has the shape and type of an array."""
    shape, dtype = getattr(error, "shape", None), getattr(error, "dtype", None)
    if shape is None or dtype is None:
        return str(error) or "what it needs"
    return f"another {prod(shape) * dtype.itemsize:,} bytes"
