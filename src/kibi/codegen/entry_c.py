"""C text of the public functions: declarations for the header, definitions for the source."""

from kibi.codegen import fetch_c, lease_c, lives_c, memory_c, slices_c
from kibi.codegen.emit_context import EmitContext
from kibi.codegen.events_c import refuse, report
from kibi.eager.inference_events import InferenceEnded, InferenceStarted, RowReceived
from kibi.text.c import CCode, code, lines, word


def declarations(b: EmitContext) -> CCode:
    """The model's struct and functions, each with what it does."""
    parts = [
        code(
            """
/* All that the library keeps between calls. The caller owns it; no field is for the caller's use. */
typedef struct {
${fields}${cursor}} ${name}_t;

$init""",
            fields=memory_c.fields(b),
            cursor=_cursor(b),
            name=b.prefix,
            init=memory_c.init_declaration(b),
        )
    ]
    if b.external:
        parts.append(_external_declaration(b))
    if b.variables:
        parts.append(_variable_declarations(b))
    parts.append(_streaming_declarations(b) if b.streams else _input_declaration(b))
    return lines(
        [*parts, _output_declarations(b), fetch_c.declarations(b), slices_c.declarations(b), lives_c.declarations(b)]
    )


def _external_declaration(b: EmitContext) -> CCode:
    return code(
        """
/* Says where the caller keeps a tensor: its number, a ${upper}_EXTERNAL_… macro; the address; how many bytes are there.
 * It stays so until it is said anew. */
kibi_status ${name}_set_external_buffer(${name}_t *model, unsigned number, void *data, size_t bytes);
""",
        name=b.prefix,
        upper=b.upper,
    )


def _variable_declarations(b: EmitContext) -> CCode:
    return code(
        """
/* Gives the variables their first values, as ${name}_init does; they keep those of the last inference otherwise. */
void ${name}_reset(${name}_t *model);

/* Returns variable `index`, which the caller may read and write between two inferences; NULL if it does not exist.
 * Do not copy a model's struct: its variables are inside. */
void *${name}_variable(${name}_t *model, unsigned index);
""",
        name=b.prefix,
    )


def _input_declaration(b: EmitContext) -> CCode:
    return code(
        """
/* Returns where to write input `index` before each ${name}_invoke, which overwrites it; NULL if it does not exist. */
$kind *${name}_input(${name}_t *model, unsigned index);
""",
        name=b.prefix,
        kind=b.c_type(b.graph.inputs),
    )


def _output_declarations(b: EmitContext) -> CCode:
    done = code("One inference")
    if b.streams:
        done = code("Ends one inference; the next row begins another. KIBI_ERROR_SEQUENCE while rows are missing")
    more = code("")
    if b.early_exits:
        more = code(
            "\n * KIBI_NEED_MORE_INPUT where an operator ended it early: ${name}_output is not valid then.",
            name=b.prefix,
        )
    if b.graph.loops:
        more += code(
            "\n * KIBI_ERROR_LIMIT where a loop reached its limit: ${name}_output is not valid then.", name=b.prefix
        )
    if b.fetches:
        more += code(
            "\n * KIBI_ERROR_STORAGE where weights could not be fetched: ${name}_output is not valid then.",
            name=b.prefix,
        )
    return code(
        """
/* Returns output `index`, valid after ${name}_invoke until the arena is used again; NULL if there is no such output. */
const $kind *${name}_output(const ${name}_t *model, unsigned index);

/* $done.$more */
kibi_status ${name}_invoke(${name}_t *model);
""",
        name=b.prefix,
        kind=b.c_type(b.graph.outputs),
        done=done,
        more=more,
    )


def _streaming_declarations(b: EmitContext) -> CCode:
    which = code("input")
    if len(b.graph.inputs) > 1:
        which = code("input, that of `${name}_expected_input`", name=b.prefix)
    return code(
        """
/* Hands over the next row of the $which: it is copied, and all is computed that can be before the next one.
 * KIBI_ERROR_SEQUENCE when another one is expected. */
$push;

/* The number of the input whose row must come next; -1 when all rows have come. */
int ${name}_expected_input(${name}_t *model);
$row
/* Forgets an inference that was begun: the first row is expected again. */
void ${name}_rewind(${name}_t *model);
""",
        name=b.prefix,
        which=which,
        push=_push_head(b),
        row=_row_declaration(b),
    )


