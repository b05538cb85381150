"""C text of weights in slow memory: the function that fetches them, and parameters that lead into their window."""

import zlib

from kibi.codegen.c_text import indentation
from kibi.codegen.emit_context import EmitContext
from kibi.codegen.memory_c import argument, scratch, step_parameters
from kibi.codegen.profile_c import measured
from kibi.codegen.rows_c import row_pointer
from kibi.codegen.schedule import Takes
from kibi.ir import Tensor
from kibi.kernels.params import Field, struct_name
from kibi.planner.plan import SlowWeights
from kibi.planner.slow_weights import Fetches
from kibi.planner.windows import Packed
from kibi.text.c import CCode, code, comment, hexadecimal, identifier, lines, type_name, word

_ABOUT_READ = (
    "Yours: copies bytes of {file}, which you keep in slow memory, to an address in the arena, a multiple of 4, and returns 0 when "
    "they are there. Offset and number are multiples of 4. Anything but 0 ends the inference with KIBI_ERROR_STORAGE."
)
_ABOUT_START = (
    "Yours: begins to copy bytes of {file}, which you keep in slow memory, to an address in the arena, a multiple of 4, and "
    "returns 0 at once. Offset and number are multiples of 4. Until {wait} returns, nothing else uses these bytes, and no other "
    "transfer is started. Anything but 0: no transfer runs, and the inference ends with KIBI_ERROR_STORAGE."
)
_ABOUT_WAIT = (
    "Yours: returns when the transfer that runs has ended; 0: its bytes are there, and the processor reads them. It is called once "
    "after each start that returned 0. Anything but 0 ends the inference with KIBI_ERROR_STORAGE."
)


def _functions(b: EmitContext, slow: SlowWeights) -> CCode:
    """The declarations of the functions that the application provides."""
    file = f"{b.prefix.text}_weights.bin"
    names = [identifier(name, "the function that reads weights") for name in slow.functions]
    parameters = code("(void *to, uint32_t offset, uint32_t bytes)")
    if not slow.ahead:
        about = comment(_ABOUT_READ.format(file=file))
        return code("${about}int $function$parameters;\n", about=about, function=names[0], parameters=parameters)
    return code(
        "${about_start}int $start$parameters;\n\n${about_wait}int $wait(void);\n",
        about_start=comment(_ABOUT_START.format(file=file, wait=names[1].text)),
        start=names[0],
        parameters=parameters,
        about_wait=comment(_ABOUT_WAIT),
        wait=names[1],
    )


def declarations(b: EmitContext) -> CCode:
    """The functions that the application provides, and what they read; nothing where weights are constants."""
    slow = b.plan.slow_weights
    if slow is None or not b.fetches:
        return code("")
    stored, fetches = b.stored_weights.content, Fetches.of(b.graph, slow)
    calls = (
        f"One inference starts {fetches.count} transfers, and fetches {fetches.fetched_bytes} bytes."
        if slow.ahead
        else f"One inference calls it {fetches.count} times, and fetches {fetches.fetched_bytes} bytes."
    )
    what = "What they read" if slow.ahead else "What it reads"
    most = "transfer" if slow.ahead else "call"
    return code(
        """
$functions
${calls}#define ${upper}_WEIGHTS_BYTES ${bytes}u
#define ${upper}_WEIGHTS_CRC32 $crc
#define ${upper}_WEIGHTS_LARGEST_FETCH ${largest}u
""",
        functions=_functions(b, slow),
        calls=comment(f"{what}: the bytes in all, their CRC-32 as in IEEE 802.3, the most of one {most}. {calls}"),
        upper=b.upper,
        bytes=len(stored),
        crc=hexadecimal(zlib.crc32(stored)),
        largest=fetches.largest_bytes,
    )


def transfer_notes(b: EmitContext) -> CCode:
    """The functions that note in the struct that a transfer runs, and wait for its end; nothing where none runs in a pause."""
    if not b.notes_transfers:
        return code("")
    return code(
        """\
/* Notes whether a transfer runs now. Returns 4 where it could not be started, else 0. */
static int ${prefix}_started(${prefix}_t *model, const uint8_t *status)
{
    model->transfer = *(const int32_t *)(const void *)status == 0;
    return model->transfer != 0 ? 0 : 4;
}

/* Waits for the transfer that runs, if one does. Returns 4 where it has failed, or did before; else 0. */
static int ${prefix}_settle(${prefix}_t *model)
{
    if (model->transfer == 1) {
        model->transfer = ($kind)($wait() == 0 ? 0 : 2);
    }
    return model->transfer == 0 ? 0 : 4;
}

""",
        prefix=b.prefix,
        kind=b.cursor_type,
        wait=word(_function(b, is_wait=True)),
    )


def pausing(b: EmitContext) -> list[CCode]:
    """The statements before an inference pauses: with a lease, another model may use the bytes then, so no transfer runs on."""
    if not (b.notes_transfers and b.extras.lease):
        return []
    return [code("    (void)${prefix}_settle(model); /* another model may take the arena */", prefix=b.prefix)]


def before_pause(b: EmitContext, depth: int) -> CCode:
    """The same as text, with so many indentations."""
    return lines(code("$margin$statement\n", margin=indentation(depth), statement=each) for each in pausing(b))


def waiting_function(b: EmitContext, number: int, about: CCode) -> CCode:
    """The function of a WAIT_WEIGHTS node, which keeps the status in the node's scratch; one for all where the driver waits."""
    takes = b.schedule.takes[number]
    unused = [code("step")] if takes is not Takes.NOTHING else []
    unused += [code("end")] if takes is Takes.STEPS else []
    if b.notes_transfers:
        first = next(node for node, view in enumerate(b.graph.views) if view.op.waits)
        if number != first:
            return about
        about = code("/* In the place of WAIT_WEIGHTS, ${prefix}_ends waits. */\n", prefix=b.prefix) + about
        unused = [argument(b), *unused]
        body = code("")
    else:
        body = code(
            "    *(int32_t *)(void *)($scratch) = (int32_t)$wait();\n",
            scratch=scratch(b, b.plan.scratch_of(number)),
            wait=word(_function(b, is_wait=True)),
        )
        body = measured(b, number, body)
    return code(
        """\
${about}static KIBI_NOINLINE void $function($parameters)
{
${unused}${body}}
""",
        about=about,
        function=b.function(number),
        parameters=step_parameters(b, takes),
        unused=lines(code("    (void)$name;\n", name=name) for name in unused),
        body=body,
    )


def function(b: EmitContext, number: int, about: CCode) -> CCode:
    """The function of a FETCH_WEIGHTS or START_WEIGHTS node, which keeps the status in the node's scratch."""
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


def _function(b: EmitContext, *, is_wait: bool = False) -> str:
    """The name of the function that reads weights, or starts to; or of the one that waits."""
    slow = b.plan.slow_weights
    return "" if slow is None else slow.functions[int(is_wait)]


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
