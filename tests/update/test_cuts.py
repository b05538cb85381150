"""Power is cut at every program and erase of an update, twice in a row; bits flip at rest: the old or the new model is there."""

import subprocess
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from tests.support.amount import amount
from tests.support.zoo import requires_zoo
from tests.update.packages import Sizes, file_of, package_of, program_of, sent
from tests.update.pairs import PAIRS, Pair

_GEOMETRIES = {
    "sector 256, unit 4": Sizes(256, 4, 4096, 512),
    "sector 4096, unit 8": Sizes(4096, 8, 4096, 8192),
    "sector 512, unit 16, ECC": Sizes(512, 16, 3072, 1024, has_ecc=1),
    "sector 128, unit 1": Sizes(128, 1, 3072, 256, starts=1),
    "sector 512, unit 256": Sizes(512, 256, 3072, 1024),
}
_CAMPAIGN = ("sector 4096, unit 8", "sector 512, unit 16, ECC")
_RECORD_BYTES = 128
_OPTIONS = "abort_on_error=0:halt_on_error=1:detect_leaks=0"


def _cut(program: Path, sizes: Sizes, pair: Pair, *, is_delta: bool) -> tuple[int, ...]:
    """Cuts, second cuts, flips, operations, and the most erases of a sector in one update."""
    old, new = pair
    return outcome_of(program, sizes, pair, package_of(old, 1), package_of(new, 2, old if is_delta else None))


def outcome_of(program: Path, sizes: Sizes, pair: Pair, *packages: bytes) -> tuple[int, ...]:
    """The five numbers that a program prints which cuts the power."""
    old, new = pair
    assert old.data != new.data
    given = sizes.packed + sent(old.data, new.data, *packages)
    done = subprocess.run(
        [str(program)], input=given, capture_output=True, check=False, timeout=3000, env={"ASAN_OPTIONS": _OPTIONS}
    )
    assert done.returncode == 0, done.stderr.decode(errors="replace")[:4000]
    found = tuple(map(int, done.stdout.split()))
    assert len(found) == 5
    return found


@pytest.mark.share(2, part=0)
@pytest.mark.timeout(3000)
@pytest.mark.parametrize(
    ("name", "every", "is_delta"),
    [
        ("sector 256, unit 4", 31, True),
        ("sector 4096, unit 8", 11, False),
        pytest.param("sector 512, unit 16, ECC", 3, True, marks=pytest.mark.slow),
        pytest.param("sector 128, unit 1", 1, True, marks=pytest.mark.slow),
        pytest.param("sector 512, unit 256", 1, True, marks=pytest.mark.slow),
    ],
)
def test_cut_or_flip_leaves_the_old_or_the_new_model(name: str, every: int, is_delta: bool) -> None:
    """First model, update, trial, confirmation, rollback: each is cut at programs and erases, some again in what follows.

    In an update that is not cut, a sector of a slot is erased once, and one of the journal as often as its records need.
    """
    sizes = replace(_GEOMETRIES[name], every=amount(every, 1), stride=amount(911, 307))
    pair = file_of(0), file_of(1)
    kernels = tuple(sorted({*pair[0].kernels, *pair[1].kernels}))
    program = program_of("cuts.c", kernels, unit=max(sizes.unit_bytes, 16))
    cuts, second_cuts, flips, _, wear = _cut(program, sizes, pair, is_delta=is_delta)
    assert cuts > 50
    assert second_cuts > cuts // 8
    assert flips > 80
    records = 2 + sizes.slot_bytes // sizes.sector_bytes  # the beginning, the end, and one where each sector ends
    assert wear <= 1 + records * max(_RECORD_BYTES, sizes.unit_bytes) // sizes.journal_bytes


@cache
def program_of_all(name: str) -> Path:
    """A program for all pairs, without sanitizers, as there is much to do."""
    kernels = {kernel for pair in PAIRS.values() for file in pair() for kernel in file.kernels}
    return program_of(name, tuple(sorted(kernels)), sanitize=False)


@pytest.mark.slow
@pytest.mark.timeout(3000)
@requires_zoo
@pytest.mark.parametrize("geometry", _CAMPAIGN)
@pytest.mark.parametrize("name", PAIRS)
def test_every_cut_of_ten_pairs(name: str, geometry: str, record_property: Callable[[str, object], None]) -> None:
    """Deltas between versions of small graphs and of real models; the second cut comes at each `stride` of what follows."""
    pair, chosen = PAIRS[name](), _GEOMETRIES[geometry]
    most = max(len(file.data) for file in pair)
    sizes = replace(
        chosen,
        slot_bytes=-(-most // chosen.sector_bytes) * chosen.sector_bytes,
        seed=1 + sorted(PAIRS).index(name),
        stride=131 if most < 4000 else most // 8,
    )
    cuts, second_cuts, flips, _, _ = _cut(program_of_all("cuts.c"), sizes, pair, is_delta=True)
    record_property("update", f"{name}, {geometry}: {cuts} cuts, {second_cuts} second cuts, {flips} flipped bits")
    assert cuts > sum(len(file.data) for file in pair) // chosen.unit_bytes
    assert min(second_cuts, flips) > 100
