"""C text of inferences in slices: the drivers that stop after so many row steps, and the function that callers call."""

from kibi.codegen import fetch_c
from kibi.codegen.emit_context import EmitContext
from kibi.codegen.events_c import refuse, report
from kibi.codegen.memory_c import ends_call, of_model
from kibi.codegen.schedule import Form
from kibi.eager.inference_events import InferenceEnded, InferenceStarted, MoreInputNeeded
from kibi.text.c import CCode, code, comment, lines, word

_PAUSED = 3
"""The result of the function that runs a model if steps are left; 0: none is, 1, 2 and 4: it ended early, as in `Ending`."""


def run_call(b: EmitContext, left: CCode, row: str = "NULL", *, skips: bool = False) -> CCode:
    """The call of the driver of a model that keeps its place; without slices, the driver runs as far as it can."""
    given = [code("model")]
    given += [word(row)] if b.streams else []
    given += [left] if b.extras.slices else []
    given += [code("1") if skips else code("0")] if b.extras.checkpoints else []
    return code("${prefix}_run($given)", prefix=b.prefix, given=code(", ").join(given))


def all_steps(b: EmitContext, row: str = "NULL") -> CCode:
    """The statement that runs all steps that can run."""
    cast = code("(void)") if b.extras.slices else code("")
    return code("$cast$call;", cast=cast, call=run_call(b, code("UINT32_MAX"), row))


def _head(b: EmitContext) -> CCode:
    row = code(", const void *row") if b.streams else code("")
    skips = code(", int skips") if b.extras.checkpoints else code("")
    about = "Runs at most `left` steps; 3: some are left"
    about += (
        "; a row is needed, or all have run, otherwise. `row` is the one that is waited for, or NULL."
        if b.streams
        else "."
    )
    about += " With `skips` the place moves, and nothing is computed." if b.extras.checkpoints else ""
    return code(
        """\
${about}static int ${prefix}_run(${prefix}_t *model$row, uint32_t left$skips)
""",
        about=comment(about),
        prefix=b.prefix,
        row=row,
        skips=skips,
    )


def lines_driver(b: EmitContext, count: int) -> CCode:
    """Returns the driver of an order in lines."""
    return code(
        """\
$head{
    while (model->line < $count) {
        const plan_line at = plan_order[model->line];
        if (at.from == REPEAT) {
            const int is_again = model->turn + 1 < at.steps;
            model->turn = ($cursor)(is_again ? model->turn + 1 : 0);
            model->line = ($cursor)(is_again ? model->line - at.to : model->line + 1);
            continue;
        }
        while (at.from + model->function <= at.to) {
            const int32_t function = at.from + model->function;
            const int32_t first = at.step + model->turn * at.further;
            const int32_t limit = plan_steps[function];
            const int32_t step = (first > 0 ? first : 0) + model->step;
            const int32_t end = first + at.steps < limit ? first + at.steps : limit;
            if (step < end) {
${some}                continue;
            }
            model->step = 0;
            ++model->function;
        }
        model->function = 0;
        ++model->line;
    }
    return 0;
}
$waits""",
        head=_head(b),
        count=count,
        cursor=b.cursor_type,
        some=_some_steps(b, count, code("function"), 4),
        waits=_waits(b, count, code("(int)plan_order[model->line].from + (int)model->function"), _row_of_lines()),
    )


def runs_driver(b: EmitContext, kind: CCode, count: int) -> CCode:
    """Returns the driver of an order with an entry for each run.

    Args:
        b: what is written.
        kind: the C type of the table's entries.
        count: how many runs there are.
    """
    return code(
        """\
$head{
    while (model->line < $count) {
        const $kind *const at = plan_order[model->line];
        const int32_t step = (int32_t)at[1] + model->step, end = (int32_t)at[2];
        if (step < end) {
${some}            continue;
        }
        model->step = 0;
        ++model->line;
    }
    return 0;
}
$waits""",
        head=_head(b),
        kind=kind,
        count=count,
        some=_some_steps(b, count, code("at[0]"), 3),
        waits=_waits(
            b,
            count,
            code("(int)plan_order[model->line][0]"),
            code("    return (int32_t)plan_order[model->line][1] + model->step;\n"),
        ),
    )


