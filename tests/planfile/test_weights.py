"""Weights that are written while inference runs: outputs are those of the old or of the new weights, or the status says mixed."""

import ctypes
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import kibi
from kibi.dtypes import Array
from kibi.emulator import Core
from kibi.engines.core import CoreEngine, written_core
from kibi.engines.core_device import MODEL_BYTES
from kibi.errors import PlanError
from kibi.ir import Graph
from kibi.kernels.params import PARAMS
from kibi.kernels.params.contract_text import has_contract
from kibi.kernels.params.layout import Layout
from kibi.planfile.in_numpy.program import port_of, programs_of
from kibi.planfile.kernel_ids import kernel_id
from kibi.planfile.reader import PlanFile
from kibi.planfile.records import GRAPH, NODE
from kibi.planfile.writer import plan_file
from kibi.planner import PlannedModel
from kibi.reports.fences import fences
from kibi.runtime import seeded_inputs
from kibi.toolchain import build_image
from tests.engines.networks import pooled_network, residual_network, two_input_network
from tests.ops.comparison import graph_of
from tests.planfile.c_model import PAUSED, CModel
from tests.planfile.file_constants import FileConstants, Range, constants_of
from tests.planfile.mutants import with_digest
from tests.support.amount import amount
from tests.support.choices import Seeded
from tests.support.operator_models import OPERATOR_MODELS

DIRTY, ACCESS = 3, -40
_NETWORKS = (residual_network(), pooled_network("MEAN"), pooled_network("FULLY_CONNECTED"), two_input_network())


def _planned(graph: Graph, **wish: str) -> tuple[PlannedModel, PlanFile]:
    planned = PlannedModel.of(graph, kibi.plan(graph, target="host", **wish))  # type: ignore[arg-type]
    return planned, PlanFile(plan_file(planned))


def _is_right(data: bytes) -> bool:
    """True if a file with these bytes and their digest keeps to all contracts."""
    try:
        programs_of(PlanFile(with_digest(bytearray(data))))
    except PlanError:
        return False
    return True


def _shapes(file: PlanFile) -> list[Range]:
    """Where the shapes of inputs and outputs are: a constant with the same bytes is stored in the same place."""
    ports = [port_of(file, index) for index in range(file.header["port_count"])]
    return [(each["shape"], each["shape"] + 4 * each["rank"]) for each in ports]


def _changed(data: bytes, first: int, new: bytes) -> bytes:
    return data[:first] + new + data[first + len(new) :]


def _updates(file: PlanFile, constants: FileConstants, seed: int) -> list[tuple[int, bytes]]:
    """New bytes for each constant that has another value which its kernel takes, one after another."""
    random, data, found = np.random.default_rng(seed), file.data, list[tuple[int, bytes]]()
    shapes, end = _shapes(file), 0
    for first, last in constants.ranges:
        if first < end or any(
            first < b and a < last for a, b in shapes
        ):  # a part of another constant, or a record, too
            continue
        new = bytes(np.frombuffer(data[first:last], np.uint8) ^ random.integers(0, 2, last - first, np.uint8))
        changed = _changed(data, first, new)
        if new != data[first:last] and _is_right(changed):
            found.append((first, new))
            data, end = changed, last
    return found


@cache
def _opened(data: bytes) -> CModel:
    return CModel(PlanFile(data), weights=True)


def _outputs(data: bytes, inputs: Sequence[Array]) -> list[bytes]:
    """What a file gives that was never written."""
    model = _opened(with_digest(bytearray(data)))
    model.call("reset")
    model.write_all(inputs)
    assert model.finish() == 0
    return model.outputs()


def _restored(model: CModel, data: bytes) -> None:
    model.data[:] = np.frombuffer(data, np.uint8)
    model.call("reset")


