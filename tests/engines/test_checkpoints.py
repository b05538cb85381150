"""Checkpoints: after any loss of power the outputs are those of an inference that was never cut."""

import ctypes
from collections.abc import Sequence
from itertools import product
from pathlib import Path

import numpy as np
import pytest

import kibi
import kibi.demo
from kibi.codegen import Library
from kibi.dtypes import Array
from kibi.emulator import Core
from kibi.engines import HostEngine
from kibi.engines.engine import PAUSED, written_sources
from kibi.errors import EmulationError, InputError
from kibi.ir import Graph
from kibi.planner.lives import lives, saved_bytes
from kibi.reports.measurement import same_bits
from kibi.runtime import seeded_inputs
from kibi.toolchain import build_image
from tests.engines.networks import pooled_network, residual_network, two_input_network
from tests.support.amount import amount, sample
from tests.support.slots import CALLBACK, Functions, Slots
from tests.support.zoo import catalog, check_zoo

_ERROR_NULL, _NO_CHECKPOINT, _NO_STORAGE = -1, -9, -10
_HEAD_BYTES = 20


def _bytes_of_slot(library: Library) -> int:
    header = library.files[f"{library.model.graph.name}.h"]
    return int(header.split("_CHECKPOINT_BYTES ")[1].split("u")[0])


def _begin(engine: HostEngine, inputs: Sequence[Array]) -> None:
    for number, array in enumerate(inputs):
        ctypes.memmove(engine.address("input", number), array.ctypes.data, array.nbytes)


def _finished(library: Library, slots: Slots) -> list[Array]:
    """The outputs of a model that has lost its memory, and goes on from the newest checkpoint."""
    engine = HostEngine(library)
    for block in engine._blocks:
        block[64:-64] = 0x3C
    assert slots.call(engine, "resume") == 0
    while engine.call("run_for", ctypes.c_uint32(5)) == PAUSED:
        pass
    return engine.outputs()


@pytest.mark.share(3, part=2)
@pytest.mark.parametrize(
    ("model", "granularity"),
    sample(product([residual_network(), pooled_network("MEAN"), two_input_network()], ["row", "tensor"])),
    ids=lambda each: getattr(each, "name", each),
)
def test_inference_goes_on_from_each_place(model: Graph, granularity: str, tmp_path: Path) -> None:
    """Before the first step, after each, with an accumulator half full; what is written is what the plan says that lives."""
    plan = kibi.plan(model, granularity=granularity)
    library = kibi.compile(model, plan, tmp_path, checkpoints=True, lease=True)
    engine, inputs = HostEngine(library), seeded_inputs(model, 1)
    wanted, slots = kibi.run(model, plan, inputs), Slots(_bytes_of_slot(library))
    found = saved_bytes(lives(library.model.graph, plan), len(plan.steps))
    assert _bytes_of_slot(library) == _HEAD_BYTES + max(found)
    _begin(engine, inputs)
    status, done = PAUSED, 0
    while status == PAUSED:
        assert slots.call(engine, "checkpoint") == 0
        head = np.frombuffer(bytes(slots.data[(done + 1) % 2][:_HEAD_BYTES]), "<u4")
        assert head[1:4].tolist() == [done + 1, done, found[done]]
        if done % 3 == 0 or granularity == "tensor":
            assert same_bits(_finished(library, slots), wanted)
        status = engine.call("run_for", ctypes.c_uint32(1))
        done += 1
    assert done == len(plan.steps)
    assert same_bits(engine.outputs(), wanted)


@pytest.fixture(scope="module")
def paused(tmp_path_factory: pytest.TempPathFactory) -> tuple[Library, Slots, list[Array]]:
    """A library, slots with the checkpoints after 4 and 8 steps, and the outputs."""
    model = residual_network()
    plan = kibi.plan(model)
    library = kibi.compile(model, plan, tmp_path_factory.mktemp("paused"), checkpoints=True)
    engine, inputs, slots = HostEngine(library), seeded_inputs(model, 1), Slots(_bytes_of_slot(library))
    _begin(engine, inputs)
    for _ in range(2):
        assert engine.call("run_for", ctypes.c_uint32(4)) == PAUSED
        assert slots.call(engine, "checkpoint") == 0
    return library, slots, kibi.run(model, plan, inputs)


