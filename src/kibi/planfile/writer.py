"""Writes a planned model as a plan file: records, constants, digest."""

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from kibi.codegen.emit_context import EmitContext
from kibi.codegen.memory_c import alignment
from kibi.codegen.order_lines import Line, order_lines
from kibi.codegen.schedule_folding import fold
from kibi.errors import InputError, TargetError
from kibi.ir import RowAccess, Tensor
from kibi.kernels.params import FieldKind, Params
from kibi.kernels.params.layout import packed
from kibi.planfile.kernel_ids import ParamsForm, kernel_id
from kibi.planfile.records import (
    DIGEST_BYTES,
    EXTERNAL,
    GRAPH,
    HEADER,
    LINE,
    MAGIC,
    NOBODY,
    NODE,
    NOTHING,
    PORT,
    READ,
    TENSOR,
    VARIABLE,
    VERSION,
    WINDOW,
    WRITE,
    Kind,
    Memory,
    Placing,
    Reading,
    Record,
)
from kibi.planfile.types import TYPES
from kibi.planner import PlannedModel
from kibi.targets import target as target_of

_WORD = np.dtype("<u4")
_MOST_16 = 0xFFFF
_MOST_STEPS = 0x7FFF
_WORDS_AT_ONCE = 4
"""A core may copy so many words of parameters at once, and so a few too many."""
_GRAPH_SLOTS = 16
"""Slots for the two graphs that a kernel runs."""


