"""Which rows steps read: arrays over all steps say what `needs` says of each."""

import random

import numpy as np
import pytest

from kibi.ir import RowAccess


def _drawn(rng: random.Random) -> tuple[RowAccess, int, int]:
    """An access, how many steps read by it, and the whole rows of its input."""
    parts, batches = rng.choice((1, 1, 2, 3)), rng.randrange(1, 4)
    rows = rng.randrange(1, 9) * parts
    output_rows = rng.randrange(1, 9)
    is_shared = rng.random() < 0.3
    access = RowAccess(
        rows, output_rows, rng.randrange(1, 12), rng.randrange(4), rng.randrange(-6, 6), rng.randrange(1, 4), parts,
        is_shared=is_shared,
    )  # fmt: skip
    return access, batches * output_rows, rows // parts * (1 if is_shared else batches)


@pytest.mark.parametrize("seed", range(300))
def test_rows_and_steps_in_arrays_are_those_of_needs_step_by_step(seed: int) -> None:
    """The last row of each step, its first one in a range, and the last step of each row, for drawn accesses."""
    rng = random.Random(seed)
    access, steps, rows = _drawn(rng)
    needs = [access.needs(step) for step in range(steps)]
    begin = rng.randrange(rows)
    end = rng.randrange(begin, rows + 1)
    inside = [[row for row in found if begin <= row < end] for found in needs]
    assert access.last_rows(steps).tolist() == [max(found, default=-1) for found in needs]
    assert access.first_rows(np.arange(steps), begin, end).tolist() == [min(found, default=-1) for found in inside]
    last = [max((step for step in range(steps) if row in needs[step]), default=-1) for row in range(rows)]
    assert access.last_steps(rows, steps).tolist() == last
    assert not access.last_rows(steps).flags.writeable
    assert not access.last_steps(rows, steps).flags.writeable
