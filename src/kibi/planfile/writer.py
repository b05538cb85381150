"""Writes a planned model as a plan file: records, constants, digest."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from kibi.codegen.emit_context import EmitContext
from kibi.codegen.memory_c import alignment
from kibi.errors import InputError, TargetError
from kibi.ir import Tensor
from kibi.kernels.params import FieldKind, Params
from kibi.kernels.params.layout import packed
from kibi.kernels.params.needed_parts import needed_parts
from kibi.planfile.contracts import any_elements, kind_of
from kibi.planfile.fences import Weights, fence_records
from kibi.planfile.kernel_ids import EXTERNALS, HALVES, SPACED, STATES, STREAMS, WIDE, kernel_id, part_id
from kibi.planfile.record import Record
from kibi.planfile.records import (
    DIGEST_BYTES,
    EXTERNAL,
    GRAPH,
    GROUP,
    HEADER,
    MAGIC,
    MANY,
    NODE,
    PLACE,
    PORT,
    TABLE_BYTES,
    VARIABLE,
    VERSION,
    Kind,
    Memory,
)
from kibi.planfile.runs import GraphRuns, Group, Pointers, graph_runs
from kibi.planfile.types import TYPES
from kibi.planner import PlannedModel
from kibi.targets import target as target_of

_WORD = np.dtype("<u4")
_MOST_16 = 0xFFFF
_MOST_NODES = 0x7FFF
_MOST_STEPS = 0x7FFF
_PARTS = {2: HALVES, 4: WIDE}
"""What a core needs for runs with such entries."""
_STRUCT = 4
"""Structs of parameters begin at a multiple of it."""
_GRAPH_SLOTS = 12
"""Slots for the two graphs that a kernel runs."""


@dataclass(frozen=True, slots=True)
class WrittenFile:
    """A plan file, and where its parts are.

    Attributes:
        data: its bytes.
        places: the offset of each part, in the order in which parts were stored; equal parts have the same.
        moved: numbers of parts that are elsewhere than in the file whose places were given.
    """

    data: bytes
    places: tuple[int, ...]
    moved: tuple[int, ...] = ()


def plan_file(
    planned: PlannedModel,
    *,
    core: Sequence[int] = (),
    with_names: bool = True,
    least_width: int = 1,
    with_fences: bool = False,
) -> bytes:
    """Returns the bytes of `written_file`."""
    return written_file(
        planned, core=core, with_names=with_names, least_width=least_width, with_fences=with_fences
    ).data


def written_file(
    planned: PlannedModel,
    *,
    core: Sequence[int] = (),
    with_names: bool = True,
    least_width: int = 1,
    places: Sequence[int] = (),
    with_fences: bool = False,
) -> WrittenFile:
    """Returns the plan file of a planned model: the same input gives the same bytes.

    Args:
        planned: the model, with one arena.
        core: the ids of a core's kernels, in the order of its table, where the file is for that core; else empty.
        with_names: False leaves the names of the model, its inputs, outputs and variables out.
        least_width: the fewest bytes of an entry in runs; graphs have more where that does not suffice.
        places: those of a file of a model of the same structure: parts that share their bytes there share them here, and no
            others. Empty: all equal parts do.
        with_fences: True: constants may be written while the file is open; they come first, and fences say when.

    Raises:
        InputError: an operator has a kernel that is not Kibi's own, weights are in slow memory, or a number of the model is
            beyond what records hold.
        TargetError: the plan has several memory regions.
    """
    if planned.plan.regions:
        raise TargetError(
            "a plan file holds a plan with one arena; this one has several regions. Plan without --memory, or compile to C."
        )
    if planned.plan.slow_weights is not None:
        raise InputError(
            "a plan file holds the weights that its core reads in place. Plan without --weights, or compile to C."
        )
    main = EmitContext(planned, target_of(planned.plan.target), has_long_rows=False)
    graphs = _by_depth(main)
    calls = [call for b in graphs for call in (*b.calls, *b.narrow.values()) if call.kernel]
    parts = {part for call in calls if call.params is not None for part in needed_parts(call.params)}
    own = ((STREAMS, main.graph.views[0].op.receives), (STATES, main.variables), (EXTERNALS, main.external))
    parts |= {part for part, is_needed in own if is_needed}
    kernels = {kernel_id(call.kernel) for call in calls}
    blob = _Blob(bytearray(HEADER.size_bytes), places)
    writer = _Writer(
        main, graphs, kernels, parts, core, with_names=with_names, least_width=least_width, with_fences=with_fences, blob=blob
    )  # fmt: skip
    data = writer.written()
    return WrittenFile(data, tuple(blob.order), blob.moved)


def _by_depth(main: EmitContext) -> tuple[EmitContext, ...]:
    """The model and its graphs, each after all that run it: so a core sees that none runs itself."""
    depths: dict[int, tuple[int, EmitContext]] = {}

    def visit(b: EmitContext, depth: int) -> None:
        if depth >= depths.get(id(b), (-1, b))[0]:
            depths[id(b)] = depth, b
            for body in b.subgraphs:
                visit(body, depth + 1)

    visit(main, 0)
    return tuple(b for _, b in sorted(depths.values(), key=lambda each: each[0]))


@dataclass
class _Blob:
    """Bytes that grow; equal parts are stored once.

    Attributes:
        data: all bytes so far.
        like: the places of the same parts in another file, which say what may be shared; empty: all that is equal.
        order: the places of the parts so far.
        places: the offset of each part that may be shared, by its place in the other file, its alignment and its bytes.
        widest: the largest alignment of a part.
        nothing: the offset of tables that have no records.
    """

    data: bytearray
    like: Sequence[int] = ()
    order: list[int] = field(default_factory=list)
    places: dict[tuple[int, int, bytes], int] = field(default_factory=dict)
    widest: int = 1
    nothing: int = 0

    def add(self, part: bytes, alignment_bytes: int = 4) -> int:
        """Returns the offset of a part, which is stored unless an equal one is there already."""
        return self._stored(part, alignment_bytes, lambda _: part)

    def _stored(self, key: bytes, alignment_bytes: int, made: Callable[[int], bytes]) -> int:
        """Returns the offset of a part that a key tells from others; `made` gives its bytes for the offset."""
        number = len(self.order)
        other = self.like[number] if number < len(self.like) else -1
        known = other, alignment_bytes, key
        self.widest = max(self.widest, alignment_bytes)
        if known not in self.places:
            self.data += bytes(-len(self.data) % max(alignment_bytes, 1))
            self.places[known] = len(self.data)
            self.data += made(len(self.data))
        self.order.append(self.places[known])
        return self.places[known]

    @property
    def moved(self) -> tuple[int, ...]:
        """The numbers of parts that are elsewhere than in the other file; all if it has another number of them."""
        if not self.like or len(self.like) != len(self.order):
            return tuple(range(len(self.order))) if self.like else ()
        return tuple(k for k, (here, there) in enumerate(zip(self.order, self.like, strict=True)) if here != there)

    def words(self, numbers: Sequence[int]) -> int:
        """Returns the offset of a table of 32-bit numbers."""
        return self.add(np.array(numbers, _WORD).tobytes()) if numbers else self.nothing

    def text(self, text: str) -> int:
        """Returns the offset of a text that ends with a zero; a zero inside of it ends it."""
        return self.add(text.encode("utf-8", "replace").split(b"\0")[0] + b"\0", 1)

    def struct(self, params: Params, pointers: Mapping[str, int]) -> int:
        """Returns the offset of parameters, whose pointers say how far it is from them to the offsets that are given."""
        names = {each.name for each in params.fields if each.is_pointer}

        def made(place: int) -> bytes:
            near = {name: (at - place) % (1 << 32) if name in names else at for name, at in pointers.items()}
            return packed(params, near)

        return self._stored(repr(type(params)).encode() + packed(params, pointers), _STRUCT, made)

    def array(self, elements: np.ndarray) -> int:
        """Returns the offset of constants."""
        size = elements.dtype.itemsize
        return self.add(np.ascontiguousarray(elements).astype(elements.dtype.newbyteorder("<")).tobytes(), max(size, 4))


@dataclass
class _Writer:
    """Writes one file.

    Attributes:
        main, graphs: the model, and it with the graphs inside of operators.
        kernels: ids of all kernels.
        parts: of these kernels and of cores, which the file needs.
        core: ids of the table of the core that the file is for; none: of one with what the file needs.
        with_names: True if names are stored.
        least_width: the fewest bytes of an entry in runs.
        with_fences: True if constants may be written.
        blob: the bytes of the file.
        most_slots: of a step so far.
        weights: the constants that may be written.
    """

    main: EmitContext
    graphs: tuple[EmitContext, ...]
    kernels: set[int]
    parts: set[str]
    core: Sequence[int]
    with_names: bool
    least_width: int
    with_fences: bool
    blob: _Blob
    most_slots: int = 1
    weights: Weights = field(default_factory=Weights)

    def written(self) -> bytes:
        """Returns the bytes of the file."""
        b = self.main
        for each in self.graphs:
            _check_count(len(each.graph.nodes), "operators", _MOST_NODES)
            for view in each.graph.views:
                _check_count(view.steps, f"row steps of an operator, as of {view.node.label}", _MOST_STEPS)
        pointers = {id(each): self._pointers(each) for each in self.graphs}
        if self.with_fences:
            self._add_weights(pointers)
        kinds = {
            id(each): [_kind(each, number, pointers[id(each)]) for number in range(len(each.graph.nodes))]
            for each in self.graphs
        }
        runs = {
            id(each): graph_runs(each, pointers[id(each)], kinds[id(each)], b.variable_bytes, self.least_width)
            for each in self.graphs
        }
        self.parts |= {_PARTS[each.width] for each in runs.values() if each.width in _PARTS}
        self.parts |= {SPACED} if any(each.is_spaced for each in runs.values()) else set()
        kernels = sorted(self.kernels | set(map(part_id, self.parts)))
        self.core = self.core or kernels
        streams = b.graph.views[0].op.receives
        ports = [self._port(pointers[id(b)], index, is_row=streams) for index in b.graph.inputs]
        ports += [self._port(pointers[id(b)], index, is_row=False) for index in b.graph.outputs]
        tables = {
            "kernels": self.blob.words(kernels),
            "ports": self._table(PORT, ports),
            "variables": self._table(VARIABLE, [self._variable(*each) for each in b.variables.items()]),
            "externals": self._table(EXTERNAL, [_external(b.graph.tensors[index]) for index in b.external]),
        }  # before the runs, whose table may begin over them
        graphs = self._table(GRAPH, [self._graph(b, pointers[id(b)], kinds[id(b)], runs[id(b)]) for b in self.graphs])
        fences = fence_records(b, self.weights, runs)
        values = {
            **tables,
            "magic": MAGIC,
            "version": VERSION,
            "required": 0,
            "fences": len(fences),
            "alignment": max(4, self.blob.widest),
            "arena_bytes": b.plan.arena_bytes,
            "state_bytes": b.variable_bytes,
            "graphs": graphs,
            "name": self._name(b.graph.name),
            "kernel_count": len(kernels),
            "graph_count": len(self.graphs),
            "input_count": len(b.graph.inputs),
            "port_count": len(ports),
            "variable_count": len(b.variables),
            "most_slots": self.most_slots,
            "external_count": len(b.external),
            "arena_alignment": alignment(b, b.plan.region_names[0]),
            "reserved": 0,
        }
        data = self.blob.data
        data += bytes(-len(data) % 4)
        data += b"".join(fences)
        data += bytes(4 if data[-1] else 0)  # a zero ends all texts
        data[: HEADER.size_bytes] = HEADER.packed(file_bytes=len(data) + DIGEST_BYTES, **values)
        return bytes(data) + hashlib.sha256(data).digest()

    def _table(self, record: Record, rows: Sequence[Mapping[str, float]]) -> int:
        return self.blob.add(b"".join(record.packed(**row) for row in rows)) if rows else self.blob.nothing

    def _name(self, text: str) -> int:
        return self.blob.text(text) if self.with_names and text else 0

    def _pointers(self, b: EmitContext) -> Pointers:
        """Stores the constants that steps read, and the rows that replace those outside of inputs: the longest of each value."""
        constants, fillers = dict[int, int](), dict[tuple[int, int], int]()
        for node, view in enumerate(b.graph.views):
            for number, (tensor, access) in enumerate(zip(view.row_tensors, b.accesses[node], strict=True)):
                is_kept = (
                    self.with_fences and tensor.index in b.graph.outputs
                )  # the caller reads it after the last step
                if tensor.is_constant and tensor.data is not None and tensor.index not in constants and not is_kept:
                    constants[tensor.index] = self._weight(tensor.data)
                if access.fill is not None and not access.stays_inside:
                    dtype = tensor.type.dtype
                    longest = b.fills[dtype.c, access.fill]
                    fillers[node, number] = self._weight(np.full(longest, access.fill, dtype.numpy))
        pointers = Pointers(b, constants, fillers)
        if not self.with_fences:
            self._add_ends(pointers)
        return pointers

    def _add_ends(self, pointers: Pointers) -> None:
        """Stores the inputs and outputs of a graph that are constants."""
        b, constants = pointers.b, pointers.constants
        for index in (*b.graph.inputs, *b.graph.outputs):
            tensor = b.graph.tensors[index]
            if tensor.is_constant and tensor.data is not None and index not in constants:
                constants[index] = self.blob.array(tensor.data)

    def _weight(self, elements: np.ndarray) -> int:
        """Stores constants, which may be written if the file has fences; returns their offset."""
        return self.weights.add(self.blob.array(elements), elements.nbytes if self.with_fences else 0)

    def _add_weights(self, pointers: Mapping[int, Pointers]) -> None:
        """Stores the arrays of parameters that may have any elements; all that comes afterwards stays as it is."""
        for b in self.graphs:
            for node, call in enumerate(b.calls):
                free = any_elements(call.kernel) if call.kernel else frozenset()
                for name, data in call.constants.items():
                    if name in free:
                        self.weights.arrays[id(b), node, name] = self._weight(data)
        self.weights.end = max((offset + size for offset, size in self.weights.sizes.items()), default=0)
        self.blob.places.clear()
        self.blob.data += bytes(-len(self.blob.data) % 4)
        self.blob.nothing = len(self.blob.data)
        for each in pointers.values():
            self._add_ends(each)

    def _graph(self, b: EmitContext, pointers: Pointers, kinds: Sequence[Kind], runs: GraphRuns) -> dict[str, float]:
        nodes = [self._node(b, each, kinds[each[0]], pointers.groups(each[0])) for each in b.scratch_records]
        _check_count(len(nodes), "places of scratch", _MOST_NODES)
        _check_count(len(runs.places), "places outside of the arena")
        tables = {
            "nodes": self._table(NODE, nodes),
            "places": self._places(runs),
            "ends": self._ends(b) if b.is_subgraph else 0,
        }
        begin = self._runs(runs)
        return {
            **tables,
            "runs": begin,
            "runs_end": begin + len(runs.data),
            "arena_bytes": b.plan.arena_bytes,
            "node_count": len(nodes),
            "place_count": len(runs.places),
            "input_count": len(b.graph.inputs) if b.is_subgraph else 0,
            "output_count": len(b.graph.outputs) if b.is_subgraph else 0,
            "alignment": alignment(b, b.plan.region_names[0]),
            "width": runs.width,
        }

    def _runs(self, runs: GraphRuns) -> int:
        """Stores the runs after their table, whose unused beginning is over other bytes of the file; returns their offset."""
        data = self.blob.data
        if runs.table:
            data += bytes(max(0, self.weights.end + TABLE_BYTES - len(runs.table) - len(data)))
        end = bytes([MANY]) if runs.table else b""
        return self.blob.add(runs.table + runs.data + end, 2) + len(runs.table)

    def _places(self, runs: GraphRuns) -> int:
        return self._table(PLACE, [{"memory": memory, "offset": offset} for memory, offset in runs.places])

    def _ends(self, b: EmitContext) -> int:
        """Stores where the inputs and outputs of a graph inside of an operator are."""
        tensors = [b.graph.tensors[index] for index in (*b.graph.inputs, *b.graph.outputs)]
        places = [b.plan.row_offsets(b.graph, tensor.index)[0] for tensor in tensors]
        return self.blob.words([*places, *(each.type.size_bytes for each in tensors)])

    def _node(
        self, b: EmitContext, record: tuple[int, int, int], kind: Kind, groups: Sequence[Group]
    ) -> dict[str, float]:
        """A record of a node, for the steps whose scratch is at an offset and has so many bytes."""
        number, offset, size_bytes = record
        view, call = b.graph.views[number], b.calls[number]
        call = b.narrow[number] if number in b.narrow and size_bytes < call.scratch_bytes else call
        receives = view.op.receives
        identifier = 0 if receives else kernel_id(call.kernel)
        states, outputs = len(view.op.states), len(view.outputs)
        counts = [each.count for each in groups]
        pointers, reads = sum(counts), len(groups) - states - outputs
        slots = pointers + _GRAPH_SLOTS * bool(view.op.subgraph_names)
        _check_count(slots, f"rows that a step of {view.node.label} takes")
        self.most_slots = max(self.most_slots, slots)
        return {
            "params": self.blob.nothing if receives or call.params is None else self._params(b, number, call.params),
            "groups": self._table(GROUP, [each.values() for each in groups]),
            "kernel_id": identifier,
            "scratch": offset,
            "scratch_bytes": size_bytes,
            "steps": view.steps,
            "place": self.core.index(identifier) if identifier in self.core else 0,
            "pointers": pointers,
            "rows": sum(counts[:reads]),
            "flags": kind,
            "read_count": reads,
            "state_count": states,
            "output_count": outputs,
        }

    def _params(self, b: EmitContext, number: int, params: Params) -> int:
        pointers = dict[str, int]()
        for name, data in params.constants.items():
            stored = self.weights.arrays.get((id(b), number, name))
            pointers[name] = self.blob.array(data) if stored is None else stored
        for each in params.fields:
            if each.kind is FieldKind.SUBGRAPH:
                pointers[each.name] = self.graphs.index(b.body(number, each.name))
        return self.blob.struct(params, pointers)

    def _port(self, pointers: Pointers, index: int, *, is_row: bool) -> dict[str, float]:
        tensor = pointers.b.graph.tensors[index]
        quantization = tensor.type.quantization
        memory, place = (Memory.NULL, 0) if is_row else pointers.port(index)
        return {
            "place": place,
            "row_bytes": tensor.type.row_bytes,
            "bytes": tensor.type.size_bytes,
            "shape": self.blob.words(tensor.type.shape),
            "scale": 0.0 if quantization is None else float(quantization.scale),
            "zero_point": 0 if quantization is None else int(quantization.zero_point),
            "name": self._name(tensor.name),
            "memory": memory,
            "type": TYPES.index(tensor.type.dtype),
            "rank": len(tensor.type.shape),
            "reserved": 0,
        }

    def _variable(self, index: int, place: int) -> dict[str, float]:
        tensor = self.main.graph.tensors[index]
        first = tensor.initial_bytes
        is_even = len(set(first)) <= 1
        return {
            "place": place,
            "bytes": tensor.type.size_bytes,
            "initial": 0 if is_even else self.blob.add(first),
            "fill": first[0] if is_even and first else 0,
            "name": self._name(tensor.name),
        }


def _kind(b: EmitContext, number: int, pointers: Pointers) -> Kind:
    view = b.graph.views[number]
    if view.op.receives:
        return Kind.RECEIVES
    kind = kind_of(b.calls[number].kernel)
    for flag, holds in (
        (Kind.ACCUMULATES, view.accumulates),
        (Kind.EXITS | Kind.COUNTS, number in b.early_exits),
        (Kind.LOOPS, number in b.graph.loops),
        (Kind.CONTROLS, bool(view.op.subgraph_names)),
        (Kind.LEAVES, pointers.leave(number)),
    ):
        kind |= flag if holds else Kind(0)
    return kind


def _external(tensor: Tensor) -> dict[str, float]:
    return {"bytes": tensor.type.size_bytes, "alignment": tensor.type.dtype.size_bytes}


def _check_count(count: int, what: str, most: int = _MOST_16) -> None:
    if count > most:
        raise InputError(f"a plan file holds at most {most} {what}; there are {count}. Compile the model to C.")
