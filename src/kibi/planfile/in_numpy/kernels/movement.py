"""Kernels that move elements, and tables."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibi.planfile.in_numpy.call import Call, types_of
from kibi.planfile.in_numpy.registry import kernel

Places = NDArray[np.int64]


@kernel("kibi_copy_any")
def copy_bytes(call: Call) -> None:
    """The pieces of an output row, one after another."""
    p = call.numbers
    call.write(np.concatenate([call.row(number, p.bytes, "u1") for number in range(p.pieces)]))


@kernel("kibi_copy_s8", "kibi_copy_f32")
def copy_elements(call: Call) -> None:
    """The same for elements."""
    p, (kind, _) = call.numbers, types_of(call.kernel)
    call.write(np.concatenate([call.row(number, p.elements, kind.numpy.str) for number in range(p.pieces)]))


@kernel("kibi_concatenation_any")
def concatenation(call: Call) -> None:
    """CONCATENATION and PACK: the pieces of each input that are there, turn by turn."""
    p = call.numbers
    parts, first = [], 0
    for count, size in call.array("pieces", p.inputs, 2).tolist():
        for number in range(first, first + count):
            row = call.optional(number, p.repeats * size, "u1") if size else None
            parts += [] if row is None else [row.reshape(p.repeats, size)]
        first += count
    call.write(np.concatenate(parts, axis=1) if parts else np.empty(0, np.uint8))


@kernel("kibi_table_s8")
def table(call: Call) -> None:
    """A function from s8 to s8."""
    values = call.row(0, call.numbers.elements, "i1").astype(np.int64)
    call.write(call.array("table", 256)[values + 128])


@kernel("kibi_shape_any")
def shape(call: Call) -> None:
    """SHAPE: constant numbers."""
    call.write(call.array("sizes", call.numbers.rank))


@kernel("kibi_pad_s8", "kibi_pad_s16", "kibi_pad_s32", "kibi_pad_f32")
def pad(call: Call) -> None:
    """PAD: an input row, with columns and channels added on both sides."""
    p, (kind, _) = call.numbers, types_of(call.kernel)
    rows = [call.row(number, p.width * p.channels, kind.numpy.str) for number in range(p.pieces)]
    columns = p.before_width + p.pieces * p.width + p.after_width
    value = np.float32(p.value) if kind.numpy.kind == "f" else np.int64(p.value).astype(kind.numpy)
    made = np.full((columns, p.before_channels + p.channels + p.after_channels), value, kind.numpy)
    inside = slice(p.before_width, columns - p.after_width), slice(p.before_channels, p.before_channels + p.channels)
    made[inside] = np.concatenate(rows).reshape(-1, p.channels) if p.width * p.channels else 0
    call.write(made)


@kernel("kibi_broadcast_args_s32", "kibi_broadcast_args_s64")
def broadcast_args(call: Call) -> None:
    """BROADCAST_ARGS: the shape that two shapes broadcast to."""
    p, (kind, _) = call.numbers, types_of(call.kernel)
    sizes = np.ones((2, p.elements), kind.numpy)
    for number, count in enumerate((p.elements1, p.elements2)):
        sizes[number, p.elements - count :] = call.row(number, count, kind.numpy.str)
    call.write(np.where(sizes[0] == 1, sizes[1], sizes[0]))


def _picked(
    call: Call, kind: str, pointers: Places, places: Places, count: int
) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Returns runs of neighbouring elements, [runs, count], and which of them are there.

    Args:
        call: of the kernel.
        kind: of the elements, NumPy's name.
        pointers: of each run.
        places: of its first element; below 0 where it is not there.
        count: elements of a run.
    """
    found = np.zeros((len(places), count), kind)
    is_there = places >= 0
    for pointer in np.unique(pointers[is_there]).tolist():
        used = np.flatnonzero(is_there & (pointers == pointer))
        row = call.optional(pointer, int(places[used].max()) + count, kind)
        if row is None:
            is_there[used] = False
        else:
            found[used] = row[places[used][:, None] + np.arange(count)]
    return found, is_there


@kernel(*(f"kibi_gather_runs_{kind}" for kind in ("any", "s8", "s16", "s32", "f32")))
def gather_runs(call: Call) -> None:
    """Runs of elements at the sums of two tables' entries; what is not there is filled."""
    p = call.numbers
    is_untyped = call.kernel.endswith("_any")
    size = p.bytes if is_untyped else 1
    kind = "u1" if is_untyped else types_of(call.kernel)[0].numpy.str
    outer, inner = call.array("outer", p.outer_count, 2), call.array("inner", p.inner_count, 2)
    sums = (outer.astype(np.int64)[:, None] + inner).reshape(-1, 2)
    found, is_there = _picked(call, kind, sums[:, 0], sums[:, 1] * size, p.elements * size)
    filler = np.tile(call.array("filler", size).view(kind), p.elements)
    call.write(np.where(is_there[:, None], found, filler))


