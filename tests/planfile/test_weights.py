"""Weights that are written while inference runs: outputs are those of the old or of the new weights, or the status says mixed."""

import ctypes
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import kibi
from kibi.dtypes import Array
from kibi.emulator import Core
from kibi.engines.core import CoreEngine, written_core
from kibi.engines.core_device import MODEL_BYTES
from kibi.ir import Graph
from kibi.kernels.params import PARAMS
from kibi.kernels.params.contract_text import has_contract
from kibi.planfile.reader import PlanFile
from kibi.planfile.records import HEADER
from kibi.planfile.writer import plan_file
from kibi.planner import PlannedModel
from kibi.reports.fences import fences
from kibi.runtime import seeded_inputs
from kibi.toolchain import build_image
from tests.engines.networks import pooled_network, residual_network, two_input_network
from tests.ops.comparison import graph_of
from tests.planfile.c_model import PAUSED, CModel, block, library
from tests.planfile.file_constants import FileConstants, Range, constants_of
from tests.planfile.mutants import with_digest
from tests.support.amount import amount, share
from tests.support.choices import Seeded
from tests.support.operator_models import OPERATOR_MODELS

DIRTY, ACCESS = 3, -40
NETWORKS = (residual_network(), pooled_network("MEAN"), pooled_network("FULLY_CONNECTED"), two_input_network())


def planned_file(graph: Graph, **wish: str) -> tuple[PlannedModel, PlanFile]:
    planned = PlannedModel.of(graph, kibi.plan(graph, target="host", **wish))  # type: ignore[arg-type]
    return planned, PlanFile(plan_file(planned, with_fences=True))


def weights_end(file: PlanFile) -> int:
    """Where the weights end that may be written."""
    return max((each.offset + each.size_bytes for each in file.fences), default=0)


@dataclass(frozen=True)
class Readers:
    """The steps that read some bytes of a file, as its contracts and runs say of all constants behind the same fences."""

    first: int
    last: int

    @staticmethod
    def of(file: PlanFile, constants: FileConstants, first: int, end: int) -> "Readers":
        """Those of a range of bytes."""
        touched = [each for each in file.fences if first < each.offset + each.size_bytes and each.offset < end]
        steps = [n for each in touched for n in constants.readers(each.offset, each.offset + each.size_bytes)]
        return Readers(min(steps), max(steps))


def changed(data: bytes, first: int, new: bytes) -> bytes:
    return data[:first] + new + data[first + len(new) :]


def updates_of(file: PlanFile, constants: FileConstants, seed: int) -> list[tuple[int, bytes]]:
    """New bytes for each constant that may be written, one after another."""
    random, found, end = np.random.default_rng(seed), list[tuple[int, bytes]](), 0
    for first, last in constants.ranges:
        if first < end or last > weights_end(file):  # a part of another constant, or one that stays
            continue
        new = bytes(np.frombuffer(file.data[first:last], np.uint8) ^ random.integers(0, 2, last - first, np.uint8))
        if new != file.data[first:last]:
            found.append((first, new))
            end = last
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


@pytest.mark.share(3, part=1)
@pytest.mark.parametrize("granularity", ["row", "tensor"])
@pytest.mark.parametrize("graph", NETWORKS, ids=lambda each: each.name)
def test_update_behind_the_fence_gives_old_outputs_then_new_ones(graph: Graph, granularity: str) -> None:
    """An update of all constants that begins after any step: each is written as soon as the core takes it."""
    _, file = planned_file(graph, granularity=granularity)
    constants, inputs = constants_of(file), seeded_inputs(graph, 1)
    updates = updates_of(file, constants, 1)
    new = file.data
    for first, data in updates:
        new = changed(new, first, data)
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
        last = Readers.of(model.file, constants, first, first + len(data)).last
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
    _, file = planned_file(graph, **wish)
    if not all(has_contract(PARAMS[kernel]) for kernel in file.kernels):
        return 0, 0
    constants, inputs, random = constants_of(file), seeded_inputs(graph, 1), np.random.default_rng(len(file.data))
    model, counts = CModel(file, weights=True), [0, 0]
    updates = updates_of(file, constants, 2)
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
        readers = Readers.of(file, constants, first, first + len(data))
        is_mixed = 0 < start < len(constants.steps) and readers.first < start <= readers.last
        assert status == (DIRTY if is_mixed else 0)
        if status == 0:
            is_old = readers.last < start
            new_outputs = _outputs(changed(file.data, first, data), inputs)
            assert model.outputs() == (old_outputs if is_old else new_outputs)
        model.call("reset")
        model.write_all(inputs)
        assert model.finish() == 0
        assert model.outputs() == _outputs(changed(file.data, first, data), inputs)
        counts[is_mixed] += 1
    return counts[0], counts[1]


