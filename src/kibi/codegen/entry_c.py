"""C text of what callers call: declarations for the header, definitions for the source."""

from kibi.codegen import memory_c
from kibi.codegen.bindings import Bindings
from kibi.codegen.events_c import refuse, report
from kibi.runtime.inference_events import InferenceEnded, InferenceStarted, MoreInputNeeded, RowReceived


def declarations(b: Bindings) -> str:
    """The model's struct and functions, each with what it does."""
    name = b.prefix
    inputs, outputs = b.c_type(b.graph.inputs), b.c_type(b.graph.outputs)
    text = f"""
/* All that the library keeps between calls. The caller owns it; no field is for the caller's use. */
typedef struct {{
{memory_c.fields(b)}{_cursor(b)}}} {name}_t;

{memory_c.init_declaration(b)}"""
    if b.supplied:
        text += f"""
/* Says where the caller keeps a tensor: its number, a {b.prefix.upper()}_SUPPLY_… macro; the address; how many bytes are there.
 * It stays so until it is said anew. */
kibi_status {name}_supply({name}_t *model, unsigned number, void *data, size_t bytes);
"""
    if b.variables:
        text += f"""
/* Gives the variables their first values, as {name}_init does; they keep those of the last inference otherwise. */
void {name}_reset({name}_t *model);

/* Where variable `index` lies, which the caller may read and write between two inferences; NULL if there is none. Do not copy a
 * model's struct: its variables are inside. */
void *{name}_variable({name}_t *model, unsigned index);
"""
    if b.streams:
        text += _streaming_declarations(b)
    else:
        text += f"""
/* Where to write input `index` before each {name}_invoke, which overwrites it; NULL if there is none. */
{inputs} *{name}_input({name}_t *model, unsigned index);
"""
    done = (
        "ends one inference; the next row begins another. KIBI_ERROR_TURN while rows are missing"
        if b.streams
        else "One inference"
    )
    more = f"\n * KIBI_MORE_INPUT where an operator ended it early: {name}_output is not valid then." if b.stops else ""
    more += (
        f"\n * KIBI_ERROR_LIMIT where a loop reached its limit: {name}_output is not valid then."
        if b.graph.loops
        else ""
    )
    return f"""{text}
/* Where output `index` lies after {name}_invoke, until the arena is used again; NULL if there is none. */
const {outputs} *{name}_output(const {name}_t *model, unsigned index);

/* {done[0].upper()}{done[1:]}.{more} */
kibi_status {name}_invoke({name}_t *model);
"""


def _streaming_declarations(b: Bindings) -> str:
    name = b.prefix
    which = f"input, that of `{name}_expected_input`" if len(b.graph.inputs) > 1 else "input"
    return f"""
/* Hands over the next row of the {which}: it is copied, and all is computed that can be before the next one.
 * KIBI_ERROR_TURN when another one is expected. */
{_push_head(b)};

/* The number of the input whose row must come next; -1 when all rows have come. */
int {name}_expected_input({name}_t *model);

/* Forgets an inference that was begun: the first row is expected again. */
void {name}_rewind({name}_t *model);
"""


def _cursor(b: Bindings) -> str:
    """The fields that say how far an inference has come that waits for a row."""
    if not b.streams:
        return ""
    stopped = f"    {b.cursor_type} is_stopped; /* whether an operator ended the inference */\n" if b.can_end else ""
    return f"    {b.cursor_type} line, turn, function, step;\n{stopped}"


def _push_head(b: Bindings) -> str:
    if len(b.graph.inputs) == 1:
        return f"kibi_status {b.prefix}_push_row({b.prefix}_t *model, const {b.c_type(b.graph.inputs)} *row)"
    return f"kibi_status {b.prefix}_push_row({b.prefix}_t *model, unsigned input, const void *row)"


