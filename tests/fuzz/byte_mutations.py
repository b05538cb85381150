"""Mutations of a file as bytes: bits, words, blocks, ends."""

from collections.abc import Callable

import numpy as np

Mutation = Callable[[bytearray, np.random.Generator], None]
_EDGES = (0, 1, 4, 0x7F, 0xFF, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFC, 0xFFFFFFFF)


def flip_bits(data: bytearray, rng: np.random.Generator) -> None:
    """Flips one to eight bits."""
    for _ in range(int(rng.integers(1, 9))):
        data[int(rng.integers(len(data)))] ^= 1 << int(rng.integers(8))


def set_bytes(data: bytearray, rng: np.random.Generator) -> None:
    """Sets one to four bytes to any value."""
    for _ in range(int(rng.integers(1, 5))):
        data[int(rng.integers(len(data)))] = int(rng.integers(256))


def set_word(data: bytearray, rng: np.random.Generator) -> None:
    """Sets an offset, length or number to an edge of its range, or to a distance near the file's size."""
    place = _word(data, rng)
    near = (len(data) - place + int(rng.integers(-8, 9))) & 0xFFFFFFFF
    value = near if rng.random() < 0.3 else int(rng.choice(_EDGES))
    data[place : place + 4] = value.to_bytes(4, "little")


def move_word(data: bytearray, rng: np.random.Generator) -> None:
    """Makes an offset, length or number a little more or less."""
    place = _word(data, rng)
    value = int.from_bytes(data[place : place + 4], "little") + int(rng.integers(-64, 65))
    data[place : place + 4] = (value & 0xFFFFFFFF).to_bytes(4, "little")


def copy_block(data: bytearray, rng: np.random.Generator) -> None:
    """Copies tables and references over others."""
    size = 4 * int(rng.integers(1, 9))
    places = max(1, (len(data) - size) // 4)
    source, target = (4 * int(rng.integers(places)) for _ in range(2))
    data[target : target + size] = data[source : source + size]


def cut(data: bytearray, rng: np.random.Generator) -> None:
    """Ends the file early."""
    del data[int(rng.integers(len(data))) :]


def remove(data: bytearray, rng: np.random.Generator) -> None:
    """Removes up to sixteen bytes."""
    place = int(rng.integers(len(data)))
    del data[place : place + int(rng.integers(1, 17))]


def insert(data: bytearray, rng: np.random.Generator) -> None:
    """Inserts up to sixteen bytes."""
    place = int(rng.integers(len(data)))
    data[place:place] = rng.bytes(int(rng.integers(1, 17)))


KINDS: tuple[Mutation, ...] = (
    flip_bits,
    set_bytes,
    set_word,
    move_word,
    copy_block,
    cut,
    remove,
    insert,
)
"""Every kind of mutation."""


def mutated(data: bytes, rng: np.random.Generator) -> bytes:
    """A file with one mutation, or now and then a few."""
    made = bytearray(data)
    for _ in range(1 + int(rng.random() < 0.2) * int(rng.integers(1, 4))):
        if len(made) < 8:
            break
        KINDS[int(rng.integers(len(KINDS)))](made, rng)
    return bytes(made)


def _word(data: bytearray, rng: np.random.Generator) -> int:
    """The first byte of an aligned word."""
    return 4 * int(rng.integers(max(1, len(data) // 4)))