def test_damaged_checkpoint_is_refused_and_the_older_one_serves(
    paused: tuple[Library, Slots, list[Array]],
) -> None:
    """One bit of any byte of the newest slot; then one of each slot: nothing of a damaged one is restored."""
    library, slots, wanted = paused
    size = _HEAD_BYTES + int(np.frombuffer(bytes(slots.data[0][12:16]), "<u4")[0])
    for at in (*range(_HEAD_BYTES), *range(_HEAD_BYTES, size, 17), size - 1):
        damaged = slots.copy()
        damaged.data[0][at] ^= 1 << at % 8
        assert same_bits(_finished(library, damaged), wanted), at
        damaged.data[1][_HEAD_BYTES] ^= 4
        assert damaged.call(HostEngine(library), "resume") == _NO_CHECKPOINT


def test_checkpoint_in_the_other_slot_or_of_another_model_is_refused(
    paused: tuple[Library, Slots, list[Array]],
    tmp_path: Path,
) -> None:
    """Slots that changed places, another plan of the same model, empty slots."""
    library, slots, _ = paused
    swapped = Slots(slots.size_bytes, data=[slots.data[1], slots.data[0]])
    assert swapped.call(HostEngine(library), "resume") == _NO_CHECKPOINT
    other = kibi.compile(
        residual_network(), kibi.plan(residual_network(), granularity="tensor"), tmp_path, checkpoints=True
    )
    assert slots.call(HostEngine(other), "resume") == _NO_CHECKPOINT
    assert Slots(slots.size_bytes).call(HostEngine(library), "resume") == _NO_CHECKPOINT


def test_model_that_does_not_resume_writes_newer_checkpoints_than_those_it_finds(
    paused: tuple[Library, Slots, list[Array]],
) -> None:
    """After a loss of power another inference is begun: what it saves is what is found next."""
    library, before, _ = paused
    slots, engine = before.copy(), HostEngine(library)
    inputs = seeded_inputs(library.model.graph, 7)
    _begin(engine, inputs)
    assert slots.call(engine, "checkpoint") == 0
    assert same_bits(_finished(library, slots), kibi.run(residual_network(), None, inputs))


def test_numbers_of_checkpoints_begin_again_after_the_largest(
    paused: tuple[Library, Slots, list[Array]],
) -> None:
    """0 is no number, the slots go on alternating, and the newest is still the newest."""
    library, before, _ = paused
    slots, engine = before.copy(), HostEngine(library)
    place = ctypes.sizeof(ctypes.c_void_p)
    assert slots.call(engine, "resume") == 0
    slots = Slots(slots.size_bytes)
    assert engine._state.raw[place : place + 4] == (2).to_bytes(4, "little")
    ctypes.memmove(ctypes.addressof(engine._state) + place, (0xFFFFFFFD).to_bytes(4, "little"), 4)
    found = []
    for _ in range(4):
        assert engine.call("run_for", ctypes.c_uint32(1)) == PAUSED
        assert slots.call(engine, "checkpoint") == 0
        found.append(int(np.frombuffer(engine._state.raw[place : place + 4], "<u4")[0]))
        assert slots.call(engine, "resume") == 0
        assert int(np.frombuffer(engine._state.raw[place : place + 4], "<u4")[0]) == found[-1]
    assert found == [0xFFFFFFFE, 0xFFFFFFFF, 2, 3]


