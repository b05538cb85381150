"""C text of step functions that several nodes share: one for each kind of call, and a few bytes of data for each node.

A function of its own takes about 100 bytes for each node on a Cortex-M4; its data and the call take a third of that. Only nodes
that read rows of one tensor in the arena, in the usual way, are shared; each keeps a function of its own name.
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from kibi.codegen.c_text import call_statement, indentation, integer_bits, integer_type, product, total, wrapped
from kibi.codegen.emit_context import EmitContext
from kibi.codegen.memory_c import step_parameters
from kibi.codegen.offsets_c import Offsets, table_offsets
from kibi.codegen.profile_c import measured
from kibi.codegen.schedule import Takes
from kibi.codegen.staged_c import copied_nodes, copy, place_in_scratch
from kibi.ir import Tensor
from kibi.kernels.params import struct_name
from kibi.text.c import CCode, code, comment, filled, plain, type_name, word

_LEAST_NODES = 3
"""The least number of nodes for which a shared function saves flash."""


@dataclass(frozen=True, slots=True)
class StepKind:
    """The properties that nodes must share: the kernel, the C types of elements, the rows of a step, the fill rows."""

    kernel: str
    c_type: str
    output_c_type: str
    count: int
    fill: int | None


@dataclass(frozen=True, slots=True)
class Place:
    """The places of rows: row `row` is at `start + distance * row`, or, with a table, at `start + distance * table[row]`."""

    start: int
    distance: int
    table: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class SharedSteps:
    """The nodes whose steps run in shared functions.

    Attributes:
        kinds: for each such node its kind.
        places: for each tensor that they read or make, by index, where its rows are.
        offsets: for those that have a table, the same as an expression, for functions that read no others.
    """

    kinds: dict[int, StepKind]
    places: dict[int, Place]
    offsets: dict[int, Offsets]

    @property
    def numbers(self) -> tuple[int, ...]:
        """The entries of all tables, which have one type."""
        return tuple(number for place in self.places.values() for number in place.table)


def shared_steps(b: EmitContext) -> SharedSteps:
    """The nodes that share functions with at least two others; none where there is more memory than the arena."""
    found = {number: kind for number in range(len(b.graph.nodes)) if (kind := _kind(b, number)) is not None}
    counts = Counter(found.values())
    kinds = {number: kind for number, kind in found.items() if counts[kind] >= _LEAST_NODES}
    tensors = {
        t.index: t for number in kinds for t in (*b.graph.views[number].row_tensors, b.graph.views[number].output)
    }
    offsets = {index: b.plan.row_offsets(b.graph, index) for index in sorted(tensors)}
    places = {index: _place(each) for index, each in offsets.items()}
    numbers = [number for place in places.values() for number in place.table]
    if numbers and integer_bits(numbers) == integer_bits(
        [max(offsets[index]) for index, at in places.items() if at.table]
    ):
        # Units save nothing, so people read offsets.
        places = {i: Place(0, 1, tuple(offsets[i])) if place.table else place for i, place in places.items()}
    expressions = {index: _expression(b, tensors[index], place) for index, place in places.items() if place.table}
    return SharedSteps(kinds, places, expressions)


def _expression(b: EmitContext, tensor: Tensor, place: Place) -> Offsets:
    entry = code("$table[row]", table=b.table_name(tensor, code("offsets")))
    return table_offsets(total(code(""), place.start, product(entry, place.distance)), place.distance)


def _kind(b: EmitContext, number: int) -> StepKind | None:
    """Returns the kind of a node; None if the node needs its own function."""
    view, call, accesses = b.graph.views[number], b.calls[number], b.accesses[number]
    if not b.is_plain or not call.kernel or call.takes_step or len(accesses) != 1 or view.op.receives:
        return None
    if view.op.has_several_outputs or number in b.wide or number in b.narrow or len(b.scratch_offsets(number)) > 1:
        return None
    (access,), (tensor,) = accesses, view.row_tensors
    is_usual = access.parts == 1 and access.dilation == 1 and not access.is_joined and view.steps == access.output_rows
    is_usual &= access.elements is None
    if not is_usual or not tensor.is_planned or len(view.made_rows(0)) > 1:
        return None
    if access.fill is None and not access.stays_inside:
        return None
    fill = None if access.stays_inside else access.fill
    types = ("void", "void") if call.is_untyped else (tensor.type.dtype.c, view.output.type.dtype.c)
    return StepKind(call.kernel, *types, access.count, fill)


def _place(offsets: Sequence[int]) -> Place:
    distances = {after - before for before, after in pairwise(offsets)}
    if len(distances) <= 1:
        return Place(offsets[0], distances.pop() if distances else 0, ())
    start = min(offsets)
    unit = math.gcd(*(offset - start for offset in offsets))
    return Place(start, unit, tuple((offset - start) // unit for offset in offsets))


def tables(b: EmitContext, shared: SharedSteps) -> CCode:
    """The type that says where rows are, the tables, and the function that reads both; empty where nothing is shared."""
    if not shared.kinds:
        return code("")
    sizes = [number for place in shared.places.values() for number in (place.start, place.distance)]
    field, codebook, about = code(""), code(""), "Where the rows of a tensor are: evenly, `distance` bytes apart."
    if shared.numbers:
        kind = integer_type(shared.numbers)
        about = (
            "Where the rows of a tensor are: evenly; or, with `offsets`, each where these say, in units of `distance`."
        )
        field = code("    const $kind *offsets;\n", kind=kind)
        codebook = code("    row = place->offsets == NULL ? row : (int32_t)place->offsets[row];\n")
    return code(
        """\