@pytest.mark.parametrize("granularity", ["row", "tensor"])
@pytest.mark.parametrize("graph", _NETWORKS, ids=lambda each: each.name)
def test_update_behind_the_fence_gives_old_outputs_then_new_ones(graph: Graph, granularity: str) -> None:
    """An update of all constants that begins after any step: each is written as soon as the core takes it."""
    _, file = _planned(graph, granularity=granularity)
    constants, inputs = constants_of(file), seeded_inputs(graph, 1)
    updates = _updates(file, constants, 1)
    new = file.data
    for first, data in updates:
        new = _changed(new, first, data)
    old_outputs, new_outputs = _outputs(file.data, inputs), _outputs(new, inputs)
    assert old_outputs != new_outputs
    model = CModel(file, weights=True)
    for start in range(len(constants.steps) + 1):
        _restored(model, file.data)
        model.write_all(inputs)
        left, done, status = updates, 0, PAUSED
        while status == PAUSED:
            if done >= start:
                left = list(_left(model, constants, left, done))
            status = model.run_for(1)
            done += 1
        assert (status, done) == (0, len(constants.steps))
        assert model.outputs() == (old_outputs if start else new_outputs)
        assert not list(_left(model, constants, left, 0))
        model.write_all(inputs)
        assert model.finish(3) == 0
        assert model.outputs() == new_outputs


def _left(
    model: CModel, constants: FileConstants, updates: Sequence[tuple[int, bytes]], done: int
) -> Iterator[tuple[int, bytes]]:
    """Writes what may be written; yields the rest, each of which a step will read."""
    for first, data in updates:
        old = model.data[first : first + len(data)].tobytes()
        status, until, given = model.write_weights(first, data, waits=True)
        last = max(constants.readers(first, first + len(data)))
        if 0 < done <= last:
            assert (status, until, given) == (PAUSED, last + 1, data)
            assert model.data[first : first + len(data)].tobytes() == old
            yield first, data
        else:
            assert (status, given) == (0, old)
            assert model.data[first : first + len(data)].tobytes() == data


def _tries_each(graph: Graph, *, most: int, **wish: str) -> tuple[int, int]:
    """Writes one constant at once after any step, and compares the status and the outputs.

    Returns:
        How many inferences were clean, and how many were mixed.
    """
    _, file = _planned(graph, **wish)
    if not all(has_contract(PARAMS[kernel]) for kernel in file.kernels):
        return 0, 0
    constants, inputs, random = constants_of(file), seeded_inputs(graph, 1), np.random.default_rng(len(file.data))
    model, counts = CModel(file, weights=True), [0, 0]
    updates = _updates(file, constants, 2)
    if not updates or model.call("invoke"):
        return 0, 0
    old_outputs = _outputs(file.data, inputs)
    places = [(update, start) for update in updates for start in range(len(constants.steps) + 1)]
    for number in random.permutation(len(places))[:most]:
        (first, data), start = places[number]
        _restored(model, file.data)
        model.write_all(inputs)
        done = model.run_for(start) if start else PAUSED
        assert model.write_weights(first, data, waits=False)[0] == 0
        status = done if done != PAUSED else model.finish()
        readers = constants.readers(first, first + len(data))
        is_mixed = 0 < start < len(constants.steps) and min(readers) < start <= max(readers)
        assert status == (DIRTY if is_mixed else 0)
        if status == 0:
            is_old = max(readers) < start
            new_outputs = _outputs(_changed(file.data, first, data), inputs)
            assert model.outputs() == (old_outputs if is_old else new_outputs)
        model.call("reset")
        model.write_all(inputs)
        assert model.finish() == 0
        assert model.outputs() == _outputs(_changed(file.data, first, data), inputs)
        counts[is_mixed] += 1
    return counts[0], counts[1]


@pytest.mark.parametrize("granularity", ["row", "tensor"])
@pytest.mark.parametrize("graph", _NETWORKS, ids=lambda each: each.name)
def test_inference_that_read_old_and_new_bytes_says_so(graph: Graph, granularity: str) -> None:
    """And no other one; the next inference is clean."""
    clean, mixed = _tries_each(graph, most=150, granularity=granularity)
    assert min(clean, mixed) > 0


@pytest.mark.parametrize("operator", sorted(OPERATOR_MODELS))
def test_weights_of_any_operator_are_written_between_steps(operator: str) -> None:
    """Constants by the row, tables, packed words, graphs inside of operators."""
    for seed in range(amount(2, 10)):
        granularity = ("row", "tensor")[seed % 2]
        _tries_each(graph_of(OPERATOR_MODELS[operator](Seeded(seed))), most=12, granularity=granularity)


