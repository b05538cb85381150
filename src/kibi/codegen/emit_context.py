"""Collects, once, all facts that the C text of one model needs: calls, packed constants, fill rows, row places."""

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from kibi.codegen.c_text import integer_bits, integer_type
from kibi.codegen.extras import NO_EXTRAS, Extras
from kibi.codegen.provenance import digest
from kibi.codegen.schedule import Form, Schedule, Takes, schedule_of
from kibi.codegen.stored_weights import StoredWeights
from kibi.dtypes import Array, DType
from kibi.ir import Graph, KernelCall, NodeView, RowAccess, Tensor, early_exits
from kibi.kernels.headers import check_header
from kibi.kernels.params import Field
from kibi.planner import Plan, PlannedModel
from kibi.planner.plan import RegionUse
from kibi.targets import Target
from kibi.text.c import CCode, code, element_type, identifier, name_part, name_words, plain, type_name, word
from kibi.text.reserved import SPACE

LEASE_BYTES = 4
"""Bytes of the word that says whose the bytes of an arena are."""
LEAST_ALIGNMENT = 4
"""The least alignment in bytes that a header asks of an arena or a region: a word, as a lease needs it and copies like it."""
STATE_ALIGNMENT = 8
"""The alignment in bytes of each variable in the model's struct, which suits every element type."""
PLAN_TABLE_PREFIX = "plan_"
"""The prefix in C of the plan's constant tables: the order of steps, and the offsets of rows."""