@kernel("kibi_repeat_runs_s8")
def repeat_runs(call: Call) -> None:
    """Neighbouring runs of elements, each repeated; what is not there is filled."""
    p = call.numbers
    outer = call.array("outer", p.outer_count, 2).astype(np.int64)
    found, is_there = _picked(call, "i1", outer[:, 0], outer[:, 1], p.runs * p.elements)
    rows = np.where(is_there[:, None], found, call.array("filler", 1))
    call.write(np.repeat(rows.reshape(-1, p.elements), p.repeats, axis=0))


@kernel("kibi_strided_copy_any")
def strided_copy(call: Call) -> None:
    """Pieces in another order, by nested loops."""
    p = call.numbers
    sums = np.array([[p.first_pointer, p.first_byte]])
    for steps, pointers, places in call.array("loops", p.axes, 3).tolist():
        sums = (sums[:, None] + np.arange(steps)[:, None] * np.array([pointers, places])).reshape(-1, 2)
    call.write(_picked(call, "u1", sums[:, 0], sums[:, 1], p.bytes)[0])


@kernel("kibi_gather_any")
def gather(call: Call) -> None:
    """GATHER, GATHER_ND and EMBEDDING_LOOKUP: copies the items of a table that computed numbers name.

    An item is zeros if the table does not have its number.
    """
    p = call.numbers
    count = p.batches * p.lookups * p.depth
    given = range(p.numbers, p.numbers - (-count // p.number_row_elements))
    numbers = np.concatenate([call.row(number, p.number_row_elements, "<i4") for number in given])[:count]
    items = (numbers.reshape(-1, p.depth).astype(np.int64) * call.array("strides", p.depth)).sum(axis=1)
    # [batch, part of the table, lookup]
    each = np.repeat(items.reshape(p.batches, 1, p.lookups), p.outer, axis=1).reshape(-1, p.lookups)
    parts = np.arange(p.batches * p.outer)[:, None]
    first = np.where((each >= 0) & (each < p.items), (parts * p.items + each) * p.pieces, -p.pieces)
    at = (first.reshape(-1, 1) + np.arange(p.pieces)).reshape(-1) * p.bytes
    call.write(_picked(call, "u1", p.table + at // p.row_bytes, np.where(at < 0, -1, at % p.row_bytes), p.bytes)[0])


@kernel("kibi_embedding_lookup_s8_f32")
def embedding_lookup(call: Call) -> None:
    """EMBEDDING_LOOKUP of a table of s8: rule N18."""
    p = call.numbers
    numbers = call.row(0, p.lookups, "<i4").astype(np.int64)
    first = np.where((numbers >= 0) & (numbers < p.items), numbers * p.pieces, -p.pieces)
    at = (first[:, None] + np.arange(p.pieces)).reshape(-1) * p.elements
    places = np.where(at < 0, -1, at % p.row_elements)
    found, _ = _picked(call, "i1", 1 + at // p.row_elements, places, p.elements)
    call.write(np.float32(p.scale) * found.astype(np.float32))


@kernel("kibi_dynamic_update_slice_any")
def dynamic_update_slice(call: Call) -> None:
    """DYNAMIC_UPDATE_SLICE: a tensor, part of which another one replaces, from a computed place on."""
    p = call.numbers
    sizes, update_sizes = (call.array(name, p.axes).tolist() for name in ("sizes", "update_sizes"))
    made, update = (
        np.concatenate([call.row(number, row_bytes, "u1") for number in range(first, first + count)])
        for first, count, row_bytes in (
            (0, p.pointers, p.row_bytes), (p.pointers, p.update_pointers, p.update_row_bytes),
        )
    )  # fmt: skip
    starts = call.row(p.pointers + p.update_pointers, p.axes, f"<i{p.index_bytes}").tolist()
    place = tuple(
        slice(start, start + count)
        for start, size, count in zip(starts, sizes, update_sizes, strict=True)
        for start in (min(max(start, 0), size - count),)
    )
    made.reshape(*sizes, p.bytes)[place] = update.reshape(*update_sizes, p.bytes)
    call.write(made)
