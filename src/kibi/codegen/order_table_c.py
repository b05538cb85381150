"""C text of an order as a table of steps, with the function that follows it."""

from collections.abc import Sequence
from dataclasses import dataclass

from kibi.codegen import fetch_c, slices_c
from kibi.codegen.c_text import integer_bits, integer_type
from kibi.codegen.emit_context import EmitContext
from kibi.codegen.memory_c import (
    Ending,
    argument,
    ending,
    ends_call,
    local,
    of_model,
    parameter,
    run_parameters,
    run_result,
    run_start,
    scratch,
)
from kibi.codegen.order_lines import Line, columns
from kibi.codegen.schedule import Form, run_numbers
from kibi.text.c import CCode, code, comment, filled, lines, plain, remark, word


def order_table(b: EmitContext) -> CCode:
    """Returns the table of functions, the table of the order, and the driver."""
    count = len(b.graph.nodes)
    head = code("")
    if b.receivers > 1:
        head = _table(b, code("receivers"), range(b.receivers), code(", const void *row"))
    last = code("") if b.schedule.form is Form.STEPS else code(", int32_t end")
    head += _table(b, code("functions"), range(b.receivers, count), last) + fetch_c.transfer_notes(b) + _ends(b)
    ways = {Form.LINES: _in_lines, Form.STEPS: _in_steps}
    return head + ways.get(b.schedule.form, _plain)(b)


def _table(b: EmitContext, name: CCode, nodes: range, last: CCode) -> CCode:
    """A table of the functions of some nodes; `last`: their last parameter, after a comma, or nothing."""
    return code(
        """\
static void (*const $name[$count])($memory, int32_t step$last) = {
${functions}};

""",
        name=name,
        count=len(nodes),
        memory=parameter(b),
        last=last,
        functions=lines(code("    $function,\n", function=b.function(node)) for node in nodes),
    )


def _ends(b: EmitContext) -> CCode:
    """The function that says whether one that has run ends the inference; nothing where none does."""
    if not b.can_end:
        return code("")
    found = [(number, each) for number in range(len(b.graph.nodes)) if (each := ending(b, number)) is not None]
    cases = [_end_case(b, number, each) for number, each in found if not _driver_waits(b, number)]
    waits = [code("    case $number:\n", number=number) for number, _ in found if _driver_waits(b, number)]
    cases += [*waits, code("        return ${prefix}_settle(model);\n", prefix=b.prefix)] if waits else []
    about = (
        "Whether a function that has run ends the inference: 1, it waits for further ones; 2, a loop reached its limit"
    )
    about += "; 4, weights could not be fetched." if b.fetches else "."
    about += " Notes that a transfer runs, and waits for its end." if b.notes_transfers else ""
    return code(
        """\
${about}static int ${prefix}_ends($memory, int32_t function, int32_t end)
{
${begin}${unused}    switch (function) {
${cases}    default:
        return 0;
    }
}

""",
        about=comment(about),
        prefix=b.prefix,
        memory=code("${prefix}_t *model", prefix=b.prefix) if b.notes_transfers else parameter(b),
        begin=code("    $memory = $of_model;\n", memory=local(b), of_model=of_model(b))
        if b.notes_transfers
        else code(""),
        unused=code("    (void)end;\n") if all(each.end is None for _, each in found) else code(""),
        cases=lines(cases),
    )


def _driver_waits(b: EmitContext, number: int) -> bool:
    """True if a node is the end of a transfer that the model's struct knows of."""
    return b.notes_transfers and b.graph.views[number].op.waits


def _end_case(b: EmitContext, number: int, each: Ending) -> CCode:
    """The case of a function that may end the inference."""
    result = code("$condition ? $result : 0", condition=each.condition, result=each.result)
    if b.notes_transfers and b.graph.views[number].op.starts:
        status = scratch(b, b.plan.scratch_of(number))
        result = code("${prefix}_started(model, $status)", prefix=b.prefix, status=status)
    return code(
        "    case $number:\n        return ${when}$result;\n",
        number=number,
        when=code("") if each.end is None else code("end == $end && ", end=each.end),
        result=result,
    )


@dataclass(frozen=True, slots=True)
class _Step:
    """The call in a driver: a function by its number, and a half-open range of steps."""

    function: CCode
    step: CCode
    end: CCode


def _call(b: EmitContext, call: _Step, count: int, margin: CCode) -> CCode:
    """The call of `_called`; where weights are fetched only with steps, because a status is none where nothing ran."""
    if not b.fetches:
        return _called(b, call, count, margin)
    return code(
        "if (($step) < ($end)) {${inner}${called}${margin}}",
        step=call.step,
        end=call.end,
        inner=margin + code("    "),
        called=_called(b, call, count, margin + code("    ")),
        margin=margin,
    )


