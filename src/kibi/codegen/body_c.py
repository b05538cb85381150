"""C text of a graph inside of an operator: what its kernel needs to run it."""

from kibi.codegen.bindings import Bindings
from kibi.codegen.c_text import comment, plain


def header(b: Bindings) -> str:
    """The header: one constant."""
    upper = b.prefix.upper()
    return f"""#ifndef {upper}_H
#define {upper}_H

#include "kibi_body.h"

#ifdef __cplusplus
extern "C" {{
#endif

{comment(f"{plain(b.graph.source)}, which runs in {b.plan.arena_bytes} bytes of the scratch of an operator.")}\
extern const kibi_body {b.prefix};

#ifdef __cplusplus
}}
#endif

#endif
"""


def definition(b: Bindings) -> str:
    """The constant, and where inputs and outputs lie."""
    return (
        f"{_places(b, 'inputs', b.graph.inputs)}{_places(b, 'outputs', b.graph.outputs)}"
        f"const kibi_body {b.prefix} = {{{b.prefix}_run, {'body_inputs' if b.graph.inputs else 'NULL'}, body_outputs}};\n"
    )


def _places(b: Bindings, name: str, tensors: tuple[int, ...]) -> str:
    """A table of offsets; nothing for no tensors."""
    if not tensors:
        return ""
    offsets = ", ".join(f"{b.plan.row_offsets(b.graph, index)[0]}u" for index in tensors)
    return f"static const uint32_t body_{name}[{len(tensors)}] = {{{offsets}}};\n"