def _random_ranges(random: np.random.Generator, file: PlanFile, ranges: Sequence[Range], count: int) -> Iterator[Range]:
    """Parts of constants, what is beside them, and anything."""
    size = len(file.data)
    for number in range(count):
        first, end = ranges[int(random.integers(len(ranges)))]
        if number % 3 == 0:
            begin = int(random.integers(first, end))
            yield begin, int(random.integers(begin + 1, end + 1))
        elif number % 3 == 1:
            yield max(0, first - int(random.integers(0, 6))), end + int(random.integers(0, 6))
        else:
            begin = int(random.integers(0, size + 40))
            yield begin, begin + int(random.integers(1, 200))


@pytest.mark.parametrize("graph", _NETWORKS, ids=lambda each: each.name)
def test_bytes_that_are_no_constants_are_refused_and_stay(graph: Graph) -> None:
    """Records, runs, tables, parameters, gaps, the digest, what is after the file; and values that no kernel takes."""
    _, file = _planned(graph)
    constants, random = constants_of(file), np.random.default_rng(3)
    is_constant = np.zeros(2 * len(file.data) + 400, bool)
    for first, end in constants.ranges:
        is_constant[first:end] = True
    model, taken, refused = CModel(file, weights=True), 0, 0
    for first, end in _random_ranges(random, file, constants.ranges, amount(600, 6000)):
        data = random.integers(0, 256, end - first, np.uint8).tobytes()
        before = model.data.tobytes()
        status, _, given = model.write_weights(first, data, waits=False)
        if status == 0:
            assert is_constant[first:end].all()
            assert model.data.tobytes() == _changed(before, first, data)
            assert given == before[first:end]
            taken += 1
        else:
            assert status == ACCESS
            assert (model.data.tobytes(), given) == (before, data)
            is_one = any(a <= first and end <= b for a, b in constants.ranges)
            assert not is_one or not _is_right(_changed(before, first, data))
            refused += 1
    assert min(taken, refused) > 50
    for first, size in ((0xFFFFFFF0, 32), (0xFFFFFFFF, 1), (len(file.data) - 32, 32), (64, 0xFFFF)):
        assert model.write_weights(first, bytes(size), waits=True)[0] == ACCESS


def test_weights_of_wrong_calls() -> None:
    """Null pointers, and a model that is not open."""
    _, file = _planned(residual_network())
    model = CModel(file, weights=True)
    first, end = constants_of(file).ranges[0]
    model.call("close")
    assert model.write_weights(first, bytes(end - first), waits=True)[0] == -4


@pytest.mark.parametrize("graph", _NETWORKS, ids=lambda each: each.name)
def test_report_and_file_agree_on_first_and_last_steps(graph: Graph) -> None:
    """The planner's view of an inference, and the runs of the file."""
    planned, file = _planned(graph)
    constants = constants_of(file)
    found = {}
    for first, end in constants.ranges:
        readers = constants.readers(first, end)
        found[first, end] = (min(readers), max(readers))
    told = {(each.size_bytes, each.first, each.last) for each in fences(planned)}
    assert {(end - first, *steps) for (first, end), steps in found.items()} == told


