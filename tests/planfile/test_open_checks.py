"""Each rule that `kibi_model_open` checks: a file that breaks one alone, with a digest that fits, is refused."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import pytest

import kibi
from kibi import demo
from kibi.engines.core import CoreEngine
from kibi.errors import PlanError
from kibi.planfile.reader import PlanFile
from kibi.planfile.record import Record
from kibi.planfile.records import (
    DIGEST_BYTES,
    GRAPH,
    GROUP,
    HEADER,
    NODE,
    PLACE,
    PORT,
    TABLE_NUMBERS,
    Bytes,
    Kind,
    Memory,
)
from kibi.planfile.run_reader import FileRun, runs_of
from kibi.planfile.runs import WIDTHS
from kibi.planfile.writer import plan_file
from kibi.planner import PlannedModel
from tests.ops.comparison import graph_of
from tests.planfile.changed_runs import number_bytes, put_entry, with_spare_number
from tests.planfile.mutants import with_digest
from tests.support.choices import Seeded
from tests.support.operator_models import OPERATOR_MODELS


@dataclass(frozen=True)
class _File:
    """A plan file that can be changed: the shipped model by the row, with windows at edges, and a mean that accumulates."""

    file: PlanFile
    data: bytearray
    graph: dict[str, int]
    nodes: list[dict[str, int]]
    runs: list[FileRun]

    def put(self, place: int, value: int, size: int) -> None:
        self.data[place : place + size] = value.to_bytes(size, "little")

    def field(self, record: Record, base: int, name: str, value: int) -> None:
        size = next(each.size_bytes for each in record.fields if each.name == name)
        self.put(base + record.offsets[name], value, size)

    def node(self, number: int) -> int:
        return self.graph["nodes"] + number * NODE.size_bytes

    def entry(self, run: FileRun, pointer: int, value: int) -> None:
        put_entry(self.data, self.graph, run, pointer, value)

    def group(self, node: int, number: int) -> int:
        return self.nodes[node]["groups"] + number * GROUP.size_bytes

    @property
    def adding(self) -> int:
        """The node that accumulates in its scratch."""
        return next(
            k for k, each in enumerate(self.nodes) if each["flags"] & Kind.ACCUMULATES and each["scratch_bytes"]
        )

    def runs_of(self, node: int) -> list[FileRun]:
        return [each for each in self.runs if each.node == node]


@cache
def _planned() -> PlannedModel:
    model = kibi.load(demo.model_path())
    return PlannedModel.of(model, kibi.plan(model, target="cortex-m0plus"))


def _opened(width: int) -> _File:
    file = with_spare_number(PlanFile(plan_file(_planned(), least_width=width)))
    graph = file.record(GRAPH, file.header["graphs"])
    nodes = [file.record(NODE, graph["nodes"] + k * NODE.size_bytes) for k in range(graph["node_count"])]
    return _File(file, bytearray(file.data), graph, nodes, list(runs_of(file, graph, nodes)))


def _swap_runs(f: _File, first: FileRun, second: FileRun) -> None:
    """Two runs of one node, and so of equal size, change places."""
    one = number_bytes(f.graph)
    size = one + f.graph["width"] * (len(first.entries) + len(first.distances))
    a, b = first.offset - one, second.offset - one  # from the number of the first step on
    f.data[a : a + size], f.data[b : b + size] = f.data[b : b + size], f.data[a : a + size]


def _reads_what_nobody_wrote(f: _File) -> None:
    run = f.runs_of(1)[0]
    f.entry(run, 0, f.runs[-1].entries[-1])


def _reads_beyond_the_arena(f: _File) -> None:
    f.entry(f.runs[3], 0, f.graph["arena_bytes"] - 1)


def _names_a_place_that_is_not_there(f: _File) -> None:
    f.entry(f.runs[0], 0, f.graph["arena_bytes"] + f.graph["place_count"])


def _writes_into_the_file(f: _File) -> None:
    edge = next(each for each in f.runs[0].entries if each >= f.graph["arena_bytes"])
    f.entry(f.runs[0], len(f.runs[0].entries) - 1, edge)


def _says_that_it_stays_in_the_arena(f: _File) -> None:
    number = next(k for k, each in enumerate(f.nodes) if each["flags"] & Kind.LEAVES)
    f.field(NODE, f.node(number), "flags", f.nodes[number]["flags"] & ~Kind.LEAVES)


def _gives_a_null_pointer(f: _File) -> None:
    f.field(PLACE, f.graph["places"], "memory", Memory.NULL)


def _declares_null_pointers_that_the_kernel_does_not_take(f: _File) -> None:
    f.field(GROUP, f.group(0, 0), "flags", Bytes.NULLABLE)


def _names_an_external_buffer_that_is_not_there(f: _File) -> None:
    f.field(PLACE, f.graph["places"], "memory", Memory.EXTERNAL)


def _has_so_many_external_buffers_that_one_is_the_null_pointer(f: _File) -> None:
    f.field(HEADER, 0, "external_count", 253)


def _gives_less_than_the_contract_says(f: _File) -> None:
    group = f.file.record(GROUP, f.group(0, 0))
    f.field(GROUP, f.group(0, 0), "bytes", group["bytes"] - 1)


def _has_scratch_where_its_rows_are(f: _File) -> None:
    f.field(NODE, f.node(f.adding), "scratch", f.runs_of(f.adding)[0].entries[0])


def _has_scratch_beyond_the_arena(f: _File) -> None:
    node = f.nodes[f.adding]
    f.field(NODE, f.node(f.adding), "scratch", f.graph["arena_bytes"] - node["scratch_bytes"] + 4)


def _accumulates_in_another_order(f: _File) -> None:
    _swap_runs(f, *f.runs_of(f.adding)[1:3])


def _accumulates_without_a_beginning(f: _File) -> None:
    _swap_runs(f, *f.runs_of(f.adding)[:2])


def _writes_one_byte_beyond_the_arena(f: _File) -> None:
    last = f.runs[-1]
    group = f.file.record(GROUP, f.group(last.node, 1))
    f.entry(last, len(last.entries) - 1, f.graph["arena_bytes"] - group["bytes"] + 1)


def _says_that_it_does_not_accumulate(f: _File) -> None:
    flags = f.nodes[f.adding]["flags"] & ~Kind.ACCUMULATES
    f.field(NODE, f.node(f.adding), "flags", flags)


def _has_more_steps_than_its_node(f: _File) -> None:
    f.field(NODE, f.node(f.runs[-1].node), "steps", 0)


def _has_more_rows_than_slots(f: _File) -> None:
    f.field(HEADER, 0, "most_slots", f.file.header["most_slots"] - 1)


def _ends_in_the_middle_of_a_run(f: _File) -> None:
    f.field(GRAPH, f.file.header["graphs"], "runs_end", f.graph["runs_end"] - 1)


def _ends_after_the_file(f: _File) -> None:
    f.field(GRAPH, f.file.header["graphs"], "runs_end", len(f.data))


def _has_runs_at_an_odd_byte(f: _File) -> None:
    f.field(GRAPH, f.file.header["graphs"], "runs", f.graph["runs"] + 1)


def _has_entries_of_another_width(f: _File) -> None:
    f.field(GRAPH, f.file.header["graphs"], "width", 3)


def _has_runs_without_room_for_their_table(f: _File) -> None:
    f.field(GRAPH, f.file.header["graphs"], "width", 1)
    f.field(GRAPH, f.file.header["graphs"], "runs", 2 * TABLE_NUMBERS - 2)


def _has_a_last_byte_that_ends_no_text(f: _File) -> None:
    f.put(len(f.data) - DIGEST_BYTES - 1, 1, 1)


def _has_no_outputs(f: _File) -> None:
    f.field(HEADER, 0, "port_count", f.file.header["input_count"])


def _has_an_output_beyond_the_arena(f: _File) -> None:
    f.field(PORT, f.file.header["ports"] + PORT.size_bytes, "place", f.graph["arena_bytes"] - 1)


def _has_a_shape_of_other_elements(f: _File) -> None:
    shape = f.file.record(PORT, f.file.header["ports"])["shape"]
    f.put(shape, 2, 4)


def _counts_other_pointers_than_its_groups(f: _File) -> None:
    f.field(NODE, f.node(0), "pointers", f.nodes[0]["pointers"] + 1)


def _has_an_arena_that_is_aligned_in_no_way(f: _File) -> None:
    f.field(GRAPH, f.file.header["graphs"], "alignment", 3)


def _has_parameters_outside_of_the_file(f: _File) -> None:
    f.field(NODE, f.node(0), "params", len(f.data) - 32)


_BROKEN: tuple[Callable[[_File], None], ...] = tuple(
    function for name, function in list(globals().items()) if name.startswith("_") and name.split("_")[1] in {
        "reads", "names", "writes", "gives", "declares", "has", "accumulates", "says", "ends", "counts",
    }
)  # fmt: skip


@pytest.mark.parametrize("width", WIDTHS)
def test_file_is_opened(width: int) -> None:
    """Before anything is changed."""
    file = _opened(width)
    assert file.graph["width"] == width
    assert CoreEngine(file.file).file.name == "glyphs"


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("change", _BROKEN, ids=lambda each: each.__name__.strip("_"))
def test_file_that_breaks_a_rule_is_refused(change: Callable[[_File], None], width: int) -> None:
    """By the core; the checks of Python may refuse it, too."""
    file = _opened(width)
    change(file)
    assert bytes(file.data) != file.file.data, "nothing was changed"
    with pytest.raises(PlanError):
        CoreEngine(PlanFile(with_digest(file.data)), kernels=file.file.kernels)


def test_runs_of_bytes_end_where_a_core_stops() -> None:
    """At the byte after them, whose lowest bit says so."""
    file = _opened(1)
    file.put(file.graph["runs_end"], 0, 1)
    with pytest.raises(PlanError):
        CoreEngine(PlanFile(with_digest(file.data)), kernels=file.file.kernels)


@pytest.mark.parametrize("count", [0, 2, 65535])
@pytest.mark.parametrize(("operator", "group"), [("GATHER", 1), ("CONCATENATION", -1), ("CONCATENATION", 0)])
def test_pointers_of_a_node_are_those_of_its_groups(operator: str, group: int, count: int) -> None:
    """Of inputs that a contract does not name, and of those that a table describes, too."""
    graph = graph_of(OPERATOR_MODELS[operator](Seeded(1)))
    file = PlanFile(plan_file(PlannedModel.of(graph, kibi.plan(graph))))
    node = file.record(NODE, file.record(GRAPH, file.header["graphs"])["nodes"])
    groups = node["read_count"] + node["state_count"] + node["output_count"]
    place = node["groups"] + group % groups * GROUP.size_bytes + GROUP.offsets["count"]
    data = bytearray(file.data)
    data[place : place + 2] = count.to_bytes(2, "little")
    with pytest.raises(PlanError):
        CoreEngine(PlanFile(with_digest(data)), kernels=file.kernels)
