"""Operators by hand on operands of chance: a result or a refusal, and no byte besides the output's."""

import ctypes
import random

import numpy as np
import pytest

from kibi.dtypes import DType
from tests.eager_c.library import library
from tests.eager_c.program import Channel, CType, Data, Program
from tests.eager_c.test_operators import Pool, Window
from tests.eager_c.test_wrong_operands import CALLS
from tests.support.amount import amount

_GUARD_BYTES = 64
_CANARY = 0xA5
_ROOM = 30_000
_ARGUMENT = -47
_SCALES = (0.5, 0.5, 1 / 256, 1.0, 1e-30, 1e30, 0.0, -1.0, float("nan"), float("inf"))
_ZERO_POINTS = (0, 0, -128, 127, 255, 256, -129, 2**31 - 1, -(2**31))


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    """The library."""
    return library(tmp_path_factory.mktemp("eager"))


class _Drawn:
    """The operands of a right call, changed in some places."""

    def __init__(self, loaded: ctypes.CDLL, name: str, die: random.Random) -> None:
        self.program, self.die = Program(loaded, _ROOM, 64), die
        self.kept: list[object] = []
        self.rooms: list[tuple[np.ndarray[tuple[int], np.dtype[np.uint8]], int]] = []
        kinds, self.required, _ = CALLS[name]
        changed = {die.randrange(len(kinds)) for _ in range(die.randrange(3))}
        self.tensors = [self._tensor(CType.of(kind), k in changed) for k, kind in enumerate(kinds)]

    def _tensor(self, kind: CType, is_changed: bool) -> Data:
        die = self.die
        if is_changed:
            for axis in range(4):
                if die.random() < 0.4:
                    kind.dimensions[axis] = die.choice((0, 1, 1, 2, 3, 4, 6))
            kind.rank = die.choice((kind.rank, kind.rank, die.randrange(6)))
            kind.dtype = die.choice((kind.dtype, kind.dtype, die.randrange(10)))
            channels = (Channel * 8)(*[Channel(die.choice(_SCALES), die.choice(_ZERO_POINTS))] * 8)
            self.kept.append(channels)
            kind.quantization = die.choice((kind.quantization, None, ctypes.addressof(channels)))
            kind.is_per_channel = int(die.random() < 0.2 and kind.quantization == ctypes.addressof(channels))
            kind.quantized_axis = die.randrange(4)
        size = 8 * int(np.prod([kind.dimensions[axis] for axis in range(min(kind.rank, 4))], dtype=np.int64))
        if kind.dtype < len(DType):
            size = size // 8 * tuple(DType)[kind.dtype].size_bytes
        room = np.full(size + 2 * _GUARD_BYTES + 8, _CANARY, np.uint8)
        start = -room.ctypes.data % 8 + _GUARD_BYTES
        room[start : start + size] = np.frombuffer(die.randbytes(size), np.uint8)
        self.rooms.append((room, start))
        self.kept += [kind, room]
        self.sizes = [*getattr(self, "sizes", []), size]
        return Data(self.program.access("buffer"), ctypes.addressof(kind), room.ctypes.data + start)

    def arguments(self, name: str) -> list[object]:
        """The operands and what follows them."""
        die, more = self.die, CALLS[name][2]
        given: list[object] = [ctypes.byref(each) for each in self.tensors]
        given[self.required :] = [None if die.random() < 0.3 else each for each in given[self.required :]]
        window = Window(*(die.choice((0, 1, 1, 2, 3, 65535)) for _ in range(4)), die.randrange(3), die.randrange(6))
        pool = Pool(die.choice((0, 1, 2, 2, 3, 65535)), die.choice((1, 2, 2, 4)), window)
        for argument in more:
            if isinstance(argument, int) and die.random() < 0.3:
                given.append(die.choice((0, 1, 2, 3, 4, 200)))
            elif name.endswith("conv2d") and die.random() < 0.5:
                given.append(ctypes.byref(window))
            elif "pool2d" in name and argument is more[0] and die.random() < 0.5:
                given.append(ctypes.byref(pool))
            else:
                given.append(argument)
        return given

    def check_guards(self) -> None:
        """Nothing around the operands has changed."""
        for (room, start), size in zip(self.rooms, self.sizes, strict=True):
            assert (room[:start] == _CANARY).all()
            assert (room[start + size :] == _CANARY).all()


@pytest.mark.parametrize("name", CALLS)
def test_operands_of_chance_end_in_a_status(loaded: ctypes.CDLL, name: str) -> None:
    """With an event for each error; metadata are given back; what is refused is not written."""
    statuses = set()
    for seed in range(amount(60, 3000)):
        drawn = _Drawn(loaded, name, random.Random(f"{name} {seed}"))
        before = [room.copy() for room, _ in drawn.rooms]
        arguments = drawn.arguments(name)
        if name in ("sum", "mean", "reduce_max", "reduce_min"):
            arguments[-1] = min(int(str(arguments[-1])), 4)  # axes that there are in the array
        status = drawn.program.library[f"kibi_op_{name}"](ctypes.byref(drawn.program.context), *arguments)
        drawn.check_guards()
        assert drawn.program.metadata.call("available") == _ROOM
        drawn.program.metadata.check_canaries()
        assert len(drawn.program.history.new()) == (status != 0)
        if status == _ARGUMENT:
            assert all((room == copy).all() for (room, _), copy in zip(drawn.rooms, before, strict=True))
        statuses.add(status)
    assert statuses >= {0, _ARGUMENT}
