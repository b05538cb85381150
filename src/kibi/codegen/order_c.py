"""C text of the order: a table, and the function that follows it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from kibi.codegen.bindings import Bindings
from kibi.codegen.c_text import comment, filled, integer_bits, integer_type, plain
from kibi.codegen.memory_c import argument, of_model, parameter, remaining, scratch
from kibi.codegen.turns import Entry, Group, fold

_PLAIN_DRIVER_BYTES = 54
_TURNS_DRIVER_BYTES = 164
"""What the two forms' drivers take of flash, compiled for a Cortex-M4 by zig at -Os."""


_END = "END_OF_ORDER"
"""Stands for the number of lines until it is known."""


@dataclass(frozen=True, slots=True)
class _Line:
    """A line of the table of turns: neighbouring functions, one after another, each from step `step` on; or a repetition.

    Attributes:
        start, last: the first and the last function; of a repetition the number of functions, and how many lines.
        step, steps, further: as in `Entry`; of a repetition 0, how often, 0.
    """

    start: int
    last: int
    step: int
    steps: int
    further: int


def order(b: Bindings) -> str:
    """The table of functions, that of the order in whichever form takes less flash, and what follows it."""
    count = len(b.graph.nodes)
    head = _table(b, "receivers", range(b.receivers), "const void *row") if b.receivers > 1 else ""
    head += _table(b, "functions", range(b.receivers, count), "int32_t end") + _ends(b)
    steps = [site.steps for site in b.graph.sites]
    lines = [line for group in fold(b.plan.runs, steps) for line in _lines(group, steps)]
    turns_bytes = _TURNS_DRIVER_BYTES + _line_bytes(lines) * len(lines) + integer_bits(steps) // 8 * count
    plain_bytes = _PLAIN_DRIVER_BYTES + 3 * integer_bits(_run_numbers(b)) // 8 * len(b.plan.runs)
    return head + (_turns(b, lines, steps) if turns_bytes < plain_bytes else _plain(b))


def _table(b: Bindings, name: str, nodes: range, last: str) -> str:
    """A table of the functions of some nodes."""
    functions = "".join(f"    {b.function(node)},\n" for node in nodes)
    kind = f"({parameter(b)}, int32_t step, {last})"
    return f"static void (*const {name}[{len(nodes)}]){kind} = {{\n{functions}}};\n\n"


def _ends(b: Bindings) -> str:
    """The function that says whether one that has run ends the inference; nothing where none does."""
    if not b.can_end:
        return ""
    cases = "".join(
        f"    case {number}:\n        return end == {b.graph.sites[number].steps} && {remaining(b, number)} != 0;\n"
        for number in b.stops
    ) + "".join(
        f"    case {number}:\n        return end == 1 && *({scratch(b, b.plan.scratch_of(number))}) != 0 ? 2 : 0;\n"
        for number in b.graph.loops
    )
    about = (
        "Whether a function that has run ends the inference: 1, it waits for further ones; 2, a loop reached its limit."
    )
    return (
        f"{comment(about)}"
        f"static int {b.prefix}_ends({parameter(b)}, int32_t function, int32_t end)\n{{\n    switch (function) {{\n{cases}"
        f"    default:\n        return 0;\n    }}\n}}\n\n"
    )


def _call(b: Bindings, function: str, step: str, end: str, indent: int) -> str:
    """The call of a function by its number, and what follows where it ends the inference.

    Those that receive have the lowest numbers.
    """
    index = f"{function} - {b.receivers}" if b.receivers else function
    memory = of_model(b) if b.streams else argument(b)
    call = f"functions[{index}]({memory}, {step}, {end});"
    if not b.can_end:
        return call
    margin = "\n" + " " * indent
    stopped = f"model->is_stopped = ({b.cursor_type})ended;"
    leave = [f"model->line = {_END};", stopped, "return;"] if b.streams else ["return ended;"]
    inner = "".join(f"{margin}    {statement}" for statement in leave)
    ended = f"const int ended = {b.prefix}_ends({memory}, (int32_t){function}, {end});"
    return f"{call}{margin}{ended}{margin}if (ended != 0) {{{inner}{margin}}}"


def _result(b: Bindings) -> tuple[str, str]:
    """The type of the driver of stored inputs, and its last statement: not 0 where the inference ended early."""
    return ("int", "    return 0;\n") if b.can_end or b.is_body else ("void", "")


def _receive(b: Bindings, function: str, step: str) -> str:
    """The call that copies a row."""
    receiver = b.function(0) if b.receivers == 1 else f"receivers[{function}]"
    return f"{receiver}({of_model(b)}, {step}, row);"


