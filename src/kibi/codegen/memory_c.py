"""C text of memory: the arena alone, or several regions and the external buffers."""

from dataclasses import dataclass

from kibi.codegen.emit_context import LEAST_ALIGNMENT, EmitContext
from kibi.codegen.events_c import refuse
from kibi.codegen.schedule import Takes
from kibi.ir import Tensor
from kibi.planner.plan import Buffer
from kibi.text.c import CCode, code, comment, lines, plain


def parameter(b: EmitContext) -> CCode:
    """Returns the parameter by which functions take the memory: one pointer if there is only the arena."""
    return code("uint8_t *arena") if b.is_plain else code("uint8_t *const *memory")


def argument(b: EmitContext) -> CCode:
    """The name of that parameter."""
    return code("arena") if b.is_plain else code("memory")


def local(b: EmitContext) -> CCode:
    """The declaration of a constant of the name and type of that parameter."""
    return code("uint8_t *const arena") if b.is_plain else code("uint8_t *const *const memory")


def step_parameters(b: EmitContext, takes: Takes) -> CCode:
    """Returns the parameters of a node's function."""
    further = {Takes.NOTHING: code(""), Takes.STEP: code(", int32_t step")}
    return parameter(b) + further.get(takes, code(", int32_t step, int32_t end"))


def of_model(b: EmitContext) -> CCode:
    """The memory of `model`."""
    return code("model->$memory", memory=argument(b))


def base(b: EmitContext, tensor: Tensor, memory: CCode) -> CCode:
    """The pointer from which the offsets of a tensor's rows count."""
    if tensor.is_state:
        start = code("$memory[$number]", memory=memory, number=_regions(b) + len(b.external))
        place = b.variables[b.graph.variable_of(tensor.index)]
        return code("($start + $place)", start=start, place=place) if place else start
    if tensor.is_external:
        return code("$memory[$number]", memory=memory, number=_regions(b) + b.external.index(tensor.index))
    return of_region(b, b.plan.buffers_of(tensor.index)[0].region, memory)


def of_region(b: EmitContext, region: str, memory: CCode) -> CCode:
    """The pointer to a region's first byte."""
    return memory if b.is_plain else code("$memory[$number]", memory=memory, number=region_names(b).index(region))


def region_names(b: EmitContext) -> list[str]:
    """The names of the regions that `init` is given, in their order; `arena` alone where there are none."""
    return [use.name for use in b.regions] or [b.plan.region_names[0]]


def region_sizes(b: EmitContext) -> list[int]:
    """The bytes of buffers in each of these regions."""
    return [use.used_bytes for use in b.regions] or [b.plan.arena_bytes]


def starts(b: EmitContext) -> list[CCode]:
    """The pointers that `model` has to the first byte of each of these regions."""
    return [of_region(b, name, of_model(b)) for name in region_names(b)]


def scratch(b: EmitContext, buffer: Buffer | None) -> CCode:
    """The scratch of a node."""
    if buffer is None:
        return code("NULL")
    start = of_region(b, buffer.region, argument(b))
    return code("$start + $offset", start=start, offset=buffer.offset) if buffer.offset else start


def states(b: EmitContext, number: int) -> CCode:
    """A definition of the pointers to a node's states; nothing where it has none."""
    view = b.graph.views[number]
    if not view.op.states:
        return code("")
    places = code(", ").join(base(b, view[name], argument(b)) for name in view.op.states)
    return code("    void *const states[$count] = {$places};\n", count=len(view.op.states), places=places)


@dataclass(frozen=True, slots=True)
class Ending:
    """The way in which a node may end an inference early.

    Attributes:
        end: the number of steps after which it ends; 1 is after the first; None: after any.
        condition: a C expression that is true if it ends.
        result: the result of the function that runs the model: 1, it needs further inferences; 2, a loop reached its limit;
            4, weights could not be fetched.
    """

    end: int | None
    condition: CCode
    result: int


def ending(b: EmitContext, number: int) -> Ending | None:
    """Returns how a node may end an inference; None if it does not."""
    view = b.graph.views[number]
    if number in b.early_exits:
        state = base(b, view[view.op.states[0]], argument(b))
        return Ending(view.steps, code("*(const int32_t *)(const void *)$state != 0", state=state), 1)
    if view.op.fetches or view.op.waits:
        status = scratch(b, b.plan.scratch_of(number))
        return Ending(None, code("*(const int32_t *)(const void *)($status) != 0", status=status), 4)
    if number in b.graph.loops:
        return Ending(1, code("*($scratch) != 0", scratch=scratch(b, b.plan.scratch_of(number))), 2)
    return None