def definitions(b: Bindings) -> str:
    """The functions' bodies."""
    parts = [
        memory_c.reset(b),
        memory_c.init(b),
        memory_c.supply(b).removeprefix("\n"),
        _push(b) if b.streams else _accessor(b, "input"),
    ]
    return "\n".join([*filter(None, parts), _accessor(b, "output"), _invoke(b)])


def _accessor(b: Bindings, role: str) -> str:
    name, tensors = b.prefix, b.graph.inputs if role == "input" else b.graph.outputs
    c_type = b.c_type(tensors) if role == "input" else f"const {b.c_type(tensors)}"
    model = f"{name}_t *model" if role == "input" else f"const {name}_t *model"
    cases = "".join(
        f"    case {number}:\n        return {_place(b, index, c_type)};\n" for number, index in enumerate(tensors)
    )
    return f"""{c_type} *{name}_{role}({model}, unsigned index)
{{
    if (model == NULL || {memory_c.is_new(b)}) {{
        return NULL;
    }}
    switch (index) {{
{cases}    default:
        return NULL;
    }}
}}
"""


def _place(b: Bindings, index: int, c_type: str) -> str:
    """The address of a tensor's first row."""
    tensor = b.graph.tensors[index]
    if tensor.is_constant:
        return b.constant_name(b.tensor_constant(tensor))
    start = memory_c.base(b, tensor, memory_c.of_model(b))
    offset = 0 if tensor.is_supplied else b.plan.row_offsets(b.graph, index)[0]
    return f"({c_type} *)(void *)({start} + {offset})" if offset else f"({c_type} *)(void *){start}"


def _ready(b: Bindings) -> str:
    """The checks with which every call begins that computes."""
    return refuse("model == NULL", "KIBI_ERROR_NULL") + refuse(memory_c.is_missing(b), "KIBI_ERROR_NOT_INITIALIZED")


def _push(b: Bindings) -> str:
    name, several = b.prefix, len(b.graph.inputs) > 1
    wrong = f"{name}_expected_input(model) != (int)input" if several else f"{name}_expected_input(model) < 0"
    stopped = "        model->is_stopped = 0;\n" if b.can_end else ""
    return f"""void {name}_rewind({name}_t *model)
{{
    if (model != NULL) {{
        model->line = 0;
        model->turn = 0;
        model->function = 0;
        model->step = 0;
{stopped}    }}
}}

int {name}_expected_input({name}_t *model)
{{
    if (model == NULL || {memory_c.is_missing(b)}) {{
        return -1;
    }}
    {name}_run(model, NULL); /* as far as it goes without a row */
    return {name}_waits_for(model);
}}

{_push_head(b)}
{{
{_ready(b)}{refuse("row == NULL", "KIBI_ERROR_NULL")}{refuse(wrong, "KIBI_ERROR_TURN")}{report(RowReceived)}\
    {name}_run(model, row);
    return KIBI_OK;
}}
"""


def _invoke(b: Bindings) -> str:
    name = b.prefix
    run = f"{name}_run({memory_c.of_model(b)})"
    ended = refuse("ended == 2", "KIBI_ERROR_LIMIT") if b.graph.loops else ""
    if b.stops:
        ended += f"    if (ended != 0) {{\n{report(MoreInputNeeded, 2)}        return KIBI_MORE_INPUT;\n    }}\n"
    if b.streams:
        body = refuse(f"{name}_expected_input(model) >= 0", "KIBI_ERROR_TURN")
        body += "    const int ended = model->is_stopped;\n" if b.can_end else ""
        body += f"    {name}_rewind(model);\n{ended}"
    elif b.can_end:
        body = f"{report(InferenceStarted)}    const int ended = {run};\n{ended}"
    else:
        body = f"{report(InferenceStarted)}    {run};\n"
    return f"""kibi_status {name}_invoke({name}_t *model)
{{
{_ready(b)}{body}{report(InferenceEnded)}    return KIBI_OK;
}}
"""
