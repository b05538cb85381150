"""Checkpoints of plan files: after any loss of power the outputs are those of an inference that was never cut."""

import ctypes
import zlib
from pathlib import Path

import numpy as np
import pytest

import kibi
from kibi import demo
from kibi.emulator import Core
from kibi.engines.core import written_core
from kibi.engines.core_device import MODEL_BYTES
from kibi.errors import EmulationError
from kibi.ir import Graph
from kibi.kernels.params import PARAMS
from kibi.kernels.params.contract_text import has_contract
from kibi.planfile.reader import PlanFile
from kibi.planfile.writer import plan_file
from kibi.planner import PlannedModel
from kibi.planner.lives import lives, saved_bytes
from kibi.runtime import seeded_inputs
from kibi.toolchain import build_image
from tests.engines.networks import pooled_network, residual_network, two_input_network
from tests.ops.comparison import graph_of
from tests.planfile.c_model import PAUSED, CModel
from tests.support.amount import amount, share
from tests.support.choices import Seeded
from tests.support.operator_models import OPERATOR_MODELS
from tests.support.slots import CALLBACK, Functions, Slots
from tests.support.zoo import catalog, requires_zoo

_NULL, _NEW, _SEQUENCE, _TAKEN, _NO_CHECKPOINT, _NO_STORAGE = -1, -4, -5, -8, -9, -10
_HEAD_BYTES = 20
_NETWORKS = (residual_network(), pooled_network("MEAN"), two_input_network())


def _planned(graph: Graph, target: str = "host", **wish: str) -> tuple[PlannedModel, PlanFile]:
    planned = PlannedModel.of(graph, kibi.plan(graph, target=target, **wish))  # type: ignore[arg-type]
    return planned, PlanFile(plan_file(planned))


def _opened(file: PlanFile, *, lease: bool = False) -> CModel:
    """A model in memory that holds nothing of use."""
    trusts = not all(has_contract(PARAMS[kernel]) for kernel in file.kernels)
    model = CModel(file, lease=lease, trusts=trusts)
    model.arena[:] = 0x3C
    return model


def _slots(file: PlanFile) -> Slots:
    return Slots(_HEAD_BYTES + file.arena_bytes + file.state_bytes)


def _wanted(graph: Graph, seed: int = 1) -> list[bytes]:
    return [each.tobytes() for each in kibi.run(graph, None, seeded_inputs(graph, seed))]


def _finished(file: PlanFile, slots: Slots, *, lease: bool = False) -> list[bytes]:
    """The outputs of a model that has lost its memory, and goes on from the newest checkpoint."""
    model = _opened(file, lease=lease)
    assert slots.call(model, "resume") == 0
    return model.outputs() if model.finish(5) == 0 else []


def _goes_on(graph: Graph, *, lease: bool = False, every: int = 1, **wish: str) -> tuple[int, int]:
    """Saves an inference at each place, and goes on from it in another model.

    Returns:
        The sum of all bytes that were saved, and the sum of those that the plan says that live.
    """
    planned, file = _planned(graph, **wish)
    model, slots, inputs = _opened(file, lease=lease), _slots(file), seeded_inputs(graph, 1)
    wanted, steps = [each.tobytes() for each in kibi.run(graph, planned.plan, inputs)], len(planned.plan.steps)
    found = saved_bytes(lives(planned.graph, planned.plan), steps)
    sums, status, done, number = [0, 0], PAUSED, 0, 0
    model.write_all(inputs)
    while status == PAUSED:
        assert slots.call(model, "checkpoint") == 0
        number += 1
        head = np.frombuffer(bytes(slots.data[number % 2][:_HEAD_BYTES]), "<u4")
        assert head[1:3].tolist() == [number, done]
        assert model.call("checkpoint_bytes") == _HEAD_BYTES + head[3]
        sums[0] += int(head[3]) - file.state_bytes
        sums[1] += found[done]
        assert _finished(file, slots, lease=lease) == wanted
        status = model.run_for(every)
        done += every
    assert status != 0 or done - every < steps <= done  # an operator may end an inference early
    return sums[0], sums[1]


