"""C text of weights in slow memory: the function that fetches them, and parameters that lead into their window."""

import zlib

from kibi.codegen.c_text import indentation
from kibi.codegen.emit_context import EmitContext
from kibi.codegen.memory_c import scratch, step_parameters
from kibi.codegen.profile_c import measured
from kibi.codegen.rows_c import row_pointer
from kibi.codegen.schedule import Takes
from kibi.ir import Tensor
from kibi.kernels.params import Field, struct_name
from kibi.planner.slow_weights import Fetches
from kibi.planner.windows import Packed
from kibi.text.c import CCode, code, comment, hexadecimal, identifier, lines, type_name, word


def declarations(b: EmitContext) -> CCode:
    """The function that the application provides, and what it reads; nothing where weights are constants."""
    slow = b.plan.slow_weights
    if slow is None or not b.fetches:
        return code("")
    stored, fetches = b.stored_weights.content, Fetches.of(b.graph, slow)
    about = (
        f"Yours: copies bytes of {b.prefix.text}_weights.bin, which you keep in slow memory, to an address in the arena, a "
        "multiple of 4, and returns 0 when they are there. Offset and number are multiples of 4. Anything but 0 ends the "
        "inference with KIBI_ERROR_STORAGE."
    )
    calls = f"One inference calls it {fetches.count} times, and fetches {fetches.fetched_bytes} bytes."
    return code(
        """
${about}int $function(void *to, uint32_t offset, uint32_t bytes);

${calls}#define ${upper}_WEIGHTS_BYTES ${bytes}u
#define ${upper}_WEIGHTS_CRC32 $crc
#define ${upper}_WEIGHTS_LARGEST_FETCH ${largest}u
""",
        about=comment(about),
        function=identifier(slow.function, "the function that reads weights"),
        calls=comment(f"What it reads: the bytes in all, their CRC-32 as in IEEE 802.3, the most of one call. {calls}"),
        upper=b.upper,
        bytes=len(stored),
        crc=hexadecimal(zlib.crc32(stored)),
        largest=fetches.largest_bytes,
    )


def function(b: EmitContext, number: int, about: CCode) -> CCode:
    """The function of a FETCH_WEIGHTS node, which keeps the status in the node's scratch."""
    takes, view = b.schedule.takes[number], b.graph.views[number]
    step = code("0") if takes is Takes.NOTHING else code("step")
    call = code(
        "*status = (int32_t)$function($window, ${offset}u, ${bytes}u);\n",
        function=word(_function(b)),
        window=row_pointer(b, view.output, step),
        offset=b.stored_weights.offsets[number],
        bytes=view.output.type.row_bytes,
    )
    body = code(
        "    int32_t *const status = (int32_t *)(void *)($scratch);\n", scratch=scratch(b, b.plan.scratch_of(number))
    )
    if takes is Takes.STEPS:
        body += code(
            "    *status = 0;\n    for (; step < end && *status == 0; ++step) {\n        $call    }\n", call=call
        )
    else:
        body += code("    $call", call=call)
        body += code("    (void)step;\n") if takes is Takes.STEP and view.steps == 1 else code("")
    return code(
        """\
${about}static KIBI_NOINLINE void $function($parameters)
{
${body}}
""",
        about=about,
        function=b.function(number),
        parameters=step_parameters(b, takes),
        body=measured(b, number, body),
    )


def _function(b: EmitContext) -> str:
    return "" if b.plan.slow_weights is None else b.plan.slow_weights.function


def parameters(b: EmitContext, number: int) -> CCode:
    """The statements before a node's steps: its parameters in RAM, because they lead into a window; nothing without one."""
    window = b.graph.views[number].window
    if window is None:
        return code("")
    copied = code(
        "    $struct params = params_$number;\n",
        struct=word(struct_name(b.calls[number].kernel)),
        number=b.numbers[number],
    )
    return copied + (_pointers(b, number, window, code("0"), 1) if window.type.rows == 1 else code(""))


def step_parameters_of(b: EmitContext, number: int, step: CCode, depth: int) -> CCode:
    """The statements in each step of a node whose weights are fetched again: the parameters lead into the window's row."""
    view = b.graph.views[number]
    window = view.window
    if window is None or window.type.rows == 1:
        return code("")
    each = view.steps // window.type.rows
    row = step if each == 1 else code("$step / $each", step=step, each=each)
    return _pointers(b, number, window, row, depth)


def _pointers(b: EmitContext, number: int, window: Tensor, row: CCode, depth: int) -> CCode:
    """The statements that let the parameters lead into a row of a window."""
    offsets, indent = Packed.of(b.calls[number]).offsets, indentation(depth)
    first = code(
        "${indent}const uint8_t *const weights = (const uint8_t *)(const void *)$row;\n",
        indent=indent,
        row=row_pointer(b, window, row),
    )
    fields = [field for field in b.fields(b.calls[number]) if field.name in offsets]
    return first + lines(_pointer(field, offsets[field.name], indent) for field in fields)


def _pointer(field: Field, offset: int, indent: CCode) -> CCode:
    place = code("(weights + $offset)", offset=offset) if offset else code("weights")
    return code(
        "${indent}params.$field = (const $kind *)(const void *)$place;\n",
        indent=indent,
        field=word(field.name),
        kind=type_name(field.type),
        place=place,
    )