def _row_declaration(b: EmitContext) -> CCode:
    """The declaration of the function by which a source finds its place after a checkpoint; nothing without checkpoints."""
    if not b.extras.checkpoints:
        return code("")
    return code(
        """
/* The number of the row of this input that must come next; -1 when all rows have come. */
int32_t ${name}_expected_row(${name}_t *model);
""",
        name=b.prefix,
    )


def _cursor(b: EmitContext) -> CCode:
    """The fields that say how far an inference has come that waits for a row, or for the next slice."""
    if not b.keeps_place:
        return code("")
    names = code(", ").join(word(name) for name in b.cursor if name != "is_stopped")
    found = code("    $kind $names;\n", kind=b.cursor_type, names=names)
    if b.extras.checkpoints:
        found = code("    uint32_t sequence; /* of the newest checkpoint; 0: not known */\n") + found
    if "is_stopped" in b.cursor:
        found += code("    $kind is_stopped; /* whether an operator ended the inference */\n", kind=b.cursor_type)
    return found


def _push_head(b: EmitContext) -> CCode:
    if len(b.graph.inputs) == 1:
        kind = b.c_type(b.graph.inputs)
        return code("kibi_status ${name}_push_row(${name}_t *model, const $kind *row)", name=b.prefix, kind=kind)
    return code("kibi_status ${name}_push_row(${name}_t *model, unsigned input, const void *row)", name=b.prefix)


def definitions(b: EmitContext) -> CCode:
    """The functions' subgraphs."""
    parts = [
        lease_c.helpers(b),
        memory_c.reset(b),
        memory_c.init(b),
        memory_c.set_external_buffer(b),
        slices_c.rewind(b),
        _push(b) if b.streams else _accessor(b, "input"),
        _accessor(b, "output"),
        _run_for(b),
        lives_c.definitions(b, _ready(b)),
        _invoke(b),
    ]
    return code("\n").join(part for part in parts if part)


def _accessor(b: EmitContext, role: str) -> CCode:
    is_input = role == "input"
    tensors = b.graph.inputs if is_input else b.graph.outputs
    kind = b.c_type(tensors) if is_input else code("const $kind", kind=b.c_type(tensors))
    cases = (
        code(
            "    case $number:\n${begin}        return $place;\n",
            number=number,
            begin=lease_c.hand_over(b, number) if is_input else code(""),
            place=_place(b, index, kind),
        )
        for number, index in enumerate(tensors)
    )
    is_lost = code("")
    if not is_input and any(b.graph.tensors[index].is_planned for index in tensors):
        is_lost = lease_c.check(b, result=code("NULL"))
    return code(
        """\
$kind *${name}_$role(${model}${name}_t *model, unsigned index)
{
    if (model == NULL || $is_new) {
        return NULL;
    }
${is_lost}    switch (index) {
${cases}    default:
        return NULL;
    }
}
""",
        kind=kind,
        name=b.prefix,
        role=code("input") if is_input else code("output"),
        model=code("") if is_input else code("const "),
        is_new=memory_c.is_new(b),
        is_lost=is_lost,
        cases=lines(cases),
    )


def _place(b: EmitContext, index: int, kind: CCode) -> CCode:
    """The address of a tensor's first row."""
    tensor = b.graph.tensors[index]
    if tensor.is_constant:
        return b.constant_name(b.tensor_constant(tensor))
    start = memory_c.base(b, tensor, memory_c.of_model(b))
    offset = 0 if tensor.is_external else b.plan.row_offsets(b.graph, index)[0]
    if offset:
        start = code("($start + $offset)", start=start, offset=offset)
    return code("($kind *)(void *)$start", kind=kind, start=start)


