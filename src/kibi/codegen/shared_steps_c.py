"""C text of step functions that several nodes share: one for each kind of call, and a few bytes of data for each node.

A function of its own takes about 100 bytes for each node on a Cortex-M4; its data and the call take a third of that. Only nodes
that read rows of one tensor in the arena, in the usual way, are shared; each keeps a function of its own name.
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from kibi.codegen.c_text import integer_type
from kibi.codegen.emit_context import PLAN_TABLE_PREFIX, EmitContext
from kibi.ir import Tensor
from kibi.text.c import CCode, code, comment, filled, type_name, word

_LEAST_NODES = 3
"""For fewer nodes a shared function does not pay."""
_TABLE = code("${prefix}rows", prefix=word(PLAN_TABLE_PREFIX))


@dataclass(frozen=True, slots=True)
class Kind:
    """What nodes must have in common: the kernel, the C types of elements, the rows of a step, what stands outside."""

    kernel: str
    c_type: str
    output_c_type: str
    count: int
    fill: int | None


@dataclass(frozen=True, slots=True)
class Place:
    """Where rows lie: row `row` at `start + distance * row`, or, with a table, `start + distance * table[first + row]`."""

    start: int
    distance: int
    first: int
    table: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class SharedSteps:
    """The nodes whose steps run in shared functions.

    Attributes:
        kinds: for each such node its kind.
        places: for each tensor that they read or make, by index, where its rows lie.
        table: all tables of places, one behind another; a first entry that nobody reads.
    """

    kinds: dict[int, Kind]
    places: dict[int, Place]
    table: tuple[int, ...]


def shared_steps(b: EmitContext) -> SharedSteps:
    """The nodes that share functions with at least two others; none where there is more memory than the arena."""
    found = {number: kind for number in range(len(b.graph.nodes)) if (kind := _kind(b, number)) is not None}
    counts = Counter(found.values())
    kinds = {number: kind for number, kind in found.items() if counts[kind] >= _LEAST_NODES}
    tensors = {t.index for number in kinds for t in (*b.graph.sites[number].row_tensors, b.graph.sites[number].output)}
    places: dict[int, Place] = {}
    table: list[int] = [0]
    for index in sorted(tensors):
        place = _place(b.plan.row_offsets(b.graph, index), len(table))
        places[index] = place
        table += place.table
    return SharedSteps(kinds, places, tuple(table))


def _kind(b: EmitContext, number: int) -> Kind | None:
    """The kind of a node; None for one that needs a function of its own."""
    site, call, accesses = b.graph.sites[number], b.calls[number], b.accesses[number]
    if not b.is_plain or not call.kernel or call.takes_step or len(accesses) != 1 or site.op.receives:
        return None
    (access,), (tensor,) = accesses, site.row_tensors
    is_usual = access.parts == 1 and access.dilation == 1 and site.steps == access.output_rows
    if not is_usual or not tensor.is_planned or len(site.made_rows(0)) > 1:
        return None
    if access.fill is None and not access.stays_inside:
        return None
    fill = None if access.stays_inside else access.fill
    types = ("void", "void") if call.is_untyped else (tensor.type.dtype.c, site.output.type.dtype.c)
    return Kind(call.kernel, *types, access.count, fill)


def _place(offsets: Sequence[int], first: int) -> Place:
    distances = {after - before for before, after in pairwise(offsets)}
    if len(distances) <= 1:
        return Place(offsets[0], distances.pop() if distances else 0, 0, ())
    start = min(offsets)
    unit = math.gcd(*(offset - start for offset in offsets))
    return Place(start, unit, first, tuple((offset - start) // unit for offset in offsets))


def definitions(b: EmitContext, shared: SharedSteps) -> CCode:
    """The types, the table, and one function for each kind; empty where nothing is shared."""
    if not shared.kinds:
        return code("")
    functions = code("\n").join(_function(b, kind) for kind in dict.fromkeys(shared.kinds.values()))
    return _place_type(shared) + _node_type(b, shared) + code("$functions\n", functions=functions)


def _place_type(shared: SharedSteps) -> CCode:
    """The type that says where rows are, the table of those that are apart, and the function that reads both."""
    sizes = [number for place in shared.places.values() for number in (place.start, place.distance, place.first)]
    table, codebook = code(""), code("")
    if len(shared.table) > 1:
        table = code(
            """\
${about}static const $kind $name[$count] = {
$rows
};

