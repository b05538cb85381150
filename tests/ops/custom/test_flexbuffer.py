"""Flexbuffers, in which models have the options of custom operators: sound ones and hostile ones."""

import random
from typing import Any

import pytest
from flatbuffers import flexbuffers

from kibi.ops.custom.flexbuffer import read_flexbuffer
from tests.ops.custom.motion import (
    flex,
)

_VALUES: tuple[Any, ...] = (
    None,
    True,
    -5,
    1 << 40,
    0.1,
    "text",
    b"blob",
    [1, 2, 3],
    [1.5, 2.5],
    [True, False],
    ["a", "b"],
    [1, "two", None, [3.0]],
    [],
    {},
    {"threshold": 7, "scale": 0.25, "name": "x", "axes": [1, 2], "inner": {"deep": [True]}, "long": list(range(300))},
)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    return tuple(map(_plain, value)) if isinstance(value, list) else value


@pytest.mark.parametrize("value", _VALUES, ids=repr)
def test_flexbuffers_are_read_as_they_were_written(value: object) -> None:
    """What Google's writer writes comes back, vectors as tuples."""
    assert read_flexbuffer(flex(value)) == _plain(value)


def test_fixed_and_indirect_values_are_read() -> None:
    """Some writers store tuples of a fixed length, and numbers at an offset."""
    builder = flexbuffers.Builder()
    with builder.Map():
        builder.Key("three")
        builder.FixedTypedVectorFromElements([1, 2, 3])
        builder.Key("far")
        builder.IndirectInt(-70000)
        builder.Key("farther")
        builder.IndirectFloat(0.5)
    assert read_flexbuffer(bytes(builder.Finish())) == {"three": (1, 2, 3), "far": -70000, "farther": 0.5}


def test_hostile_flexbuffers_end_in_an_error() -> None:
    """Whatever bytes there are, reading ends soon, with values or a `ValueError`."""
    choose = random.Random(0)
    sound = [flex(value) for value in _VALUES]
    refused = 0
    for _ in range(4000):
        data = bytearray(choose.choice(sound))
        for _ in range(choose.randint(1, 4)):
            data[choose.randrange(len(data))] = choose.randrange(256)
        try:
            read_flexbuffer(bytes(data[: choose.randint(0, len(data))] if choose.random() < 0.2 else data))
        except ValueError:
            refused += 1
    assert refused > 1000


def test_overlapping_flexbuffer_is_refused_in_time() -> None:
    """Vectors that hold the same vector twice, level after level, are not unfolded."""
    data = bytearray(b"\x00\x00\x02\x01\x01\x04\x04")  # two integers: size, elements, types
    place = 3
    for _ in range(15):
        start = len(data) + 1
        data += bytes(
            [2, start - place, start + 1 - place, 40, 40]
        )  # size, two offsets, two types: vectors of byte width 1
        place = start
    data += bytes([len(data) - place, 40, 1])
    with pytest.raises(ValueError, match=r"overlap many times over|room for"):
        read_flexbuffer(bytes(data))