def _ready(b: EmitContext) -> CCode:
    """The checks with which every call begins that computes."""
    missing = refuse(memory_c.is_missing(b), "KIBI_ERROR_NOT_INITIALIZED")
    return refuse(code("model == NULL"), "KIBI_ERROR_NULL") + missing


def _push(b: EmitContext) -> CCode:
    call = slices_c.run_call(b, code("0u"), "row")
    wrong = code("${name}_expected_input(model) < 0", name=b.prefix)
    if len(b.graph.inputs) > 1:
        wrong = code("${name}_expected_input(model) != (int)input", name=b.prefix)
    checks = _ready(b) + refuse(code("row == NULL"), "KIBI_ERROR_NULL") + lease_c.check_stream(b, takes=True)
    checks += refuse(wrong, "KIBI_ERROR_SEQUENCE")
    return code(
        """\
int ${name}_expected_input(${name}_t *model)
{
    if (model == NULL || $is_missing) {
        return -1;
    }
${lease}    $advance /* all steps that need no row */
    return ${name}_waits_for(model);
}

${row}$head
{
${checks}${report}    $run;
    return KIBI_OK;
}
""",
        name=b.prefix,
        advance=slices_c.all_steps(b),
        run=code("(void)$call", call=call) if b.extras.slices else call,
        is_missing=memory_c.is_missing(b),
        row=_expected_row(b),
        head=_push_head(b),
        lease=lease_c.check_stream(b, takes=lease_c.computes_first(b), result=code("-1")),
        checks=checks,
        report=report(RowReceived),
    )


def _expected_row(b: EmitContext) -> CCode:
    if not b.extras.checkpoints:
        return code("")
    return code(
        """\
int32_t ${name}_expected_row(${name}_t *model)
{
    return ${name}_expected_input(model) < 0 ? -1 : ${name}_waits_for_row(model);
}

""",
        name=b.prefix,
    )


def _invoke(b: EmitContext) -> CCode:
    if b.extras.slices and not b.streams:
        return _invoke_at_once(b)
    run = code("${name}_run($memory)", name=b.prefix, memory=memory_c.of_model(b))
    ended = slices_c.endings(b)
    if b.streams:
        body = lease_c.check_stream(b, takes=False)
        body += refuse(code("${name}_expected_input(model) >= 0", name=b.prefix), "KIBI_ERROR_SEQUENCE")
        if b.can_end:
            body += code("    const int ended = model->is_stopped;\n")
        body += code("    ${name}_rewind(model);\n$ended", name=b.prefix, ended=ended)
    elif b.can_end:
        body = _started(b) + code("    const int ended = $run;\n$ended", run=run, ended=ended)
    else:
        body = _started(b) + code("    $run;\n", run=run)
    return code(
        """\
kibi_status ${name}_invoke(${name}_t *model)
{
${ready}${body}${report}    return KIBI_OK;
}
""",
        name=b.prefix,
        ready=_ready(b),
        body=body,
        report=report(InferenceEnded),
    )


def _invoke_at_once(b: EmitContext) -> CCode:
    """The function that runs all slices of an inference."""
    return code(
        """\
kibi_status ${name}_invoke(${name}_t *model)
{
${ready}    ${name}_rewind(model);
${started}    return ${name}_go_on(model, UINT32_MAX);
}
""",
        name=b.prefix,
        ready=_ready(b),
        started=_started(b),
    )


def _started(b: EmitContext) -> CCode:
    """The statements with which an inference on stored or external inputs begins."""
    take = lease_c.begin(b)
    taken = code("    $take\n", take=take) if take else lease_c.check(b)
    return taken + report(InferenceStarted)


def _run_for(b: EmitContext) -> CCode:
    """The function that runs a slice; nothing without slices."""
    if not b.extras.slices:
        return code("")
    checks = _ready(b) + refuse(code("steps == 0u"), "KIBI_ERROR_STEPS")
    if b.streams:
        return slices_c.definitions(b, checks + lease_c.check_stream(b, takes=lease_c.computes_first(b)))
    take = lease_c.begin(b)
    begins = slices_c.begins(b, take)
    return slices_c.definitions(b, checks + (begins + lease_c.check(b) if take else lease_c.check(b) + begins))