def plan_file(planned: PlannedModel, *, core: Sequence[int] = (), with_names: bool = True) -> bytes:
    """Returns the plan file of a planned model: the same input gives the same bytes.

    Args:
        planned: the model, with one arena.
        core: the ids of a core's kernels, in the order of its table, where the file is for that core; else empty.
        with_names: False leaves the names of the model, its inputs, outputs and variables out.

    Raises:
        InputError: an operator has a kernel that is not Kibi's own, or a number of the model is beyond what records hold.
        TargetError: the plan has several memory regions.
    """
    if planned.plan.regions:
        raise TargetError(
            "a plan file holds a plan with one arena; this one has several regions. Plan without --memory, or compile to C."
        )
    main = EmitContext(planned, target_of(planned.plan.target))
    graphs = _by_depth(main)
    kernels = sorted({kernel_id(name) for b in graphs for name in b.kernels})
    writer = _Writer(main, graphs, kernels, core or kernels, with_names=with_names)
    return writer.written()


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
        places: the offset of each part that may be shared, by its alignment and bytes.
    """

    data: bytearray
    places: dict[tuple[int, bytes], int] = field(default_factory=dict)

    def add(self, part: bytes, alignment_bytes: int = 4) -> int:
        """Returns the offset of a part, which is stored unless an equal one is there already."""
        key = alignment_bytes, part
        if key not in self.places:
            self.data += bytes(-len(self.data) % alignment_bytes)
            self.places[key] = len(self.data)
            self.data += part
        return self.places[key]

    def words(self, numbers: Sequence[int]) -> int:
        """Returns the offset of a table of 32-bit numbers; 0 for none."""
        return self.add(np.array(numbers, _WORD).tobytes()) if numbers else 0

    def text(self, text: str) -> int:
        """Returns the offset of a text that ends with a zero; a zero inside of it ends it."""
        return self.add(text.encode("utf-8", "replace").split(b"\0")[0] + b"\0", 1)

    def array(self, elements: np.ndarray) -> int:
        """Returns the offset of constants."""
        size = elements.dtype.itemsize
        return self.add(np.ascontiguousarray(elements).astype(elements.dtype.newbyteorder("<")).tobytes(), max(size, 4))


@dataclass
class _Writer:
    """Writes one file.

    Attributes:
        main, graphs: the model, and it with the graphs inside of operators.
        kernels: ids of all kernels, ascending.
        core: ids of the kernels of the core that the file is for.
        with_names: True if names are stored.
    """

    main: EmitContext
    graphs: tuple[EmitContext, ...]
    kernels: Sequence[int]
    core: Sequence[int]
    with_names: bool
    blob: _Blob = field(default_factory=lambda: _Blob(bytearray(HEADER.size_bytes)))
    most_slots: int = 1

    def written(self) -> bytes:
        """Returns the bytes of the file."""
        b = self.main
        tensors = {id(each): _numbers(each) for each in self.graphs}
        graphs = self._table(GRAPH, [self._graph(each, tensors[id(each)]) for each in self.graphs])
        inputs, outputs = (
            self._table(PORT, [self._port(b.graph.tensors[index], tensors[id(b)]) for index in ends])
            for ends in (b.graph.inputs, b.graph.outputs)
        )
        values = {
            "magic": MAGIC,
            "version": VERSION,
            "required": 0,
            "optional": 0,
            "alignment": 8 if any(each == 8 for each, _ in self.blob.places) else 4,
            "arena_bytes": b.plan.arena_bytes,
            "arena_alignment": alignment(b, b.plan.region_names[0]),
            "state_bytes": b.variable_bytes,
            "kernels": self.blob.words(self.kernels),
            "graphs": graphs,
            "inputs": inputs,
            "outputs": outputs,
            "variables": self._table(VARIABLE, [self._variable(*each) for each in b.variables.items()]),
            "externals": self._table(EXTERNAL, [_external(b.graph.tensors[index]) for index in b.external]),
            "name": self._name(b.graph.name),
            "kernel_count": len(self.kernels),
            "graph_count": len(self.graphs),
            "input_count": len(b.graph.inputs),
            "output_count": len(b.graph.outputs),
            "variable_count": len(b.variables),
            "external_count": len(b.external),
            "most_slots": self.most_slots,
            "reserved": 0,
        }
        data = self.blob.data
        data += bytes(-len(data) % 4)
        data[: HEADER.size_bytes] = HEADER.packed(file_bytes=len(data) + DIGEST_BYTES, **values)
        return bytes(data) + hashlib.sha256(data).digest()

    def _table(self, record: Record, rows: Sequence[Mapping[str, float]]) -> int:
        return self.blob.add(b"".join(record.packed(**row) for row in rows)) if rows else 0

    def _name(self, text: str) -> int:
        return self.blob.text(text) if self.with_names and text else 0

    def _graph(self, b: EmitContext, numbers: Mapping[int, int]) -> dict[str, float]:
        _check_count(len(b.graph.nodes), "operators")
        _check_count(len(numbers), "tensors")
        nodes = [self._node(b, number, numbers) for number in range(len(b.graph.nodes))]
        steps = [view.steps for view in b.graph.views]
        for view in b.graph.views:
            _check_count(view.steps, f"row steps of an operator, as of {view.node.label}", _MOST_STEPS)
        lines = order_lines(fold(b.plan.runs, steps), steps)
        # What the caller of a subgraph needs; a model's own inputs and outputs have port records.
        ends = [
            self.blob.words([b.plan.row_offsets(b.graph, index)[0] for index in side]) if b.is_subgraph else 0
            for side in (b.graph.inputs, b.graph.outputs)
        ]
        return {
            "nodes": self._table(NODE, nodes),
            "tensors": self._table(TENSOR, [self._tensor(b, index) for index in numbers]),
            "lines": self._table(LINE, [_line(each) for each in lines]),
            "inputs": ends[0],
            "outputs": ends[1],
            "arena_bytes": b.plan.arena_bytes,
            "alignment": alignment(b, b.plan.region_names[0]),
            "node_count": len(nodes),
            "tensor_count": len(numbers),
            "line_count": len(lines),
            "input_count": len(b.graph.inputs) if b.is_subgraph else 0,
            "output_count": len(b.graph.outputs) if b.is_subgraph else 0,
        }

    def _node(self, b: EmitContext, number: int, numbers: Mapping[int, int]) -> dict[str, float]:
        view, call = b.graph.views[number], b.calls[number]
        receives = view.op.receives
        identifier = 0 if receives else kernel_id(call.kernel)
        reads = [] if receives else list(zip(view.row_tensors, b.accesses[number], strict=True))
        writes = [
            {"tensor": numbers[tensor.index], "rows": len(view.made_rows(0, output))}
            for output, tensor in enumerate(view.outputs)
        ]
        writes += [{"tensor": numbers[view[name].index], "rows": 0} for name in view.op.states]
        scratch = b.plan.scratch_of(number)
        rows = sum(access.count for _, access in reads) + len(writes)
        words = 0 if receives else ParamsForm.of(call.kernel).words
        slots = rows + words + -words % _WORDS_AT_ONCE + _GRAPH_SLOTS * bool(view.op.subgraph_names)
        _check_count(slots, f"rows that a step of {view.node.label} takes")
        self.most_slots = max(self.most_slots, slots)
        return {
            "params": 0 if receives or call.params is None else self._params(b, number, call.params),
            "reads": self._table(READ, [self._read(tensor, access, numbers) for tensor, access in reads]),
            "writes": self._table(WRITE, writes),
            "steps": view.steps,
            "scratch": NOTHING if scratch is None else scratch.offset,
            "scratch_bytes": 0 if scratch is None else scratch.size_bytes,
            "kernel_id": identifier,
            "rows": rows,
            "slots": slots,
            "place": self.core.index(identifier) if identifier in self.core else 0,
            "flags": _kind(b, number),
            "read_count": len(reads),
            "output_count": len(view.outputs),
            "state_count": len(view.op.states),
            "write_count": len(writes),
        }

    def _params(self, b: EmitContext, number: int, params: Params) -> int:
        pointers = {name: self.blob.array(data) for name, data in params.constants.items()}
        for each in params.fields:
            if each.kind is FieldKind.SUBGRAPH:
                pointers[each.name] = self.graphs.index(b.body(number, each.name))
        return self.blob.add(packed(params, pointers))

    def _read(self, tensor: Tensor, access: RowAccess, numbers: Mapping[int, int]) -> dict[str, float]:
        flags = Reading(0)
        if access.is_shared:
            flags |= Reading.SHARED
        if not access.stays_inside:
            flags |= Reading.OUTSIDE
        if access == RowAccess.same(access.rows) and not access.is_shared:
            flags |= Reading.SINGLE
        filler = 0
        if access.fill is not None and not access.stays_inside:
            elements = tensor.type.row_elements // access.parts
            filler = self.blob.array(np.full(elements, access.fill, tensor.type.dtype.numpy))
        window = {
            "count": access.count,
            "start": access.start,
            "stride": access.stride,
            "dilation": access.dilation,
            "rows": access.rows,
            "steps": access.output_rows,
            "parts": access.parts,
            "filler": filler,
        }
        place = 0 if Reading.SINGLE in flags else self.blob.add(WINDOW.packed(**window))
        return {"tensor": numbers[tensor.index], "flags": flags, "reserved": 0, "window": place}

    def _tensor(self, b: EmitContext, index: int) -> dict[str, float]:
        tensor = b.graph.tensors[index]
        kind = tensor.type
        producer = _producers(b).get(index, NOBODY)
        made = 0
        if producer != NOBODY and not b.graph.views[producer].accumulates:
            view = b.graph.views[producer]
            made = len(view.made_rows(0, view.node.outputs.index(index)))
        values = {
            "table": 0,
            "period": 0,
            "rows": kind.rows,
            "row_bytes": kind.row_bytes,
            "placing": Placing.LINEAR,
            "producer": producer,
            "made": made,
        }
        if tensor.is_planned:
            return {**values, "memory": Memory.ARENA, **self._placing(b.plan.row_offsets(b.graph, index))}
        if tensor.is_constant and tensor.data is not None:
            memory, base = int(Memory.FILE), self.blob.array(tensor.data)
        elif tensor.is_state:
            memory, base = int(Memory.STATE), b.variables[b.graph.variable_of(index)]
        else:
            memory, base = Memory.EXTERNAL + b.external.index(index), 0
        return {**values, "memory": memory, "base": base, "step": kind.row_bytes}

    def _placing(self, offsets: Sequence[int]) -> dict[str, int]:
        """Returns the fields that say where rows are: the first form that holds."""
        base, step = offsets[0], (offsets[1] - offsets[0]) if len(offsets) > 1 else 0
        linear = {"base": base, "step": step & 0xFFFFFFFF}
        if all(low + step == high for low, high in pairwise(offsets)):
            return linear
        period = next((row for row, offset in enumerate(offsets) if row and offset == base), 0)
        if 0 < period <= _MOST_16 and all(offset == base + row % period * step for row, offset in enumerate(offsets)):
            return {**linear, "placing": Placing.RING, "period": period}
        least = min(offsets)
        unit = math.gcd(*(offset - least for offset in offsets))
        table = [(offset - least) // unit for offset in offsets]
        placing, width = next(
            (form, width)
            for form, width in ((Placing.BYTES, 1), (Placing.HALVES, 2), (Placing.WORDS, 4))
            if max(table) < 1 << 8 * width
        )
        place = self.blob.add(np.array(table, f"<u{width}").tobytes(), width)
        return {"base": least, "step": unit, "table": place, "placing": placing}

    def _port(self, tensor: Tensor, numbers: Mapping[int, int]) -> dict[str, float]:
        quantization = tensor.type.quantization
        return {
            "tensor": numbers[tensor.index],
            "type": TYPES.index(tensor.type.dtype),
            "rank": len(tensor.type.shape),
            "shape": self.blob.words(tensor.type.shape),
            "scale": 0.0 if quantization is None else float(quantization.scale),
            "zero_point": 0 if quantization is None else int(quantization.zero_point),
            "name": self._name(tensor.name),
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


def _numbers(b: EmitContext) -> dict[int, int]:
    """Returns the numbers in the file of the tensors that nodes touch, or that are handed over, by their indices."""
    graph = b.graph
    used = {tensor.index for view in graph.views for tensor in (*view.row_tensors, *view.outputs)}
    used |= {view[name].index for view in graph.views for name in view.op.states}
    return {index: number for number, index in enumerate(sorted(used | {*graph.inputs, *graph.outputs}))}


def _producers(b: EmitContext) -> dict[int, int]:
    """Returns the node that makes each tensor."""
    return {index: number for number, node in enumerate(b.graph.nodes) for index in node.outputs}


def _kind(b: EmitContext, number: int) -> Kind:
    view, kind = b.graph.views[number], Kind(0)
    for flag, holds in (
        (Kind.ACCUMULATES, view.accumulates),
        (Kind.EXITS, number in b.early_exits),
        (Kind.LOOPS, number in b.graph.loops),
        (Kind.RECEIVES, view.op.receives),
        (Kind.CONTROLS, bool(view.op.subgraph_names)),
    ):
        kind |= flag if holds else Kind(0)
    return kind


def _external(tensor: Tensor) -> dict[str, float]:
    return {"bytes": tensor.type.size_bytes, "alignment": tensor.type.dtype.size_bytes}


def _check_count(count: int, what: str, most: int = _MOST_16) -> None:
    if count > most:
        raise InputError(f"a plan file holds at most {most} {what}; there are {count}. Compile the model to C.")


def _line(line: Line) -> dict[str, float]:
    return {
        "start": line.start,
        "last": line.last,
        "step": line.step,
        "steps": line.steps,
        "further": line.further,
        "reserved": 0,
    }