def _row_of_lines() -> CCode:
    """The statements that return the row that is waited for, of an order in lines."""
    return code(
        """\
    const plan_line at = plan_order[model->line];
    const int32_t first = at.step + model->turn * at.further;
    return (first > 0 ? first : 0) + model->step;
"""
    )


def _waits(b: EmitContext, count: int, function: CCode, row: CCode) -> CCode:
    """The functions that say which input is waited for, and with checkpoints which row of it; nothing where none streams."""
    if not b.streams:
        return code("")
    if b.extras.checkpoints:
        row = code(
            """
/* The row of it. */
static int32_t ${prefix}_waits_for_row(const ${prefix}_t *model)
{
${row}}
""",
            prefix=b.prefix,
            row=row,
        )
    else:
        row = code("")
    return row + code(
        """
/* The input whose row is waited for; -1 at the end. */
static int ${prefix}_waits_for(const ${prefix}_t *model)
{
    return model->line < $count ? $function : -1;
}
""",
        prefix=b.prefix,
        count=count,
        function=function,
    )


def _some_steps(b: EmitContext, count: int, function: CCode, depth: int) -> CCode:
    """The statements that run some of the steps `step` to `end` of a function, at most `left`."""
    counted = [code("model->done = ($cursor)(model->done + some);", cursor=b.cursor_type)] if b.extras.counts else []
    statements = [
        *(_receive(b, function) if b.streams else []),
        code("if (left == 0u) {"),
        *fetch_c.pausing(b),
        code("    return $paused;", paused=_PAUSED),
        code("}"),
        code("const int32_t some = (uint32_t)(end - step) > left ? (int32_t)left : end - step;"),
        code("left -= (uint32_t)some;"),
        code("model->step = ($cursor)(model->step + some);", cursor=b.cursor_type),
        *counted,
        *_call(b, count, function),
    ]
    margin = code("").join([code("    ")] * depth)
    return lines(code("$margin$statement\n", margin=margin, statement=each) for each in statements)


def _call(b: EmitContext, count: int, function: CCode) -> list[CCode]:
    index = code("$function - $receivers", function=function, receivers=b.receivers) if b.receivers else function
    called = [code("functions[$index]($memory, step, step + some);", index=index, memory=of_model(b))]
    if b.can_end:
        called.append(code("const int ended = $ends;", ends=ends_call(b, function, code("step + some"))))
        leave = [code("return ended;")]
        if b.streams:
            stopped = code("model->is_stopped = ($kind)ended;", kind=b.cursor_type)
            leave = [code("model->line = $count;", count=count), stopped, code("return 0;")]
        called += [code("if (ended != 0) {"), *(code("    $each", each=each) for each in leave), code("}")]
    if b.extras.checkpoints:
        return [code("if (skips == 0) {"), *(code("    $each", each=each) for each in called), code("}")]
    return called


def _receive(b: EmitContext, function: CCode) -> list[CCode]:
    """The statements that copy the row of a stream input, or pass over it."""
    receiver = b.function(0) if b.receivers == 1 else code("receivers[$function]", function=function)
    received = [
        code("if (row == NULL) {"),
        *fetch_c.pausing(b),
        code("    return 0;"),
        code("}"),
        code("$receiver($memory, step, row);", receiver=receiver, memory=of_model(b)),
        code("row = NULL;"),
    ]
    if b.extras.checkpoints:
        received = [
            code("if (skips != 0 && left == 0u) {"),
            code("    return $paused;", paused=_PAUSED),
            code("}"),
            code("if (skips != 0) {"),
            code("    --left;"),
            code("} else {"),
            *(code("    $each", each=each) for each in received),
            code("}"),
        ]
    return [
        code("if ($function < $receivers) {", function=function, receivers=b.receivers),
        *(code("    $each", each=each) for each in received),
        code("    ++model->step;"),
        *([code("    ++model->done;")] if b.extras.counts else []),
        code("    continue;"),
        code("}"),
    ]