@pytest.mark.share(3, part=1)
@pytest.mark.parametrize("lease", [True, pytest.param(False, marks=pytest.mark.slow)])
@pytest.mark.parametrize("granularity", ["row", pytest.param("tensor", marks=pytest.mark.slow)])
@pytest.mark.parametrize("graph", _NETWORKS, ids=lambda each: each.name)
def test_inference_goes_on_from_each_place(graph: Graph, granularity: str, lease: bool) -> None:
    """Before the first step, after each, with an accumulator half full; little is written that nobody reads."""
    saved, live = _goes_on(graph, granularity=granularity, lease=lease)
    assert saved < 1.05 * live


def test_shipped_model_goes_on_from_each_place() -> None:
    """Real sizes."""
    saved, live = _goes_on(kibi.load(demo.model_path()), every=3)
    assert saved < 1.05 * live


@pytest.mark.share(3, part=2)
@pytest.mark.parametrize("operator", share(sorted(OPERATOR_MODELS), 1))
def test_any_operator_goes_on_from_each_place(operator: str) -> None:
    """Scratch that is not saved is nothing that a later step needs, of no operator; variables are saved with their changes."""
    for seed in range(amount(2, 12)):
        _goes_on(graph_of(OPERATOR_MODELS[operator](Seeded(seed))), granularity=("row", "tensor")[seed % 2])


@requires_zoo
@pytest.mark.parametrize(
    ("name", "every"),
    [
        ("mww_v2_okay_nabu", 2),
        *(pytest.param(each, 9, marks=pytest.mark.slow) for each in ("mlperf_kws_int8", "mlonmcu_lstm2")),
    ],
)
def test_real_model_goes_on_from_each_place(name: str, every: int) -> None:
    """Variables that change in the middle of an inference, and a model that hears words."""
    saved, live = _goes_on(kibi.simplify(kibi.load(catalog()[name].path)), every=every)
    assert saved < 1.1 * live


@pytest.fixture(scope="module")
def paused() -> tuple[PlanFile, Slots, list[bytes]]:
    """A file, slots with the checkpoints after 4 and 8 steps, and the outputs."""
    graph = residual_network()
    _, file = _planned(graph)
    model, slots = _opened(file), _slots(file)
    model.write_all(seeded_inputs(graph, 1))
    for _ in range(2):
        assert model.run_for(4) == PAUSED
        assert slots.call(model, "checkpoint") == 0
    return file, slots, _wanted(graph)


def test_damaged_checkpoint_is_refused_and_the_older_one_serves(paused: tuple[PlanFile, Slots, list[bytes]]) -> None:
    """One bit of any byte of the newest slot; then one of each slot: nothing of a damaged one is restored."""
    file, slots, wanted = paused
    size = _HEAD_BYTES + int(np.frombuffer(bytes(slots.data[0][12:16]), "<u4")[0])
    for at in (*range(_HEAD_BYTES), *range(_HEAD_BYTES, size, 17), size - 1):
        damaged = slots.copy()
        damaged.data[0][at] ^= 1 << at % 8
        assert _finished(file, damaged) == wanted, at
        damaged.data[1][_HEAD_BYTES] ^= 4
        model = _opened(file)
        assert damaged.call(model, "resume") == _NO_CHECKPOINT
        assert (model.arena == 0x3C).all()


def test_newest_checkpoint_is_the_one_that_is_restored(paused: tuple[PlanFile, Slots, list[bytes]]) -> None:
    """The other one is older: less is left to run."""
    file, slots, _ = paused
    left = []
    for damaged in (False, True):
        copy, model = slots.copy(), _opened(file)
        copy.data[0][_HEAD_BYTES] ^= damaged
        assert copy.call(model, "resume") == 0
        count = 1
        while model.run_for(1) == PAUSED:
            count += 1
        left.append(count)
    assert left[1] - left[0] == 4


def test_checkpoint_in_the_other_slot_or_of_another_file_is_refused(
    paused: tuple[PlanFile, Slots, list[bytes]],
) -> None:
    """Slots that changed places, another plan of the same model, empty slots."""
    file, slots, _ = paused
    swapped = Slots(slots.size_bytes, data=[slots.data[1], slots.data[0]])
    assert swapped.call(_opened(file), "resume") == _NO_CHECKPOINT
    for other in (residual_network(), pooled_network("MEAN")):
        assert slots.call(_opened(_planned(other, granularity="tensor")[1]), "resume") == _NO_CHECKPOINT
    assert Slots(slots.size_bytes).call(_opened(file), "resume") == _NO_CHECKPOINT


