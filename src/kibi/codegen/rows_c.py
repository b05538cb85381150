"""C text that turns a row number into a pointer, and a step into the pointers that its kernel reads."""

from collections.abc import Iterable, Sequence

from kibi.codegen.c_text import product, total
from kibi.codegen.emit_context import PLAN_TABLE_PREFIX, EmitContext
from kibi.codegen.memory_c import argument, base, parameter
from kibi.codegen.offsets_c import offsets_text
from kibi.ir import RowAccess, Site, Tensor
from kibi.text.c import CCode, code, comment, element_type, lines, plain, word


def accessors(b: EmitContext, nodes: Iterable[int]) -> CCode:
    """One function for each tensor whose rows these nodes read or make: row number in, pointer out."""
    sites = [b.graph.sites[number] for number in nodes]
    used = {tensor.index: tensor for site in sites for tensor in (*site.row_tensors, site.output)}
    return code("\n").join(_accessor(b, used[index], sites) for index in sorted(used))


def _accessor(b: EmitContext, tensor: Tensor, sites: Sequence[Site]) -> CCode:
    kind = tensor.type
    what = f"{plain(tensor.name)}: {kind}, {kind.rows} row{'s' if kind.rows > 1 else ''} of {kind.row_bytes} bytes"
    if tensor.is_constant:
        return _constant_accessor(b, tensor, what)
    if not tensor.is_planned:
        return _outer_accessor(b, tensor, what)
    uses = sum(tensor.index in {t.index for t in (*site.row_tensors, site.output)} for site in sites)
    name = code("${prefix}offsets_$index", prefix=word(PLAN_TABLE_PREFIX), index=tensor.index)
    rows = offsets_text(b.plan.row_offsets(b.graph, tensor.index), name, uses)
    start = base(b, tensor, argument(b))
    is_start = not rows.depends and rows.expression.text == "0"
    return code(
        """\
${about}${table}static inline $kind *row_$index($memory, int32_t row)
{
${unused}    return ($kind *)(void *)$place;
}
""",
        about=comment(f"{what}, {rows.how}"),
        table=code("$table\n", table=rows.table) if rows.table else code(""),
        kind=element_type(kind.dtype),
        index=tensor.index,
        memory=parameter(b),
        unused=code("") if rows.depends else code("    (void)row;\n"),
        place=start if is_start else code("($start + $offset)", start=start, offset=rows.summand),
    )


def _constant_accessor(b: EmitContext, tensor: Tensor, what: str) -> CCode:
    """The function of a constant that is read by the row."""
    return code(
        """\
${about}static inline const $kind *row_$index($memory, int32_t row)
{
    (void)$argument;
    return $name + $offset;
}
""",
        about=comment(what),
        kind=element_type(tensor.type.dtype),
        index=tensor.index,
        memory=parameter(b),
        argument=argument(b),
        name=b.constant_name(b.tensor_constant(tensor)),
        offset=product(code("row"), tensor.type.row_elements),
    )


def _outer_accessor(b: EmitContext, tensor: Tensor, what: str) -> CCode:
    """The function of a tensor outside of the plan."""
    whose = "supplied by the caller"
    if tensor.is_state:
        whose = "a variable" if tensor.is_variable else "what a variable holds from then on"
    return code(
        """\
${about}static inline $kind *row_$index($memory, int32_t row)
{
    return ($kind *)(void *)$start + $offset;
}
""",
        about=comment(f"{what}, {whose}"),
        kind=element_type(tensor.type.dtype),
        index=tensor.index,
        memory=parameter(b),
        start=base(b, tensor, argument(b)),
        offset=product(code("row"), tensor.type.row_elements),
    )


def pointers(b: EmitContext, number: int) -> CCode:
    """The statements that fill `rows` for step `step` of a node, indented by 8."""
    site, first, fetches = b.graph.sites[number], 0, []
    for tensor, access in zip(site.row_tensors, b.accesses[number], strict=True):
        fetches.append(_fetch(b, tensor, access, first, site.steps // access.output_rows))
        first += access.count
    return lines(fetches)


def pointer_count(b: EmitContext, number: int) -> int:
    """How many pointers a step of a node needs."""
    return sum(access.count for access in b.accesses[number])


def _fetch(b: EmitContext, tensor: Tensor, access: RowAccess, first: int, batches: int) -> CCode:
    """The pointers of one input; `first` is where they begin in `rows`."""
    inner, base = code("step"), code("")
    if batches > 1:
        inner = code("(step % $rows)", rows=access.output_rows)
        if not access.is_shared:
            base = code("step / $steps * $rows + ", steps=access.output_rows, rows=access.rows)
    start = total(code(""), access.start, product(inner, access.stride))
    if access.count == 1 and access.stays_inside:
        pointer = _pointer(b, tensor, access, base + start)
        return code("        rows[$first] = $pointer;\n", first=first, pointer=pointer)
    head, slot = code("        {\n"), code("$first", first=first)
    if access.count > 1:
        start = code(" + ").join(part for part in (start, product(code("k"), access.dilation)) if part)
        head = code("        for (int32_t k = 0; k < $count; ++k) {\n", count=access.count)
        slot = total(code("k"), first, code(""))
    return code(
        """\
${head}            const int32_t row = $index;
            rows[$slot] = $pointer;
        }
""",
        head=head,
        index=start,
        slot=slot,
        pointer=_guarded(b, tensor, access, base),
    )


def _guarded(b: EmitContext, tensor: Tensor, access: RowAccess, base: CCode) -> CCode:
    pointer = _pointer(b, tensor, access, base + code("row"))
    if access.stays_inside:
        return pointer
    fill = code("NULL") if access.fill is None else b.fill_name(tensor.type.dtype.c, access.fill)
    return code("row >= 0 && row < $rows ? $pointer : $fill", rows=access.rows, pointer=pointer, fill=fill)


def _pointer(b: EmitContext, tensor: Tensor, access: RowAccess, index: CCode) -> CCode:
    if access.parts == 1:
        return code("row_$tensor($memory, $index)", tensor=tensor.index, memory=argument(b), index=index)
    size, row = tensor.type.row_elements // access.parts, _atom(index)
    if tensor.type.rows == 1:
        offset = product(row, size)
        return code("row_$tensor($memory, 0) + $offset", tensor=tensor.index, memory=argument(b), offset=offset)
    return code(
        "row_$tensor($memory, $row / $parts) + $offset",
        tensor=tensor.index,
        memory=argument(b),
        row=row,
        parts=access.parts,
        offset=product(code("($row % $parts)", row=row, parts=access.parts), size),
    )


def _atom(index: CCode) -> CCode:
    """An expression as it may be a part of a product."""
    return index if index.text.isidentifier() or index.text.isdigit() else code("($index)", index=index)