@pytest.mark.parametrize("granularity", ["row", "tensor"])
@pytest.mark.parametrize("graph", NETWORKS, ids=lambda each: each.name)
def test_inference_that_read_old_and_new_bytes_says_so(graph: Graph, granularity: str) -> None:
    """And no other one; the next inference is clean."""
    clean, mixed = _tries_each(graph, most=150, granularity=granularity)
    assert min(clean, mixed) > 0


@pytest.mark.parametrize("operator", share(sorted(OPERATOR_MODELS), 2))
def test_weights_of_any_operator_are_written_between_steps(operator: str) -> None:
    """Constants by the row, tables, packed words, graphs inside of operators."""
    for seed in range(amount(2, 10)):
        granularity = ("row", "tensor")[seed % 2]
        _tries_each(graph_of(OPERATOR_MODELS[operator](Seeded(seed))), most=12, granularity=granularity)


def random_ranges(random: np.random.Generator, file: PlanFile, ranges: Sequence[Range], count: int) -> Iterator[Range]:
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


@pytest.mark.parametrize("graph", NETWORKS, ids=lambda each: each.name)
def test_bytes_that_are_no_weights_are_refused_and_stay(graph: Graph) -> None:
    """The header, records, runs, tables, parameters, fences, the digest, what is after the file; weights may have any bytes."""
    _, file = planned_file(graph)
    constants, random, end = constants_of(file), np.random.default_rng(3), weights_end(file)
    assert {each for each in constants.ranges if each[1] <= end}
    model, taken, refused = CModel(file, weights=True), 0, 0
    for first, last in random_ranges(random, file, constants.ranges, amount(600, 6000)):
        data = random.integers(0, 256, last - first, np.uint8).tobytes()
        before = model.data.tobytes()
        status, _, given = model.write_weights(first, data, waits=False)
        if status == 0:
            assert HEADER.size_bytes <= first < last <= end
            assert model.data.tobytes() == changed(before, first, data)
            assert given == before[first:last]
            taken += 1
        else:
            assert status == ACCESS
            assert first < HEADER.size_bytes or last > end
            assert (model.data.tobytes(), given) == (before, data)
            refused += 1
    assert min(taken, refused) > 50
    for first, size in ((0xFFFFFFF0, 32), (0xFFFFFFFF, 1), (len(file.data) - 32, 32), (64, 0xFFFF), (64, 0), (end, 1)):
        assert model.write_weights(first, bytes(size), waits=True)[0] == ACCESS


def test_file_without_fences_is_read_alone() -> None:
    """It opens, and nothing of it may be written."""
    graph = residual_network()
    file = PlanFile(plan_file(PlannedModel.of(graph, kibi.plan(graph, target="host"))))
    assert file.fences == ()
    model = CModel(file, weights=True)
    for first in range(0, len(file.data), 8):
        assert model.write_weights(first, bytes(4), waits=False)[0] == ACCESS
    assert model.data.tobytes() == file.data


