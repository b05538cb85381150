"""Weights that are written between the two halves of an inference that a checkpoint joins: mixed outputs are never called clean."""

import ctypes
from collections import Counter
from functools import cache

import numpy as np
import pytest

import kibi
from kibi.engines.core import CoreEngine
from kibi.ir import Graph
from kibi.planfile.reader import PlanFile
from kibi.planfile.writer import plan_file
from kibi.planner import PlannedModel
from kibi.runtime import seeded_inputs
from tests.engines.networks import pooled_network, residual_network, two_input_network
from tests.planfile.c_model import PAUSED, CModel
from tests.planfile.file_constants import constants_of
from tests.planfile.mutants import with_digest
from tests.planfile.test_weights import DIRTY, updates_of
from tests.support.amount import amount
from tests.support.slots import Slots

_NO_CHECKPOINT = -9
_MORE_BYTES = 24
"""The head of a slot, the tags and the sum of the weights."""
_NETWORKS = (residual_network(), pooled_network("FULLY_CONNECTED"), two_input_network())


def _file(graph: Graph, granularity: str) -> PlanFile:
    plan = kibi.plan(graph, target="host", granularity=granularity)
    return PlanFile(plan_file(PlannedModel.of(graph, plan), with_fences=True))


def _slots(file: PlanFile) -> Slots:
    return Slots(_MORE_BYTES + file.arena_bytes + file.state_bytes)


class _Trial:
    """Inferences that are paused, saved, and resumed, with weights that are written meanwhile."""

    def __init__(self, graph: Graph, file: PlanFile) -> None:
        self.file, self._inputs = file, seeded_inputs(graph, 1)
        self._constants = constants_of(file)
        self.updates = updates_of(file, self._constants, 1)
        self._outputs = cache(self._made)

    def _made(self, data: bytes) -> list[bytes]:
        model = CModel(PlanFile(with_digest(bytearray(data))), weights=True)
        model.write_all(self._inputs)
        assert model.finish() == 0
        return model.outputs()

    def _with_digest_of_old(self, data: bytes) -> CModel:
        """A model whose bytes were written since it was opened, as those of FRAM are, with memory that holds nothing."""
        model = CModel(self.file, weights=True)
        model.data[:] = np.frombuffer(data, np.uint8)
        model.arena[:] = 0x3C
        return model

    def _write_some(self, model: CModel, random: np.random.Generator, updates: list[tuple[int, bytes]]) -> None:
        """Writes a few of the updates at once, and drops them from the list."""
        for _ in range(int(random.integers(0, 3))):
            if updates:
                first, new = updates.pop(int(random.integers(len(updates))))
                assert model.write_weights(first, new, waits=False)[0] == 0

    def run(self, random: np.random.Generator) -> str:
        """Returns how the inference ended, after the outputs have been compared."""
        model, slots, left = CModel(self.file, weights=True), _slots(self.file), list(self.updates)
        steps = len(self._constants.steps)
        before, saved_at = sorted(int(each) for each in random.integers(0, steps, 2))
        model.write_all(self._inputs)
        if before:
            assert model.run_for(before) == PAUSED
        self._write_some(model, random, left)
        if saved_at > before:
            assert model.run_for(saved_at - before) == PAUSED
        assert slots.call(model, "checkpoint") == 0
        saved, others = model.data.tobytes(), list(left)
        self._write_some(model, random, left)
        if left != others and random.integers(2):  # power stays: the same struct goes on from the checkpoint
            resumed = model
        else:
            resumed = self._with_digest_of_old([saved, model.data.tobytes(), self.file.data][random.integers(3)])
            left = [each for each in self.updates if resumed.data[each[0] :][: len(each[1])].tobytes() != each[1]]
        found = resumed.data.tobytes()
        assert slots.call(resumed, "resume") == 0
        self._write_some(resumed, random, left)
        status = resumed.finish(int(random.integers(1, 9)))
        begun = self.file.data if saved_at and before else found if not saved_at else saved
        if saved_at and found != saved:
            assert status == DIRTY
            return "other weights"
        assert status in (0, DIRTY)
        if status == DIRTY:
            assert saved_at
            return "mixed"
        wanted = self._outputs(begun), self._outputs(resumed.data.tobytes())
        assert resumed.outputs() in wanted
        if resumed.data.tobytes() == begun:
            return "as before"
        return "old" if resumed.outputs() == wanted[0] else "new"


