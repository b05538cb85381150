"""The C text of one model: its header, its steps, its constants."""

from dataclasses import dataclass

from kibi.codegen.bindings import Bindings
from kibi.codegen.c_text import array, comment, filled, literal, plain
from kibi.codegen.rows_c import accessors, fill_rows, pointer_count, pointers
from kibi.dtypes import DType
from kibi.ir import KernelCall, Site, Tensor
from kibi.planner.plan import Buffer, buffer_name
from kibi.version import __version__


@dataclass(frozen=True, slots=True)
class ModelText:
    """The files of one model, without their first lines."""

    header: str
    source: str
    weights_header: str
    weights_source: str


def model_text(b: Bindings) -> ModelText:
    """Write one model."""
    return ModelText(_header(b), _source(b), _weights_header(b), _weights_source(b))


def arena_alignment(b: Bindings) -> int:
    """The alignment that the arena's start must have: that of the most aligned buffer."""
    return max((buffer.alignment for buffer in b.plan.buffers), default=1)


def _header(b: Bindings) -> str:
    name, upper = b.prefix, b.prefix.upper()
    inputs, outputs = (_accessor_type(b, tensors) for tensors in (b.graph.inputs, b.graph.outputs))
    return f"""#ifndef {upper}_H
#define {upper}_H

#include "kibi.h"

#ifdef __cplusplus
extern "C" {{
#endif

#define {upper}_ARENA_BYTES {b.plan.arena_bytes}u
#define {upper}_ARENA_ALIGNMENT {arena_alignment(b)}u
{_constants(b, "INPUT", b.graph.inputs)}{_constants(b, "OUTPUT", b.graph.outputs)}
/* All that the library keeps between calls. The caller owns it; no field is for the caller's use. */
typedef struct {{
    uint8_t *arena;
}} {name}_t;

/* Gives the model its arena: {upper}_ARENA_BYTES bytes, aligned to {upper}_ARENA_ALIGNMENT. The bytes belong to the model
 * only from the moment that inputs are written until outputs have been read; models may share them in turn. */
kibi_status {name}_init({name}_t *model, void *arena, size_t arena_bytes);

/* Where to write input `index` before each {name}_invoke, which overwrites it; NULL if there is none. */
{inputs} *{name}_input({name}_t *model, unsigned index);

/* Where output `index` lies after {name}_invoke, until the arena is used again; NULL if there is none. */
const {outputs} *{name}_output(const {name}_t *model, unsigned index);

/* One inference. */
kibi_status {name}_invoke({name}_t *model);

#ifdef __cplusplus
}}
#endif

#endif
"""


def _accessor_type(b: Bindings, tensors: tuple[int, ...]) -> str:
    kinds = {b.graph.tensors[index].type.dtype.c for index in tensors}
    return kinds.pop() if len(kinds) == 1 else "void"


def _constants(b: Bindings, role: str, tensors: tuple[int, ...]) -> str:
    """Macros that describe the inputs or outputs."""
    upper = b.prefix.upper()
    text = f"\n#define {upper}_{role}S {len(tensors)}u\n"
    for number, index in enumerate(tensors):
        tensor = b.graph.tensors[index]
        text += comment(f"{role.lower()} {number}: {plain(tensor.name)}, {tensor.type}")
        text += f"#define {upper}_{role}_{number}_ELEMENTS {tensor.type.elements}u\n"
        text += f"#define {upper}_{role}_{number}_BYTES {tensor.type.size_bytes}u\n"
        quantization = tensor.type.quantization
        if quantization is not None and tensor.type.dtype is not DType.F32:
            text += f"#define {upper}_{role}_{number}_SCALE {literal(quantization.scale, 'float')}\n"
            text += f"#define {upper}_{role}_{number}_ZERO_POINT ({quantization.zero_point})\n"
    return text


def _source(b: Bindings) -> str:
    includes = "".join(f'#include "{kernel}.h"\n' for kernel in sorted(b.kernels))
    return "\n".join(
        [
            f'{_summary(b)}\n#include "{b.prefix}.h"\n\n{includes}#include "{b.prefix}_weights.h"\n',
            _arena_table(b),
            fill_rows(b) + accessors(b),
            "\n".join(_step_function(b, number) for number in range(len(b.graph.nodes))),
            _order(b),
            _entry_points(b),
        ]
    )


