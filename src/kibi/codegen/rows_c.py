"""C text that turns a row number into a pointer, and a step into the pointers that its kernel reads."""

import numpy as np

from kibi.codegen.bindings import Bindings
from kibi.codegen.c_text import comment, filled, plain
from kibi.ir import RowAccess, Tensor


def accessors(b: Bindings) -> str:
    """One function for each tensor: row number in, pointer out."""
    return "\n".join(_accessor(b, tensor) for tensor in b.row_tensors)


def _accessor(b: Bindings, tensor: Tensor) -> str:
    kind = tensor.type
    what = f"{plain(tensor.name)}: {kind}, {kind.rows} row{'s' if kind.rows > 1 else ''} of {kind.row_bytes} bytes"
    c_type = kind.dtype.c
    if tensor.is_constant:
        name = b.constant_name(b.tensor_constant(tensor))
        head = f"static inline const {c_type} *row_{tensor.index}(const uint8_t *arena, int32_t row)\n{{\n    (void)arena;\n"
        return f"{comment(what)}{head}    return {name} + {_scaled('row', kind.row_elements)};\n}}\n"
    offsets = b.plan.row_offsets(b.graph, tensor.index)
    head = f"static inline {c_type} *row_{tensor.index}(uint8_t *arena, int32_t row)\n{{\n"
    if offsets == tuple(offsets[0] + k * kind.row_bytes for k in range(kind.rows)):
        if kind.rows == 1:
            head += "    (void)row;\n"
        place = _sum("arena", offsets[0], "" if kind.rows == 1 else _scaled("row", kind.row_bytes))
        whole = place if place == "arena" else f"({place})"
        return f"{comment(f'{what} from {offsets[0]}')}{head}    return ({c_type} *)(void *){whole};\n}}\n"
    unsigned = next(bits for bits in (8, 16, 32) if max(offsets) < 1 << bits)
    table = (
        f"static const uint{unsigned}_t offsets_{tensor.index}[{kind.rows}] = {{\n{filled(map(str, offsets))}\n}};\n"
    )
    body = f"    return ({c_type} *)(void *)(arena + offsets_{tensor.index}[row]);\n}}\n"
    return f"{comment(f'{what}, placed one by one')}{table}\n{head}{body}"


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
    start = _sum("", access.start, _scaled(inner, access.stride))
    if access.count == 1 and access.stays_inside:
        return f"        rows[{first}] = {_pointer(tensor, access, f'{base}{start}')};\n"
    index = (
        start if access.count == 1 else _sum("", 0, " + ".join(filter(None, (start, _scaled("k", access.dilation)))))
    )
    slot = str(first) if access.count == 1 else _sum("k", first, "")
    body = (
        f"            const int32_t row = {index};\n            rows[{slot}] = {_guarded(b, tensor, access, base)};\n"
    )
    head = "        {\n" if access.count == 1 else f"        for (int32_t k = 0; k < {access.count}; ++k) {{\n"
    return f"{head}{body}        }}\n"


def _guarded(b: Bindings, tensor: Tensor, access: RowAccess, base: str) -> str:
    pointer = _pointer(tensor, access, f"{base}row")
    if access.stays_inside:
        return pointer
    fill = "NULL" if access.fill is None else b.fill_name(tensor.type.dtype.c, access.fill)
    return f"row >= 0 && row < {access.rows} ? {pointer} : {fill}"


def _pointer(tensor: Tensor, access: RowAccess, index: str) -> str:
    name = f"row_{tensor.index}"
    if access.parts == 1:
        return f"{name}(arena, {index})"
    size = tensor.type.row_elements // access.parts
    if tensor.type.rows == 1:
        return f"{name}(arena, 0) + {_scaled(_atom(index), size)}"
    return f"{name}(arena, {_atom(index)} / {access.parts}) + {_scaled(f'({_atom(index)} % {access.parts})', size)}"


def _atom(text: str) -> str:
    return text if text.isidentifier() or text.isdigit() else f"({text})"


def _scaled(text: str, factor: int) -> str:
    if factor == 0:
        return ""
    return text if factor == 1 else f"{text} * {factor}"


def _sum(base: str, constant: int, term: str) -> str:
    parts = [part for part in (base, term) if part]
    if constant or not parts:
        sign = "-" if constant < 0 else "+"
        parts = [f"{' + '.join(parts)} {sign} {abs(constant)}" if parts else str(constant)]
    return " + ".join(parts)


def fill_rows(b: Bindings) -> str:
    """The constant rows that stand outside inputs."""
    text = ""
    for (c_type, value), elements in sorted(b.fills.items()):
        numbers = np.full(elements, value)
        name = b.fill_name(c_type, value)
        text += comment(f"Stands where a window leaves its input: {value}, for at most {elements} elements.")
        text += f"static const {c_type} {name}[{elements}] = {{\n{filled(map(str, numbers.tolist()))}\n}};\n\n"
    return text
