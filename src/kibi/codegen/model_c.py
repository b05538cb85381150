"""The C text of one model: its header, its steps, its constants."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from kibi.codegen import fetch_c, lives_c, memory_c, shared_steps_c, staged_c, subgraph_c
from kibi.codegen.c_text import call_statement, integer_type, product, wrapped
from kibi.codegen.emit_context import EmitContext
from kibi.codegen.entry_c import declarations, definitions
from kibi.codegen.order_c import order
from kibi.codegen.profile_c import measured
from kibi.codegen.rows_c import accessors, pointers, row_pointer
from kibi.codegen.schedule import Takes
from kibi.codegen.shared_steps_c import SharedSteps, shared_steps
from kibi.dtypes import DType
from kibi.ir import KernelCall, NodeView, Tensor
from kibi.kernels import header_of
from kibi.kernels.params import Field, struct_name
from kibi.planner.plan import Buffer, buffer_name
from kibi.text.c import (
    CCode,
    array,
    code,
    comment,
    comment_lines,
    element_type,
    filled,
    include,
    lines,
    literal,
    plain,
    remark,
    type_name,
    word,
)
from kibi.text.file_name import FileName
from kibi.version import __version__

_VALUE_WIDTH = 11
_LINE_BYTES = 64
"""Of a line of a cache, on this machine."""
"""The width of the values of parameters, so that the comments after them line up."""


@dataclass(frozen=True, slots=True)
class ModelText:
    """The files of one model, without their first lines."""

    header: CCode
    source: CCode
    weights_header: CCode
    weights_source: CCode


def model_text(b: EmitContext) -> ModelText:
    """Writes one model."""
    return ModelText(_header(b), _source(b), _weights_header(b), _weights_source(b))


def body_text(b: EmitContext) -> ModelText:
    """Writes a graph inside of an operator, with its own steps and weights; the operator's kernel runs it."""
    return ModelText(subgraph_c.header(b), _source(b, subgraph_c.definition), _weights_header(b), _weights_source(b))


def _header(b: EmitContext) -> CCode:
    return code(
        """\
#ifndef ${upper}_H
#define ${upper}_H

#include "kernels/kibi.h"
${slots}
#ifdef __cplusplus
extern "C" {
#endif

${macros}${inputs}${outputs}${declarations}
#ifdef __cplusplus
}
#endif

#endif
""",
        upper=b.upper,
        slots=code('#include "kernels/kibi_newest_slot.h"\n') if b.extras.checkpoints else code(""),
        macros=memory_c.macros(b) + lives_c.macros(b),
        inputs=_constants(b, "input", b.graph.inputs),
        outputs=_constants(b, "output", b.graph.outputs),
        declarations=declarations(b),
    )


def _constants(b: EmitContext, role: str, tensors: tuple[int, ...]) -> CCode:
    """Macros that describe the inputs or outputs."""
    prefix = code("${upper}_$role", upper=b.upper, role=word(role).upper())
    parts = [code("\n#define ${prefix}S ${count}u\n", prefix=prefix, count=len(tensors))]
    for number, index in enumerate(tensors):
        tensor = b.graph.tensors[index]
        name = code("${prefix}_$number", prefix=prefix, number=number)
        parts.append(comment(f"{role} {number}: {plain(tensor.name)}, {tensor.type}"))
        parts.append(code("#define ${name}_ELEMENTS ${count}u\n", name=name, count=tensor.type.elements))
        parts.append(code("#define ${name}_BYTES ${count}u\n", name=name, count=tensor.type.size_bytes))
        quantization = tensor.type.quantization
        if quantization is not None and tensor.type.dtype is not DType.F32:
            scale, zero_point = literal(quantization.scale, "float"), quantization.zero_point
            parts.append(code("#define ${name}_SCALE $scale\n", name=name, scale=scale))
            parts.append(code("#define ${name}_ZERO_POINT ($zero)\n", name=name, zero=zero_point))
    return lines(parts)


