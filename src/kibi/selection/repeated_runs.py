"""Rows of neighbouring runs of s8, each repeated: an upscaling by a whole factor reads each pixel once."""

import numpy as np

from kibi.ir import KernelCall
from kibi.kernels.params.movement import GatherRunsS8Params, RepeatRunsS8Params
from kibi.selection.variant import Goal, Variant

_KERNEL = "kibi_repeat_runs_s8"

_MOST_ELEMENTS = 32
"""Of a run: the kernel keeps it in registers."""
_WORD = 4
_TWICE = 2


def pack(call: KernelCall) -> KernelCall | None:
    """Packs a call of `kibi_gather_runs_s8`; returns None where runs are long, or not all repeated equally often."""
    given = call.params_as(GatherRunsS8Params)
    inner, outer = (np.asarray(each, np.int64).reshape(-1, 2) for each in (given.inner, given.outer))
    places = inner[:, 1]
    if given.elements > _MOST_ELEMENTS or (inner[:, 0] != inner[0, 0]).any():
        return None
    changes = np.flatnonzero(places[1:] != places[:-1]) + 1
    repeats = int(changes[0]) if len(changes) else len(places)
    runs, rest = divmod(len(places), repeats)
    if repeats < _TWICE or rest:
        return None
    if not np.array_equal(places, places[0] + np.repeat(np.arange(runs), repeats) * given.elements):
        return None
    params = RepeatRunsS8Params(
        outer=(outer + inner[0]).astype(np.int32).reshape(-1),
        outer_count=given.outer_count,
        runs=runs,
        elements=given.elements,
        repeats=repeats,
        filler=given.filler,
    )
    # Whole words are written, up to three bytes too much. Those are no more than the copies of the runs that are written last, byte
    # by byte, so the distance of the general kernel, which reads a run again for each copy, is enough.
    part = "MORE" if repeats > _TWICE else "SMALL" if given.elements <= _WORD else "TWO"
    features = frozenset({f"{_KERNEL.upper()}_OF_{part}"})
    return KernelCall(_KERNEL, params, inplace_distance_bytes=call.inplace_distance_bytes, features=features)


REPEATED_RUNS = Variant(_KERNEL, "kibi_gather_runs_s8", "thumb2", frozenset({Goal.BALANCED, Goal.SPEED}), pack)