@pytest.mark.parametrize(("word", "value"), [(2, 9), (2, 10_000), (2, 0xFFFFFFFF), (3, 1), (3, 0xFFFFFFFF)])
def test_checkpoint_whose_place_or_size_is_impossible_is_refused(
    paused: tuple[PlanFile, Slots, list[bytes]], word: int, value: int
) -> None:
    """With a sum that is right: no byte of the model is changed, and the next inference begins anew."""
    file, before, wanted = paused
    slots = before.copy()
    slots.data[1] = bytearray(slots.size_bytes)
    head = np.frombuffer(bytes(slots.data[0][:_HEAD_BYTES]), "<u4").copy()
    head[word] = value
    rest = bytes(slots.data[0][_HEAD_BYTES : _HEAD_BYTES + min(int(head[3]), slots.size_bytes)])
    head[4] = zlib.crc32(rest + head[:4].tobytes())
    slots.data[0][:_HEAD_BYTES] = head.tobytes()
    model = _opened(file)
    assert slots.call(model, "resume") == _NO_CHECKPOINT
    assert (model.arena == 0x3C).all()
    model.write_all(seeded_inputs(residual_network(), 1))
    assert model.finish(7) == 0
    assert model.outputs() == wanted


def test_model_that_does_not_resume_writes_newer_checkpoints_than_those_it_finds(
    paused: tuple[PlanFile, Slots, list[bytes]],
) -> None:
    """After a loss of power another inference is begun: what it saves is what is found next."""
    file, before, _ = paused
    slots, model = before.copy(), _opened(file)
    model.write_all(seeded_inputs(residual_network(), 7))
    assert slots.call(model, "checkpoint") == 0
    assert _finished(file, slots) == _wanted(residual_network(), 7)


def test_numbers_of_checkpoints_begin_again_after_the_largest(paused: tuple[PlanFile, Slots, list[bytes]]) -> None:
    """0 is no number, the slots go on alternating, and the newest is still the newest."""
    file, before, wanted = paused
    slots, model = before.copy(), _opened(file)
    assert slots.call(model, "resume") == 0
    assert model.sequence == 2
    slots, model.sequence = _slots(file), 0xFFFFFFFD
    found = []
    for _ in range(4):
        assert model.run_for(1) == PAUSED
        assert slots.call(model, "checkpoint") == 0
        found.append(model.sequence)
        assert slots.call(model, "resume") == 0
        assert model.sequence == found[-1]
    assert found == [0xFFFFFFFE, 0xFFFFFFFF, 2, 3]
    assert _finished(file, slots) == wanted


def test_storage_that_fails_leaves_the_other_slot_as_it_was(paused: tuple[PlanFile, Slots, list[bytes]]) -> None:
    """A write that is cut at any byte is an error, and the inference goes on from what was saved before."""
    file, before, wanted = paused
    for cut in (0, 1, 50, 200):
        slots, model = before.copy(), _opened(file)
        assert slots.call(model, "resume") == 0
        slots.fails_after = cut
        assert slots.call(model, "checkpoint") == _NO_STORAGE
        slots.fails_after = 1 << 30
        assert _finished(file, slots) == wanted
    slots.fails_after = 30
    assert slots.call(_opened(file), "resume") == _NO_CHECKPOINT


def test_variables_have_their_first_values_after_storage_failed_in_the_middle() -> None:
    """What was read of them is no mixture that anybody wants: the inference after that is one of a new model."""
    graph = graph_of(OPERATOR_MODELS["SVDF"](Seeded(1)))
    _, file = _planned(graph)
    assert file.state_bytes
    model, slots = _opened(file), _slots(file)
    for seed in range(2):
        model.write_all(seeded_inputs(graph, seed))
        assert model.finish() == 0
    model.write_all(seeded_inputs(graph, 1))
    assert slots.call(model, "checkpoint") == 0
    slots.reads_left = 100
    assert slots.call(model, "resume") == 0
    reads = 100 - slots.reads_left
    other = _opened(file)
    slots.reads_left = reads - 1
    assert slots.call(other, "resume") == _NO_STORAGE
    other.write_all(seeded_inputs(graph, 1))
    assert other.finish() == 0
    assert other.outputs() == _wanted(graph)
    assert model.finish() == 0
    assert model.outputs() != _wanted(graph)