def _source(b: EmitContext, ends: Callable[[EmitContext], CCode] = definitions) -> CCode:
    """The functions of the steps, the order, and what others see of it."""
    shared = shared_steps(b)
    own = [number for number in range(len(b.graph.nodes)) if number not in shared.kinds]
    steps = code("\n").join(_step_function(b, shared, number) for number in range(len(b.graph.nodes)))
    return code("\n").join(
        [
            _head(b),
            _arena_table(b),
            shared_steps_c.tables(b, shared) + accessors(b, own, shared.offsets),
            staged_c.definitions(b) + shared_steps_c.definitions(b, shared) + steps,
            order(b),
            ends(b),
        ]
    )


def _head(b: EmitContext) -> CCode:
    """Returns the head of the file: its purpose, and its includes."""
    has_copies = bool(staged_c.copied_nodes(b))
    headers = sorted({header_of(kernel) for kernel in b.kernels} | ({staged_c.HEADER} if has_copies else set()))
    kernels = lines(include(FileName(header, "kernels")) for header in headers)
    return code(
        """\
$summary
#include "$prefix.h"

${kernels}#include "${prefix}_weights.h"
$library""",
        summary=_summary(b),
        prefix=b.prefix,
        kernels=kernels + lines(code('#include "$name.h"\n', name=body.prefix) for body in b.subgraphs),
        library=code("\n#include <string.h>\n") if b.streams or b.variables or has_copies else code(""),
    )


def _summary(b: EmitContext) -> CCode:
    graph, plan = b.graph, b.plan
    text = (
        f"{plain(graph.source)}: {len(graph.nodes)} operators, {graph.macs} multiply-accumulates, "
        f"an arena of {plan.arena_bytes} bytes (no plan of this order needs less than {plan.lower_bound_bytes}).\n"
        f"Written by Kibi {__version__} for {b.target.name}. Each function below runs rows of one operator; the order is at "
        f"the end."
    )
    return comment(text)


def _arena_table(b: EmitContext) -> CCode:
    """Returns a comment that lists the place and the lifetime, in steps, of each buffer."""
    joined: dict[str, list[Buffer]] = {}
    for buffer in (each for each in b.plan.buffers if each.size_bytes):
        joined.setdefault(plain(buffer_name(b.graph, buffer)), []).append(buffer)
    rows = ["The arena:", f"{'offset':>8} {'bytes':>8}  {'steps':<13} what"]
    for name, buffers in joined.items():
        first, start, end = buffers[0], min(x.start for x in buffers), max(x.end for x in buffers)
        size = sum(x.size_bytes for x in buffers)
        place = str(first.offset) if len(buffers) == 1 else "by row"
        rows.append(f"{place:>8} {size:>8}  {f'{start} to {end - 1}':<13} {name}")
    return comment_lines(rows)


def _step_function(b: EmitContext, shared: SharedSteps, number: int) -> CCode:
    view, call = b.graph.views[number], b.calls[number]
    if view.op.receives:
        return _receiver(b, number)
    if view.op.fetches:
        return fetch_c.function(b, number, comment(_describe(b, number)))
    if view.op.waits:
        return fetch_c.waiting_function(b, number, comment(_describe(b, number)))
    head = code(
        "$params\n$sizes$about",
        params=_params(b, number, call, code("params_$number", number=b.numbers[number])) + _by_step(b, number),
        sizes=staged_c.sizes(b, number),
        about=comment(_describe(b, number)),
    )
    if number in shared.kinds:
        return head + shared_steps_c.steps_function(b, shared, number)
    takes = b.schedule.takes[number]
    body = memory_c.states(b, number) + fetch_c.parameters(b, number) + _copied(b, number)
    if takes is Takes.STEPS:
        # One call makes all rows of a wide node: a loop would keep what the next one needs on the stack.
        way = code("if (step < end)") if number in b.wide else code("for (; step < end; ++step)")
        body += code("    $way {\n${step}    }\n", way=way, step=_step(b, number, 2))
    else:
        body += _step(b, number, 1)
        body += code("    (void)step;\n") if takes is Takes.STEP and b.graph.views[number].steps == 1 else code("")
    body = measured(b, number, body)
    return code(
        """\
${head}static KIBI_NOINLINE void $function($parameters)
{
${body}}
""",
        head=head,
        function=b.function(number),
        parameters=memory_c.step_parameters(b, takes),
        body=body,
    )