def _with_other_pointers(file: PlanFile, random: np.random.Generator) -> bytes:
    """A file of which some pointers to constants lead elsewhere: into records, runs, tables, other constants."""
    data = bytearray(file.data)
    graph = file.record(GRAPH, file.header["graphs"])
    nodes = [file.record(NODE, graph["nodes"] + k * NODE.size_bytes) for k in range(graph["node_count"])]
    names = {kernel_id(name): name for name in file.kernels}
    for _ in range(int(random.integers(1, 4))):
        node = nodes[random.integers(len(nodes))]
        kind = PARAMS[names[node["kernel_id"]]]
        places = [
            place for each, place in zip(kind.fields, Layout.of(kind).offsets, strict=True) if each.is_pointer
        ] or [0]
        at = node["params"] + places[random.integers(len(places))]
        to = int(random.integers(0, len(data) // 4)) * 4
        data[at : at + 4] = ((to - node["params"]) % (1 << 32)).to_bytes(4, "little")
    return with_digest(data)


@pytest.mark.parametrize("graph", _NETWORKS, ids=lambda each: each.name)
def test_no_write_makes_a_file_that_open_would_refuse(graph: Graph) -> None:
    """Whoever made the file: constants may be where records, runs or checked numbers are, and values may be any."""
    _, file = _planned(graph)
    random, opened, taken = np.random.default_rng(4), 0, 0
    for _ in range(amount(200, 3000)):
        made = PlanFile(_with_other_pointers(file, random))
        try:
            ranges = constants_of(made).ranges
        except PlanError:
            continue
        model = CModel(made, weights=True)
        opened += 1
        for first, end in _random_ranges(random, made, ranges, 12):
            new = random.integers(0, 256, end - first, np.uint8).tobytes()
            if model.write_weights(first, new, waits=False)[0] == 0:
                taken += 1
                CModel(PlanFile(with_digest(bytearray(model.data.tobytes()))), weights=True)  # it opens
                assert model.call("invoke") == 0
    assert min(opened, taken) > 10


_DEVICE_FUNCTIONS = (
    "kibi_model_open",
    "kibi_model_input",
    "kibi_model_run_for",
    "kibi_model_output",
    "kibi_weights_write",
)


def test_weights_are_written_on_the_device(tmp_path: Path) -> None:
    """The same on the emulated core, with a file in RAM: a write that waits, one that mixes, and a clean inference."""
    graph = residual_network()
    processor = kibi.target("cortex-m4")
    file = PlanFile(plan_file(PlannedModel.of(graph, kibi.plan(graph, target="cortex-m4"))))
    constants, inputs = constants_of(file), seeded_inputs(graph, 1)
    sources = written_core(file.kernels, processor, tmp_path, file.parts, weights=True)
    image = build_image(sources, processor, entries=_DEVICE_FUNCTIONS, level="s", includes=[tmp_path])
    core = Core(image, processor)
    data = core.allocate("plan file", len(file.data), alignment=8)
    arena = core.allocate("arena", file.arena_bytes, alignment=16)
    model, port = core.allocate("model", MODEL_BYTES, alignment=4), core.allocate("port", 32, alignment=4)
    given, until = core.allocate("given", len(file.data), alignment=4), core.allocate("until", 4, alignment=4)
    core.write(data, file.data)
    kernels = image.symbols["kibi_core_checked_kernels"].address

    def call(name: str, *arguments: int) -> int:
        return core.call(name, *arguments, instruction_limit=10**8).signed_value

    def begin() -> None:
        assert call("kibi_model_input", model, 0, port) == 0
        core.write(int.from_bytes(core.read(port, 4), "little"), inputs[0].tobytes())

    def outputs() -> list[bytes]:
        assert call("kibi_model_output", model, 0, port) == 0
        return [core.read(int.from_bytes(core.read(port, 4), "little"), file.outputs[0].size_bytes)]

    assert call("kibi_model_open", model, data, len(file.data), kernels, arena, file.arena_bytes) == 0
    first, new = _updates(file, constants, 4)[0]
    core.write(given, new)
    write = ("kibi_weights_write", model, first, given, len(new))
    begin()
    assert call("kibi_model_run_for", model, 5) == PAUSED
    assert call(*write, until) == PAUSED
    last = int.from_bytes(core.read(until, 4), "little")
    assert last == max(constants.readers(first, first + len(new))) + 1
    assert call("kibi_model_run_for", model, last - 5) == PAUSED
    assert call(*write, until) == 0
    assert core.read(given, len(new)) == file.data[first : first + len(new)]
    assert call("kibi_model_run_for", model, 10**6) == 0
    assert outputs() == [each.tobytes() for each in kibi.run(graph, None, inputs)]
    begin()
    assert call("kibi_model_run_for", model, 5) == PAUSED
    assert call(*write, 0) == 0
    assert call("kibi_model_run_for", model, 10**6) == DIRTY
    begin()
    assert call("kibi_model_run_for", model, 10**6) == 0
    assert outputs() == [each.tobytes() for each in kibi.run(graph, None, inputs)]
    assert call("kibi_weights_write", model, first - 1, given, 1, until) == ACCESS


def test_engine_writes_weights_between_slices() -> None:
    """`CoreEngine` has the function, too."""
    graph = pooled_network("MEAN")
    _, file = _planned(graph)
    engine, constants, inputs = CoreEngine(file, weights=True), constants_of(file), seeded_inputs(graph, 1)
    first, new = _updates(file, constants, 1)[0]
    assert engine.write_weights(first, new) == (0, 0)
    changed = PlanFile(with_digest(bytearray(_changed(file.data, first, new))))
    found, expected = engine.run(inputs), CoreEngine(changed).run(inputs)
    assert [each.tobytes() for each in found] == [each.tobytes() for each in expected]
    assert engine.call("run_for", ctypes.c_uint32(3)) == PAUSED
    assert engine.write_weights(first, new) == (PAUSED, max(constants.readers(first, first + len(new))) + 1)
    assert engine.write_weights(len(file.data), b"1") == (ACCESS, 0)


@pytest.mark.parametrize("graph", [residual_network(), two_input_network()], ids=lambda each: each.name)
def test_update_behind_the_fence_of_an_inference_by_the_row(graph: Graph) -> None:
    """Rows that arrive count as steps; what was written changes the next inference alone; a mixture is told in the end."""
    planned, file = _planned(graph, input="streamed")
    constants, inputs = constants_of(file), seeded_inputs(graph, 1)
    update = _updates(file, constants, 1)[0]
    first, new = update
    new_file = with_digest(bytearray(_changed(file.data, first, new)))
    rows = [array.reshape(file.inputs[number].rows, -1) for number, array in enumerate(inputs)]

    def inference(model: CModel, *, at: int, waits: bool) -> tuple[int, bool]:
        """Pushes all rows; from row `at` on tries to write. Returns the status, and whether it was written."""
        counts, number, written = [0] * len(rows), 0, False
        while (wanted := model.call("expected_input")) >= 0:
            if number >= at and not written:
                written = model.write_weights(first, new, waits=waits)[0] == 0
            assert model.push(wanted, rows[wanted][counts[wanted]]) == 0
            counts[wanted] += 1
            number += 1
        if not written and number >= at:
            written = model.write_weights(first, new, waits=waits)[0] == 0
        return model.call("invoke"), written

    old_model, new_model = CModel(file, weights=True), CModel(PlanFile(new_file), weights=True)
    assert inference(old_model, at=1000, waits=True) == (0, False)
    assert inference(new_model, at=1000, waits=True) == (0, False)
    assert old_model.outputs() != new_model.outputs()
    assert planned.plan.steps
    statuses = set[int]()
    for at in range(1, sum(map(len, rows)) + 1):
        model = CModel(file, weights=True)
        assert inference(model, at=at, waits=True) == (0, True)
        assert model.outputs() == old_model.outputs()
        assert inference(model, at=1000, waits=True) == (0, False)
        assert model.outputs() == new_model.outputs()
        model = CModel(file, weights=True)
        status, written = inference(model, at=at, waits=False)
        assert written
        assert status == DIRTY or model.outputs() in (old_model.outputs(), new_model.outputs())
        statuses.add(status)
        assert inference(model, at=1000, waits=True) == (0, False)
        assert model.outputs() == new_model.outputs()
    assert DIRTY in statuses


def test_weights_of_a_leased_arena_leave_the_lease_as_it_is() -> None:
    """The check of a file that is written does not take the arena."""
    graph = residual_network()
    _, file = _planned(graph)
    model, inputs = CModel(file, lease=True, weights=True), seeded_inputs(graph, 1)
    first, new = _updates(file, constants_of(file), 1)[0]
    model.write_all(inputs)
    assert model.run_for(3) == PAUSED
    arena = model.arena.tobytes()
    assert model.write_weights(first, new, waits=True)[0] == PAUSED
    assert model.write_weights(first, new, waits=False)[0] == 0
    assert model.arena.tobytes() == arena
    assert model.finish() == DIRTY
