"""C text that computes the pointer to a row from its number, and the pointers that a kernel reads from a step."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from kibi.codegen.c_text import indentation, product, total, wrapped
from kibi.codegen.emit_context import EmitContext
from kibi.codegen.memory_c import argument, base, parameter
from kibi.codegen.offsets_c import Offsets, offsets_text
from kibi.ir import NodeView, RowAccess, Tensor
from kibi.text.c import CCode, code, comment, element_type, lines, plain


def accessors(b: EmitContext, nodes: Iterable[int], tables: Mapping[int, Offsets]) -> CCode:
    """One function for each tensor whose rows these nodes read or make: row number in, pointer out.

    Args:
        b: the context of the model that is written.
        nodes: the nodes.
        tables: the offsets of tensors, by index, that have a table already.
    """
    views = [b.graph.views[number] for number in nodes]
    read = (tensor for view in views for tensor in (*view.row_tensors, *view.outputs))
    used = {tensor.index: tensor for tensor in read if tensor.type.elements}  # an arrival at a window has no bytes
    return code("\n").join(_accessor(b, used[index], views, tables.get(index)) for index in sorted(used))


def row_pointer(b: EmitContext, tensor: Tensor, row: CCode) -> CCode:
    """The expression that points to a row."""
    function = b.about_tensor(tensor, code("row"))
    if tensor.type.rows == 1:
        return code("$function($memory)", function=function, memory=argument(b))
    return code("$function($memory, $row)", function=function, memory=argument(b), row=row)


def _accessor(b: EmitContext, tensor: Tensor, views: Sequence[NodeView], table: Offsets | None) -> CCode:
    kind = tensor.type
    what = f"{plain(tensor.name)}: {kind}, {kind.rows} row{'s' if kind.rows > 1 else ''} of {kind.row_bytes} bytes"
    if tensor.is_constant:
        start = b.constant_name(b.tensor_constant(tensor))
        offset = product(code("row"), kind.row_elements)
        return _function(
            b, tensor, what, start if kind.rows == 1 else code("$start + $offset", start=start, offset=offset)
        )
    if not tensor.is_planned:
        whose = "in an external buffer"
        if tensor.is_state:
            whose = "a variable" if tensor.is_variable else "what a variable holds from then on"
        start = code("($kind *)(void *)$base", kind=element_type(kind.dtype), base=base(b, tensor, argument(b)))
        offset = product(code("row"), kind.row_elements)
        place = start if kind.rows == 1 else code("$start + $offset", start=start, offset=offset)
        return _function(b, tensor, f"{what}, {whose}", place)
    uses = sum(tensor.index in {t.index for t in (*view.row_tensors, *view.outputs)} for view in views)
    rows = table or offsets_text(b.plan.row_offsets(b.graph, tensor.index), b.table_name(tensor, code("offsets")), uses)
    start = base(b, tensor, argument(b))
    if rows.depends or rows.expression.text != "0":
        start = code("($start + $offset)", start=start, offset=rows.summand)
    place = code("($kind *)(void *)$start", kind=element_type(kind.dtype), start=start)
    definition = code("$table\n", table=rows.table) if rows.table and table is None else code("")
    return _function(b, tensor, f"{what}, {rows.how}", place, definition, uses_row=rows.depends)


def _function(
    b: EmitContext, tensor: Tensor, what: str, place: CCode, table: CCode | None = None, *, uses_row: bool = True
) -> CCode:
    """The function of a tensor; one for a tensor of one row takes no number."""
    is_one, memory = tensor.type.rows == 1, code("    (void)$memory;\n", memory=argument(b))
    return code(
        """\