def test_weights_of_wrong_calls() -> None:
    """Null pointers, and a model that is not open."""
    _, file = planned_file(residual_network())
    model = CModel(file, weights=True)
    first, end = constants_of(file).ranges[0]
    write = library(weights=True)["kibi_weights_write"]
    assert write(None, ctypes.c_uint32(first), block(bytes(4)).ctypes.data_as(ctypes.c_void_p), 4, None) == -1
    assert write(ctypes.byref(model._model), ctypes.c_uint32(first), None, 4, None) == -1
    model.call("close")
    assert model.write_weights(first, bytes(end - first), waits=True)[0] == -4


@pytest.mark.parametrize("graph", NETWORKS, ids=lambda each: each.name)
def test_report_and_file_agree_on_first_and_last_steps(graph: Graph) -> None:
    """The planner's view of an inference, and the runs of the file."""
    planned, file = planned_file(graph)
    constants, found = constants_of(file), {}
    for first, end in constants.ranges:
        if end <= weights_end(file):
            readers = constants.readers(first, end)
            found[first, end] = (min(readers), max(readers))
    told = {(each.size_bytes, each.first, each.last) for each in fences(planned)}
    assert {(end - first, *steps) for (first, end), steps in found.items()} == told
    assert {each.until - 1 for each in file.fences} == {last for _, last in found.values()}


_DEVICE_FUNCTIONS = (
    "kibi_model_open",
    "kibi_model_input",
    "kibi_model_run_for",
    "kibi_model_output",
    "kibi_weights_write",
    "kibi_core_checked_kernels",
)


def test_weights_are_written_on_the_device(tmp_path: Path) -> None:
    """The same on the emulated core, with a file in RAM: a write that waits, one that mixes, and a clean inference."""
    graph = residual_network()
    processor = kibi.target("cortex-m4")
    file = PlanFile(plan_file(PlannedModel.of(graph, kibi.plan(graph, target="cortex-m4")), with_fences=True))
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
    first, new = updates_of(file, constants, 4)[0]
    core.write(given, new)
    write = ("kibi_weights_write", model, first, given, len(new))
    begin()
    assert call("kibi_model_run_for", model, 5) == PAUSED
    assert call(*write, until) == PAUSED
    last = int.from_bytes(core.read(until, 4), "little")
    assert last == Readers.of(file, constants, first, first + len(new)).last + 1
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
    _, file = planned_file(graph)
    engine, constants, inputs = CoreEngine(file, weights=True), constants_of(file), seeded_inputs(graph, 1)
    first, new = updates_of(file, constants, 1)[0]
    assert engine.write_weights(first, new) == (0, 0)
    other = PlanFile(with_digest(bytearray(changed(file.data, first, new))))
    found, expected = engine.run(inputs), CoreEngine(other).run(inputs)
    assert [each.tobytes() for each in found] == [each.tobytes() for each in expected]
    assert engine.call("run_for", ctypes.c_uint32(3)) == PAUSED
    assert engine.write_weights(first, new) == (PAUSED, Readers.of(file, constants, first, first + len(new)).last + 1)
    assert engine.write_weights(len(file.data), b"1") == (ACCESS, 0)


@pytest.mark.parametrize("graph", [residual_network(), two_input_network()], ids=lambda each: each.name)
def test_update_behind_the_fence_of_an_inference_by_the_row(graph: Graph) -> None:
    """Rows that arrive count as steps; what was written changes the next inference alone; a mixture is told in the end."""
    planned, file = planned_file(graph, input="streamed")
    constants, inputs = constants_of(file), seeded_inputs(graph, 1)
    update = updates_of(file, constants, 1)[0]
    first, new = update
    new_file = with_digest(bytearray(changed(file.data, first, new)))
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
    _, file = planned_file(graph)
    model, inputs = CModel(file, lease=True, weights=True), seeded_inputs(graph, 1)
    first, new = updates_of(file, constants_of(file), 1)[0]
    model.write_all(inputs)
    assert model.run_for(3) == PAUSED
    arena = model.arena.tobytes()
    assert model.write_weights(first, new, waits=True)[0] == PAUSED
    assert model.write_weights(first, new, waits=False)[0] == 0
    assert model.arena.tobytes() == arena
    assert model.finish() == DIRTY
