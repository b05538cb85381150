"""C text of copies of constants in the arena, from which kernels read them in each row step."""

from kibi.codegen.c_text import call_statement, integer_type
from kibi.codegen.emit_context import EmitContext
from kibi.codegen.memory_c import scratch
from kibi.codegen.schedule import Takes
from kibi.text.c import CCode, code, comment, filled

HEADER = "kibi_move_bytes.h"
"""The header of the function that copies."""


def copied_nodes(b: EmitContext) -> tuple[int, ...]:
    """The nodes whose constants are copied: those with room for it, where all their steps are one call.

    An inference in slices would copy again in each of them, so it reads constants where they are.
    """
    if b.extras.slices or b.streams:
        return ()
    calls = enumerate(b.calls)
    return tuple(number for number, call in calls if call.staged_bytes and b.schedule.takes[number] is Takes.STEPS)


def definitions(b: EmitContext) -> CCode:
    """The function that copies; nothing where no node has copies."""
    numbers = copied_nodes(b)
    if not numbers:
        return code("")
    return code(
        """\
${about}static KIBI_NOINLINE const void *staged(uint8_t *to, const void *params, int32_t bytes, const $kind *sizes)
{
    uint8_t *pointer = to;
    uint8_t *end = kibi_move_bytes(to, params, bytes);
    for (; *sizes != 0; ++sizes) {
        const void *from;
        (void)memcpy(&from, pointer, sizeof(from));
        (void)memcpy(pointer, &end, sizeof(end));
        pointer += sizeof(from);
        end = kibi_move_bytes(end, from, (int32_t)*sizes);
        end += -(uintptr_t)end & 3u;
    }
    return to;
}

""",
        about=comment(
            "Copies a node's parameters, and the constants to which they lead, to its scratch. Returns the copy. `sizes` has the "
            "bytes of each constant, in the order of the pointers with which the parameters begin, and then 0."
        ),
        kind=_kind(b),
    )


def sizes(b: EmitContext, number: int) -> CCode:
    """The table of the bytes of a node's constants; nothing for a node without copies."""
    if number not in copied_nodes(b):
        return code("")
    counts = [array.nbytes for array in b.calls[number].constants.values()]
    return code(
        "static const $kind copied_$number[$count] = {\n$sizes\n};\n\n",
        kind=_kind(b),
        number=b.numbers[number],
        count=len(counts) + 1,
        sizes=filled([*counts, 0]),
    )


def copy(b: EmitContext, number: int, head: CCode) -> CCode:
    """The statement that copies a node's constants; after `head` comes the pointer to its parameters, of any type."""
    start = code(
        "$scratch + $offset", scratch=scratch(b, b.plan.scratch_of(number)), offset=place_in_scratch(b, number)
    )
    name = b.numbers[number]
    given = [
        start,
        code("&params_$number", number=name),
        code("(int32_t)sizeof(params_$number)", number=name),
        code("copied_$number", number=name),
    ]
    return call_statement(head + code("staged"), given, 1)


def place_in_scratch(b: EmitContext, number: int) -> int:
    """Where in a node's scratch, in bytes, the copy of its parameters is."""
    return b.calls[number].scratch_bytes - b.calls[number].staged_bytes


def _kind(b: EmitContext) -> CCode:
    """The type of sizes."""
    return integer_type([array.nbytes for number in copied_nodes(b) for array in b.calls[number].constants.values()])