@pytest.mark.parametrize("granularity", ["row", "tensor"])
@pytest.mark.parametrize("graph", _NETWORKS, ids=lambda each: each.name)
def test_inference_that_resumes_is_clean_only_with_weights_of_one_kind(graph: Graph, granularity: str) -> None:
    """Whatever is written before and after it was saved, and whichever weights are there when power comes back."""
    trial, random = _Trial(graph, _file(graph, granularity)), np.random.default_rng(5)
    ends = Counter(trial.run(random) for _ in range(amount(300, 20000)))
    assert ends["other weights"] > 10
    assert ends["as before"] > 10
    assert len(ends) > 3, ends


def test_tags_of_both_halves_come_together() -> None:
    """Bytes that were read before they were written, and after a resume others that are read after they were written."""
    graph = residual_network()
    file = _file(graph, "tensor")
    constants, inputs = constants_of(file), seeded_inputs(graph, 1)
    updates = updates_of(file, constants, 1)
    readers = {first: constants.readers(first, first + len(new)) for first, new in updates}
    early = min(updates, key=lambda each: max(readers[each[0]]))
    late = max(updates, key=lambda each: min(readers[each[0]]))
    statuses = list[int]()
    for further in ([], [late]):
        model, slots = CModel(file, weights=True), _slots(file)
        model.write_all(inputs)
        assert model.run_for(max(readers[early[0]]) + 1) == PAUSED
        assert model.write_weights(early[0], early[1], waits=True)[0] == 0
        assert slots.call(model, "checkpoint") == 0
        assert slots.call(model, "resume") == 0
        for first, new in further:
            assert model.write_weights(first, new, waits=False)[0] == 0
        statuses.append(model.finish())
        model.write_all(inputs)
        assert model.finish() == 0  # the next inference is clean
    assert statuses == [0, DIRTY]


def test_sum_notices_each_word_that_differs() -> None:
    """Of the file that is there when an inference is resumed; a checkpoint before the first step takes any."""
    graph = residual_network()
    file = _file(graph, "row")
    model, slots, first, inputs = CModel(file, weights=True), _slots(file), _slots(file), seeded_inputs(graph, 1)
    model.write_all(inputs)
    assert slots.call(model, "checkpoint") == 0
    first.data = [bytearray(each) for each in slots.data]
    assert model.run_for(5) == PAUSED
    assert slots.call(model, "checkpoint") == 0
    updates = updates_of(file, constants_of(file), 3)
    for begin, new in updates:
        changed = [k for k, byte in enumerate(new) if byte != file.data[begin + k]]
        for byte in changed[:: len(changed) // 4 + 1]:
            model.data[:] = np.frombuffer(file.data, np.uint8)
            model.data[begin + byte] = new[byte]
            assert slots.call(model, "resume") == 0
            assert model.finish() == DIRTY
            assert first.call(model, "resume") == 0
            assert model.finish() == 0
    model.data[:] = np.frombuffer(file.data, np.uint8)
    assert slots.call(model, "resume") == 0
    assert model.finish() == 0


def test_core_whose_weights_are_written_and_others_refuse_each_others_checkpoints() -> None:
    """What is saved is not the same."""
    graph = residual_network()
    file = _file(graph, "row")
    engines = [[CoreEngine(file, weights=weights) for _ in range(2)] for weights in (False, True)]
    for (one, same), others in (engines, engines[::-1]):
        slots = _slots(file)
        assert one.call("run_for", ctypes.c_uint32(3)) == PAUSED
        assert slots.call(one, "checkpoint") == 0
        assert slots.call(others[0], "resume") == _NO_CHECKPOINT
        assert slots.call(same, "resume") == 0
