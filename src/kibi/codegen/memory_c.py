"""C text of where bytes lie: the arena alone, or several regions and the buffers that the caller supplies."""

from kibi.codegen.bindings import Bindings
from kibi.codegen.c_text import comment, plain
from kibi.codegen.events_c import refuse
from kibi.ir import Tensor
from kibi.planner.plan import Buffer


def parameter(b: Bindings) -> str:
    """How functions take the memory: one pointer where the arena is all there is."""
    return "uint8_t *arena" if b.is_plain else "uint8_t *const *memory"


def argument(b: Bindings) -> str:
    """The name of that parameter."""
    return "arena" if b.is_plain else "memory"


def of_model(b: Bindings) -> str:
    """The memory of `model`."""
    return f"model->{argument(b)}"


def base(b: Bindings, tensor: Tensor, memory: str) -> str:
    """The pointer from which the offsets of a tensor's rows count."""
    if tensor.is_state:
        start, place = f"{memory}[{_regions(b) + len(b.supplied)}]", b.variables[b.graph.variable_of(tensor.index)]
        return f"({start} + {place})" if place else start
    if tensor.is_supplied:
        return f"{memory}[{_regions(b) + b.supplied.index(tensor.index)}]"
    return of_region(b, b.plan.buffers_of(tensor.index)[0].region, memory)


def of_region(b: Bindings, region: str, memory: str) -> str:
    """The pointer to a region's first byte."""
    if b.is_plain:
        return memory
    names = [use.name for use in b.regions] or list(b.plan.region_names)
    return f"{memory}[{names.index(region)}]"


def scratch(b: Bindings, buffer: Buffer | None) -> str:
    """The scratch of a node."""
    if buffer is None:
        return "NULL"
    start = of_region(b, buffer.region, argument(b))
    return f"{start} + {buffer.offset}" if buffer.offset else start


def states(b: Bindings, number: int) -> str:
    """A definition of the pointers to a node's states; nothing where it has none."""
    site = b.graph.sites[number]
    if not site.op.states:
        return ""
    places = ", ".join(base(b, site[name], argument(b)) for name in site.op.states)
    return f"    void *const states[{len(site.op.states)}] = {{{places}}};\n"


def remaining(b: Bindings, number: int) -> str:
    """What is not 0 where a node ends the inference: its first state."""
    site = b.graph.sites[number]
    return f"*(const int32_t *)(const void *){base(b, site[site.op.states[0]], argument(b))}"


def fields(b: Bindings) -> str:
    """The fields of the model's struct that say where its bytes are."""
    if b.is_plain:
        return "    uint8_t *arena;\n"
    state = (
        f"    uint64_t state[{b.variable_bytes // 8}]; /* variables, which keep their values */\n"
        if b.variables
        else ""
    )
    return f"    uint8_t *memory[{_count(b)}];\n{state}"


def alignment(b: Bindings, region: str) -> int:
    """The alignment that a region's start must have: that of its most aligned buffer."""
    return max((buffer.alignment for buffer in b.plan.buffers if buffer.region == region), default=1)


def macros(b: Bindings) -> str:
    """Sizes and alignments of the regions, and of what is supplied."""
    upper = b.prefix.upper()
    text = ""
    if not b.regions:
        text = (
            f"#define {upper}_ARENA_BYTES {b.plan.arena_bytes}u\n"
            f"#define {upper}_ARENA_ALIGNMENT {alignment(b, b.plan.region_names[0])}u\n"
        )
    else:
        text = f"#define {upper}_REGIONS {len(b.regions)}u\n"
        for number, use in enumerate(b.regions):
            name = f"{upper}_REGION_{use.name.upper()}"
            text += f"#define {name} {number}u\n#define {name}_BYTES {use.used_bytes}u\n"
            text += f"#define {name}_ALIGNMENT {alignment(b, use.name)}u\n"
    for number, index in enumerate(b.supplied):
        tensor = b.graph.tensors[index]
        text += comment(f"supplied {number}: {plain(tensor.name)}, {tensor.type}")
        for role, tensors in (("INPUT", b.graph.inputs), ("OUTPUT", b.graph.outputs)):
            if index in tensors:
                text += f"#define {upper}_SUPPLY_{role}_{tensors.index(index)} {number}u\n"
        text += f"#define {upper}_SUPPLIED_{number}_BYTES {tensor.type.size_bytes}u\n"
    for number, index in enumerate(b.variables):
        tensor = b.graph.tensors[index]
        text += comment(f"variable {number}: {plain(tensor.name)}, {tensor.type}")
        text += f"#define {upper}_VARIABLE_{number}_BYTES {tensor.type.size_bytes}u\n"
    return text


