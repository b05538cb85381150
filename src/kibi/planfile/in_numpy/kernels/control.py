"""IF, WHILE and the buffers of streams."""

import numpy as np

from kibi.ops import While
from kibi.planfile.in_numpy.call import Body, Bytes, Call, view
from kibi.planfile.in_numpy.registry import kernel

_BYTE = np.dtype(np.uint8)


def _given(call: Call, first: int) -> list[Bytes]:
    """The bytes of each input, its rows one after another."""
    pieces = call.array("pieces", 2 * call.numbers.inputs + call.numbers.outputs)
    found = []
    for k in range(call.numbers.inputs):
        rows, row_bytes = int(pieces[2 * k]), int(pieces[2 * k + 1])
        parts = [call.row(first + row, row_bytes, "u1") for row in range(rows)]
        found.append(np.concatenate(parts) if parts else np.empty(0, np.uint8))
        first += rows
    return found


def _output_bytes(call: Call) -> list[int]:
    pieces = call.array("pieces", 2 * call.numbers.inputs + call.numbers.outputs)
    return [int(each) for each in pieces[2 * call.numbers.inputs :]]


def _run(body: Body, arena: Bytes, inputs: list[Bytes]) -> bool:
    for place, each in zip(body.inputs, inputs, strict=False):
        view((arena, place), len(each), _BYTE)[:] = each
    return body.run(arena)


def _outputs(body: Body, arena: Bytes, sizes: list[int]) -> list[Bytes]:
    return [view((arena, place), size, _BYTE).copy() for place, size in zip(body.outputs, sizes, strict=False)]


@kernel("kibi_if_any")
def if_any(call: Call) -> None:
    """IF: one inference of one of two graphs."""
    arena = call.work(0 if call.scratch is None else len(call.scratch), "u1")
    body = call.bodies["then_body" if call.row(0, 1, "u1")[0] else "else_body"]
    is_complete = _run(body, arena, _given(call, 1))
    if is_complete:
        for number, each in enumerate(_outputs(body, arena, _output_bytes(call))):
            call.write(each, number)
    arena[0] = not is_complete


@kernel("kibi_while_any")
def while_any(call: Call) -> None:
    """WHILE: inferences of a graph, as long as another one says so."""
    arena = call.work(0 if call.scratch is None else len(call.scratch), "u1")
    condition, body = call.bodies["condition"], call.bodies["body"]
    carried, sizes = _given(call, 0), _output_bytes(call)
    is_complete = False
    for turn in range(While.most_turns + 1):
        if not _run(condition, arena, carried):
            break
        if not view((arena, condition.outputs[0]), 1, _BYTE)[0]:
            is_complete = True
            break
        if turn == While.most_turns or not _run(body, arena, carried):
            break
        carried = _outputs(body, arena, sizes)
    for number, each in enumerate(carried):
        call.write(each, number)
    arena[0] = not is_complete


@kernel("kibi_circular_buffer_s8")
def circular_buffer(call: Call) -> None:
    """CIRCULAR_BUFFER: a slot from the one after it, or the newest one from the pieces of the input."""
    pieces, size = call.numbers.pieces, call.numbers.piece_bytes
    old = call.optional(pieces, pieces * size, "i1")
    if old is not None:
        call.write(old)
        return
    call.write(np.concatenate([call.row(number, size, "i1") for number in range(pieces)]))
    left = call.state(0, 1, "<i4")
    left[0] = (int(left[0]) or call.numbers.cycles) - 1
