"""C text of the order: calls one after another and loops, as a person would write them; or a table where that is too long."""

from kibi.codegen.c_text import call_statement, indentation, product, total
from kibi.codegen.emit_context import EmitContext
from kibi.codegen.memory_c import Ending, argument, ending, run_parameters, run_result, run_start
from kibi.codegen.order_table_c import order_table
from kibi.codegen.schedule import Block, Form, blocks
from kibi.codegen.schedule_folding import Entry, Group
from kibi.text.c import LINE_WIDTH, CCode, code, comment, lines, remark

_ABOUT = (
    "One inference, in the order of the plan. Each call computes rows of one operator: all, one, or those from a first one "
    "to before another one."
)


def order(b: EmitContext) -> CCode:
    """The function that runs the model, with the tables that it needs."""
    if b.schedule.form is not Form.CODE:
        return order_table(b)
    result, last = run_result(b)
    return code(
        """\
${about}static $result ${prefix}_run($memory)
{
${start}${body}${last}}
""",
        about=comment(_ABOUT),
        result=result,
        prefix=b.prefix,
        memory=run_parameters(b),
        start=run_start(b),
        body=lines(_group(b, group) for group in b.schedule.groups),
        last=last,
    )


def _group(b: EmitContext, group: Group) -> CCode:
    if group.turns == 1:
        return lines(_call(b, entry, 1, range(1)) for entry in group.entries)
    steps = [view.steps for view in b.graph.views]
    return code(
        """\
    for (int32_t i = 0; i < $turns; ++i) {
${body}    }
""",
        turns=group.turns,
        body=lines(_block(b, block, group.turns) for block in blocks(group, steps)),
    )


def _block(b: EmitContext, block: Block, turns: int) -> CCode:
    """Returns the calls of some entries, with conditions for iterations in which they have no steps."""
    conditions = [code("i >= $first", first=block.first)] if block.first else []
    conditions += [code("i < $end", end=block.end)] if block.end < turns else []
    active = range(block.first, block.end)
    if not conditions:
        return lines(_call(b, entry, 2, active) for entry in block.entries)
    return code(
        "        if ($condition) {\n${calls}        }\n",
        condition=code(" && ").join(conditions),
        calls=lines(_call(b, entry, 3, active) for entry in block.entries),
    )


def _call(b: EmitContext, entry: Entry, depth: int, active: range) -> CCode:
    """Returns the call of a node's function, and the check after it if the node may end the inference.

    Args:
        b: what is written.
        entry: which steps.
        depth: of the indentation.
        active: the iterations of the loop around it in which it runs; of one if it has none.
    """
    takes, given = b.schedule.takes[entry.node], [argument(b)]
    count = b.graph.views[entry.node].steps
    firsts = [entry.first + i * entry.further for i in active]
    first, end = _number(entry, 0, len(active)), _number(entry, entry.steps, len(active))
    if min(firsts) < 0:
        first = code("($first > 0 ? $first : 0)", first=first)
    if max(firsts) + entry.steps > count:
        end = code("($end < $count ? $end : $count)", end=end, count=count)
    if len(active) == 1:
        first = code("$first", first=max(firsts[0], 0))
        end = code("$end", end=min(firsts[0] + entry.steps, count))
    given += [first, end][: takes.value]
    made = _labelled(b, entry.node, call_statement(b.function(entry.node), given, depth))
    may_end = ending(b, entry.node)
    if may_end is None:
        return made
    if may_end.end is not None and not any(at < may_end.end <= at + entry.steps for at in firsts):
        return made
    return made + _leave(may_end, end, is_certain=len(active) == 1, indent=indentation(depth))


def _labelled(b: EmitContext, number: int, statement: CCode) -> CCode:
    """Returns a call, with a comment on its output if the line has room for it."""
    name = b.tensor_names[b.graph.views[number].output.index].text
    line, _ = statement.divided("\n")
    found = code("$line $what\n", line=line, what=remark(name))
    return found if "\n" not in line.text and len(found.text) <= LINE_WIDTH + 1 else statement


def _number(entry: Entry, beyond: int, iterations: int) -> CCode:
    """The number of a step in iteration `i`."""
    moving = product(code("i"), entry.further) if iterations > 1 else code("")
    return total(code(""), entry.first + beyond, moving)


def _leave(may_end: Ending, end: CCode, *, is_certain: bool, indent: CCode) -> CCode:
    """The statement that ends the inference."""
    condition = may_end.condition
    if not is_certain and may_end.end is not None:
        condition = code("$end >= $last && $condition", end=end, last=may_end.end, condition=condition)
    return code(
        "${indent}if ($condition) {\n$indent    return $result;\n$indent}\n",
        indent=indent,
        condition=condition,
        result=may_end.result,
    )
