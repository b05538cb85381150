"""Plans as frozen data: the row steps in order, and for each buffer its place and lifetime."""

import warnings
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from functools import cached_property
from math import fsum
from pathlib import Path
from typing import Any

import numpy as np

from kibi.errors import PlanError
from kibi.files import read_text
from kibi.ir import Graph
from kibi.planner.plan_html import plan_html
from kibi.planner.regions.names import names_problem
from kibi.planner.saved_records import RecordError, load_json, read_record
from kibi.selection import Goal
from kibi.text.json import json_text

MOST_PLAN_BYTES = 64 << 20
"""The most bytes of a saved plan."""

FORMAT = 3
"""Version of the saved form; a reader refuses all others but the one before, whose names it knows."""


_PLAN_KEYS = {"supplied": "external_buffers"}
_RUN_KEYS = {"first_row": "first_step", "rows": "steps"}
"""What format 3 calls the fields of format 2."""
_MOST_LEVELS = 24
"""Of plans in plans that are renamed; `read_record` refuses more."""


class Handover(StrEnum):
    """The way in which the caller hands over inputs, or gets at outputs.

    STORED: as arrays in the arena. STREAMED: inputs only, row by row while the model runs, never stored whole. EXTERNAL: in
    caller-owned buffers, which take none of the arena and are not overwritten.
    """

    STORED = "stored"
    STREAMED = "streamed"
    EXTERNAL = "external"


@dataclass(frozen=True, slots=True)
class Run:
    """Neighbouring row steps of one node, one after another.

    A row step makes one row of the output, or, for some operators, several neighbouring rows.

    Attributes:
        node: index in the graph's nodes.
        first_step: number of the first row step, counted from the node's first.
        steps: how many row steps.
    """

    node: int
    first_step: int
    steps: int


@dataclass(frozen=True, slots=True)
class Buffer:
    """Bytes with a place and a lifetime: neighbouring rows of one tensor, or the scratch of nodes.

    Attributes:
        tensor: index of the tensor whose rows it holds; None for scratch.
        node: index of the first node that uses the scratch; None for rows. Scratch that leaves its bytes to others between the
            runs of its node is several buffers, at one offset or at several, and may be smaller for some runs.
        first_row, rows: which rows of the tensor; 0, 0 for scratch.
        region: name of the memory region; "arena" in a plan with one arena.
        shared_by: further nodes that use the same scratch, in their own steps.
        is_pinned: True if it keeps its distance from the tensor's other buffers, because the caller needs the rows of a model
            input in order.
        offset: bytes from the start of the region.
        size_bytes: its size.
        alignment: the offset is a multiple of it.
        start, end: the row steps during which it lives, half-open: `start` is the step that makes its bytes (0 for a model
            input), `end` is the step after the last one that reads them (the number of steps for a model output).
    """

    tensor: int | None
    node: int | None
    first_row: int
    rows: int
    offset: int
    size_bytes: int
    alignment: int
    start: int
    end: int
    region: str = "arena"
    shared_by: tuple[int, ...] = ()
    is_pinned: bool = False

    @property
    def nodes(self) -> tuple[int, ...]:
        """The nodes that use the scratch. One runs at a time, so nodes whose steps interleave can share it."""
        return () if self.node is None else (self.node, *self.shared_by)


@dataclass(frozen=True, slots=True)
class RegionUse:
    """A memory region, and the bytes of it that a plan uses.

    Attributes:
        name: the name that buffers and weights use.
        size_bytes: its capacity.
        used_bytes: bytes of the buffers in it, from its start on.
        lower_bound_bytes: no placement of these buffers takes less.
        weights_bytes: bytes of the constants in it, alignment included; they are apart from the buffers.
        accessed_bytes: bytes of buffers and constants in it that one inference reads and writes.
        cost: of reading or writing one byte.
    """

    name: str
    size_bytes: int
    used_bytes: int
    lower_bound_bytes: int
    weights_bytes: int
    accessed_bytes: int
    cost: float


@dataclass(frozen=True, slots=True)
class SlowWeights:
    """Weights in memory that the processor cannot read in place; a function of the application fetches them into windows.

    Attributes:
        function: the C name of that function.
        bandwidth: bytes that it reads in a second.
        parts: for each node of the model, as its inputs are handed over, the parts into which its output channels are divided.
        loads: for each node after that, how often its weights are fetched in one inference, each time for as many of its steps;
            0: it has none.
        ahead: True if windows are read ahead: two functions start a transfer and wait for it; `function` is what their names
            begin with.
    """

    function: str
    bandwidth: int
    parts: tuple[int, ...]
    loads: tuple[int, ...]
    ahead: bool = False

    @property
    def functions(self) -> tuple[str, ...]:
        """The C names of the functions of the application: the one that reads, or those that start and wait."""
        return (f"{self.function}_start", f"{self.function}_wait") if self.ahead else (self.function,)