@dataclass(frozen=True, eq=False)
class EmitContext:
    """A model about to be written.

    Attributes:
        planned, target: what is written, and for whom.
        name: what a graph inside of an operator is called; empty: the model's own name.
        is_subgraph: true if it is a graph inside of an operator.
        extras: the optional parts; a graph inside of an operator has none.
        least_lead: the least bytes before the arena's first buffer, where there is a lease.
        has_long_rows: True if a call may make all rows of a node; a core of plan files makes them one by one.
        written: the subgraphs that are bound so far, by their identity: operators that run the same one share it.
    """

    planned: PlannedModel
    target: Target
    name: str = ""
    is_subgraph: bool = False
    extras: Extras = NO_EXTRAS
    least_lead: int = 0
    has_long_rows: bool = True
    written: "dict[int, EmitContext]" = field(default_factory=dict, repr=False)

    @property
    def graph(self) -> Graph:
        """The graph, with a kernel for each node."""
        return self.planned.graph

    @property
    def plan(self) -> Plan:
        """Its plan."""
        return self.planned.plan

    @cached_property
    def prefix(self) -> CCode:
        """The C prefix of everything that belongs to this model.

        Raises:
            InputError: the model's name cannot be one.
        """
        return identifier(self.name or self.graph.name)

    @cached_property
    def upper(self) -> CCode:
        """The same for macros."""
        return self.prefix.upper()

    @cached_property
    def calls(self) -> tuple[KernelCall, ...]:
        """The kernel call of each node."""
        return tuple(self.wide.get(node, call) for node, call in enumerate(self.graph.calls))

    @cached_property
    def wide(self) -> Mapping[int, KernelCall]:
        """The calls of the nodes that make all their rows at once: a slice of an inference may end after any row."""
        if not self.has_long_rows or self.extras.slices or self.streams:
            return {}
        takes = self.schedule.takes
        return {node: call for node, call in self.planned.graph.wide_calls if takes[node] is Takes.STEPS}

    @cached_property
    def narrow(self) -> Mapping[int, KernelCall]:
        """The calls of nodes for the steps for which the plan has less scratch than for their others."""
        return dict(self.planned.graph.narrow_calls)

    def narrow_steps(self, number: int) -> tuple[int, ...]:
        """The steps of a node that have this call."""
        if number not in self.narrow:
            return ()
        needed = self.calls[number].scratch_bytes
        return tuple(k for k, each in enumerate(self.plan.scratch_by_step(number)) if each.size_bytes < needed)

    @cached_property
    def scratch_records(self) -> tuple[tuple[int, int, int], ...]:
        """The different offsets and sizes of each node's scratch, as (node, offset, bytes); 0 and 0 where a node has none.

        The first one of each node comes first, then the others.
        """
        found = [
            dict.fromkeys((each.offset, each.size_bytes) for each in self.plan.scratch_by_step(number))
            for number in range(len(self.graph.nodes))
        ]
        first = [(number, *next(iter(its), (0, 0))) for number, its in enumerate(found)]
        return (*first, *((number, *each) for number, its in enumerate(found) for each in list(its)[1:]))

    def scratch_offsets(self, number: int) -> tuple[int, ...]:
        """The offset of the scratch of each step of a node; one where all have the same; none where it has no scratch."""
        found = [each.offset for each in self.plan.scratch_by_step(number)]
        return tuple(found) if len(set(found)) > 1 else tuple(found[:1])

    @cached_property
    def accesses(self) -> tuple[tuple[RowAccess, ...], ...]:
        """The row accesses of each node."""
        return tuple(view.accesses for view in self.graph.views)

    @property
    def kernels(self) -> frozenset[str]:
        """Names of the kernels that are called."""
        return frozenset(call.kernel for call in self.calls if call.kernel)

    @cached_property
    def subgraphs(self) -> "tuple[EmitContext, ...]":
        """The graphs inside of nodes. Each becomes its own file; nodes that share a graph share the file."""
        return tuple(dict.fromkeys(self._body_of.values()))

    @cached_property
    def _body_of(self) -> "dict[tuple[int, str], EmitContext]":
        """The context of each subgraph, by the node's number and the subgraph's name."""
        places = [(number, name) for number, view in enumerate(self.graph.views) for name in view.op.subgraph_names]
        found = {}
        for (number, name), body in zip(places, self.planned.subgraphs, strict=True):
            if id(body) not in self.written:
                own = self.own(number, word(name)).text
                self.written[id(body)] = EmitContext(
                    body, self.target, own, is_subgraph=True, has_long_rows=self.has_long_rows, written=self.written
                )
            found[number, name] = self.written[id(body)]
        return found

    @cached_property
    def with_subgraphs(self) -> "tuple[EmitContext, ...]":
        """Itself, then the subgraphs inside, each followed by those inside of it; each once."""
        return tuple(dict.fromkeys((self, *(inner for body in self.subgraphs for inner in body.with_subgraphs))))

    def body(self, number: int, name: str) -> "EmitContext":
        """A graph that a node runs, by its name there."""
        return self._body_of[number, name]

    def body_name(self, number: int, name: str) -> CCode:
        """The C name of a body of a node."""
        return self.body(number, name).prefix

    def own(self, number: int, name: CCode) -> CCode:
        """The C name of something that belongs to a node."""
        return code("${prefix}_${number}_$name", prefix=self.prefix, number=self.numbers[number], name=name)

    @cached_property
    def numbers(self) -> tuple[CCode, ...]:
        """The number of each node as a part of names: its operator's in the model file, which reports and comments have, too."""
        found: list[CCode] = []
        counts: Counter[tuple[int, str]] = Counter()
        for node in self.graph.nodes:
            key = node.source, node.op.name if node.op.fetches or node.op.waits else ""
            counts[key] += 1
            number = code("$number", number=node.source)
            if node.source < 0:
                number = code("input_$number", number=-1 - node.source)
            if counts[key] > 1:  # a pass made several nodes of one operator
                number = code("${number}_$count", number=number, count=counts[key])
            found.append(number)
        return tuple(found)

    @cached_property
    def tensor_names(self) -> tuple[CCode, ...]:
        """The prefix of C names for each tensor: the words of its name, and a number if another tensor has the same."""
        names: list[CCode] = []
        taken: set[str] = set()
        reserved = (SPACE, f"{self.prefix.text.lower()}_")
        for tensor in self.graph.tensors:
            choices = (
                name_words(tensor.name),
                code("tensor_$index", index=tensor.index),
                code("t_$index", index=tensor.index),
            )
            name = next(each for each in choices if each and not f"{each.text}_".startswith(reserved))
            unique, count = name, 1
            while unique.text in taken:
                count += 1
                unique = code("${name}_$count", name=name, count=count)
            taken.add(unique.text)
            names.append(unique)
        return tuple(names)

    def about_tensor(self, tensor: Tensor, what: CCode) -> CCode:
        """The C name of something that is about a tensor, within the model's file."""
        return code("${name}_$what", name=self.tensor_names[tensor.index], what=what)

    def table_name(self, tensor: Tensor, what: CCode) -> CCode:
        """The C name of a table of the plan that is about a tensor."""
        return code("$prefix$name", prefix=word(PLAN_TABLE_PREFIX), name=self.about_tensor(tensor, what))

    @cached_property
    def schedule(self) -> Schedule:
        """The form in which the order is written."""
        is_whole = self.planned.graph.wide_calls or any(call.staged_bytes for call in self.planned.graph.calls)
        by_step = not (is_whole or self.can_end or self.fetches)
        return schedule_of(self.graph, self.plan, keeps_place=self.keeps_place, by_step=by_step)

    @cached_property
    def receivers(self) -> int:
        """The number of nodes that receive rows of the model's inputs; they come first, in the order of the inputs."""
        return sum(node.op.receives for node in self.graph.nodes)

    @cached_property
    def early_exits(self) -> tuple[int, ...]:
        """The nodes that may end an inference."""
        return early_exits(self.graph)

    @property
    def can_end(self) -> bool:
        """True if a node may end an inference: it waits for others, a loop reaches a limit, or weights are missing."""
        return bool(self.early_exits or self.graph.loops) or self.fetches

    @cached_property
    def fetches(self) -> bool:
        """True if weights are fetched from slow memory."""
        return any(node.op.fetches for node in self.graph.nodes)

    @property
    def reads_ahead(self) -> bool:
        """True if transfers of weights run while steps compute."""
        return self.fetches and self.plan.slow_weights is not None and self.plan.slow_weights.ahead

    @property
    def notes_transfers(self) -> bool:
        """True if the model's struct says whether a transfer runs, because an inference may pause while one does."""
        return self.reads_ahead and self.keeps_place

    @cached_property
    def stored_weights(self) -> StoredWeights:
        """The weights for slow memory; empty where they are constants."""
        return StoredWeights.of(self.graph)

    @property
    def streams(self) -> bool:
        """True if inputs arrive row by row."""
        return self.receivers > 0

    @property
    def keeps_place(self) -> bool:
        """True if an inference may pause in the middle, so that the model's struct keeps its place in the order."""
        return self.streams or self.extras.slices

    @cached_property
    def cursor(self) -> tuple[str, ...]:
        """The fields of the model's struct that say how far an inference has come."""
        if not self.keeps_place:
            return ()
        is_short = self.schedule.form is Form.RUNS and not self.streams
        fields = ["line", "step"] if is_short else ["line", "turn", "function", "step"]
        fields += ["done"] if self.extras.counts else []
        # The place moves over lines without steps before the first row comes, so it does not tell.
        fields += ["has_begun"] if self.extras.lease and self.streams else []
        fields += ["transfer"] if self.notes_transfers else []
        return (*fields, *(["is_stopped"] if self.streams and self.can_end else []))

    @cached_property
    def external(self) -> tuple[int, ...]:
        """The tensors in external buffers: inputs, outputs, then others."""
        ends = (*self.graph.inputs, *self.graph.outputs, *range(len(self.graph.tensors)))
        return tuple(index for index in dict.fromkeys(ends) if self.graph.tensors[index].is_external)

    @cached_property
    def variables(self) -> dict[int, int]:
        """The tensors that are state, each with its offset in the model's struct."""
        places, end = {}, 0
        for index in self.graph.variables:
            places[index] = end
            end += -(-self.graph.tensors[index].type.size_bytes // STATE_ALIGNMENT) * STATE_ALIGNMENT
        return places

    @property
    def variable_bytes(self) -> int:
        """Bytes of all variables, each with what aligns the next one."""
        ends = (at + self.graph.tensors[index].type.size_bytes for index, at in self.variables.items())
        return -(-max(ends, default=0) // STATE_ALIGNMENT) * STATE_ALIGNMENT

    @property
    def is_plain(self) -> bool:
        """True if the arena is all the memory that there is."""
        return not self.external and not self.regions and not self.variables

    @property
    def cursor_bytes(self) -> int:
        """Bytes of a number that holds any place in the order."""
        return integer_bits([len(self.plan.steps)]) // 8

    @property
    def cursor_type(self) -> CCode:
        """The C type of such a number."""
        return integer_type([len(self.plan.steps)])

    @cached_property
    def lead_bytes(self) -> int:
        """Bytes of the arena before its first buffer, for the word of the lease."""
        if not self.extras.lease:
            return 0
        return max((LEASE_BYTES, self.least_lead, *(buffer.alignment for buffer in self.plan.buffers)))

    @cached_property
    def identity(self) -> int:
        """A number of 32 bits for the model with its plan: others have others."""
        facts = f"{digest(self.graph)} {self.target.name} {replace(self.plan, solve_seconds=0.0).to_json()}"
        return int.from_bytes(hashlib.sha256(facts.encode()).digest()[:4], "little")

    def c_type(self, tensors: tuple[int, ...]) -> CCode:
        """The C type of the elements of all these tensors; `void` where they differ."""
        kinds = {element_type(self.graph.tensors[index].type.dtype) for index in tensors}
        return kinds.pop() if len(kinds) == 1 else code("void")

    def fields(self, call: KernelCall) -> tuple[Field, ...]:
        """Returns the fields of a call's parameter struct.

        Raises:
            InputError: a custom operator has no kernel, or its kernel's header defines others.
        """
        check_header(call.kernel, call.params, self.target.kernel_sets)
        return () if call.params is None else call.params.members()

    @cached_property
    def constants(self) -> dict[CCode, tuple[Array, str]]:
        """Each constant array by its C name, with a note on its origin. Equal arrays in a region are stored once."""
        return {name: (data, note) for name, data, note in self._arrays if self._stored[name] == name}

    @cached_property
    def weight_regions(self) -> dict[CCode, str]:
        """The region's name, by the C name of each constant that the plan puts into a region."""
        region_of = dict(self.plan.weight_regions)
        found = {self.tensor_constant(self.graph.tensors[index]): region for index, region in region_of.items()}
        for number, view in enumerate(self.graph.views):
            for name, tensor in view.operands:
                if tensor is not None and tensor.index in region_of:
                    found[self.own(number, word(name))] = region_of[tensor.index]
        return found

    @cached_property
    def regions(self) -> tuple[RegionUse, ...]:
        """The regions that hold buffers; none for a plan with one arena."""
        return tuple(use for use in self.plan.regions if use.used_bytes)

    def region_name(self, region: str) -> CCode:
        """A region's name as a part of names in C."""
        return name_part(region)

    def constant_name(self, wanted: CCode) -> CCode:
        """The C name under which an array is stored: its own, or that of the first that equals it."""
        return self._stored[wanted]

    @cached_property
    def _stored(self) -> dict[CCode, CCode]:
        first: dict[tuple[str, bytes, str], CCode] = {}
        keys = {
            name: (data.dtype.str, data.tobytes(), self.weight_regions.get(name, "")) for name, data, _ in self._arrays
        }
        return {name: first.setdefault(key, name) for name, key in keys.items()}

    @cached_property
    def _arrays(self) -> tuple[tuple[CCode, Array, str], ...]:
        """All constant arrays as (wanted name, elements, note): those of nodes in order, then row constants, then fill rows."""
        packed = [each for number in range(len(self.graph.nodes)) for each in self._arrays_of(number)]
        rows = [
            (self.tensor_constant(tensor), tensor.data, f"Tensor {plain(tensor.name)}.")
            for tensor in self.row_constants
            if tensor.data is not None
        ]
        firsts = [
            (
                self.tensor_constant(tensor),
                tensor.initial.reshape(-1),
                f"Variable {plain(tensor.name)}: its first value.",
            )
            for tensor in (self.graph.tensors[index] for index in self.variables)
            if tensor.initial is not None and len(set(tensor.initial_bytes)) > 1
        ]
        numpy_of = {dtype.c: dtype.numpy for dtype in DType}
        fills = [
            (
                self._wanted_fill(c_type, value),
                np.full(elements, value, numpy_of[c_type]),
                f"Rows outside of inputs: {value}, of at most {elements} elements.",
            )
            for (c_type, value), elements in sorted(self.fills.items())
        ]
        return (*packed, *rows, *firsts, *fills)

    def _arrays_of(self, number: int) -> Iterator[tuple[CCode, Array, str]]:
        """The constant arrays of a node's call, unless it reads them in a window; words that are packed have no sign."""
        if self.graph.views[number].window is not None:
            return
        call, label = self.calls[number], plain(self.graph.nodes[number].label)
        fields = {} if call.params is None else {field.name: field for field in call.params.fields}
        for name, data in call.constants.items():
            field, note = fields.get(name), f"{label[0].upper()}{label[1:]}, {name}"
            if field is not None and field.meaning:
                note += f" of {call.kernel}: {field.meaning.replace('…', '...')}."
            is_packed = field is not None and field.is_packed
            yield self.own(number, word(name)), data.view(f"u{data.itemsize}") if is_packed else data, note

    def tensor_constant(self, tensor: Tensor) -> CCode:
        """The wanted C name of a constant that is read by the row."""
        return code("${prefix}_tensor_$index", prefix=self.prefix, index=tensor.index)

    @cached_property
    def row_constants(self) -> tuple[Tensor, ...]:
        """Constants that kernels read by the row, as an activation."""
        tensors = {t.index: t for view in self.graph.views for t in view.row_tensors if t.is_constant}
        outputs = {i: self.graph.tensors[i] for i in self.graph.outputs if self.graph.tensors[i].is_constant}
        return tuple(tensor for _, tensor in sorted((tensors | outputs).items()))

    @cached_property
    def fills(self) -> dict[tuple[str, int], int]:
        """The elements of the longest constant fill row, by (C type, value)."""
        longest: dict[tuple[str, int], int] = {}
        for view, accesses in zip(self.graph.views, self.accesses, strict=True):
            for tensor, access in zip(view.row_tensors, accesses, strict=True):
                if access.fill is not None and not access.stays_inside:
                    key = (tensor.type.dtype.c, access.fill)
                    longest[key] = max(longest.get(key, 0), tensor.type.row_elements // access.parts)
        return longest

    def fill_name(self, c_type: str, value: int) -> CCode:
        """The C name of a fill row."""
        return self.constant_name(self._wanted_fill(c_type, value))

    def _wanted_fill(self, c_type: str, value: int) -> CCode:
        text = code("minus_$value", value=-value) if value < 0 else code("$value", value=value)
        if c_type == "int8_t":
            return code("${prefix}_fill_$text", prefix=self.prefix, text=text)
        return code("${prefix}_fill_${kind}_$text", prefix=self.prefix, kind=type_name(c_type), text=text)

    def function(self, number: int) -> CCode:
        """The C name of the function that runs steps of a node."""
        view: NodeView = self.graph.views[number]
        if view.op.waits and self.notes_transfers:  # the driver waits
            return code("${prefix}_wait_weights", prefix=self.prefix)
        return self.own(number, word(view.op.name.lower()))

    def label(self, number: int) -> str:
        """Returns the name of a node in reports."""
        view = self.graph.views[number]
        return f"{view.op.name} {view.output.name!r}"
