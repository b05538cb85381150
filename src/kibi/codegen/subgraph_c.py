"""C text of a graph inside of an operator: the constant that its kernel needs to run the graph."""

from kibi.codegen.emit_context import EmitContext
from kibi.text.c import CCode, code, comment, plain, word


def header(b: EmitContext) -> CCode:
    """The header: one constant."""
    return code(
        """\
#ifndef ${upper}_H
#define ${upper}_H

#include "kernels/kibi_subgraph.h"

#ifdef __cplusplus
extern "C" {
#endif

${about}extern const kibi_subgraph $prefix;

#ifdef __cplusplus
}
#endif

#endif
""",
        upper=b.upper,
        prefix=b.prefix,
        about=comment(
            f"{plain(b.graph.source)}, which runs in {b.plan.arena_bytes} bytes of the scratch of an operator."
        ),
    )


def definition(b: EmitContext) -> CCode:
    """Returns the definition of the constant, and of the tables of places of inputs and outputs."""
    return code(
        "${inputs}${outputs}const kibi_subgraph $prefix = {${prefix}_run, $given, body_outputs};\n",
        inputs=_places(b, "inputs", b.graph.inputs),
        outputs=_places(b, "outputs", b.graph.outputs),
        prefix=b.prefix,
        given=code("body_inputs") if b.graph.inputs else code("NULL"),
    )


def _places(b: EmitContext, name: str, tensors: tuple[int, ...]) -> CCode:
    """A table of offsets; nothing for no tensors."""
    if not tensors:
        return code("")
    offsets = (code("${offset}u", offset=b.plan.row_offsets(b.graph, index)[0]) for index in tensors)
    return code(
        "static const uint32_t body_$name[$count] = {$offsets};\n",
        name=word(name),
        count=len(tensors),
        offsets=code(", ").join(offsets),
    )