def ends_call(b: EmitContext, function: CCode, end: CCode) -> CCode:
    """The call of the function that says whether one that has run ends the inference.

    Args:
        b: what is written.
        function: the number of the one that has run.
        end: of its steps.
    """
    memory = of_model(b) if b.keeps_place else argument(b)
    given = code("model") if b.notes_transfers else memory
    return code(
        "${prefix}_ends($given, (int32_t)$function, $end)", prefix=b.prefix, given=given, function=function, end=end
    )


def run_result(b: EmitContext) -> tuple[CCode, CCode]:
    """The type of the function that runs a model of stored inputs, and its last statement: not 0 if it ended early."""
    return (code("int"), code("    return 0;\n")) if b.can_end or b.is_subgraph else (code("void"), code(""))


def run_parameters(b: EmitContext) -> CCode:
    """The parameters of that function: an operator hands its graph over to it, which does not need it."""
    return code("const kibi_subgraph *body, $memory", memory=parameter(b)) if b.is_subgraph else parameter(b)


def run_start(b: EmitContext) -> CCode:
    """The first statements of that function."""
    return code("    (void)body;\n") if b.is_subgraph else code("")


def fields(b: EmitContext) -> CCode:
    """The fields of the model's struct that say where its bytes are."""
    if b.is_plain:
        return code("    uint8_t *arena;\n")
    found = code("    uint8_t *memory[$count];\n", count=_count(b))
    if b.variables:
        words = b.variable_bytes // 8
        found += code("    uint64_t state[$words]; /* variables, which keep their values */\n", words=words)
    return found


def arena_bytes(b: EmitContext) -> int:
    """Bytes of the arena: those of the plan, after what a lease takes."""
    return b.lead_bytes + b.plan.arena_bytes


def alignment(b: EmitContext, region: str) -> int:
    """The alignment that a region's start must have: that of its most aligned buffer, and at least a word.

    A lease needs a word. Else no model does, but copies are faster with it, and figures are measured with what is asked for.
    """
    return max((LEAST_ALIGNMENT, *(buffer.alignment for buffer in b.plan.buffers if buffer.region == region)))


def macros(b: EmitContext) -> CCode:
    """Sizes and alignments of the regions, and of the external buffers."""
    parts = [_region_macros(b) if b.regions else _arena_macros(b)]
    for number, index in enumerate(b.external):
        tensor = b.graph.tensors[index]
        parts.append(comment(f"external {number}: {plain(tensor.name)}, {tensor.type}"))
        for role, tensors in ((code("INPUT"), b.graph.inputs), (code("OUTPUT"), b.graph.outputs)):
            if index in tensors:
                at = tensors.index(index)
                parts.append(
                    code(
                        "#define ${upper}_EXTERNAL_${role}_$at ${number}u\n",
                        upper=b.upper,
                        role=role,
                        at=at,
                        number=number,
                    )
                )
        parts.append(_bytes(b, code("EXTERNAL"), number, tensor))
    for number, index in enumerate(b.variables):
        tensor = b.graph.tensors[index]
        parts.append(comment(f"variable {number}: {plain(tensor.name)}, {tensor.type}"))
        parts.append(_bytes(b, code("VARIABLE"), number, tensor))
    return lines(parts)


def _bytes(b: EmitContext, role: CCode, number: int, tensor: Tensor) -> CCode:
    """The macro with the bytes of a tensor."""
    return code(
        "#define ${upper}_${role}_${number}_BYTES ${bytes}u\n",
        upper=b.upper,
        role=role,
        number=number,
        bytes=tensor.type.size_bytes,
    )


def _arena_macros(b: EmitContext) -> CCode:
    return code(
        """\
#define ${upper}_ARENA_BYTES ${bytes}u
#define ${upper}_ARENA_ALIGNMENT ${alignment}u
""",
        upper=b.upper,
        bytes=arena_bytes(b),
        alignment=alignment(b, b.plan.region_names[0]),
    )


def _region_macros(b: EmitContext) -> CCode:
    parts = [code("#define ${upper}_REGIONS ${count}u\n", upper=b.upper, count=len(b.regions))]
    for number, use in enumerate(b.regions):
        part = code(
            """\
#define $name ${number}u
#define ${name}_BYTES ${bytes}u
#define ${name}_ALIGNMENT ${alignment}u
""",
            name=region_macro(b, use.name),
            number=number,
            bytes=b.lead_bytes + use.used_bytes,
            alignment=alignment(b, use.name),
        )
        parts.append(part)
    return lines(parts)