""",
            about=comment("The rows of tensors whose rows lie apart; what is first is no row's."),
            kind=integer_type(shared.table),
            name=_TABLE,
            count=len(shared.table),
            rows=filled(shared.table),
        )
        codebook = code("    row = place.table == 0 ? row : (int32_t)$table[place.table + row];\n", table=_TABLE)
    return code(
        """\
${about}typedef struct {
    $kind start;
    $kind distance;
    $kind table;
} row_place;

${table}static uint8_t *row_at(uint8_t *arena, row_place place, int32_t row)
{
${codebook}    return arena + place.start + row * place.distance;
}

""",
        about=comment(
            "Where the rows of a tensor lie: evenly, or each where the table says, in units of the distance."
        ),
        kind=integer_type(sizes),
        table=table,
        codebook=codebook,
    )


def _node_type(b: EmitContext, shared: SharedSteps) -> CCode:
    """The type of the data of a node."""
    limits = [access.rows for number in shared.kinds for access in b.accesses[number]]
    strides = [value for number in shared.kinds for a in b.accesses[number] for value in (a.start, a.stride)]
    return code(
        """\
${about}typedef struct {
    const void *params;
    row_place source;
    row_place output;
    $offset scratch;
    $limit rows;
    $stride start;
    $stride stride;
} node_steps;

""",
        about=comment(
            "The steps of a node: its rows, and the first row that step 0 reads, and how many further on the next one."
        ),
        offset=integer_type([b.plan.arena_bytes]),
        limit=integer_type(limits),
        stride=integer_type([*strides, -1]),
    )


def _function(b: EmitContext, kind: Kind) -> CCode:
    """The function that runs steps of any node of a kind."""
    return code(
        """\
static KIBI_NOINLINE void $name(uint8_t *arena, int32_t step, int32_t end, const node_steps *at)
{
    for (; step < end; ++step) {
${fetch}        $kernel(($output *)(void *)row_at(arena, at->output, step), rows,
            (const ${kernel}_params *)at->params, arena + at->scratch);
    }
}
""",
        name=function_name(b, kind),
        fetch=_fetch(b, kind),
        kernel=word(kind.kernel),
        output=type_name(kind.output_c_type),
    )


def _fetch(b: EmitContext, kind: Kind) -> CCode:
    """The statements that find the rows of a step."""
    c_type = type_name(kind.c_type)
    if kind.count == 1 and kind.fill is None:
        return code(
            """\
        const $kind *const rows[1] = {(const $kind *)(const void *)row_at(arena, at->source, step * at->stride + at->start)};
""",
            kind=c_type,
        )
    inside = code("(const $kind *)(const void *)row_at(arena, at->source, row)", kind=c_type)
    if kind.fill is not None:
        outside = b.fill_name(kind.c_type, kind.fill)
        inside = code("row >= 0 && row < at->rows ? $inside : $outside", inside=inside, outside=outside)
    return code(
        """\
        const $kind *rows[$count];
        int32_t row = step * at->stride + at->start;
        for (int32_t k = 0; k < $count; ++k, ++row) {
            rows[k] = $inside;
        }
""",
        kind=c_type,
        count=kind.count,
        inside=inside,
    )


def function_name(b: EmitContext, kind: Kind) -> CCode:
    """The C name of a kind's function."""
    outside = "" if kind.fill is None else f"_from_{kind.fill}".replace("-", "minus_")
    name = word(f"{kind.kernel.removeprefix('kibi_')}_{kind.count}{outside}")
    return code("${prefix}_$name", prefix=b.prefix, name=name)


def steps_function(b: EmitContext, shared: SharedSteps, number: int) -> CCode:
    """The data of a node, and its function."""
    site, access = b.graph.sites[number], b.accesses[number][0]
    scratch = b.plan.scratch_of(number)
    return code(
        """\
static const node_steps steps_$number = {&params_$number, $source, $output, $scratch, $rows, $start, $stride};

static KIBI_NOINLINE void $function(uint8_t *arena, int32_t step, int32_t end)
{
    $shared(arena, step, end, &steps_$number);
}
""",
        number=number,
        source=_initializer(shared, site.row_tensors[0]),
        output=_initializer(shared, site.output),
        scratch=scratch.offset if scratch else 0,
        rows=access.rows,
        start=access.start,
        stride=access.stride,
        function=b.function(number),
        shared=function_name(b, shared.kinds[number]),
    )


def _initializer(shared: SharedSteps, tensor: Tensor) -> CCode:
    place = shared.places[tensor.index]
    return code("{$start, $distance, $first}", start=place.start, distance=place.distance, first=place.first)