def test_storage_that_fails_leaves_the_other_slot_as_it_was(
    paused: tuple[Library, Slots, list[Array]],
) -> None:
    """A write that is cut at any byte is an error, and the inference goes on from what was saved before."""
    library, before, wanted = paused
    for cut in (0, 1, 50, before.size_bytes // 3):
        slots, engine = before.copy(), HostEngine(library)
        assert slots.call(engine, "resume") == 0
        slots.fails_after = cut
        assert slots.call(engine, "checkpoint") == _NO_STORAGE
        slots.fails_after = 1 << 30
        assert same_bits(_finished(library, slots), wanted)
    slots.fails_after = 30
    assert slots.call(HostEngine(library), "resume") == _NO_CHECKPOINT


def test_wrong_calls_of_checkpoints_are_refused(
    paused: tuple[Library, Slots, list[Array]],
    tmp_path: Path,
) -> None:
    """Null pointers, functions that are missing, plans whose bytes no checkpoint has."""
    library, slots, _ = paused
    engine = HostEngine(library)
    for function in ("checkpoint", "resume"):
        assert engine.call(function, None) == _ERROR_NULL
        assert engine.call(function, ctypes.byref(Functions(None, slots.functions.write))) == _ERROR_NULL
        assert engine.call(function, ctypes.byref(Functions(None, CALLBACK(0), slots.functions.read))) == _ERROR_NULL
    model = residual_network()
    with pytest.raises(InputError, match="in an external buffer"):
        kibi.compile(model, kibi.plan(model, input="external"), tmp_path, checkpoints=True)


_HARNESS = r"""
#include <string.h>
#include "MODEL.h"

/* Memory that keeps its bytes: written byte by byte, so that a loss of power may cut a write anywhere. */
static int put(void *context, unsigned slot, uint32_t offset, const void *data, uint32_t bytes)
{
    volatile uint8_t *const to = (volatile uint8_t *)context + slot * UPPER_CHECKPOINT_BYTES + offset;
    for (uint32_t i = 0; i < bytes; ++i) {
        to[i] = ((const uint8_t *)data)[i];
    }
    return 0;
}

static int get(void *context, unsigned slot, uint32_t offset, void *data, uint32_t bytes)
{
    memcpy(data, (const uint8_t *)context + slot * UPPER_CHECKPOINT_BYTES + offset, bytes);
    return 0;
}

/* What an application does when power comes back; 1000 more where it went on with an inference. */
int32_t power_on(MODEL_t *model, void *arena, void *slots_bytes, const void *inputs, uint32_t steps)
{
    const kibi_slots slots = {slots_bytes, put, get};
    if (MODEL_init(model, arena, UPPER_ARENA_BYTES) != KIBI_OK) {
        return -100;
    }
    const int resumed = MODEL_resume(model, &slots) == KIBI_OK;
    kibi_status status;
    BODY
    return (resumed != 0 ? 1000 : 0) + (int32_t)status;
}
"""
_STORED = """
    if (!resumed) {
        HAND_OVER
    }
    while ((status = MODEL_run_for(model, steps)) == KIBI_PAUSED) {
        if (MODEL_checkpoint(model, &slots) != KIBI_OK) {
            return -101;
        }
    }
"""
_STREAMED = """
    for (;;) {
        while ((status = MODEL_run_for(model, steps)) == KIBI_PAUSED) {
            if (MODEL_checkpoint(model, &slots) != KIBI_OK) {
                return -101;
            }
        }
        const int32_t row = MODEL_expected_row(model);
        if (row < 0) {
            break;
        }
        if (MODEL_push_row(model, (const int8_t *)inputs + row * (int32_t)(UPPER_INPUT_0_BYTES / ROWS)) != KIBI_OK ||
            MODEL_checkpoint(model, &slots) != KIBI_OK) {
            return -102;
        }
    }
    status = MODEL_invoke(model);
"""


def _survives(model: Graph, folder: Path, target: str, *, steps: int, cuts: int, mode: str = "stored") -> int:
    """Cuts the power of an inference at random instructions, and returns how often it went on in the middle."""
    plan = kibi.plan(model, target, input=mode)
    library = kibi.compile(model, plan, folder, checkpoints=True, lease=True)
    graph, upper = library.model.graph, model.name.upper()
    sizes = [graph.tensors[index].type.size_bytes for index in graph.inputs]
    hand_over = " ".join(
        f"memcpy(MODEL_input(model, {number}), (const uint8_t *)inputs + {sum(sizes[:number])}, {size});"
        for number, size in enumerate(sizes)
    )
    harness = folder / "harness.c"
    text = _HARNESS.replace("BODY", _STORED if mode == "stored" else _STREAMED)
    text = (
        text.replace("ROWS", str(graph.tensors[graph.inputs[0]].type.rows))
        .replace("HAND_OVER", hand_over)
        .replace("MODEL", model.name)
        .replace("UPPER", upper)
    )
    harness.write_text(text, encoding="utf-8")
    sources, _ = written_sources(library)
    entries = ["power_on", f"{model.name}_output"]
    processor = kibi.target(target)
    core = Core(build_image([*sources, harness], processor, entries=entries, level="s", includes=[folder]), processor)
    random, slot_bytes = np.random.default_rng(1), _bytes_of_slot(library)
    inputs = seeded_inputs(model, 1)
    state = core.allocate("state", library.model.state_bytes(), alignment=8)
    arena = core.allocate("arena", library.model.arena_bytes, alignment=16)
    slots = core.allocate("slots", 2 * slot_bytes)
    given = core.allocate("inputs", sum(sizes))
    core.write(given, b"".join(array.tobytes() for array in inputs))
    wanted = kibi.run(model, plan, inputs)
    arguments = (state, arena, slots, given, steps)

    def lose_power(*, slots_too: bool) -> None:
        core.write(state, random.integers(0, 256, library.model.state_bytes(), np.uint8).tobytes())
        core.write(arena, random.integers(0, 256, library.model.arena_bytes, np.uint8).tobytes())
        if slots_too:
            core.write(slots, bytes([255 * int(random.integers(2))]) * (2 * slot_bytes))

    lose_power(slots_too=True)
    whole, resumed, kept = core.call("power_on", *arguments).instructions, 0, b""
    for cut in range(cuts):
        lose_power(slots_too=cut % 3 == 0)
        if cut % 3:  # a second and a third cut of one inference, whose slots stay
            core.write(slots, kept)
        try:
            core.call("power_on", *arguments, instruction_limit=int(random.integers(1, whole + whole // 50)))
        except EmulationError as error:
            assert "no end after" in str(error)  # noqa: PT017 - the limit is the cut
        kept = core.read(slots, 2 * slot_bytes)
        lose_power(slots_too=False)
        status = core.call("power_on", *arguments).signed_value
        assert status in (0, 1000)
        resumed += status == 1000
        for number, (index, array) in enumerate(zip(graph.outputs, wanted, strict=True)):
            place = core.call(f"{model.name}_output", state, number).value
            assert core.read(place, graph.tensors[index].type.size_bytes) == array.tobytes()
    return resumed


@pytest.mark.share(3, part=0)
@pytest.mark.parametrize(
    ("model", "target", "steps"),
    [
        (residual_network(), "cortex-m4", 1),
        (pooled_network("MEAN"), "cortex-m0plus", 2),
        (two_input_network(), "cortex-m4", 3),
    ],
    ids=lambda each: getattr(each, "name", str(each)),
)
def test_loss_of_power_at_any_instruction_changes_no_output(
    model: Graph, target: str, steps: int, tmp_path: Path
) -> None:
    """While it computes, while it saves, while it restores; RAM is lost, the slots are kept."""
    cuts = amount(60, 2000)
    assert cuts // 2 < _survives(model, tmp_path, target, steps=steps, cuts=cuts) <= cuts


@pytest.mark.parametrize("target", ["cortex-m4", pytest.param("cortex-m0plus", marks=pytest.mark.slow)])
def test_loss_of_power_changes_no_output_where_rows_stream(target: str, tmp_path: Path) -> None:
    """Its source gives the row that is asked for: before a row, between rows, at the end."""
    cuts = amount(60, 2000)
    model = residual_network()
    assert cuts // 2 < _survives(model, tmp_path, target, steps=1, cuts=cuts, mode="streamed") <= cuts


@pytest.mark.slow
def test_loss_of_power_changes_no_output_of_the_shipped_model(tmp_path: Path) -> None:
    """Real sizes: a checkpoint takes far less time than what is between two of them."""
    cuts = amount(60, 2000)
    model = kibi.load(kibi.demo.model_path())
    assert cuts // 2 < _survives(model, tmp_path, "cortex-m4", steps=20, cuts=cuts) <= cuts


@pytest.mark.slow
@pytest.mark.zoo
@pytest.mark.parametrize(
    ("name", "steps"), [("mww_v2_okay_nabu", 5), pytest.param("mlperf_kws_int8", 25, marks=pytest.mark.slow)]
)
def test_loss_of_power_changes_no_output_of_real_models(name: str, steps: int, tmp_path: Path) -> None:
    """A model whose variables change in the middle of an inference, and one that hears words."""
    check_zoo()
    cuts = amount(60, 2000)
    model = kibi.simplify(kibi.load(catalog()[name].path))
    assert cuts // 3 < _survives(model, tmp_path, "cortex-m4", steps=steps, cuts=cuts) <= cuts