def _run_numbers(b: Bindings) -> list[int]:
    return [max(run.node, run.first_row + run.rows) for run in b.plan.runs]


def _plain(b: Bindings) -> str:
    """One entry for each run."""
    runs, kind = b.plan.runs, integer_type(_run_numbers(b))
    table = (
        f"{comment('The order. Each entry: which function, its first step, the end of its steps.')}"
        f"static const {kind} plan_order[{len(runs)}][3] = {{\n{_entries(b)}}};\n\n"
    )
    if b.streams:
        return table + _plain_resumed(b, kind)
    call = _call(b, "plan_order[i][0]", "(int32_t)plan_order[i][1]", "(int32_t)plan_order[i][2]", 8)
    kind, end = _result(b)
    return (
        f"{table}static {kind} {b.prefix}_run({parameter(b)})\n{{\n    for (uint32_t i = 0; i < {len(runs)}u; ++i) {{\n"
        f"        {call}\n    }}\n{end}}}\n"
    )


def _plain_resumed(b: Bindings, kind: str) -> str:
    """The driver that goes on where it waited for a row."""
    receive = _receive(b, "at[0]", "at[1] + model->step")
    call = _call(b, "at[0]", "at[1]", "at[2]", 12).replace(_END, str(len(b.plan.runs)))
    return f"""/* Goes on until the next row is needed; `row` is the one that is waited for, or NULL. */
static void {b.prefix}_run({b.prefix}_t *model, const void *row)
{{
    while (model->line < {len(b.plan.runs)}) {{
        const {kind} *const at = plan_order[model->line];
        if (at[0] >= {b.receivers}) {{
            {call}
        }} else {{
            if (row == NULL) {{
                return;
            }}
            {receive}
            row = NULL;
            if (at[1] + ++model->step < at[2]) {{
                continue;
            }}
        }}
        model->step = 0;
        ++model->line;
    }}
}}

/* The input whose row is waited for; -1 at the end. */
static int {b.prefix}_waits_for(const {b.prefix}_t *model)
{{
    return model->line < {len(b.plan.runs)} ? (int)plan_order[model->line][0] : -1;
}}
"""


def _entries(b: Bindings) -> str:
    """The runs: a line with a comment for each where there are as many as operators; else as many on a line as fit."""
    runs = b.plan.runs
    entries = [f"{{{run.node}, {run.first_row}, {run.first_row + run.rows}}}" for run in runs]
    if len(runs) > len(b.graph.nodes):
        return filled(entries) + "\n"
    named = ((entry, b.graph.sites[run.node]) for entry, run in zip(entries, runs, strict=True))
    return "".join(f"    {entry}, /* {site.op.name} {plain(site.output.name)} */\n" for entry, site in named)


def _lines(group: Group, steps: Sequence[int]) -> Iterator[_Line]:
    """A group's lines, and behind them the one that says how often, if it is more than once."""
    lines: list[_Line] = []
    mark = _Line(len(steps), 0, 0, group.turns, 0)
    for entry in group.entries:
        if lines and entry.node == lines[-1].last + 1 and _alike(entry, lines[-1], steps):
            lines[-1] = replace(lines[-1], last=entry.node, steps=max(lines[-1].steps, entry.steps))
        else:
            lines.append(_Line(entry.node, entry.node, entry.first, entry.steps, entry.further))
    yield from lines
    if group.turns > 1:
        yield replace(mark, last=len(lines))


def _alike(entry: Entry, line: _Line, steps: Sequence[int]) -> bool:
    """Whether a line can stand for an entry too; steps behind a node's last are left out."""
    if (entry.first, entry.further) != (line.step, line.further):
        return False
    wholes = (entry.steps >= steps[entry.node], line.steps >= max(steps[line.start : line.last + 1]))
    return entry.steps == line.steps or (entry.first == 0 and entry.further == 0 and all(wholes))


def _columns(lines: Sequence[_Line]) -> tuple[tuple[int, ...], ...]:
    return tuple(zip(*((line.start, line.last, line.step, line.steps, line.further) for line in lines), strict=True))