def region_macro(b: EmitContext, region: str) -> CCode:
    """The macro that is a region's number, and with which its further macros begin."""
    return code("${upper}_REGION_$name", upper=b.upper, name=b.region_name(region).upper())


def _placing_macro(b: EmitContext, region: str) -> CCode:
    """The macro that follows the name of a constant in a region."""
    return code("${upper}_IN_$name", upper=b.upper, name=b.region_name(region).upper())


def weight_macros(b: EmitContext) -> CCode:
    """Returns the macros that follow the names of weights in regions; they are empty unless the user defines them."""
    about = "The placement of the weights in region {}; define it before, for instance as a section attribute."
    return lines(
        code(
            """\
${about}#ifndef $name
#define $name
#endif
""",
            about=comment(about.format(region)),
            name=_placing_macro(b, region),
        )
        for region in sorted(set(b.weight_regions.values()))
    )


def in_region(b: EmitContext, constant: CCode) -> CCode:
    """Returns the macro that follows the name of a constant in a region; empty for all other constants."""
    region = b.weight_regions.get(constant)
    return code(" $macro", macro=_placing_macro(b, region)) if region else code("")


def init(b: EmitContext) -> CCode:
    """Returns the function that gives the model its memory."""
    lead = code(" + $lead", lead=b.lead_bytes) if b.lead_bytes else code("")
    if not b.regions:
        checks = _checks(code("arena"), code("arena_bytes"), code("${upper}_ARENA", upper=b.upper), arena_bytes(b))
        memory = code("model->arena") if b.is_plain else code("model->memory[0]")
        keep = code("    $memory = (uint8_t *)arena$lead;\n", memory=memory, lead=lead)
    else:
        checks, keep = refuse(code("regions == NULL || region_bytes == NULL"), "KIBI_ERROR_NULL"), code("")
        for number, use in enumerate(b.regions):
            given, given_bytes = (
                code("$name[$number]", name=name, number=number) for name in (code("regions"), code("region_bytes"))
            )
            checks += _checks(given, given_bytes, region_macro(b, use.name), b.lead_bytes + use.used_bytes)
            keep += code("    model->memory[$number] = (uint8_t *)regions[$number]$lead;\n", number=number, lead=lead)
    own = _regions(b) + len(b.external)
    cleared = lines(
        code("    model->memory[$number] = NULL;\n", number=number) for number in range(0 if b.is_plain else own)
    )
    cleared += code("    model->arena = NULL;\n") if b.is_plain else code("")
    rewind = code("    ${name}_rewind(model);\n", name=b.prefix) if b.keeps_place else code("")
    rewind = code("    model->transfer = 0;\n$rewind", rewind=rewind) if b.notes_transfers else rewind
    rewind += code("    model->sequence = 0u;\n") if b.extras.checkpoints else code("")
    if b.variables:
        keep += code("    model->memory[$own] = (uint8_t *)(void *)model->state;\n", own=own)
        rewind += code("    ${name}_reset(model);\n", name=b.prefix)
    return code(
        """\
$head
{
${refusal}${cleared}${checks}${keep}${rewind}    return KIBI_OK;
}
""",
        head=_init_head(b),
        refusal=refuse(code("model == NULL"), "KIBI_ERROR_NULL"),
        cleared=cleared,
        checks=checks,
        keep=keep,
        rewind=rewind,
    )


def _init_head(b: EmitContext) -> CCode:
    """Returns the head of the function, for a declaration or a definition."""
    if not b.regions:
        return code("kibi_status ${name}_init(${name}_t *model, void *arena, size_t arena_bytes)", name=b.prefix)
    return code(
        "kibi_status ${name}_init(${name}_t *model, void *const regions[${upper}_REGIONS], "
        "const size_t region_bytes[${upper}_REGIONS])",
        name=b.prefix,
        upper=b.upper,
    )


def init_declaration(b: EmitContext) -> CCode:
    """Returns the declaration of `init`, with a comment."""
    upper = b.upper.text
    if not b.regions:
        what = f"Gives the model its arena: {upper}_ARENA_BYTES bytes, aligned to {upper}_ARENA_ALIGNMENT."
    else:
        what = "Gives the model its regions, in the order of their numbers: for each where it starts and how many bytes it has."
    whose = "The bytes belong to the model only from the moment that inputs are written until outputs have been read"
    shared = "" if b.regions else "; models that run one after another may share them"
    return code("${about}$head;\n", about=comment(f"{what} {whose}{shared}."), head=_init_head(b))


