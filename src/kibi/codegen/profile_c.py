"""C text that measures operators: nothing at all unless whoever compiles it asks for it."""

from kibi.codegen.c_text import call_statement
from kibi.codegen.emit_context import EmitContext
from kibi.codegen.schedule import Takes
from kibi.text.c import CCode, code, string_literal, word


def measured(b: EmitContext, number: int, body: CCode) -> CCode:
    """The body of a node's function, with the statements that report its steps and ticks."""
    node = b.graph.nodes[number]
    label = f"{b.prefix.text}: {node.label}" if b.is_subgraph else node.label
    given = [code("$number", number=node.source), string_literal(label)]
    is_loop = b.schedule.takes[number] is Takes.STEPS and not node.op.receives
    steps = code("end - step") if is_loop else code("1")
    return (
        code("    KIBI_OPERATOR_BEGIN($steps);\n", steps=steps)
        + body
        + call_statement(word("KIBI_OPERATOR_END"), given, 1)
    )