def _copied(b: EmitContext, number: int) -> CCode:
    """The statement that copies a node's constants; nothing for a node without copies."""
    if number not in staged_c.copied_nodes(b):
        return code("")
    struct = word(struct_name(b.calls[number].kernel))
    return staged_c.copy(b, number, code("const $struct *const params = (const $struct *)", struct=struct))


def _step(b: EmitContext, number: int, depth: int) -> CCode:
    """One step of a node: the pointers to the rows that it reads, and the call of its kernel."""
    view, kernel_call = b.graph.views[number], b.calls[number]
    step = code("") if b.schedule.takes[number] is Takes.NOTHING else code("step")
    output = code("outputs") if view.op.has_several_outputs else _made(b, view, 0, step)
    params = code("&params_$number", number=b.numbers[number]) if view.window is None else code("&params")
    params = code("params") if number in staged_c.copied_nodes(b) else params
    narrow = code(" || ").join(code("step == $k", k=k) for k in b.narrow_steps(number))
    if b.narrow_steps(number):
        params = code("$narrow ? &narrow_$number : $params", narrow=narrow, number=b.numbers[number], params=params)
    first = b.plan.scratch_of(number)
    scratch = memory_c.scratch(b, first)
    if first is not None and len(b.scratch_offsets(number)) > 1:
        start = memory_c.of_region(b, first.region, memory_c.argument(b))
        scratch = code("$start + scratch_$number[step]", start=start, number=b.numbers[number])
    given = [output, code("rows"), params, scratch]
    given += [step or code("0")] if kernel_call.takes_step else []
    given += [code("states")] if view.op.states else []
    given += [code("bodies_$number", number=b.numbers[number])] if view.op.subgraph_names else []
    found = (
        fetch_c.step_parameters_of(b, number, step, depth)
        + pointers(b, number, step, depth)
        + _outputs(b, view, step, depth)
    )
    return found + call_statement(word(kernel_call.kernel), given, depth)


def _receiver(b: EmitContext, number: int) -> CCode:
    """The function that copies a row of an input to its place."""
    view = b.graph.views[number]
    unused = code("    (void)step;\n") if view.output.type.rows == 1 else code("")
    place = row_pointer(b, view.output, code("step"))
    copy = code("    (void)memcpy($place, row, ${bytes}u);\n", place=place, bytes=view.output.type.row_bytes)
    return code(
        """\
${about}static KIBI_NOINLINE void $function($memory, int32_t step, const void *row)
{
${body}}
""",
        about=comment(_describe(b, number)),
        function=b.function(number),
        memory=memory_c.parameter(b),
        body=measured(b, number, unused + copy),
    )


def _made(b: EmitContext, view: NodeView, output: int, step: CCode) -> CCode:
    """The first row of an output that a step makes; a kernel that accumulates is given the output's first row in each step."""
    row = code("0") if view.accumulates or not step else product(step, len(view.made_rows(0, output)))
    return row_pointer(b, view.outputs[output], row)


def _outputs(b: EmitContext, view: NodeView, step: CCode, depth: int) -> CCode:
    """The table of the rows that a step makes; nothing for an operator with one output."""
    if not view.op.has_several_outputs:
        return code("")
    made = [_made(b, view, output, step) for output in range(len(view.outputs))]
    head = code("void *const outputs[$count] = {", count=len(made))
    return wrapped(head, made, code("};\n"), depth)


def _describe(b: EmitContext, number: int) -> str:
    """Operator, tensors, shapes."""
    view = b.graph.views[number]
    named = [
        f"{name} {plain(tensor.name)} {tensor.type}{_place(b, tensor)}"
        for name, tensor in view.operands
        if tensor is not None
    ]
    steps = f"{view.steps} step{'s' if view.steps > 1 else ''}"
    label = view.node.label
    return f"{label[0].upper()}{label[1:]}, {steps}: {'; '.join(named)}."