@dataclass(frozen=True, slots=True)
class Stripes:
    """A stage of the network that is computed stripe by stripe: some columns of its output from end to end, then the next ones.

    Attributes:
        begin, end: its nodes, half-open, as the model's inputs and outputs are handed over. The last one makes its output.
        columns: the column of the output at which each stripe but the first begins, ascending.
        kept: the nodes of whose images a stripe keeps the columns that the next one needs, too, ascending; those of other images
            are computed twice.
        in_tiles: True if the stage reads the stripes of the stage that ends where it begins, which are not joined then, and keeps
            columns of them.
    """

    begin: int
    end: int
    columns: tuple[int, ...]
    kept: tuple[int, ...] = ()
    in_tiles: bool = False


@dataclass(frozen=True, slots=True)
class PixelRows:
    """A pointwise convolution over rows of one pixel that computes several of them as one row.

    Attributes:
        node: the convolution, as the model's inputs and outputs are handed over.
        pixels: how many rows are one.
    """

    node: int
    pixels: int


@dataclass(frozen=True)
class Plan:
    """The order of row steps and the place of every buffer.

    Attributes:
        model: name of the graph that it is for.
        target: name of the target that it is for.
        runs: the row steps, run-length coded.
        buffers: rows of the tensors that live in the arena, and scratch.
        arena_bytes: bytes of the arena; the sum over the regions where there are some.
        lower_bound_bytes: no placement of these buffers in this order needs less.
        proven_optimal: true if no placement of these buffers in this order is smaller than `arena_bytes`.
        order_bound_bytes: in no order do fewer bytes live at once, of whole tensors or of rows as the plan has them, unless
            some are made in the place of others; 0 where the order was given.
        input, output: how model inputs are handed over, and outputs. Nodes are numbered as in the graph that
            `PlannedModel` has.
        stripes: the stages that are computed stripe by stripe, ascending; columns at the borders of stripes are computed twice.
        pixel_rows: the pointwise convolutions that compute several rows of one pixel as one row, ascending.
        external_buffers: further tensors that are stored in caller-owned buffers, ascending.
        goal: what its code is good at.
        kernels: the C name of the kernel that runs each node; empty: the general ones.
        regions: the memories that hold buffers, each with offsets of its own; empty for a plan with one arena.
        weight_regions: constants that are assigned to regions, as (tensor, name of the region); empty unless asked for.
        subgraphs: the plans of the nodes' subgraphs, in the order of nodes; their arenas are scratch of these nodes.
        cost_lower_bound: no assignment of the buffers and these constants to the regions has a lower `cost`.
        least_bytes: no placement in the tried orders needs less, and in every order at least so many bytes live at once, unless
            rows are made in place of others; so more effort saves at most `gain_bytes`.
        effort: the largest effort that was tried, as a multiple of the usual work; it finds the same plan again.
        slow_weights: how weights are fetched from slow memory; None: they are constants that the processor reads in place.
        joined: the nodes that make all their rows in one step, from inputs in one piece each, ascending. Their numbers are those of
            the graph with windows, where weights are in slow memory.
        limited: why the search did less than was asked for; empty if it did all.
        solve_seconds: how long the search took.
    """

    model: str
    target: str
    runs: tuple[Run, ...]
    buffers: tuple[Buffer, ...]
    arena_bytes: int
    lower_bound_bytes: int
    proven_optimal: bool
    order_bound_bytes: int = 0
    input: Handover = Handover.STORED
    output: Handover = Handover.STORED
    external_buffers: tuple[int, ...] = ()
    goal: Goal = Goal.BALANCED
    kernels: tuple[str, ...] = ()
    regions: tuple[RegionUse, ...] = ()
    weight_regions: tuple[tuple[int, str], ...] = ()
    cost_lower_bound: float = 0.0
    subgraphs: "tuple[Plan, ...]" = ()
    least_bytes: int = 0
    effort: int = 1
    slow_weights: SlowWeights | None = None
    stripes: tuple[Stripes, ...] = ()
    pixel_rows: tuple[PixelRows, ...] = ()
    joined: tuple[int, ...] = ()
    limited: str = ""
    solve_seconds: float = field(default=0.0, compare=False)

    def __repr__(self) -> str:
        proof = "proven" if self.proven_optimal else f"at least {self.lower_bound_bytes:,}"
        return f"<Plan of {self.model} on {self.target}: arena {self.arena_bytes:,} bytes ({proof})>"

    def _repr_html_(self) -> str:
        """The facts and a picture, for notebooks."""
        return plan_html(self)

    @cached_property
    def steps(self) -> tuple[tuple[int, int], ...]:
        """Every row step as (node, its number among the node's steps)."""
        return tuple((run.node, run.first_step + k) for run in self.runs for k in range(run.steps))

    @property
    def gain_bytes(self) -> int:
        """The most bytes that a search with more effort might still save."""
        return max(0, self.arena_bytes - self.least_bytes)

    @property
    def region_names(self) -> tuple[str, ...]:
        """The names of the regions for buffers."""
        return tuple(use.name for use in self.regions) or ("arena",)

    @property
    def cost(self) -> float:
        """The cost of one inference: the bytes read and written in each region, times the region's cost of a byte."""
        return fsum(use.accessed_bytes * use.cost for use in self.regions)

    @cached_property
    def _by_tensor(self) -> dict[int, tuple[Buffer, ...]]:
        found: dict[int, list[Buffer]] = {}
        for buffer in self.buffers:
            if buffer.tensor is not None:
                found.setdefault(buffer.tensor, []).append(buffer)
        return {tensor: tuple(sorted(parts, key=lambda part: part.first_row)) for tensor, parts in found.items()}

    def buffers_of(self, tensor: int) -> tuple[Buffer, ...]:
        """Returns the buffers of a tensor's rows, ascending by row; empty for a constant."""
        return self._by_tensor.get(tensor, ())

    def row_offsets(self, graph: Graph, tensor: int) -> tuple[int, ...]:
        """Returns the offset of each row of a tensor."""
        row_bytes = graph.tensors[tensor].type.row_bytes
        return tuple(part.offset + k * row_bytes for part in self.buffers_of(tensor) for k in range(part.rows))

    def scratch_of(self, node: int) -> Buffer | None:
        """Returns the scratch of a node, or None if it needs none: the first buffer, where each run of the node has one."""
        found = self._scratch.get(node)
        return found[0] if found else None

    def scratch_by_run(self, node: int) -> tuple[Buffer, ...]:
        """Returns the buffers of a node's scratch, ascending by when they live: one, or one for each of its runs."""
        return tuple(self._scratch.get(node, ()))

    def scratch_by_step(self, node: int) -> tuple[Buffer, ...]:
        """Returns the scratch of each step of a node; empty if it needs none."""
        found = self._scratch.get(node, ())
        if len(found) < 2:
            return tuple(found) * sum(run.steps for run in self.runs if run.node == node)
        starts = [each.start for each in found]
        return tuple(
            found[max(0, bisect_right(starts, place) - 1)]
            for place, (other, _) in enumerate(self.steps)
            if other == node
        )

    @cached_property
    def _scratch(self) -> dict[int, list[Buffer]]:
        found: dict[int, list[Buffer]] = {}
        for buffer in sorted(self.buffers, key=lambda each: each.start):
            for node in buffer.nodes:
                found.setdefault(node, []).append(buffer)
        return found

    def live_bytes(self) -> tuple[int, ...]:
        """Returns the live bytes of each step; bytes that two buffers share, one made in place of the other, count once."""
        ordered = sorted(self.buffers, key=lambda buffer: buffer.start)
        numbers = {name: number for number, name in enumerate(dict.fromkeys(each.region for each in ordered))}
        facts = [(x.start, x.end, x.offset, x.offset + x.size_bytes, numbers[x.region]) for x in ordered]
        starts, ends, lows, tops, regions = np.array(facts, np.int64).reshape(-1, 5).T
        change = np.zeros(len(self.steps) + 1, np.int64)
        np.add.at(change, starts, tops - lows)
        np.subtract.at(change, ends, tops - lows)
        alive = np.zeros(0, np.int64)
        for place in range(len(ordered)):
            low, top, start = lows[place], tops[place], starts[place]
            alive = alive[ends[alive] > start]
            for other in alive[(lows[alive] < top) & (tops[alive] > low) & (regions[alive] == regions[place])]:
                shared = min(top, tops[other]) - max(low, lows[other])
                change[start] -= shared
                change[min(ends[place], ends[other])] += shared
            alive = np.append(alive, place)
        return tuple(np.cumsum(change)[:-1].tolist())

    def largest(self, graph: Graph, count: int = 3) -> tuple[tuple[str, int], ...]:
        """Returns names and bytes of the largest buffers, without those that belong to nothing in the graph."""
        known = (
            each
            for each in self.buffers
            if (
                0 <= each.tensor < len(graph.tensors)
                if each.tensor is not None
                else 0 <= (each.node or 0) < len(graph.nodes)
            )
        )
        ranked = sorted(known, key=lambda buffer: -buffer.size_bytes)[:count]
        return tuple((buffer_name(graph, buffer), buffer.size_bytes) for buffer in ranked)

    def to_json(self) -> str:
        """Returns the saved form, which `from_json` reads."""
        return json_text({"format": FORMAT, **asdict(self)}).text

    @staticmethod
    def from_json(text: str) -> "Plan":
        """Reads a saved plan: the output of `to_json` or of `kibi plan --json`, or a compiled library's record.

        Further facts are ignored.

        Raises:
            PlanError: the text is no plan, or of another version.
        """
        try:
            return Plan.from_record(load_json(text))
        except RecordError as error:
            raise PlanError(f"the text is no saved plan: {error}. Make it again with `kibi plan --json`.") from None

    @staticmethod
    def from_record(record: object) -> "Plan":
        """Returns the plan that JSON describes, as `from_json` does.

        Raises:
            PlanError: it describes none, or one of another version.
        """
        saved = record.get("plan", record) if isinstance(record, dict) else record
        if isinstance(saved, dict) and "plans" in saved:
            raise PlanError("this is a joint plan of several models. Give it to `kibi compile`, with these models.")
        try:
            if isinstance(saved, dict) and saved.get("format") == FORMAT - 1:
                text = f"the saved plan is of format {FORMAT - 1}, which the next version does not read; save it again"
                warnings.warn(text, FutureWarning, stacklevel=2)
                saved = _renamed(saved)
            elif isinstance(saved, dict) and saved.get("format") != FORMAT:
                raise PlanError(f"the plan is not of format {FORMAT}. Make it again with this version.")
            plan = read_record(Plan, saved)
        except RecordError as error:
            raise PlanError(f"the text is no saved plan: {error}. Make it again with `kibi plan --json`.") from None
        _check_names(plan)
        return plan