${about}typedef struct {
${field}    $size start;
    $size distance;
} row_place;

static uint8_t *row_at(uint8_t *arena, const row_place *place, int32_t row)
{
${codebook}    return arena + place->start + row * place->distance;
}

$places
""",
        about=comment(about),
        field=field,
        size=integer_type(sizes),
        codebook=codebook,
        places=code("\n").join(_place_table(b, shared, index) for index in shared.places),
    )


def _place_table(b: EmitContext, shared: SharedSteps, index: int) -> CCode:
    """The rows of one tensor."""
    tensor, place = b.graph.tensors[index], shared.places[index]
    table, first = code(""), code("")
    if shared.numbers:
        first = code("NULL, ")
    if place.table:
        name = b.table_name(tensor, code("offsets"))
        table = code(
            "static const $kind $name[$count] = {\n$rows\n};\n",
            kind=integer_type(shared.numbers),
            name=name,
            count=len(place.table),
            rows=filled(place.table),
        )
        first = code("$name, ", name=name)
    return code(
        "${about}${table}static const row_place $rows = {${first}$start, $distance};\n",
        about=comment(f"{plain(tensor.name)}: {tensor.type}, {tensor.type.rows} rows of {tensor.type.row_bytes} bytes"),
        table=table,
        rows=b.table_name(tensor, code("rows")),
        first=first,
        start=place.start,
        distance=place.distance,
    )


def definitions(b: EmitContext, shared: SharedSteps) -> CCode:
    """The type of a node's data, and one function for each kind; empty where nothing is shared."""
    if not shared.kinds:
        return code("")
    functions = code("\n").join(_function(b, shared, kind) for kind in dict.fromkeys(shared.kinds.values()))
    return _node_type(b, shared) + code("$functions\n", functions=functions)


def _node_type(b: EmitContext, shared: SharedSteps) -> CCode:
    """The type of the data of a node."""
    limits = [access.rows for number in shared.kinds for access in b.accesses[number]]
    strides = [value for number in shared.kinds for a in b.accesses[number] for value in (a.start, a.stride)]
    about = "The steps of a node: its rows, and the first row that step 0 reads, and how many further on the next one."
    copied, reader = code(""), code("")
    if places := [place_in_scratch(b, number) for number in _copied(b, shared)]:
        about += " Without `params`, a copy of them is in the scratch, from byte `copied` on."
        copied = code("    $kind copied;\n", kind=integer_type(places))
        reader = code(
            """\
static inline const void *params_of(const uint8_t *arena, const node_steps *at)
{
    return at->params != NULL ? at->params : arena + at->scratch + at->copied;
}

"""
        )
    return code(
        """\
${about}typedef struct {
    const void *params;
    const row_place *source;
    const row_place *output;
    $offset scratch;
${copied}    $limit rows;
    $stride start;
    $stride stride;
} node_steps;

$reader""",
        about=comment(about),
        copied=copied,
        reader=reader,
        offset=integer_type([b.plan.arena_bytes]),
        limit=integer_type(limits),
        stride=integer_type([*strides, -1]),
    )


def _takes(b: EmitContext, shared: SharedSteps, kind: StepKind) -> Takes:
    """Returns the parameters of a kind's function: the first and the last step if one of its nodes needs them."""
    own = {b.schedule.takes[number] for number, each in shared.kinds.items() if each == kind}
    return Takes.STEPS if Takes.STEPS in own else Takes.STEP