def _place(b: EmitContext, tensor: Tensor) -> str:
    """Returns the place of a tensor, for comments; empty for constants."""
    if not tensor.is_planned:
        return "" if tensor.is_constant else " in the state" if tensor.is_state else " external"
    buffers = b.plan.buffers_of(tensor.index)
    region = "" if b.is_plain else f" in {buffers[0].region}"
    return f" at {buffers[0].offset}{region}" if len(buffers) == 1 else f" by row{region}"


def _by_step(b: EmitContext, number: int) -> CCode:
    """The parameters of steps with less scratch, and where the scratch of each step is; nothing where all steps have one."""
    found = code("")
    if b.narrow_steps(number):
        found += _params(b, number, b.narrow[number], code("narrow_$number", number=b.numbers[number]))
    offsets = b.scratch_offsets(number)
    if len(offsets) > 1:
        found += code(
            "static const $kind scratch_$number[$count] = {\n$rows\n};\n",
            kind=integer_type(offsets),
            number=b.numbers[number],
            count=len(offsets),
            rows=filled(offsets),
        )
    return found


def _params(b: EmitContext, number: int, call: KernelCall, name: CCode) -> CCode:
    values = call.by_name
    if b.graph.views[number].window is not None:
        values = {name: value for name, value in values.items() if name not in call.constants}
    return code(
        """\
static const $struct $name = {
$fields
};
$bodies""",
        struct=word(struct_name(call.kernel)),
        name=name,
        fields=code("\n").join(_field(b, number, field, values.get(field.name, 0)) for field in b.fields(call)),
        bodies=_bodies(b, number),
    )


def _bodies(b: EmitContext, number: int) -> CCode:
    """The table of the graphs that a kernel runs; nothing for one that runs none."""
    names = b.graph.views[number].op.subgraph_names
    if not names:
        return code("")
    head = code(
        "static const kibi_subgraph *const bodies_$number[$count] = {", number=b.numbers[number], count=len(names)
    )
    return wrapped(head, [code("&$name", name=b.body_name(number, name)) for name in names], code("};\n"), -1)


def _field(b: EmitContext, number: int, field: Field, value: object) -> CCode:
    """A field's value, and its name."""
    name = remark(field.name)
    if field.is_pointer:
        given = code("NULL") if not isinstance(value, np.ndarray) else b.constant_name(b.own(number, word(field.name)))
    else:
        given = literal(value if isinstance(value, int | float) else 0, field.type)
    if field.is_packed and value is not None:
        given = code("(const $kind *)$given", kind=type_name(field.type), given=given)
    if field.is_pointer:
        return code("    $given, $name", given=given, name=name)
    padding = code("").join([code(" ")] * (_VALUE_WIDTH - len(given.text)))
    return code("    $given,$padding $name", given=given, padding=padding, name=name)


def _weights_header(b: EmitContext) -> CCode:
    return code(
        """\
#ifndef ${upper}_WEIGHTS_H
#define ${upper}_WEIGHTS_H

#include "kernels/kibi.h"

${weights}#ifdef __cplusplus
extern "C" {
#endif

$declarations
#ifdef __cplusplus
}
#endif

#endif
""",
        upper=b.upper,
        weights=code("$macros\n", macros=memory_c.weight_macros(b)) if b.weight_regions else code(""),
        declarations=lines(
            code("extern const $kind $name[$count];\n", kind=element_type(DType.of(data)), name=name, count=data.size)
            for name, (data, _) in b.constants.items()
        ),
    )


def _weights_source(b: EmitContext) -> CCode:
    """The arrays; for this machine, those that vectors may read begin where a line of a cache does."""
    definitions = []
    for name, (data, note) in b.constants.items():
        declaration = code(
            "const $kind $name[$count]$region$place",
            kind=element_type(DType.of(data)),
            name=name,
            count=data.size,
            region=memory_c.in_region(b, name),
            place=code(" KIBI_AT_LINE") if b.target.is_host and data.nbytes >= _LINE_BYTES else code(""),
        )
        definitions.append(comment(note) + array(declaration, data))
    return code(
        '#include "${prefix}_weights.h"\n\n$definitions',
        prefix=b.prefix,
        definitions=code("\n").join(definitions),
    )
