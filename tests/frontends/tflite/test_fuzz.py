"""Mutated models: each ends in success or an error of Kibi's, in bounded time and memory."""

import resource
from collections.abc import Callable

import numpy as np
import pytest

import kibi
from kibi.codegen import generate
from kibi.errors import InternalError, KibiError, ModelError, PlanError
from kibi.frontends.tflite import parse_tflite
from kibi.ir import Graph
from kibi.planner import validate
from kibi.runtime import seeded_inputs
from tests.frontends.models import MODELS

_MUTATIONS = 1000
_MOST_GROWTH_KILOBYTES = 64 * 1024
_MOST_MACS, _MOST_ARENA_BYTES = 1_000_000, 1_000_000  # what a mutation makes larger than this is not run
_EDGES = (0, 1, 4, 0x7F, 0xFF, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFC, 0xFFFFFFFF)


def _use(data: bytes) -> bool:
    """What is done with each mutated model: read it, and while it is sound, plan it, run it, write its C."""
    try:
        graph = parse_tflite(data, "mutated.tflite")
    except InternalError:
        raise
    except KibiError as error:
        refusal = error
    else:
        _go_on(graph)
        return True
    assert isinstance(refusal, ModelError)
    # The schema's own reader must never be let near a position that was not checked.
    assert "the schema's reader failed" not in str(refusal)
    return False


def _go_on(graph: Graph) -> None:
    """The rest of the story with a model that was read."""
    target = kibi.target("cortex-m4")
    try:
        plan = kibi.plan(graph, target)
    except PlanError:
        return
    validate(graph, plan)
    if graph.macs < _MOST_MACS and plan.arena_bytes < _MOST_ARENA_BYTES:
        kibi.run(graph, plan, seeded_inputs(graph, 0))
        generate([(graph, plan)], target)


def _flip_bits(data: bytearray, rng: np.random.Generator) -> None:
    for _ in range(int(rng.integers(1, 9))):
        data[int(rng.integers(len(data)))] ^= 1 << int(rng.integers(8))


def _set_bytes(data: bytearray, rng: np.random.Generator) -> None:
    for _ in range(int(rng.integers(1, 5))):
        data[int(rng.integers(len(data)))] = int(rng.integers(256))


def _set_word(data: bytearray, rng: np.random.Generator) -> None:
    """An offset, length or number becomes an edge of its range, or a distance near the file's size."""
    place = 4 * int(rng.integers(len(data) // 4))
    near = (len(data) - place + int(rng.integers(-8, 9))) & 0xFFFFFFFF
    value = near if rng.random() < 0.3 else int(rng.choice(_EDGES))
    data[place : place + 4] = value.to_bytes(4, "little")


def _move_word(data: bytearray, rng: np.random.Generator) -> None:
    """An offset, length or number becomes a little more or less."""
    place = 4 * int(rng.integers(len(data) // 4))
    value = int.from_bytes(data[place : place + 4], "little") + int(rng.integers(-64, 65))
    data[place : place + 4] = (value & 0xFFFFFFFF).to_bytes(4, "little")


def _copy_block(data: bytearray, rng: np.random.Generator) -> None:
    """Tables and references come to lie where others were."""
    size = 4 * int(rng.integers(1, 9))
    source, target = (4 * int(rng.integers((len(data) - size) // 4)) for _ in range(2))
    data[target : target + size] = data[source : source + size]


def _cut(data: bytearray, rng: np.random.Generator) -> None:
    del data[int(rng.integers(len(data))) :]


def _remove(data: bytearray, rng: np.random.Generator) -> None:
    place = int(rng.integers(len(data)))
    del data[place : place + int(rng.integers(1, 17))]


def _insert(data: bytearray, rng: np.random.Generator) -> None:
    place = int(rng.integers(len(data)))
    data[place:place] = rng.bytes(int(rng.integers(1, 17)))


_KINDS: tuple[Callable[[bytearray, np.random.Generator], None], ...] = (
    _flip_bits,
    _set_bytes,
    _set_word,
    _move_word,
    _copy_block,
    _cut,
    _remove,
    _insert,
)


@pytest.mark.timeout(60)
@pytest.mark.parametrize("name", MODELS)
def test_mutated_model_ends_in_success_or_a_kibi_error(name: str) -> None:
    """A thousand mutations of each small model end in a graph or a `ModelError`, and take little memory."""
    sound = MODELS[name]()
    assert _use(sound)
    rng = np.random.default_rng(len(sound))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    survivors = 0
    for number in range(_MUTATIONS):
        data = bytearray(sound)
        _KINDS[number % len(_KINDS)](data, rng)
        survivors += _use(bytes(data))
    assert 0 < survivors < _MUTATIONS
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < _MOST_GROWTH_KILOBYTES


@pytest.mark.parametrize("name", MODELS)
def test_model_cut_at_every_byte_is_refused_or_read(name: str) -> None:
    """A file that ends early, at any byte, ends in a graph or a `ModelError`."""
    sound = MODELS[name]()
    for size in range(len(sound)):
        _use(sound[:size])