def is_missing(b: EmitContext) -> CCode:
    """The condition under which `model` has not all its memory."""
    if b.is_plain:
        return code("model->arena == NULL")
    return code(" || ").join(code("model->memory[$number] == NULL", number=number) for number in range(_count(b)))


def is_new(b: EmitContext) -> CCode:
    """The condition under which `init` has not succeeded yet."""
    return code("model->arena == NULL") if b.is_plain else code("model->memory[0] == NULL")


def _fill(b: EmitContext, tensor: Tensor, place: int) -> CCode:
    """The statement that gives a variable its first value."""
    first = set(tensor.initial_bytes)
    size_bytes = tensor.type.size_bytes
    if len(first) == 1:
        return code(
            "        (void)memset(state + $place, $first, ${size}u);\n", place=place, first=first.pop(), size=size_bytes
        )
    name = b.constant_name(b.tensor_constant(tensor))
    return code("        (void)memcpy(state + $place, $name, ${size}u);\n", place=place, name=name, size=size_bytes)


def reset(b: EmitContext) -> CCode:
    """The functions that give variables their first values, and say where they are; nothing where there are none."""
    if not b.variables:
        return code("")
    fills, cases = [], []
    for number, (index, place) in enumerate(b.variables.items()):
        fills.append(_fill(b, b.graph.tensors[index], place))
        cases.append(
            code(
                "    case $number:\n        return (uint8_t *)(void *)model->state + $place;\n",
                number=number,
                place=place,
            )
        )
    return code(
        """\
void ${name}_reset(${name}_t *model)
{
    if (model != NULL) {
        uint8_t *const state = (uint8_t *)(void *)model->state;
${fills}    }
}

void *${name}_variable(${name}_t *model, unsigned index)
{
    if (model == NULL) {
        return NULL;
    }
    switch (index) {
${cases}    default:
        return NULL;
    }
}
""",
        name=b.prefix,
        fills=lines(fills),
        cases=lines(cases),
    )


def set_external_buffer(b: EmitContext) -> CCode:
    """The function that takes an external buffer; empty where the model has none."""
    if not b.external:
        return code("")
    cases = []
    for number, index in enumerate(b.external):
        kind = b.graph.tensors[index].type
        case = code(
            """\
    case $number:
        needed = ${bytes}u;
        alignment = ${alignment}u;
        break;
""",
            number=number,
            bytes=kind.size_bytes,
            alignment=kind.dtype.size_bytes,
        )
        cases.append(case)
    checks = (
        refuse(code("model == NULL || data == NULL"), "KIBI_ERROR_NULL")
        + refuse(code("bytes < needed"), "KIBI_ERROR_ARENA_SIZE")
        + refuse(code("(uintptr_t)data % alignment != 0u"), "KIBI_ERROR_ARENA_ALIGNMENT")
    )
    return code(
        """\
kibi_status ${name}_set_external_buffer(${name}_t *model, unsigned number, void *data, size_t bytes)
{
    size_t needed, alignment;
    switch (number) {
${cases}    default:
        needed = 0u;
        alignment = 1u;
        data = NULL;
        break;
    }
${checks}    model->memory[$first + number] = (uint8_t *)data;
    return KIBI_OK;
}
""",
        name=b.prefix,
        cases=lines(cases),
        checks=checks,
        first=_regions(b),
    )


def _regions(b: EmitContext) -> int:
    return len(b.regions) or 1


def _count(b: EmitContext) -> int:
    return _regions(b) + len(b.external) + bool(b.variables)


def _checks(pointer: CCode, given: CCode, macro: CCode, size_bytes: int) -> CCode:
    """The checks of a region; no number of bytes is too small for one of no bytes, and compilers warn of such a check."""
    too_small = refuse(code("$given < ${macro}_BYTES", given=given, macro=macro), "KIBI_ERROR_ARENA_SIZE")
    return (
        refuse(code("$pointer == NULL", pointer=pointer), "KIBI_ERROR_NULL")
        + (too_small if size_bytes else code("    (void)$given;\n", given=given))
        + refuse(
            code("(uintptr_t)$pointer % ${macro}_ALIGNMENT != 0u", pointer=pointer, macro=macro),
            "KIBI_ERROR_ARENA_ALIGNMENT",
        )
    )
