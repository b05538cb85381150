"""Buffers of a caller as bytes: which ones are allowed, and whether two share bytes."""

from collections.abc import Mapping
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray


class NotBytesError(ValueError):
    """A buffer cannot be used as bytes; the text is the reason."""


def lent_bytes(source: object) -> NDArray[np.uint8]:
    """The bytes of a buffer, without a copy; read-only if the buffer is.

    Args:
        source: anything with the buffer protocol whose bytes are in one piece. Python objects are refused: their bytes are
            pointers, and a write there breaks the process.

    Raises:
        NotBytesError: it is no such buffer.
    """
    if isinstance(source, np.ndarray) and source.dtype.hasobject:
        raise NotBytesError("it holds Python objects")
    try:
        if not isinstance(source, np.ndarray) and "O" in memoryview(source).format:  # type: ignore[arg-type]  # it is asked
            raise NotBytesError("it holds Python objects")
        array: NDArray[np.uint8] = np.frombuffer(source, np.uint8)  # type: ignore[call-overload]  # it is asked
    except (TypeError, ValueError, BufferError) as error:
        raise NotBytesError(f"{type(source).__name__}: {error}") from None
    return array


def shared_names(places: Mapping[str, NDArray[np.uint8]]) -> tuple[str, str] | None:
    """The names of two blocks of bytes that share bytes; None if none do."""
    starts = [(int(array.ctypes.data), name) for name, array in places.items() if array.size]
    for (first, name), (second, other) in pairwise(sorted(starts)):
        if first + places[name].size > second:
            return name, other
    return None
