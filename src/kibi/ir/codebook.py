"""Constants that a model file holds as indices into tables of values."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kibi.dtypes import Array


@dataclass(frozen=True, slots=True, eq=False)
class Codebook:
    """A constant as indices into tables.

    Attributes:
        bits: the bits of an index, 1 to 7.
        indices: `[N]` u8: packed, in the order of the elements, from the highest bit of each byte to the lowest.
        tables: `[C, V]`: the values of each channel of the first axis; or `[1, V]`: one table for all channels.
        elements: the decoded array.
    """

    bits: int
    indices: Array
    tables: Array
    elements: Array

    @property
    def unpacked(self) -> NDArray[np.uint8]:
        """The indices in the shape of the elements."""
        return unpack(self.indices, self.elements.size, self.bits).reshape(self.elements.shape)


def unpack(data: Array, count: int, bits: int) -> NDArray[np.uint8]:
    """Returns the first `count` numbers of `bits` bits each, from the highest bit of each byte to the lowest.

    Args:
        data: `[N]` u8, with enough bits.
        count: how many.
        bits: of each, 1 to 8.
    """
    stream = np.unpackbits(data.astype(np.uint8)[: -(-count * bits // 8)], count=count * bits).reshape(count, bits)
    return np.packbits(stream, axis=1)[:, 0] >> np.uint8(8 - bits)


def pack(numbers: NDArray[np.uint8], bits: int) -> NDArray[np.uint8]:
    """Numbers as `unpack` takes them: `[N]` u8, the last bits 0."""
    stream = np.unpackbits(numbers.reshape(-1, 1), axis=1)[:, 8 - bits :]
    return np.packbits(stream.reshape(-1))
