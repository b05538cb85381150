"""Power is cut at every program and erase of an update in place, twice in a row; bits flip at rest: no other model is given."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.support.amount import amount
from tests.support.zoo import requires_zoo
from tests.update.packages import Sizes, file_of, package_of, program_of
from tests.update.pairs import PAIRS, Pair
from tests.update.test_cuts import outcome_of, program_of_all

_GEOMETRIES = {
    "sector 256, unit 4": Sizes(256, 4, 3072, 512, staging_bytes=1024),
    "sector 4096, unit 8": Sizes(4096, 8, 4096, 8192, staging_bytes=4096),
    "sector 512, unit 16, ECC": Sizes(512, 16, 3072, 1024, has_ecc=1, staging_bytes=1024),
    "sector 256, unit 1": Sizes(256, 1, 3072, 768, staging_bytes=1024),
    "sector 512, unit 256": Sizes(512, 256, 3072, 1024, staging_bytes=1024),
}
_CAMPAIGN = ("sector 4096, unit 8", "sector 512, unit 16, ECC")


def _packages(pair: Pair, sizes: Sizes) -> tuple[bytes, bytes, bytes]:
    """The old model, what makes the new one in its place, and the new one."""
    old, new = pair
    return package_of(old, 1), package_of(new, 2, old, in_place=sizes.sector_bytes), package_of(new, 2)


@pytest.mark.share(2, part=1)
@pytest.mark.timeout(3000)
@pytest.mark.parametrize(
    ("name", "every", "shapes"),
    [
        ("sector 256, unit 4", (13, 1), ((4, 3, 2), (4, 3, 2))),
        ("sector 4096, unit 8", (7, 1), ((4, 3, 2), (4, 3, 2))),
        ("sector 512, unit 16, ECC", (3, 1), ((3, 3, 1), (5, 4, 2))),
        ("sector 512, unit 256", (1, 1), ((5, 4, 2), (3, 3, 1))),
        pytest.param("sector 256, unit 1", (7, 7), ((3, 3, 1), (5, 4, 2)), marks=pytest.mark.slow),
    ],
)
def test_cut_or_flip_leaves_the_old_or_the_new_model_or_says_that_there_is_none(
    name: str, every: tuple[int, int], shapes: tuple[tuple[int, int, int], tuple[int, int, int]]
) -> None:
    """First model and update: each is cut at programs and erases, some again in what follows; files stay, grow and shrink.

    After a cut there is always a model. In an update that is not cut, a sector of the slot is erased once.
    """
    sizes = replace(_GEOMETRIES[name], every=amount(*every), stride=amount(911, 307))
    pair = file_of(0, *shapes[0]), file_of(1, *shapes[1])
    kernels = tuple(sorted({*pair[0].kernels, *pair[1].kernels}))
    program = program_of("cuts_in_place.c", kernels, unit=max(sizes.unit_bytes, 16))
    cuts, second_cuts, flips, _, wear = outcome_of(program, sizes, pair, *_packages(pair, sizes))
    assert cuts > 50
    assert second_cuts > 30
    assert flips > 80
    assert wear == 1


@pytest.mark.slow
@pytest.mark.timeout(3000)
@requires_zoo
@pytest.mark.parametrize("geometry", _CAMPAIGN)
@pytest.mark.parametrize("name", PAIRS)
def test_every_cut_in_place_of_ten_pairs(
    name: str, geometry: str, record_property: Callable[[str, object], None]
) -> None:
    """Deltas between versions of small graphs and of real models; the second cut comes at each `stride` of what follows."""
    pair, chosen = PAIRS[name](), _GEOMETRIES[geometry]
    packages = _packages(pair, chosen)
    most = max(len(file.data) for file in pair)
    slot_bytes, staging_bytes = (
        -(-size // chosen.sector_bytes) * chosen.sector_bytes for size in (most, len(packages[1]))
    )
    sizes = replace(
        chosen,
        slot_bytes=slot_bytes,
        staging_bytes=staging_bytes,
        seed=1 + sorted(PAIRS).index(name),
        stride=131 if most < 4000 else most // 8,
    )
    cuts, second_cuts, flips, _, wear = outcome_of(program_of_all("cuts_in_place.c"), sizes, pair, *packages)
    record_property("update", f"{name}, {geometry}: {cuts} cuts, {second_cuts} second cuts, {flips} flipped bits")
    assert cuts > sum(len(file.data) for file in pair) // chosen.unit_bytes
    assert min(second_cuts, flips) > 100
    assert wear == 1