def is_at_start(b: EmitContext) -> CCode:
    """The condition under which no step of an inference has run."""
    names = ["line", "step"] if b.schedule.form is Form.RUNS else ["line", "turn", "function", "step"]
    return code("($fields) == 0", fields=code(" | ").join(code("model->$name", name=word(name)) for name in names))


def rewind(b: EmitContext) -> CCode:
    """The function that forgets an inference that was begun; nothing where a model keeps no place."""
    if not b.keeps_place:
        return code("")
    return code(
        """\
void ${name}_rewind(${name}_t *model)
{
    if (model != NULL) {
${settle}${fields}    }
}
""",
        name=b.prefix,
        settle=code("        (void)${name}_settle(model);\n", name=b.prefix) if b.notes_transfers else code(""),
        fields=lines(code("        model->$field = 0;\n", field=word(field)) for field in b.cursor),
    )


def declarations(b: EmitContext) -> CCode:
    """The declarations of what slices add."""
    if not b.extras.slices:
        return code("")
    if b.streams:
        return code(
            """
/* Runs at most `steps` row steps of what can be computed before the next row. KIBI_PAUSED while some of it is left; KIBI_OK
 * when the next row can be pushed, or ${name}_invoke ends the inference. KIBI_ERROR_STEPS for 0 steps. */
kibi_status ${name}_run_for(${name}_t *model, uint32_t steps);
""",
            name=b.prefix,
        )
    return code(
        """
/* Runs at most `steps` row steps of an inference. KIBI_PAUSED while some are left: call it again, and leave the arena alone
 * in between. Else what ${name}_invoke returns. KIBI_ERROR_STEPS for 0 steps. */
kibi_status ${name}_run_for(${name}_t *model, uint32_t steps);

/* Forgets an inference that was begun by ${name}_run_for: the next call begins anew, as ${name}_invoke does. */
void ${name}_rewind(${name}_t *model);
""",
        name=b.prefix,
    )


def definitions(b: EmitContext, checks: CCode) -> CCode:
    """The function that runs a slice, and what it shares with `invoke`.

    Args:
        b: what is written.
        checks: the statements with which `run_for` begins.
    """
    if b.streams:
        return code(
            """\
kibi_status ${name}_run_for(${name}_t *model, uint32_t steps)
{
${checks}    return $run == $paused ? KIBI_PAUSED : KIBI_OK;
}
""",
            name=b.prefix,
            checks=checks,
            run=run_call(b, code("steps")),
            paused=_PAUSED,
        )
    return code(
        """\
/* Goes on with an inference; at its end the next one can begin. */
static kibi_status ${name}_go_on(${name}_t *model, uint32_t steps)
{
    const int ended = $run;
    if (ended == $paused) {
        return KIBI_PAUSED;
    }
    ${name}_rewind(model);
${endings}${report}    return KIBI_OK;
}

kibi_status ${name}_run_for(${name}_t *model, uint32_t steps)
{
${checks}    return ${name}_go_on(model, steps);
}
""",
        name=b.prefix,
        checks=checks,
        run=run_call(b, code("steps")),
        paused=_PAUSED,
        endings=endings(b),
        report=report(InferenceEnded),
    )


def begins(b: EmitContext, take: CCode) -> CCode:
    """The statements of `run_for` where an inference may begin.

    Args:
        b: what is written.
        take: the statement that takes the arena; or nothing.
    """
    return code(
        "    if ($start) {\n${take}${report}    }\n",
        start=is_at_start(b),
        take=code("        $take\n", take=take) if take else code(""),
        report=report(InferenceStarted, 2),
    )


def endings(b: EmitContext) -> CCode:
    """The statements that return where an inference `ended` early."""
    found = refuse(code("ended == 2"), "KIBI_ERROR_LIMIT") if b.graph.loops else code("")
    found += refuse(code("ended == 4"), "KIBI_ERROR_STORAGE") if b.fetches else code("")
    if b.early_exits:
        told = report(MoreInputNeeded, 2)
        found += code("    if (ended != 0) {\n${report}        return KIBI_NEED_MORE_INPUT;\n    }\n", report=told)
    return found
