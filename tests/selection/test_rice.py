"""Golomb-Rice codes of weights: what is coded is decoded, in as few bits as any k and offset take."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kibi.dtypes import Array
from kibi.selection.rice import MOST_BITS, WINDOW_BYTES, decode, encode
from tests.support.amount import amount

_SHAPES = ((1, 1), (1, 2), (2, 1), (3, 5), (5, 7), (8, 8), (4, 33), (2, 100))


def _weights(kind: str, rng: np.random.Generator, shape: tuple[int, int]) -> Array:
    drawn: dict[str, Array] = {
        "zeros": np.zeros(shape),
        "least": np.full(shape, -128),
        "most": np.full(shape, 127),
        "ends": rng.choice([-128, 127], shape),
        "any": rng.integers(-128, 128, shape),
        "narrow": np.round(rng.laplace(0, 4, shape)),
        "moved": np.round(rng.normal(40, 3, shape)),
        "mostly zero": rng.integers(-128, 128, shape) * (rng.random(shape) < 0.05),
        "wider and wider": np.round(rng.normal(0, 1, shape) * 2.0 ** np.arange(shape[0])[:, None]),
    }
    weights: Array = np.clip(drawn[kind], -128, 127).astype(np.int8)
    return weights


_KINDS = ("zeros", "least", "most", "ends", "any", "narrow", "moved", "mostly zero", "wider and wider")


def _bits(weight: int, k: int, offset: int) -> int:
    """What the definition says that a code takes."""
    multiple = (weight + offset) >> k
    return (2 * multiple - 1 if multiple > 0 else -2 * multiple) + 1 + k


@pytest.mark.parametrize("kind", _KINDS)
def test_what_is_encoded_is_decoded(kind: str) -> None:
    """For every kind of weights and many shapes, also where vectors come in several pieces of an odd size."""
    rng = np.random.default_rng(len(kind))
    for shape in _SHAPES:
        weights = _weights(kind, rng, shape)
        codes = encode(weights)
        for pieces in {1, shape[1], *(n for n in (3, 5) if shape[1] % n == 0)}:
            found = decode(codes.stream, codes.codings, pieces, shape[1] // pieces)
            np.testing.assert_array_equal(found, weights)
            other = encode(weights, pieces)
            assert len(other.stream) == len(codes.stream)
            found = decode(other.stream, other.codings, pieces, shape[1] // pieces, by_piece=True)
            np.testing.assert_array_equal(found, weights)
        assert len(codes.stream) >= WINDOW_BYTES
        assert len(codes.codings) == shape[0]


@given(st.lists(st.integers(-128, 127), min_size=1, max_size=40), st.integers(1, 4))
def test_any_weights_come_back(values: list[int], channels: int) -> None:
    """Whatever the weights of a few channels are."""
    weights = np.array([values[channel:] + values[:channel] for channel in range(channels)], np.int8)
    codes = encode(weights)
    np.testing.assert_array_equal(decode(codes.stream, codes.codings, 1, len(values)), weights)


@pytest.mark.parametrize("kind", _KINDS)
def test_codes_take_the_fewest_bits(kind: str) -> None:
    """No other k and offset whose codes are short enough needs fewer bits, and the stream has exactly these."""
    weights = _weights(kind, np.random.default_rng(1), (2, 24))
    least = 0
    for row in weights.tolist():
        costs = []
        for k in range(8):
            for offset in range(1 << k):
                lengths = [_bits(weight, k, offset) for weight in row]
                costs += [sum(lengths)] if max(lengths) <= MOST_BITS else []
        least += min(costs)
    codes = encode(weights)
    assert len(codes.stream) == -(-least // 8) + WINDOW_BYTES - 1


def test_zeros_take_one_bit_each() -> None:
    """The k of nothing but zeros is 0, and so is that of any other constant that is near zero."""
    codes = encode(np.zeros((4, 64), np.int8))
    assert codes.codings.tolist() == [1] * 4
    assert codes.stream.tolist() == [0] * 3 + [255] * 32


def test_any_bytes_are_decoded_without_a_look_outside() -> None:
    """Streams that nobody has encoded give numbers, however short they are."""
    rng = np.random.default_rng(0)
    for _ in range(amount(200, 5000)):
        channels, pieces, piece = (int(rng.integers(1, 6)) for _ in range(3))
        stream = rng.choice([0, 1, 128, 255, int(rng.integers(256))], int(rng.integers(4, 12))).astype(np.uint8)
        codings = rng.integers(0, 256, channels).astype(np.uint8)
        found = decode(stream, codings, pieces, piece)
        assert found.shape == (channels, pieces * piece)
        assert np.abs(found).max() < 1 << 11
