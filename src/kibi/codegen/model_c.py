"""The C text of one model: its header, its steps, its constants."""

from collections.abc import Callable
from dataclasses import dataclass

from kibi.codegen import body_c, memory_c, shared_steps_c
from kibi.codegen.bindings import Bindings
from kibi.codegen.c_text import array, comment, literal, plain
from kibi.codegen.entry_c import declarations, definitions
from kibi.codegen.order_c import order
from kibi.codegen.rows_c import accessors, pointer_count, pointers
from kibi.codegen.shared_steps_c import SharedSteps, shared_steps
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


def body_text(b: Bindings) -> ModelText:
    """Write a graph inside of an operator: steps and weights of its own, run by the operator's kernel."""
    return ModelText(body_c.header(b), _source(b, body_c.definition), _weights_header(b), _weights_source(b))


def _header(b: Bindings) -> str:
    upper = b.prefix.upper()
    return f"""#ifndef {upper}_H
#define {upper}_H

#include "kibi.h"

#ifdef __cplusplus
extern "C" {{
#endif

{memory_c.macros(b)}{_constants(b, "INPUT", b.graph.inputs)}{_constants(b, "OUTPUT", b.graph.outputs)}{declarations(b)}
#ifdef __cplusplus
}}
#endif

#endif
"""


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


def _source(b: Bindings, ends: Callable[[Bindings], str] = definitions) -> str:
    """The functions of the steps, the order, and what others see of it."""
    includes = "".join(f'#include "{kernel}.h"\n' for kernel in sorted(b.kernels))
    includes += "".join(f'#include "{body.prefix}.h"\n' for body in b.bodies)
    shared = shared_steps(b)
    own = [number for number in range(len(b.graph.nodes)) if number not in shared.kinds]
    return "\n".join(
        [
            f'{_summary(b)}\n#include "{b.prefix}.h"\n\n{includes}#include "{b.prefix}_weights.h"\n{_library_includes(b)}',
            _arena_table(b),
            accessors(b, own),
            shared_steps_c.definitions(b, shared)
            + "\n".join(_step_function(b, shared, number) for number in range(len(b.graph.nodes))),
            order(b),
            ends(b),
        ]
    )


def _library_includes(b: Bindings) -> str:
    return "\n#include <string.h>\n" if b.streams or b.variables else ""


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


def _step_function(b: Bindings, shared: SharedSteps, number: int) -> str:
    site, call = b.graph.sites[number], b.calls[number]
    if site.op.receives:
        return _receiver(b, number)
    if number in shared.kinds:
        head = f"{_params(b, number, call)}\n{comment(_describe(b, number))}"
        return head + shared_steps_c.steps_function(b, shared, number)
    scratch = memory_c.scratch(b, b.plan.scratch_of(number))
    memory = memory_c.argument(b)
    c_type = "void" if call.is_untyped else site.row_tensors[0].type.dtype.c
    return (
        f"{_params(b, number, call)}\n{comment(_describe(b, number))}"
        f"static KIBI_NOINLINE void {b.function(number)}({memory_c.parameter(b)}, int32_t step, int32_t end)\n{{\n"
        f"    const {c_type} *rows[{pointer_count(b, number)}];\n{memory_c.states(b, number)}"
        f"    for (; step < end; ++step) {{\n{pointers(b, number)}"
        f"        {call.kernel}(row_{site.output.index}({memory}, {_made_row(site)}), rows, &params_{number}, "
        f"{scratch}{', step' if call.takes_step else ''}{', states' if site.op.states else ''});\n    }}\n}}\n"
    )


def _receiver(b: Bindings, number: int) -> str:
    """The function that copies a row of an input to its place."""
    site = b.graph.sites[number]
    return (
        f"{comment(_describe(b, number))}"
        f"static KIBI_NOINLINE void {b.function(number)}({memory_c.parameter(b)}, int32_t step, const void *row)\n{{\n"
        f"    memcpy(row_{site.output.index}({memory_c.argument(b)}, step), row, {site.output.type.row_bytes}u);\n}}\n"
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
    label = site.node.label
    return f"{label[0].upper()}{label[1:]}, {steps}: {'; '.join(named)}."


def _place(b: Bindings, tensor: Tensor) -> str:
    """Where a tensor lies, for comments; nothing for constants."""
    if not tensor.is_planned:
        return "" if tensor.is_constant else " in the state" if tensor.is_state else " supplied"
    buffers = b.plan.buffers_of(tensor.index)
    region = "" if b.is_plain else f" in {buffers[0].region}"
    return f" at {buffers[0].offset}{region}" if len(buffers) == 1 else f" by row{region}"


def _params(b: Bindings, number: int, call: KernelCall) -> str:
    values = {param.name: param.value for param in call.params}
    lines = []
    for field in b.fields(call):
        value = values.get(field.name, 0)
        if field.name in b.graph.nodes[number].op.body_names:
            text = f"&{b.body_name(number, field.name)}"
        elif field.is_pointer:
            text = "NULL" if value is None else b.constant_name(f"{b.prefix}_{number}_{field.name}")
        else:
            text = literal(value if isinstance(value, int | float) else 0, field.type)
        lines.append(
            f"    {text + ',':<12} /* {field.name} */" if not field.is_pointer else f"    {text}, /* {field.name} */"
        )
    body = "\n".join(lines)
    return f"static const {call.kernel}_params params_{number} = {{\n{body}\n}};\n"


def _weights_header(b: Bindings) -> str:
    upper = b.prefix.upper()
    declarations = "".join(
        f"extern const {DType.of(data).c} {name}[{data.size}];\n" for name, (data, _) in b.constants.items()
    )
    weights = memory_c.weight_macros(b) + "\n" if b.weight_regions else ""
    return f"""#ifndef {upper}_WEIGHTS_H
#define {upper}_WEIGHTS_H

#include "kibi.h"

{weights}#ifdef __cplusplus
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
        comment(plain(note)) + array(f"const {DType.of(data).c} {name}[{data.size}]{memory_c.in_region(b, name)}", data)
        for name, (data, note) in b.constants.items()
    )
    return f'#include "{b.prefix}_weights.h"\n\n{definitions}'