def weight_macros(b: Bindings) -> str:
    """What stands behind the names of weights that are assigned to regions; empty until somebody defines it."""
    upper, text = b.prefix.upper(), ""
    for name in sorted(set(b.weight_regions.values())):
        text += comment(
            f"Where the weights in region {name} lie; define it before, for instance as a section attribute."
        )
        text += f"#ifndef {upper}_IN_{name.upper()}\n#define {upper}_IN_{name.upper()}\n#endif\n"
    return text


def in_region(b: Bindings, constant: str) -> str:
    """What stands behind the name of a constant that lies in a region."""
    region = b.weight_regions.get(constant)
    return f" {b.prefix.upper()}_IN_{region.upper()}" if region else ""


def init(b: Bindings) -> str:
    """The function that gives the model its regions."""
    name, upper = b.prefix, b.prefix.upper()
    if not b.regions:
        checks = _checks("arena", "arena_bytes", f"{upper}_ARENA", b.plan.arena_bytes)
        keep = "    model->arena = (uint8_t *)arena;\n" if b.is_plain else "    model->memory[0] = (uint8_t *)arena;\n"
        head = f"kibi_status {name}_init({name}_t *model, void *arena, size_t arena_bytes)"
    else:
        checks, keep = "", ""
        for number, use in enumerate(b.regions):
            macro = f"{upper}_REGION_{use.name.upper()}"
            checks += _checks(f"regions[{number}]", f"region_bytes[{number}]", macro, use.used_bytes)
            keep += f"    model->memory[{number}] = (uint8_t *)regions[{number}];\n"
        checks = refuse("regions == NULL || region_bytes == NULL", "KIBI_ERROR_NULL") + checks
        head = (
            f"kibi_status {name}_init({name}_t *model, void *const regions[{upper}_REGIONS], "
            f"const size_t region_bytes[{upper}_REGIONS])"
        )
    own = _regions(b) + len(b.supplied)
    cleared = "".join(f"    model->memory[{number}] = NULL;\n" for number in range(0 if b.is_plain else own))
    cleared += "    model->arena = NULL;\n" if b.is_plain else ""
    rewind = f"    {name}_rewind(model);\n" if b.streams else ""
    if b.variables:
        keep += f"    model->memory[{own}] = (uint8_t *)(void *)model->state;\n"
        rewind += f"    {name}_reset(model);\n"
    return (
        f"{head}\n{{\n{refuse('model == NULL', 'KIBI_ERROR_NULL')}{cleared}{checks}{keep}{rewind}"
        "    return KIBI_OK;\n}\n"
    )


def init_declaration(b: Bindings) -> str:
    """The declaration of `init`, with what it does."""
    name, upper = b.prefix, b.prefix.upper()
    if not b.regions:
        what = f"Gives the model its arena: {upper}_ARENA_BYTES bytes, aligned to {upper}_ARENA_ALIGNMENT."
        arguments = "void *arena, size_t arena_bytes"
    else:
        what = "Gives the model its regions, in the order of their numbers: for each where it starts and how many bytes it has."
        arguments = f"void *const regions[{upper}_REGIONS], const size_t region_bytes[{upper}_REGIONS]"
    whose = "The bytes belong to the model only from the moment that inputs are written until outputs have been read"
    shared = "" if b.regions else "; models may share them in turn"
    return f"{comment(f'{what} {whose}{shared}.')}kibi_status {name}_init({name}_t *model, {arguments});\n"