def _summary(b: Bindings) -> str:
    graph, plan = b.graph, b.plan
    text = (
        f"{plain(graph.source)}: {len(graph.nodes)} operators, {graph.macs} multiply-accumulates, "
        f"an arena of {plan.arena_bytes} bytes (no plan of this order needs less than {plan.lower_bound_bytes}).\n"
        f"Written by Kibi {__version__} for {b.target.name}. Each function below runs rows of one operator; the order is at "
        f"the end."
    )
    return comment(text)


def _arena_table(b: Bindings) -> str:
    """A comment: what lies where, and during which steps."""
    joined: dict[str, list[Buffer]] = {}
    for buffer in b.plan.buffers:
        joined.setdefault(plain(buffer_name(b.graph, buffer)), []).append(buffer)
    lines = ["The arena:", f"{'offset':>8} {'bytes':>8}  {'steps':<13} what"]
    for name, buffers in joined.items():
        first, start, end = buffers[0], min(x.start for x in buffers), max(x.end for x in buffers)
        size = sum(x.size_bytes for x in buffers)
        place = str(first.offset) if len(buffers) == 1 else "by row"
        lines.append(f"{place:>8} {size:>8}  {f'{start} to {end - 1}':<13} {name}")
    body = "\n".join(f" * {line}".rstrip() for line in lines[1:])
    return f"/* {lines[0]}\n{body} */\n"


def _step_function(b: Bindings, number: int) -> str:
    site, call = b.graph.sites[number], b.calls[number]
    scratch = b.plan.scratch_of(number)
    scratch_text = "NULL" if scratch is None else f"arena + {scratch.offset}" if scratch.offset else "arena"
    c_type = site.row_tensors[0].type.dtype.c
    return (
        f"{_params(b, number, call)}\n{comment(_describe(b, number))}"
        f"static KIBI_NOINLINE void {b.function(number)}(uint8_t *arena, int32_t step, int32_t end)\n{{\n"
        f"    const {c_type} *rows[{pointer_count(b, number)}];\n"
        f"    for (; step < end; ++step) {{\n{pointers(b, number)}"
        f"        {call.kernel}(row_{site.output.index}(arena, {_made_row(site)}), rows, &params_{number}, "
        f"{scratch_text}{', step' if call.takes_step else ''});\n    }}\n}}\n"
    )


def _made_row(site: Site) -> str:
    """The first row that step `step` makes; a kernel that accumulates is given the output's first row in each step."""
    if site.op.accumulates(site):
        return "0"
    rows = len(site.made_rows(0))
    return f"step * {rows}" if rows > 1 else "step"


def _describe(b: Bindings, number: int) -> str:
    """Operator, tensors, shapes."""
    site = b.graph.sites[number]
    named = [
        f"{name} {plain(tensor.name)} {tensor.type}{_place(b, tensor)}"
        for name, tensor in site.operands
        if tensor is not None
    ]
    steps = f"{site.steps} step{'s' if site.steps > 1 else ''}"
    return f"Operator {site.node.source}, {site.op.name}, {steps}: {'; '.join(named)}."


def _place(b: Bindings, tensor: Tensor) -> str:
    """Where a tensor lies, for comments; nothing for constants."""
    if tensor.is_constant:
        return ""
    buffers = b.plan.buffers_of(tensor.index)
    return f" at {buffers[0].offset}" if len(buffers) == 1 else " by row"


def _params(b: Bindings, number: int, call: KernelCall) -> str:
    values = {param.name: param.value for param in call.params}
    lines = []
    for field in b.fields(call):
        value = values.get(field.name, 0)
        if field.is_pointer:
            text = "NULL" if value is None else b.constant_name(f"{b.prefix}_{number}_{field.name}")
        else:
            text = literal(value if isinstance(value, int | float) else 0, field.type)
        lines.append(
            f"    {text + ',':<12} /* {field.name} */" if not field.is_pointer else f"    {text}, /* {field.name} */"
        )
    body = "\n".join(lines)
    return f"static const {call.kernel}_params params_{number} = {{\n{body}\n}};\n"


