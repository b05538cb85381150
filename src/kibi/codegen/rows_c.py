"""C text that turns a row number into a pointer, and a step into the pointers that its kernel reads."""

from collections.abc import Iterable, Sequence

from kibi.codegen.bindings import PLAN_TABLE_PREFIX, Bindings
from kibi.codegen.c_text import comment, plain, product, total
from kibi.codegen.memory_c import argument, base, parameter
from kibi.codegen.offsets_c import offsets_text
from kibi.ir import RowAccess, Site, Tensor


def accessors(b: Bindings, nodes: Iterable[int]) -> str:
    """One function for each tensor whose rows these nodes read or make: row number in, pointer out."""
    sites = [b.graph.sites[number] for number in nodes]
    used = {tensor.index: tensor for site in sites for tensor in (*site.row_tensors, site.output)}
    return "\n".join(_accessor(b, used[index], sites) for index in sorted(used))


def _accessor(b: Bindings, tensor: Tensor, sites: Sequence[Site]) -> str:
    kind = tensor.type
    what = f"{plain(tensor.name)}: {kind}, {kind.rows} row{'s' if kind.rows > 1 else ''} of {kind.row_bytes} bytes"
    c_type = kind.dtype.c
    if tensor.is_constant:
        name = b.constant_name(b.tensor_constant(tensor))
        head = f"static inline const {c_type} *row_{tensor.index}({parameter(b)}, int32_t row)\n{{\n    (void){argument(b)};\n"
        return f"{comment(what)}{head}    return {name} + {product('row', kind.row_elements)};\n}}\n"
    if not tensor.is_planned:
        whose = "supplied by the caller"
        if tensor.is_state:
            whose = "a variable" if tensor.is_variable else "what a variable holds from then on"
        text = f"static inline {c_type} *row_{tensor.index}({parameter(b)}, int32_t row)\n{{\n"
        start = f"({c_type} *)(void *){base(b, tensor, argument(b))}"
        place = f"{start} + {product('row', kind.row_elements)}"
        return f"{comment(f'{what}, {whose}')}{text}    return {place};\n}}\n"
    uses = sum(tensor.index in {t.index for t in (*site.row_tensors, site.output)} for site in sites)
    name = f"{PLAN_TABLE_PREFIX}offsets_{tensor.index}"
    rows = offsets_text(b.plan.row_offsets(b.graph, tensor.index), name, uses)
    table = f"{rows.table}\n" if rows.table else ""
    unused = "" if "row" in rows.expression else "    (void)row;\n"
    start = base(b, tensor, argument(b))
    place = start if rows.expression == "0" else f"({start} + {_summand(rows.expression)})"
    return (
        f"{comment(f'{what}, {rows.how}')}{table}static inline {c_type} *row_{tensor.index}({parameter(b)}, int32_t row)\n"
        f"{{\n{unused}    return ({c_type} *)(void *){place};\n}}\n"
    )


def _summand(expression: str) -> str:
    """An expression as it may stand behind a plus sign."""
    return f"({expression})" if "?" in expression else expression


def pointers(b: Bindings, number: int) -> str:
    """The statements that fill `rows` for step `step` of a node, indented by 8."""
    site, first, text = b.graph.sites[number], 0, ""
    for tensor, access in zip(site.row_tensors, b.accesses[number], strict=True):
        text += _fetch(b, tensor, access, first, site.steps // access.output_rows)
        first += access.count
    return text


def pointer_count(b: Bindings, number: int) -> int:
    """How many pointers a step of a node needs."""
    return sum(access.count for access in b.accesses[number])


def _fetch(b: Bindings, tensor: Tensor, access: RowAccess, first: int, batches: int) -> str:
    """The pointers of one input; `first` is where they begin in `rows`."""
    inner = "step" if batches == 1 else f"(step % {access.output_rows})"
    base = "" if batches == 1 or access.is_shared else f"step / {access.output_rows} * {access.rows} + "
    start = total("", access.start, product(inner, access.stride))
    if access.count == 1 and access.stays_inside:
        return f"        rows[{first}] = {_pointer(b, tensor, access, f'{base}{start}')};\n"
    index = (
        start if access.count == 1 else total("", 0, " + ".join(filter(None, (start, product("k", access.dilation)))))
    )
    slot = str(first) if access.count == 1 else total("k", first, "")
    body = (
        f"            const int32_t row = {index};\n            rows[{slot}] = {_guarded(b, tensor, access, base)};\n"
    )
    head = "        {\n" if access.count == 1 else f"        for (int32_t k = 0; k < {access.count}; ++k) {{\n"
    return f"{head}{body}        }}\n"


def _guarded(b: Bindings, tensor: Tensor, access: RowAccess, base: str) -> str:
    pointer = _pointer(b, tensor, access, f"{base}row")
    if access.stays_inside:
        return pointer
    fill = "NULL" if access.fill is None else b.fill_name(tensor.type.dtype.c, access.fill)
    return f"row >= 0 && row < {access.rows} ? {pointer} : {fill}"


def _pointer(b: Bindings, tensor: Tensor, access: RowAccess, index: str) -> str:
    name = f"row_{tensor.index}"
    if access.parts == 1:
        return f"{name}({argument(b)}, {index})"
    size = tensor.type.row_elements // access.parts
    if tensor.type.rows == 1:
        return f"{name}({argument(b)}, 0) + {product(_atom(index), size)}"
    return f"{name}({argument(b)}, {_atom(index)} / {access.parts}) + {product(f'({_atom(index)} % {access.parts})', size)}"


def _atom(text: str) -> str:
    return text if text.isidentifier() or text.isdigit() else f"({text})"
