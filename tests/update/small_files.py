"""Small plan files, and a stand-in for the codec of deltas."""

import sys
import zlib
from functools import cache
from types import ModuleType

import pytest

import kibi
from kibi.errors import PackageError
from kibi.planfile.reader import PlanFile
from kibi.planfile.writer import plan_file
from kibi.planner import PlannedModel
from tests.engines.networks import residual_network


@cache
def small_file(seed: int = 0, height: int = 4) -> PlanFile:
    """A plan file of about 2 kB; files of one height have the same layout, and the seed gives their weights."""
    graph = residual_network(height, 3, 2, seed)
    return PlanFile(plan_file(PlannedModel.of(graph, kibi.plan(graph, target="host"))))


def install_codec(monkeypatch: pytest.MonkeyPatch) -> None:
    """Puts a codec in the place of `kibi.update.delta`: the new file, compressed with the old one as the dictionary."""
    module = ModuleType("kibi.update.delta")
    vars(module).update(encode=_encode, decode=_decode)
    monkeypatch.setitem(sys.modules, "kibi.update.delta", module)


def _encode(old: bytes, new: bytes, block_bytes: int = 4096, *, in_place: bool = False) -> bytes:
    del block_bytes, in_place
    coder = zlib.compressobj(9, zdict=old)
    return coder.compress(new) + coder.flush()


def _decode(payload: bytes, old: bytes, new_bytes: int, block_bytes: int = 4096, *, in_place: bool = False) -> bytes:
    del block_bytes, in_place
    decoder = zlib.decompressobj(zdict=old)
    try:
        made = decoder.decompress(payload, new_bytes + 1)
    except zlib.error as error:
        raise PackageError(f"the payload is damaged: {error}") from None
    if not decoder.eof or decoder.unused_data or len(made) != new_bytes:
        raise PackageError("the payload makes a file of another size")
    return made
