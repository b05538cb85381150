"""C text of step functions that several nodes share: one for each kind of call, and a few bytes of data for each node.

A function of its own takes about 100 bytes for each node on a Cortex-M4; its data and the call take a third of that. Only nodes
that read rows of one tensor in the arena, in the usual way, are shared; each keeps a function of its own name.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from kibi.codegen.bindings import PLAN_TABLE_PREFIX, Bindings
from kibi.codegen.c_text import comment, filled, integer_type
from kibi.ir import Tensor

_LEAST_NODES = 3
"""For fewer nodes a shared function does not pay."""
_TABLE = f"{PLAN_TABLE_PREFIX}rows"


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


def shared_steps(b: Bindings) -> SharedSteps:
    """The nodes that share functions with at least two others; none where there is more memory than the arena."""
    found = {number: kind for number in range(len(b.graph.nodes)) if (kind := _kind(b, number)) is not None}
    counts = list(found.values())
    kinds = {number: kind for number, kind in found.items() if counts.count(kind) >= _LEAST_NODES}
    tensors = {t.index for number in kinds for t in (*b.graph.sites[number].row_tensors, b.graph.sites[number].output)}
    places: dict[int, Place] = {}
    table: list[int] = [0]
    for index in sorted(tensors):
        place = _place(b.plan.row_offsets(b.graph, index), len(table))
        places[index] = place
        table += place.table
    return SharedSteps(kinds, places, tuple(table))


def _kind(b: Bindings, number: int) -> Kind | None:
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


def definitions(b: Bindings, shared: SharedSteps) -> str:
    """The types, the table, and one function for each kind; empty where nothing is shared."""
    if not shared.kinds:
        return ""
    offsets = integer_type([b.plan.arena_bytes])
    sizes = [number for place in shared.places.values() for number in (place.start, place.distance, place.first)]
    limits = [access.rows for number in shared.kinds for access in b.accesses[number]]
    strides = [value for number in shared.kinds for a in b.accesses[number] for value in (a.start, a.stride)]
    table = (
        f"static const {integer_type(shared.table)} {_TABLE}[{len(shared.table)}] = {{\n"
        f"{filled(map(str, shared.table))}\n}};\n\n"
    )
    number = "table == 0 ? row : (int32_t)" + f"{_TABLE}[place.table + row]"
    text = (
        comment("Where the rows of a tensor lie: evenly, or each where the table says, in units of the distance.")
        + f"typedef struct {{\n    {integer_type(sizes)} start;\n    {integer_type(sizes)} distance;\n"
        f"    {integer_type(sizes)} table;\n}} row_place;\n\n"
        + (
            comment("The rows of tensors whose rows lie apart; what is first is no row's.") + table
            if len(shared.table) > 1
            else ""
        )
        + "static uint8_t *row_at(uint8_t *arena, row_place place, int32_t row)\n{\n"
        + (f"    row = place.{number};\n" if len(shared.table) > 1 else "")
        + "    return arena + place.start + row * place.distance;\n}\n\n"
        + comment(
            "The steps of a node: its rows, and the first row that step 0 reads, and how many further on the next one."
        )
        + f"typedef struct {{\n    const void *params;\n    row_place source;\n    row_place output;\n    {offsets} scratch;\n"
        f"    {integer_type(limits)} rows;\n    {_signed(strides)} start;\n    {_signed(strides)} stride;\n}} node_steps;\n\n"
    )
    return text + "\n".join(_function(b, kind) for kind in dict.fromkeys(shared.kinds.values())) + "\n"


def _signed(numbers: Sequence[int]) -> str:
    return integer_type([*numbers, -1])


def _function(b: Bindings, kind: Kind) -> str:
    """The function that runs steps of any node of a kind."""
    pointer = f"(const {kind.c_type} *)(const void *)row_at(arena, at->source, "
    step = "step * at->stride + at->start"
    if kind.count == 1 and kind.fill is None:
        fetch = f"        const {kind.c_type} *const rows[1] = {{{pointer}{step})}};\n"
    else:
        inside = f"{pointer}row)"
        if kind.fill is not None:
            outside = b.fill_name(kind.c_type, kind.fill)
            inside = f"row >= 0 && row < at->rows ? {inside} : {outside}"
        fetch = (
            f"        const {kind.c_type} *rows[{kind.count}];\n        int32_t row = {step};\n"
            f"        for (int32_t k = 0; k < {kind.count}; ++k, ++row) {{\n            rows[k] = {inside};\n        }}\n"
        )
    return (
        f"static KIBI_NOINLINE void {function_name(b, kind)}(uint8_t *arena, int32_t step, int32_t end, const node_steps *at)\n"
        f"{{\n    for (; step < end; ++step) {{\n{fetch}"
        f"        {kind.kernel}(({kind.output_c_type} *)(void *)row_at(arena, at->output, step), rows,\n"
        f"            (const {kind.kernel}_params *)at->params, arena + at->scratch);\n    }}\n}}\n"
    )


def function_name(b: Bindings, kind: Kind) -> str:
    """The C name of a kind's function."""
    outside = "" if kind.fill is None else f"_from_{kind.fill}".replace("-", "minus_")
    return f"{b.prefix}_{kind.kernel.removeprefix('kibi_')}_{kind.count}{outside}"


def steps_function(b: Bindings, shared: SharedSteps, number: int) -> str:
    """The data of a node, and its function."""
    site, access = b.graph.sites[number], b.accesses[number][0]
    scratch = b.plan.scratch_of(number)
    values = (
        f"&params_{number}",
        _initializer(shared, site.row_tensors[0]),
        _initializer(shared, site.output),
        *(str(each) for each in (scratch.offset if scratch else 0, access.rows, access.start, access.stride)),
    )
    return (
        f"static const node_steps steps_{number} = {{{', '.join(values)}}};\n\n"
        f"static KIBI_NOINLINE void {b.function(number)}(uint8_t *arena, int32_t step, int32_t end)\n{{\n"
        f"    {function_name(b, shared.kinds[number])}(arena, step, end, &steps_{number});\n}}\n"
    )


def _initializer(shared: SharedSteps, tensor: Tensor) -> str:
    place = shared.places[tensor.index]
    return f"{{{place.start}, {place.distance}, {place.first}}}"
