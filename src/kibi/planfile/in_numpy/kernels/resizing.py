"""RESIZE_BILINEAR: between the four nearest pixels."""

import numpy as np

from kibi.planfile.in_numpy.call import Call, Numbers
from kibi.planfile.in_numpy.registry import kernel

_ONE = 1 << 10


@kernel("kibi_resize_bilinear_s8")
def resize(call: Call) -> None:
    """RESIZE_BILINEAR of s8: weights have 10 bits; of two neighbours one may not be there."""
    p = call.numbers
    columns = call.array("columns", p.column_count, 3).astype(np.int64)
    end = int(columns[:, :2].max()) + p.channels
    taps = [columns[:, k, None] + np.arange(p.channels) for k in (0, 1)]
    across = columns[:, 2, None]

    def between(row: Numbers) -> Numbers:
        wide = row.astype(np.int64)
        return wide[taps[0]] * (_ONE - across) + wide[taps[1]] * across

    size = (p.row_count - 1) * p.row_step + (p.column_count - 1) * p.column_step + p.channels
    made = call.output(size, "i1").copy()
    places = np.arange(p.column_count)[:, None] * p.column_step + np.arange(p.channels)
    for y, (first, second, down) in enumerate(call.array("rows", p.row_count, 3).tolist()):
        found = [call.optional(number, end, "i1") for number in (first, second)]
        present = next((each for each in found if each is not None), None)
        if present is None:
            return
        upper, lower = (between(present if each is None else each) for each in found)
        sums = upper * (_ONE - down) + lower * down
        made[places + y * p.row_step] = np.sign(sums) * ((np.abs(sums) + _ONE**2 // 2) // _ONE**2)
    call.write(made)


@kernel("kibi_resize_bilinear_f32")
def resize_floats(call: Call) -> None:
    """RESIZE_BILINEAR of f32: a whole image, each step rounded."""
    p = call.numbers
    rows, columns = call.array("rows", p.row_count, 2, 2), call.array("columns", p.column_count, 2, 2)
    down = call.array("row_weights", p.row_count)[:, None, None]
    across = call.array("column_weights", p.column_count)[None, :, None]

    def tap(row: int, column: int) -> Numbers:
        sums = (rows[:, None, row].astype(np.int64) + columns[None, :, column]).reshape(-1, 2)
        found = np.empty((len(sums), p.channels), np.float32)
        for pointer in np.unique(sums[:, 0]).tolist():
            used = sums[:, 0] == pointer
            places = sums[used, 1]
            found[used] = call.row(pointer, int(places.max()) + p.channels, "<f4")[
                places[:, None] + np.arange(p.channels)
            ]
        return found.reshape(p.row_count, p.column_count, p.channels)

    up, back = np.float32(1) - down, np.float32(1) - across
    total = tap(0, 0) * up * back + tap(1, 0) * down * back
    call.write(total + tap(0, 1) * up * across + tap(1, 1) * down * across + np.float32(0))