def test_wrong_calls_of_checkpoints_are_refused(paused: tuple[PlanFile, Slots, list[bytes]]) -> None:
    """Null pointers, functions that are missing, files whose bytes no checkpoint has, an arena that somebody else has."""
    file, slots, _ = paused
    model = _opened(file)
    for function in ("checkpoint", "resume"):
        assert model.call(function, None) == _NULL
        assert model.call(function, ctypes.byref(Functions(None, slots.functions.write))) == _NULL
        assert model.call(function, ctypes.byref(Functions(None, CALLBACK(0), slots.functions.read))) == _NULL
    for wish in ("streamed", "external"):
        other = CModel(_planned(residual_network(), input=wish)[1])
        assert other.call("checkpoint_bytes") == 0
        assert {slots.call(other, function) for function in ("checkpoint", "resume")} == {_SEQUENCE}
    leased = CModel(file, lease=True)
    assert slots.call(leased, "checkpoint") == _TAKEN
    model.call("close")
    assert {slots.call(model, function) for function in ("checkpoint", "resume")} == {_NEW}
    assert model.call("checkpoint_bytes") == 0


_HARNESS = r"""
#include <string.h>
#include "kibi_checkpoint.h"
#include "kibi_kernels.h"

/* Memory that keeps its bytes: written byte by byte, so that a loss of power may cut a write anywhere. */
static int put(void *context, unsigned slot, uint32_t offset, const void *data, uint32_t bytes)
{
    volatile uint8_t *const to = (volatile uint8_t *)context + slot * SLOT_BYTES + offset;
    for (uint32_t i = 0; i < bytes; ++i) {
        to[i] = ((const uint8_t *)data)[i];
    }
    return 0;
}

static int get(void *context, unsigned slot, uint32_t offset, void *data, uint32_t bytes)
{
    memcpy(data, (const uint8_t *)context + slot * SLOT_BYTES + offset, bytes);
    return 0;
}

typedef struct {
    const void *file;
    uint32_t file_bytes;
    void *arena;
    uint32_t arena_bytes;
    void *state;
    uint32_t state_bytes;
    void *slots;
    const uint8_t *inputs;
    uint8_t *outputs;
} memory;

/* What an application does when power comes back; 1000 more where it went on with an inference. */
int32_t power_on(kibi_model *model, const memory *m, uint32_t steps)
{
    const kibi_slots slots = {m->slots, put, get};
    const uint8_t *from = m->inputs;
    uint8_t *to = m->outputs;
    kibi_port port;
    if (kibi_model_open_trusted(model, m->file, m->file_bytes, &kibi_core_kernels, m->arena, m->arena_bytes) != KIBI_OK ||
        (m->state_bytes != 0 && kibi_model_set_state(model, m->state, m->state_bytes) != KIBI_OK)) {
        return -100;
    }
    const int resumed = kibi_model_resume(model, &slots) == KIBI_OK;
    for (unsigned k = 0; !resumed && kibi_model_input(model, k, &port) == KIBI_OK; ++k) {
        memcpy(port.data, from, port.bytes);
        from += port.bytes;
    }
    kibi_status status;
    while ((status = kibi_model_run_for(model, steps)) == KIBI_PAUSED) {
        if (kibi_model_checkpoint(model, &slots) != KIBI_OK) {
            return -101;
        }
    }
    for (unsigned k = 0; kibi_model_output(model, k, &port) == KIBI_OK; ++k) {
        memcpy(to, port.data, port.bytes);
        to += port.bytes;
    }
    return (resumed != 0 ? 1000 : 0) + (int32_t)status;
}
"""


