"""Power is cut at every program and erase of an update, twice in a row; bits flip at rest: the old or the new model is there."""

import subprocess
from dataclasses import replace

import pytest

from tests.support.amount import sample
from tests.update.packages import Sizes, file_of, package_of, program_of, sent

_GEOMETRIES = {
    "sector 256, unit 4": Sizes(256, 4, 4096, 512),
    "sector 4096, unit 8": Sizes(4096, 8, 4096, 8192),
    "sector 512, unit 16, ECC": Sizes(512, 16, 3072, 1024, has_ecc=1),
    "sector 128, unit 1": Sizes(128, 1, 3072, 256, starts=1),
}
_RECORD_BYTES = 128
_OPTIONS = "abort_on_error=0:halt_on_error=1:detect_leaks=0"


def _cut(sizes: Sizes, pair: int, *, is_delta: bool) -> tuple[int, int, int, int, int]:
    """Cuts, second cuts, flips, operations, and the most erases of a sector in one update."""
    shape = ((4, 3, 2), (5, 4, 3), (3, 3, 1))[pair % 3]
    old, new = file_of(2 * pair, *shape), file_of(2 * pair + 1, *shape)
    assert old.data != new.data
    packages = package_of(old, 1), package_of(new, 2, old if is_delta else None)
    program = program_of("cuts.c", tuple(sorted({*old.kernels, *new.kernels})))
    given = replace(sizes, seed=pair + 1).packed + sent(old.data, new.data, *packages)
    done = subprocess.run(
        [str(program)], input=given, capture_output=True, check=False, timeout=3000, env={"ASAN_OPTIONS": _OPTIONS}
    )
    assert done.returncode == 0, done.stderr.decode(errors="replace")[:4000]
    found = tuple(map(int, done.stdout.split()))
    assert len(found) == 5
    return found


@pytest.mark.parametrize(
    ("name", "is_delta"),
    sample(
        [(name, kind) for name in _GEOMETRIES for kind in (False, True)],
        usual=[("sector 256, unit 4", True), ("sector 4096, unit 8", False), ("sector 512, unit 16, ECC", True)],
    ),
)
def test_cut_or_flip_leaves_the_old_or_the_new_model(name: str, is_delta: bool) -> None:
    """First model, update, trial, confirmation, rollback: each is cut at every program and erase, some again in what follows.

    In an update that is not cut, a sector of a slot is erased once, and one of the journal as often as its records need.
    """
    sizes = replace(_GEOMETRIES[name], stride=307)
    cuts, second_cuts, flips, _, wear = _cut(sizes, 0, is_delta=is_delta)
    assert cuts > 300
    assert second_cuts > cuts // 3
    assert flips > 500
    records = 2 + sizes.slot_bytes // sizes.sector_bytes  # the beginning, the end, and one where each sector ends
    assert wear <= 1 + records * _RECORD_BYTES // sizes.journal_bytes


@pytest.mark.slow
@pytest.mark.timeout(3000)
@pytest.mark.parametrize("pair", range(10))
@pytest.mark.parametrize("name", [each for each in _GEOMETRIES if "unit 1" not in each.split(", ")])
def test_second_cut_at_every_few_operations(pair: int, name: str) -> None:
    """Ten pairs of models: the second cut comes at each seventh operation of what follows the first one."""
    cuts, second_cuts, flips, _, _ = _cut(replace(_GEOMETRIES[name], stride=7), pair, is_delta=pair % 2 == 1)
    assert min(cuts, second_cuts, flips) > 300