def _line_bytes(lines: Sequence[_Line]) -> int:
    """`sizeof` one line of the table."""
    sizes = [integer_bits(column) // 8 for column in _columns(lines)]
    total, widest = sum(sizes), max(sizes)
    return -(-total // widest) * widest


_MOST_LABELS = 4
_FIELDS = ("from", "to", "step", "steps", "further")
_ABOUT_LINES = (
    "The order, line by line: the functions `from` to `to`, one after another, each from step `step` on for `steps` steps, as "
    "far as it has them. A line with REPEAT runs the `to` lines above it again, until they ran `steps` times; each time they "
    "begin `further` steps further on. So a cascade fills, runs row by row, and drains."
)


def _turns(b: Bindings, lines: Sequence[_Line], steps: Sequence[int]) -> str:
    """Lines for neighbouring functions, and repetitions."""
    # The widest fields first, so that no padding lies between them; equal ones stay in reading order.
    typed = sorted(zip(_FIELDS, _columns(lines), strict=True), key=lambda field: -integer_bits(field[1]))
    fields = "".join(f"    {integer_type(column)} {name};\n" for name, column in typed)
    rows = zip(*(column for _, column in typed), strict=True)
    names = [name for name, _ in typed]
    table = "".join(_row(b, line, names, row) for line, row in zip(lines, rows, strict=True))
    limits = f"static const {integer_type(steps)} plan_steps[{len(steps)}] = {{\n{filled(map(str, steps))}\n}};\n\n"
    return (
        f"{comment('How many steps each function has.')}{limits}{comment(_ABOUT_LINES)}"
        f"enum {{ REPEAT = {len(steps)} }};\n\ntypedef struct {{\n{fields}}} plan_line;\n\n"
        f"static const plan_line plan_order[{len(lines)}] = {{\n{table}}};\n\n"
        f"{_turns_resumed(b, len(lines)) if b.streams else _turns_driver(b, len(lines))}"
    )


def _row(b: Bindings, line: _Line, names: Sequence[str], numbers: Sequence[int]) -> str:
    """One line of the table, with what it means behind it."""
    sites = b.graph.sites
    texts = list(map(str, numbers))
    if line.start == len(sites):
        texts[names.index("from")] = "REPEAT"
        lines = "the line" if line.last == 1 else f"the {line.last} lines"
        return f"    {{{', '.join(texts)}}}, /* {lines} above, {line.steps} times in all */\n"
    labels = [sites[node].op.name for node in range(line.start, line.last + 1)]
    label = f"{labels[0]} to {labels[-1]}" if len(labels) > _MOST_LABELS else ", ".join(labels)
    return f"    {{{', '.join(texts)}}}, /* {label} */\n"


def _turns_resumed(b: Bindings, count: int) -> str:
    """The driver that goes on where it waited for a row."""
    receive = _receive(b, "function", "step + model->step")
    call = _call(b, "function", "step", "end", 16).replace(_END, str(count))
    return f"""/* Goes on until the next row is needed; `row` is the one that is waited for, or NULL. */
static void {b.prefix}_run({b.prefix}_t *model, const void *row)
{{
    while (model->line < {count}) {{
        const plan_line at = plan_order[model->line];
        if (at.from == REPEAT) {{
            const int is_again = model->turn + 1 < at.steps;
            model->turn = ({b.cursor_type})(is_again ? model->turn + 1 : 0);
            model->line = ({b.cursor_type})(is_again ? model->line - at.to : model->line + 1);
            continue;
        }}
        while (at.from + model->function <= at.to) {{
            const int32_t function = at.from + model->function;
            const int32_t first = at.step + model->turn * at.further;
            const int32_t limit = plan_steps[function];
            const int32_t step = first > 0 ? first : 0;
            const int32_t end = first + at.steps < limit ? first + at.steps : limit;
            if (function >= {b.receivers}) {{
                {call}
            }} else if (step + model->step < end) {{
                if (row == NULL) {{
                    return;
                }}
                {receive}
                row = NULL;
                ++model->step;
                continue;
            }}
            model->step = 0;
            ++model->function;
        }}
        model->function = 0;
        ++model->line;
    }}
}}

/* The input whose row is waited for; -1 at the end. */
static int {b.prefix}_waits_for(const {b.prefix}_t *model)
{{
    return model->line < {count} ? (int)plan_order[model->line].from + (int)model->function : -1;
}}
"""


def _turns_driver(b: Bindings, count: int) -> str:
    call = _call(b, "function", "step > 0 ? step : 0", "end < limit ? end : limit", 12)
    kind, last = _result(b)
    return f"""static {kind} {b.prefix}_run({parameter(b)})
{{
    int32_t i = 0, turn = 0;
    while (i < {count}) {{
        const plan_line at = plan_order[i++];
        if (at.from == REPEAT) {{
            turn = turn + 1 < at.steps ? turn + 1 : 0;
            i -= turn > 0 ? at.to + 1 : 0;
            continue;
        }}
        const int32_t step = at.step + turn * at.further;
        const int32_t end = step + at.steps;
        for (uint32_t function = at.from; function <= at.to; ++function) {{
            const int32_t limit = plan_steps[function];
            {call}
        }}
    }}
{last}}}
"""