def _survives(graph: Graph, folder: Path, target: str, *, steps: int, cuts: int) -> int:
    """Cuts the power of an inference at random instructions, and returns how often it went on in the middle."""
    _, file = _planned(graph, target)
    processor = kibi.target(target)
    sources = written_core(file.kernels, processor, folder)
    slot_bytes = _HEAD_BYTES + file.arena_bytes + file.state_bytes
    harness = folder / "harness.c"
    harness.write_text(_HARNESS.replace("SLOT_BYTES", f"{slot_bytes}u"), encoding="utf-8")
    image = build_image([*sources, harness], processor, entries=["power_on"], level="s", includes=[folder])
    core, random = Core(image, processor), np.random.default_rng(1)
    sizes = {"arena": file.arena_bytes, "state": file.state_bytes or 8, "slots": 2 * slot_bytes}
    sizes |= {
        "inputs": sum(each.size_bytes for each in file.inputs),
        "outputs": sum(each.size_bytes for each in file.outputs),
    }
    data = core.allocate("plan file", len(file.data), alignment=8, writable=False)
    core.write(data, file.data)
    at = {name: core.allocate(name, size, alignment=16) for name, size in sizes.items()}
    model, memory = core.allocate("model", MODEL_BYTES, alignment=4), core.allocate("memory", 36, alignment=4)
    words = [
        data, len(file.data), at["arena"], file.arena_bytes, at["state"], file.state_bytes, at["slots"], at["inputs"], at["outputs"]
    ]  # fmt: skip
    core.write(memory, np.array(words, "<u4").tobytes())
    core.write(at["inputs"], b"".join(array.tobytes() for array in seeded_inputs(graph, 1)))
    wanted, arguments = b"".join(_wanted(graph)), (model, memory, steps)

    def lose_power(*, slots_too: bool) -> None:
        for name in ("arena", "state", "outputs"):
            core.write(at[name], random.integers(0, 256, sizes[name], np.uint8).tobytes())
        core.write(model, random.integers(0, 256, MODEL_BYTES, np.uint8).tobytes())
        if slots_too:
            core.write(at["slots"], bytes([255 * int(random.integers(2))]) * sizes["slots"])

    lose_power(slots_too=True)
    whole, resumed, kept = core.call("power_on", *arguments, instruction_limit=10**9).instructions, 0, b""
    for cut in range(cuts):
        lose_power(slots_too=cut % 3 == 0)
        if cut % 3:  # a second and a third cut of one inference, whose slots stay
            core.write(at["slots"], kept)
        try:
            core.call("power_on", *arguments, instruction_limit=int(random.integers(1, whole + whole // 50)))
        except EmulationError as error:
            assert "no end after" in str(error)  # noqa: PT017 - the limit is the cut
        kept = core.read(at["slots"], sizes["slots"])
        lose_power(slots_too=False)
        status = core.call("power_on", *arguments, instruction_limit=10**9).signed_value
        assert status in (0, 1000)
        resumed += status == 1000
        assert core.read(at["outputs"], sizes["outputs"]) == wanted
    return resumed


@pytest.mark.parametrize(
    ("graph", "target", "steps"),
    [
        (residual_network(), "cortex-m4", 2),
        pytest.param(pooled_network("MEAN"), "cortex-m0plus", 2, marks=pytest.mark.slow),
        (two_input_network(), "cortex-m4", 3),
    ],
    ids=lambda each: getattr(each, "name", str(each)),
)
def test_loss_of_power_at_any_instruction_changes_no_output(
    graph: Graph, target: str, steps: int, tmp_path: Path
) -> None:
    """While it computes, while it saves, while it restores; RAM is lost, the slots are kept."""
    cuts = amount(30, 2000)
    assert cuts // 3 < _survives(graph, tmp_path, target, steps=steps, cuts=cuts) <= cuts


@requires_zoo
@pytest.mark.slow
@pytest.mark.parametrize(("name", "steps"), [("mww_v2_okay_nabu", 5), ("mlperf_kws_int8", 25)])
def test_loss_of_power_changes_no_output_of_real_models(name: str, steps: int, tmp_path: Path) -> None:
    """A model whose variables change in the middle of an inference, and one that hears words."""
    cuts = amount(60, 2000)
    graph = kibi.simplify(kibi.load(catalog()[name].path))
    assert cuts // 3 < _survives(graph, tmp_path, "cortex-m4", steps=steps, cuts=cuts) <= cuts