def _called(b: EmitContext, call: _Step, count: int, margin: CCode) -> CCode:
    """The call of a function by its number, and what follows where it ends the inference.

    Those that receive have the lowest numbers.

    Args:
        b: what is written.
        call: what is called.
        count: the lines of the order; an inference that ended is past them.
        margin: a line end and the blanks of the call's line.
    """
    memory = of_model(b) if b.streams else argument(b)
    index = code("$function - $receivers", function=call.function, receivers=b.receivers)
    found = code(
        "functions[$index]($memory, $step, $end);",
        index=index if b.receivers else call.function,
        memory=memory,
        step=call.step,
        end=call.end,
    )
    if not b.can_end:
        return found
    leave = [code("return ended;")]
    if b.streams:
        stopped = code("model->is_stopped = ($kind)ended;", kind=b.cursor_type)
        leave = [code("model->line = $count;", count=count), stopped, code("return;")]
    return code(
        "${call}${margin}const int ended = $ends;${margin}if (ended != 0) {${inner}${margin}}",
        call=found,
        margin=margin,
        ends=ends_call(b, call.function, call.end),
        inner=lines(code("$margin    $statement", margin=margin, statement=each) for each in leave),
    )


def _receive(b: EmitContext, function: CCode, step: CCode) -> CCode:
    """The call that copies a row."""
    receiver = b.function(0) if b.receivers == 1 else code("receivers[$function]", function=function)
    return code("$receiver($memory, $step, row);", receiver=receiver, memory=of_model(b), step=step)


def _plain(b: EmitContext) -> CCode:
    """One entry for each run."""
    runs, kind = b.plan.runs, integer_type(run_numbers(b.plan.runs))
    table = code(
        """\
${about}static const $kind plan_order[$count][3] = {
${entries}};

""",
        about=comment("The order. Each entry: which function, its first step, the end of its steps."),
        kind=kind,
        count=len(runs),
        entries=_entries(b),
    )
    if b.extras.slices:
        return table + slices_c.runs_driver(b, kind, len(runs))
    if b.streams:
        return table + _plain_resumed(b, kind)
    step = _Step(code("plan_order[i][0]"), code("(int32_t)plan_order[i][1]"), code("(int32_t)plan_order[i][2]"))
    result, last = run_result(b)
    return table + code(
        """\
static $result ${prefix}_run($memory)
{
${start}    for (uint32_t i = 0; i < ${count}u; ++i) {
        $call
    }
${last}}
""",
        result=result,
        prefix=b.prefix,
        memory=run_parameters(b),
        start=run_start(b),
        count=len(runs),
        call=_call(b, step, len(runs), code("\n        ")),
        last=last,
    )


def _in_steps(b: EmitContext) -> CCode:
    """One entry for each step."""
    steps = b.plan.steps
    result, last = run_result(b)
    return code(
        """\
/* The order. Each entry: which function, and its step. */
static const $kind plan_order[$count][2] = {
$entries
};

static $result ${prefix}_run($memory)
{
${start}    for (uint32_t i = 0; i < ${count}u; ++i) {
        functions[plan_order[i][0]]($arena, (int32_t)plan_order[i][1]);
    }
${last}}
""",
        kind=integer_type([max(each) for each in steps]),
        count=len(steps),
        entries=filled([code("{$node, $step}", node=node, step=step) for node, step in steps]),
        result=result,
        prefix=b.prefix,
        memory=run_parameters(b),
        start=run_start(b),
        arena=argument(b),
        last=last,
    )


def _plain_resumed(b: EmitContext, kind: CCode) -> CCode:
    """Returns the driver that continues where it waited for a row."""
    count = len(b.plan.runs)
    return code(
        """\
/* Goes on until the next row is needed; `row` is the one that is waited for, or NULL. */
static void ${prefix}_run(${prefix}_t *model, const void *row)
{
    while (model->line < $count) {
        const $kind *const at = plan_order[model->line];
        if (at[0] >= $receivers) {
            $call
        } else {
            if (row == NULL) {
${pause}                return;
            }
            $receive
            row = NULL;
            if (at[1] + ++model->step < at[2]) {
                continue;
            }
        }
        model->step = 0;
        ++model->line;
    }
}

/* The input whose row is waited for; -1 at the end. */
static int ${prefix}_waits_for(const ${prefix}_t *model)
{
    return model->line < $count ? (int)plan_order[model->line][0] : -1;
}
""",
        prefix=b.prefix,
        count=count,
        kind=kind,
        receivers=b.receivers,
        call=_call(b, _Step(code("at[0]"), code("at[1]"), code("at[2]")), count, code("\n            ")),
        pause=fetch_c.before_pause(b, 3),
        receive=_receive(b, code("at[0]"), code("at[1] + model->step")),
    )


def _entries(b: EmitContext) -> CCode:
    """The runs: a line with a comment for each where there are as many as operators; else as many on a line as fit."""
    runs = b.plan.runs
    entries = [
        code("{$node, $first, $end}", node=run.node, first=run.first_step, end=run.first_step + run.steps)
        for run in runs
    ]
    if len(runs) > len(b.graph.nodes):
        return code("$entries\n", entries=filled(entries))
    views = (b.graph.views[run.node] for run in runs)
    return lines(
        code("    $entry, $what\n", entry=entry, what=remark(f"{view.op.name} {plain(view.output.name)}"))
        for entry, view in zip(entries, views, strict=True)
    )