def _order(b: Bindings) -> str:
    """The table of runs, and the function that follows it."""
    name, runs = b.prefix, b.plan.runs
    functions = "".join(f"    {b.function(node)},\n" for node in range(len(b.graph.nodes)))
    largest = max(max(run.node, run.first_row + run.rows) for run in runs)
    unsigned = next(bits for bits in (8, 16, 32) if largest < 1 << bits)
    return (
        f"static void (*const functions[{len(b.graph.nodes)}])(uint8_t *arena, int32_t step, int32_t end) = {{\n{functions}}};\n\n"
        f"{comment('The order. Each entry: which function, its first step, the end of its steps.')}"
        f"static const uint{unsigned}_t order[{len(runs)}][3] = {{\n{_entries(b)}}};\n\n"
        f"static void {name}_run(uint8_t *arena)\n{{\n    for (uint32_t i = 0; i < {len(runs)}u; ++i) {{\n"
        f"        functions[order[i][0]](arena, (int32_t)order[i][1], (int32_t)order[i][2]);\n    }}\n}}\n"
    )


def _entries(b: Bindings) -> str:
    """The runs: a line with a comment for each where there are as many as operators; else as many on a line as fit."""
    runs = b.plan.runs
    entries = [f"{{{run.node}, {run.first_row}, {run.first_row + run.rows}}}" for run in runs]
    if len(runs) > len(b.graph.nodes):
        return filled(entries) + "\n"
    named = ((entry, b.graph.sites[run.node]) for entry, run in zip(entries, runs, strict=True))
    return "".join(f"    {entry}, /* {site.op.name} {plain(site.output.name)} */\n" for entry, site in named)


def _entry_points(b: Bindings) -> str:
    name, upper = b.prefix, b.prefix.upper()
    inputs, outputs = (_accessor_type(b, tensors) for tensors in (b.graph.inputs, b.graph.outputs))
    return f"""kibi_status {name}_init({name}_t *model, void *arena, size_t arena_bytes)
{{
    if (model == NULL) {{
        return KIBI_ERROR_NULL;
    }}
    model->arena = NULL;
    if (arena == NULL) {{
        return KIBI_ERROR_NULL;
    }}
    if (arena_bytes < {upper}_ARENA_BYTES) {{
        return KIBI_ERROR_ARENA_SIZE;
    }}
    if ((uintptr_t)arena % {upper}_ARENA_ALIGNMENT != 0u) {{
        return KIBI_ERROR_ARENA_ALIGNMENT;
    }}
    model->arena = (uint8_t *)arena;
    return KIBI_OK;
}}

{inputs} *{name}_input({name}_t *model, unsigned index)
{{
    if (model == NULL || model->arena == NULL) {{
        return NULL;
    }}
    switch (index) {{
{_places(b, b.graph.inputs, inputs, "model->arena")}    default:
        return NULL;
    }}
}}

const {outputs} *{name}_output(const {name}_t *model, unsigned index)
{{
    if (model == NULL || model->arena == NULL) {{
        return NULL;
    }}
    switch (index) {{
{_places(b, b.graph.outputs, f"const {outputs}", "model->arena")}    default:
        return NULL;
    }}
}}

kibi_status {name}_invoke({name}_t *model)
{{
    if (model == NULL) {{
        return KIBI_ERROR_NULL;
    }}
    if (model->arena == NULL) {{
        return KIBI_ERROR_NOT_INITIALIZED;
    }}
    {name}_run(model->arena);
    return KIBI_OK;
}}
"""


def _places(b: Bindings, tensors: tuple[int, ...], c_type: str, arena: str) -> str:
    text = ""
    for number, index in enumerate(tensors):
        tensor = b.graph.tensors[index]
        if tensor.is_constant:
            place = b.constant_name(b.tensor_constant(tensor))
        else:
            offset = b.plan.row_offsets(b.graph, index)[0]
            place = f"({c_type} *)(void *)({arena} + {offset})" if offset else f"({c_type} *)(void *){arena}"
        text += f"    case {number}:\n        return {place};\n"
    return text


def _weights_header(b: Bindings) -> str:
    upper = b.prefix.upper()
    declarations = "".join(
        f"extern const {DType.of(data).c} {name}[{data.size}];\n" for name, (data, _) in b.constants.items()
    )
    return f"""#ifndef {upper}_WEIGHTS_H
#define {upper}_WEIGHTS_H

#include "kibi.h"

#ifdef __cplusplus
extern "C" {{
#endif

{declarations}
#ifdef __cplusplus
}}
#endif

#endif
"""


def _weights_source(b: Bindings) -> str:
    definitions = "\n".join(
        comment(plain(note)) + array(f"const {DType.of(data).c} {name}[{data.size}]", data)
        for name, (data, note) in b.constants.items()
    )
    return f'#include "{b.prefix}_weights.h"\n\n{definitions}'
