"""Kernels that move bytes, and tables."""

import numpy as np

from kibi.planfile.in_numpy.call import Call
from kibi.planfile.in_numpy.registry import kernel


@kernel("kibi_copy_any")
def copy_bytes(call: Call) -> None:
    """The pieces of an output row, one after another."""
    p = call.numbers
    call.write(np.concatenate([call.row(number, p.bytes, "u1") for number in range(p.pieces)]))


@kernel("kibi_copy_s8", "kibi_copy_f32")
def copy_elements(call: Call) -> None:
    """The same for elements."""
    p, kind = call.numbers, "<f4" if call.kernel.endswith("f32") else "i1"
    call.write(np.concatenate([call.row(number, p.elements, kind) for number in range(p.pieces)]))


@kernel("kibi_concatenation_any")
def concatenation(call: Call) -> None:
    """CONCATENATION and PACK: the pieces of each input that are there, turn by turn."""
    p = call.numbers
    sizes = call.array("pieces", p.inputs, 2)
    parts = []
    for turn in range(p.repeats):
        first = 0
        for count, size in sizes.tolist():
            for number in range(first, first + count):
                row = call.optional(number, (turn + 1) * size, "u1")
                parts += [] if row is None else [row[turn * size :]]
            first += count
    call.write(np.concatenate(parts) if parts else np.empty(0, np.uint8))


@kernel("kibi_table_s8")
def table(call: Call) -> None:
    """A function from s8 to s8."""
    values = call.row(0, call.numbers.elements, "i1").astype(np.int64)
    call.write(call.array("table", 256)[values + 128])