_MOST_LABELS = 4
_FIELDS = ("from", "to", "step", "steps", "further")
_ABOUT_LINES = (
    "The order, line by line: the functions `from` to `to`, one after another, each from step `step` on for `steps` steps; "
    "steps that a function does not have are skipped. A line with REPEAT runs the `to` lines above it again, until they ran "
    "`steps` times; each time they begin `further` steps further on. So a cascade fills, runs row by row, and drains."
)


def _in_lines(b: EmitContext) -> CCode:
    """Returns the order as lines for neighbouring functions and repetitions."""
    entries, steps = b.schedule.lines, [view.steps for view in b.graph.views]
    named = list(zip(_FIELDS, columns(entries), strict=True))
    # The widest fields first, so that there is no padding between them; equally wide ones stay in reading order.
    # `from` can hold REPEAT also where no line repeats: the drivers compare it.
    held = {name: (*column, len(steps)) if name == "from" else column for name, column in named}
    typed = sorted(named, key=lambda field: -integer_bits(held[field[0]]))
    rows = zip(*(column for _, column in typed), strict=True)
    names = [name for name, _ in typed]
    return code(
        """\
${about_steps}static const $kind plan_steps[$functions] = {
$steps
};

${about_lines}enum { REPEAT = $functions };

typedef struct {
${fields}} plan_line;

static const plan_line plan_order[$count] = {
${table}};

$driver""",
        about_steps=comment("How many steps each function has."),
        kind=integer_type(steps),
        functions=len(steps),
        steps=filled(steps),
        about_lines=comment(_ABOUT_LINES),
        fields=lines(code("    $kind $name;\n", kind=integer_type(held[name]), name=word(name)) for name in names),
        count=len(entries),
        table=lines(_row(b, line, names, row) for line, row in zip(entries, rows, strict=True)),
        driver=_driver(b, len(entries)),
    )


def _driver(b: EmitContext, count: int) -> CCode:
    """The function that follows lines."""
    if b.extras.slices:
        return slices_c.lines_driver(b, count)
    return _lines_resumed(b, count) if b.streams else _lines_driver(b, count)


def _row(b: EmitContext, line: Line, names: Sequence[str], numbers: Sequence[int]) -> CCode:
    """Returns one line of the table, followed by a comment with its meaning."""
    views = b.graph.views
    fields = [code("$number", number=number) for number in numbers]
    if line.start == len(views):
        fields[names.index("from")] = code("REPEAT")
        above = "the line" if line.last == 1 else f"the {line.last} lines"
        label = f"{above} above, {line.steps} times in all"
    else:
        labels = [views[node].op.name for node in range(line.start, line.last + 1)]
        label = f"{labels[0]} to {labels[-1]}" if len(labels) > _MOST_LABELS else ", ".join(labels)
    return code("    {$fields}, $what\n", fields=code(", ").join(fields), what=remark(label))


def _lines_resumed(b: EmitContext, count: int) -> CCode:
    """Returns the driver that continues where it waited for a row."""
    step = _Step(code("function"), code("step"), code("end"))
    return code(
        """\
/* Goes on until the next row is needed; `row` is the one that is waited for, or NULL. */
static void ${prefix}_run(${prefix}_t *model, const void *row)
{
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
            const int32_t step = first > 0 ? first : 0;
            const int32_t end = first + at.steps < limit ? first + at.steps : limit;
            if (function >= $receivers) {
                $call
            } else if (step + model->step < end) {
                if (row == NULL) {
${pause}                    return;
                }
                $receive
                row = NULL;
                ++model->step;
                continue;
            }
            model->step = 0;
            ++model->function;
        }
        model->function = 0;
        ++model->line;
    }
}

/* The input whose row is waited for; -1 at the end. */
static int ${prefix}_waits_for(const ${prefix}_t *model)
{
    return model->line < $count ? (int)plan_order[model->line].from + (int)model->function : -1;
}
""",
        prefix=b.prefix,
        count=count,
        cursor=b.cursor_type,
        receivers=b.receivers,
        call=_call(b, step, count, code("\n                ")),
        pause=fetch_c.before_pause(b, 4),
        receive=_receive(b, code("function"), code("step + model->step")),
    )


def _lines_driver(b: EmitContext, count: int) -> CCode:
    step = _Step(code("function"), code("step > 0 ? step : 0"), code("end < limit ? end : limit"))
    result, last = run_result(b)
    return code(
        """\
static $result ${prefix}_run($memory)
{
${start}    int32_t i = 0, turn = 0;
    while (i < $count) {
        const plan_line at = plan_order[i++];
        if (at.from == REPEAT) {
            turn = turn + 1 < at.steps ? turn + 1 : 0;
            i -= turn > 0 ? at.to + 1 : 0;
            continue;
        }
        const int32_t step = at.step + turn * at.further;
        const int32_t end = step + at.steps;
        for (uint32_t function = at.from; function <= at.to; ++function) {
            const int32_t limit = plan_steps[function];
            $call
        }
    }
${last}}
""",
        result=result,
        prefix=b.prefix,
        memory=run_parameters(b),
        start=run_start(b),
        count=count,
        call=_call(b, step, count, code("\n            ")),
        last=last,
    )
