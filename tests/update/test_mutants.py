"""Packages that nobody made for good: none of them leads to anything else than the old or the new model, whole."""

import random
import subprocess
import zlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import pytest

from kibi.planfile.package_records import PACKAGE
from tests.support.amount import amount
from tests.update.packages import HEAD_BYTES, Sizes, file_of, package_of, program_of, sent, signature_of

_MUTANTS = amount(4_000, 1_000_000)
_AT_ONCE = 5_000
_SIZES = Sizes(1024, 8, 3072, 2048)
_EDGES = (0, 1, 2, 3, 4, 255, 256, 257, 4096, 65536, 65537, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFC, 0xFFFFFFFF)
_OPTIONS = "abort_on_error=0:halt_on_error=1:detect_leaks=0"
_OK, _PACKAGE, _SIGNATURE = 0, -18, -19
_COUNT, _SUM = PACKAGE.offsets["kernel_count"], PACKAGE.offsets["kernel_sum"]


def _changed(package: bytes, rng: random.Random) -> bytes:
    """A package with other fields, other bytes, or another length; most have a signature that fits."""
    data = bytearray(package)
    for _ in range(rng.choice((0, 1, 1, 1, 2, 3))):
        each = rng.choice(PACKAGE.fields)
        place, size = PACKAGE.offsets[each.name], min(each.size_bytes, 4)
        old = int.from_bytes(data[place : place + size], "little")
        new = rng.choice(
            (rng.choice(_EDGES), old + rng.choice((-4, -1, 1, 4)), old ^ 1 << rng.randrange(8 * size), old * 2)
        )
        data[place : place + size] = (new % (1 << 8 * size)).to_bytes(size, "little")
    ids = slice(HEAD_BYTES, HEAD_BYTES + 4 * int.from_bytes(package[_COUNT : _COUNT + 2], "little"))
    if rng.random() < 0.1:
        data[rng.randrange(ids.start, ids.stop)] ^= 1 << rng.randrange(8)
        data[_SUM : _SUM + 4] = zlib.crc32(data[ids]).to_bytes(4, "little")
    if rng.random() < 0.97:
        data[PACKAGE.size_bytes : HEAD_BYTES] = signature_of(bytes(data[: PACKAGE.size_bytes]))
    if rng.random() < 0.5:
        for _ in range(rng.choice((1, 1, 2, 8))):
            place = rng.randrange(HEAD_BYTES, len(data))
            data[place] = rng.choice((data[place] ^ 1 << rng.randrange(8), rng.randrange(256)))
    if rng.random() < 0.15:
        return bytes(data[: rng.randrange(len(data))])
    if rng.random() < 0.1:
        return bytes(data) + rng.randbytes(rng.choice((1, 4, 300)))
    return bytes(data)


def _mutants(packages: tuple[bytes, ...], count: int, seed: int) -> Iterator[bytes]:
    rng = random.Random(seed)
    for _ in range(count):
        yield _changed(rng.choice(packages), rng)


@pytest.mark.timeout(3000)
@pytest.mark.parametrize("in_place", [False, True], ids=["two slots", "in place"])
def test_no_mutant_leads_to_anything_but_the_old_or_the_new_model(*, in_place: bool) -> None:
    """Under sanitizers, in chunks of any sizes: each mutant is refused with a status, or it is the new model after all.

    In place, one that is refused has changed nothing in the slot.
    """
    old, new = file_of(0), file_of(1)
    sizes, count = (replace(_SIZES, staging_bytes=1024), _MUTANTS // 2) if in_place else (_SIZES, _MUTANTS)
    others = [package_of(new, 2, old, in_place=size) for size in (256, 1024)] if in_place else [package_of(new, 2)]
    good = (package_of(new, 2, old), *others)
    program = program_of("mutants.c", tuple(sorted({*old.kernels, *new.kernels})))
    found: Counter[int] = Counter()
    for first in range(0, count, _AT_ONCE):
        made = [*good, *_mutants(good, min(_AT_ONCE, count - first), first)]
        given = replace(sizes, seed=first + 1).packed + sent(old.data, new.data, package_of(old, 1), *made)
        done = subprocess.run(
            [str(program)], input=given, capture_output=True, check=False, timeout=550, env={"ASAN_OPTIONS": _OPTIONS}
        )
        assert done.returncode == 0, done.stderr.decode(errors="replace")[:4000]
        counts = list(map(int, done.stdout.split()))
        assert sum(counts) == len(made)
        found += Counter({-number: count for number, count in enumerate(counts)})
    assert set(found) == {_OK, _PACKAGE, _SIGNATURE, *range(-23, -19), -17}
    assert min(found.values()) > count // 1000, found


def test_endless_stream_of_the_head_is_refused() -> None:
    """Zeros, noise, and heads one after another end with a status."""
    old, new = file_of(0), file_of(1)
    good = package_of(new, 2)
    made = [bytes(10_000), b"KIBU" * 2500, good[:HEAD_BYTES] * 40, good + bytes(100_000), b""]
    program = program_of("mutants.c", tuple(sorted({*old.kernels, *new.kernels})))
    given = _SIZES.packed + sent(old.data, new.data, package_of(old, 1), *made)
    done = subprocess.run(
        [str(program)], input=given, capture_output=True, check=False, timeout=60, env={"ASAN_OPTIONS": _OPTIONS}
    )
    assert done.returncode == 0, done.stderr.decode(errors="replace")[:4000]
    counts = list(map(int, done.stdout.split()))
    assert sum(counts) == len(made)
    assert sum(counts[number] for number in (17, 18)) == len(made)