def _function(b: EmitContext, shared: SharedSteps, kind: StepKind) -> CCode:
    """The function that runs steps of any node of a kind."""
    takes = _takes(b, shared, kind)
    depth = 2 if takes is Takes.STEPS else 1
    output = code("($output *)(void *)row_at(arena, at->output, step)", output=type_name(kind.output_c_type))
    given = [output, code("rows"), _params(b, shared, kind), code("arena + at->scratch")]
    body = _fetch(b, kind, depth) + call_statement(word(kind.kernel), given, depth)
    if takes is Takes.STEPS:
        body = code("    for (; step < end; ++step) {\n${body}    }\n", body=body)
    parameters = [code("uint8_t *arena"), code("int32_t step"), code("int32_t end"), code("const node_steps *at")]
    if takes is not Takes.STEPS:
        del parameters[2]
    head = code("static KIBI_NOINLINE void $name(", name=function_name(b, kind))
    return code("$head{\n${body}}\n", head=wrapped(head, parameters, code(")\n"), 0), body=body)


def _params(b: EmitContext, shared: SharedSteps, kind: StepKind) -> CCode:
    """The parameters of a step; of a node that has a copy of them, the copy.

    Each step finds the copy anew: a pointer in the node's function would keep that function's frame on the stack.
    """
    place = code("at->params")
    if any(shared.kinds[number] == kind for number in _copied(b, shared)):
        place = code("params_of(arena, at)")
    return code("(const $struct *)$place", struct=word(struct_name(kind.kernel)), place=place)


def _copied(b: EmitContext, shared: SharedSteps) -> tuple[int, ...]:
    """The nodes that share functions and have copies of their constants."""
    return tuple(number for number in copied_nodes(b) if number in shared.kinds)


def _fetch(b: EmitContext, kind: StepKind, depth: int) -> CCode:
    """The statements that find the rows of a step."""
    c_type = type_name(kind.c_type)
    if kind.count == 1 and kind.fill is None:
        row = code("(const $kind *)(const void *)row_at(arena, at->source, step * at->stride + at->start)", kind=c_type)
        return wrapped(code("const $kind *const rows[1] = {", kind=c_type), [row], code("};\n"), depth)
    inside = code("(const $kind *)(const void *)row_at(arena, at->source, row)", kind=c_type)
    fetch = code("$indent    rows[k] = $inside;\n", indent=indentation(depth), inside=inside)
    if kind.fill is not None:
        fetch = code(
            """\
$indent    rows[k] = $outside;
$indent    if (row >= 0 && row < at->rows) {
$indent        rows[k] = $inside;
$indent    }
""",
            indent=indentation(depth),
            inside=inside,
            outside=b.fill_name(kind.c_type, kind.fill),
        )
    return code(
        """\
${indent}const $kind *rows[$count];
${indent}int32_t row = step * at->stride + at->start;
${indent}for (int32_t k = 0; k < $count; ++k, ++row) {
${fetch}$indent}
""",
        indent=indentation(depth),
        kind=c_type,
        count=kind.count,
        fetch=fetch,
    )


def function_name(b: EmitContext, kind: StepKind) -> CCode:
    """The C name of a kind's function."""
    outside = "" if kind.fill is None else f"_from_{kind.fill}".replace("-", "minus_")
    name = word(f"{kind.kernel.removeprefix('kibi_')}_{kind.count}{outside}")
    return code("${prefix}_$name", prefix=b.prefix, name=name)


def steps_function(b: EmitContext, shared: SharedSteps, number: int) -> CCode:
    """The data of a node, and its function."""
    view, access, kind = b.graph.views[number], b.accesses[number][0], shared.kinds[number]
    scratch, takes = b.plan.scratch_of(number), b.schedule.takes[number]
    name = code("steps_$number", number=b.numbers[number])
    nodes = _copied(b, shared)
    is_copied = number in nodes
    copied = place_in_scratch(b, number) if is_copied else 0
    fields = [
        code("NULL") if is_copied else code("&params_$number", number=b.numbers[number]),
        code("&$rows", rows=b.table_name(view.row_tensors[0], code("rows"))),
        code("&$rows", rows=b.table_name(view.output, code("rows"))),
        code("$offset", offset=scratch.offset if scratch else 0),
        *([code("$copied", copied=copied)] if nodes else []),
        *(code("$n", n=n) for n in (access.rows, access.start, access.stride)),
    ]
    step = code("0") if takes is Takes.NOTHING else code("step")
    given = [code("arena"), step]
    if _takes(b, shared, kind) is Takes.STEPS:
        given.append(code("end") if takes is Takes.STEPS else total(step, 1, code("")))
    data = wrapped(code("static const node_steps $name = {", name=name), fields, code("};\n"), 0)
    call = copy(b, number, code("(void)")) if is_copied else code("")
    call += call_statement(function_name(b, kind), [*given, code("&$name", name=name)], 1)
    return code(
        """\
$data
static KIBI_NOINLINE void $function($parameters)
{
$body}
""",
        data=data,
        function=b.function(number),
        parameters=step_parameters(b, takes),
        body=measured(b, number, call),
    )