def _renamed(saved: dict[str, Any], level: int = 0) -> dict[str, Any]:
    """Returns a plan of format 2 with the names of format 3; what is no such plan is left to `read_record`."""
    made = {_PLAN_KEYS.get(key, key): value for key, value in saved.items()}
    for side in ("input", "output"):
        if made.get(side) == "supplied":
            made[side] = Handover.EXTERNAL.value
    for key, rename in (("runs", _renamed_run), ("subgraphs", lambda each: _renamed(each, level + 1))):
        if isinstance(made.get(key), list) and level < _MOST_LEVELS:
            made[key] = [rename(each) if isinstance(each, dict) else each for each in made[key]]
    return made


def _renamed_run(saved: dict[str, Any]) -> dict[str, Any]:
    return {_RUN_KEYS.get(key, key): value for key, value in saved.items()}


def _check_names(plan: Plan) -> None:
    """Raise an error where a name that was read is none: those of regions become names in C.

    Raises:
        PlanError: a region's name cannot.
    """
    problem = names_problem([use.name for use in plan.regions])
    if problem:
        raise PlanError(f"the text is no saved plan: {problem} Make it again with `kibi plan --json`.")
    for body in plan.subgraphs:
        _check_names(body)


def buffer_name(graph: Graph, buffer: Buffer) -> str:
    """Returns a buffer's name for people: its tensor's name, or the nodes of its scratch."""
    if buffer.tensor is not None:
        return graph.tensors[buffer.tensor].name
    others = len(buffer.shared_by)
    return f"scratch of {graph.nodes[buffer.node or 0].label}" + (f" and {others} more" if others else "")


def peak_steps(plan: Plan) -> Iterator[int]:
    """Yields the steps at which the most bytes live."""
    levels = plan.live_bytes()
    highest = max(levels, default=0)
    return (step for step, level in enumerate(levels) if level == highest)


def load_plan(path: Path) -> Plan:
    """Reads a saved plan from a file.

    Raises:
        PlanError: there is no such file, or it holds no plan.
    """
    return Plan.from_json(read_text(path, MOST_PLAN_BYTES, PlanError, "Give the path of a saved plan."))