${about}${table}static inline ${const}$kind *$function($parameter$row)
{
${unused}    return $place;
}
""",
        about=comment(what),
        table=table or code(""),
        const=code("const ") if tensor.is_constant else code(""),
        kind=element_type(tensor.type.dtype),
        function=b.about_tensor(tensor, code("row")),
        parameter=parameter(b),
        row=code("") if is_one else code(", int32_t row"),
        unused=(memory if tensor.is_constant else code(""))
        + (code("") if uses_row or is_one else code("    (void)row;\n")),
        place=place,
    )


def pointers(b: EmitContext, number: int, step: CCode, depth: int) -> CCode:
    """The definition of `rows`, the pointers to the rows that a step of a node reads.

    Args:
        b: the context of the model that is written.
        number: of the node.
        step: the number of the step; empty: the node has one alone.
        depth: of the indentation.
    """
    view = b.graph.views[number].own
    accesses = view.accesses
    kind = code("void") if b.calls[number].is_untyped else element_type(view.row_tensors[0].type.dtype)
    count = sum(access.pointers for access in accesses)
    reads = [
        _Read(b, tensor, access, step, view.steps // access.output_rows)
        for tensor, access in zip(view.row_tensors, accesses, strict=True)
    ]
    if all(read.is_simple for read in reads):
        head = code("const $kind *const rows[$count] = {", kind=kind, count=count)
        return wrapped(head, [read.pointer(read.base + read.start()) for read in reads], code("};\n"), depth)
    definition = code("${indent}const $kind *rows[$count];\n", indent=indentation(depth), kind=kind, count=count)
    first, parts = 0, [definition]
    for read in reads:
        parts.append(_fetch(read, first, depth))
        first += read.access.pointers
    return lines(parts)


@dataclass(frozen=True, slots=True)
class _Read:
    """The way in which a step reads one input.

    Attributes:
        b: the context of the model that is written.
        tensor: the input.
        access: the rows that the step reads.
        step: as in `pointers`.
        batches: how many the steps are in all.
    """

    b: EmitContext
    tensor: Tensor
    access: RowAccess
    step: CCode
    batches: int

    @property
    def is_simple(self) -> bool:
        """True if it is one row that exists for each step, or several in one piece."""
        return self.access.pointers == 1 and self.access.stays_inside

    @property
    def base(self) -> CCode:
        """The first row of the step's batch, to be added to; empty for the first batch."""
        if self.batches == 1 or self.access.is_shared:
            return code("")
        steps, rows = self.access.output_rows, self.access.rows
        return code("$step / $steps * $rows + ", step=self.step, steps=steps, rows=rows)

    def start(self) -> CCode:
        """The first row within the batch."""
        step = self.step
        if self.batches > 1:
            step = code("($step % $rows)", step=step, rows=self.access.output_rows)
        return total(code(""), self.access.start, product(step, self.access.stride) if step else code(""))

    def pointer(self, index: CCode) -> CCode:
        """The pointer to a row, or to a part of one, at the first element that the kernel gets."""
        access, tensor = self.access, self.tensor
        if access.parts == 1:
            first, _ = access.taken(tensor.type.row_elements)
            return total(row_pointer(self.b, tensor, index), first, code(""))
        size, row = tensor.type.row_elements // access.parts, _atom(index)
        if tensor.type.rows == 1:
            pointer, offset = row_pointer(self.b, tensor, code("0")), product(row, size)
            return code("$pointer + $offset", pointer=pointer, offset=offset)
        return code(
            "$pointer + $offset",
            pointer=row_pointer(self.b, tensor, code("$row / $parts", row=row, parts=access.parts)),
            offset=product(code("($row % $parts)", row=row, parts=access.parts), size),
        )


def _fetch(read: _Read, first: int, depth: int) -> CCode:
    """The statements for the pointers of one input; `first` is where they begin in `rows`."""
    access, indent = read.access, indentation(depth)
    if read.is_simple:
        pointer = read.pointer(read.base + read.start())
        return code("${indent}rows[$first] = $pointer;\n", indent=indent, first=first, pointer=pointer)
    head, slot, start = code("{"), code("$first", first=first), read.start()
    if access.count > 1:
        parts = (start, product(code("k"), access.dilation))
        start = code(" + ").join(part for part in parts if part and part.text != "0") or code("0")
        head = code("for (int32_t k = 0; k < $count; ++k) {", count=access.count)
        slot = total(code("k"), first, code(""))
    return code(
        """\
$indent$head
$indent    const int32_t row = $index;
$indent    rows[$slot] = $pointer;
$indent}
""",
        indent=indent,
        head=head,
        index=start,
        slot=slot,
        pointer=_guarded(read),
    )


def _guarded(read: _Read) -> CCode:
    access, tensor = read.access, read.tensor
    pointer = read.pointer(read.base + code("row"))
    if access.stays_inside:
        return pointer
    fill = code("NULL") if access.fill is None else read.b.fill_name(tensor.type.dtype.c, access.fill)
    return code("row >= 0 && row < $rows ? $pointer : $fill", rows=access.rows, pointer=pointer, fill=fill)


def _atom(index: CCode) -> CCode:
    """An expression as it may be a part of a product."""
    return index if index.text.isidentifier() or index.text.isdigit() else code("($index)", index=index)