def is_missing(b: Bindings) -> str:
    """The condition under which `model` has not all its memory."""
    if b.is_plain:
        return "model->arena == NULL"
    return " || ".join(f"model->memory[{number}] == NULL" for number in range(_count(b)))


def is_new(b: Bindings) -> str:
    """The condition under which `init` has not succeeded yet."""
    return "model->arena == NULL" if b.is_plain else "model->memory[0] == NULL"


def _fill(b: Bindings, tensor: Tensor, start: str) -> str:
    """The statement that gives a variable its first value."""
    first = set(tensor.initial_bytes)
    size_bytes = tensor.type.size_bytes
    if len(first) == 1:
        return f"memset({start}, {first.pop()}, {size_bytes}u);"
    return f"memcpy({start}, {b.constant_name(b.tensor_constant(tensor))}, {size_bytes}u);"


def reset(b: Bindings) -> str:
    """The functions that give variables their first values, and say where they are; nothing where there are none."""
    if not b.variables:
        return ""
    fills, cases = "", ""
    for number, (index, place) in enumerate(b.variables.items()):
        tensor = b.graph.tensors[index]
        fills += f"        {_fill(b, tensor, f'state + {place}')}\n"
        cases += f"    case {number}:\n        return (uint8_t *)(void *)model->state + {place};\n"
    return f"""void {b.prefix}_reset({b.prefix}_t *model)
{{
    if (model != NULL) {{
        uint8_t *const state = (uint8_t *)(void *)model->state;
{fills}    }}
}}

void *{b.prefix}_variable({b.prefix}_t *model, unsigned index)
{{
    if (model == NULL) {{
        return NULL;
    }}
    switch (index) {{
{cases}    default:
        return NULL;
    }}
}}
"""


def supply(b: Bindings) -> str:
    """The function through which the caller supplies buffers; nothing where there is nothing to supply."""
    if not b.supplied:
        return ""
    first, cases = _regions(b), ""
    for number, index in enumerate(b.supplied):
        kind = b.graph.tensors[index].type
        cases += f"    case {number}:\n        needed = {kind.size_bytes}u;\n"
        cases += f"        alignment = {kind.dtype.size_bytes}u;\n        break;\n"
    checks = (
        refuse("model == NULL || data == NULL", "KIBI_ERROR_NULL")
        + refuse("bytes < needed", "KIBI_ERROR_ARENA_SIZE")
        + refuse("(uintptr_t)data % alignment != 0u", "KIBI_ERROR_ARENA_ALIGNMENT")
    )
    return f"""
kibi_status {b.prefix}_supply({b.prefix}_t *model, unsigned number, void *data, size_t bytes)
{{
    size_t needed, alignment;
    switch (number) {{
{cases}    default:
        needed = 0u;
        alignment = 1u;
        data = NULL;
        break;
    }}
{checks}    model->memory[{first} + number] = (uint8_t *)data;
    return KIBI_OK;
}}
"""


def _regions(b: Bindings) -> int:
    return len(b.regions) or 1


def _count(b: Bindings) -> int:
    return _regions(b) + len(b.supplied) + bool(b.variables)


def _checks(pointer: str, given: str, macro: str, size_bytes: int) -> str:
    """The checks of a region; no number of bytes is too small for one of no bytes, and compilers warn of such a check."""
    too_small = refuse(f"{given} < {macro}_BYTES", "KIBI_ERROR_ARENA_SIZE")
    return (
        refuse(f"{pointer} == NULL", "KIBI_ERROR_NULL")
        + (too_small if size_bytes else f"    (void){given};\n")
        + refuse(f"(uintptr_t){pointer} % {macro}_ALIGNMENT != 0u", "KIBI_ERROR_ARENA_ALIGNMENT")
    )
