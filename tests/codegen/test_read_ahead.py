"""C whose windows are read ahead: the same bits whenever bytes arrive, no transfer runs on at the end, errors are statuses."""

import ctypes
import subprocess
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pytest

import kibi
import kibi.demo
from kibi.codegen import Library, schedule
from kibi.engines import DeviceEngine, HostEngine, host
from kibi.engines.engine import PAUSED
from kibi.errors import InputError
from kibi.ir import Graph
from kibi.packages.golden import golden_inputs
from kibi.planner import Plan, validate
from kibi.reports.measurement import same_bits
from kibi.runtime import seeded_inputs
from kibi.toolchain import build_program, load_shared
from tests.engines.networks import pooled_network, residual_network
from tests.support.amount import sample
from tests.support.late_weights import late_weights
from tests.support.slots import Slots
from tests.support.zoo import requires_zoo, zoo_path

_AHEAD = "read:storage,ahead"
_AMPLE = 100_000
"""RAM in which all windows of the small networks are read ahead."""
_WINDOWS = 3
"""Of `residual_network`."""
_ERROR_STORAGE = -10
_MAIN = r"""
#include <stdio.h>
#include <string.h>
#include "residual.h"
extern int memory_runs, memory_errors, memory_starts, memory_waits, memory_failing_start, memory_failing_wait;
static uint64_t block[(RESIDUAL_ARENA_BYTES + 7u) / 8u + 2u];
static kibi_status run(residual_t *model)
{
    memory_starts = memory_waits = 0;
    HAND_OVER
    return residual_invoke(model);
}
int main(void)
{
    residual_t model;
    memset(block, 0x5a, sizeof block);
    residual_init(&model, block + 1, sizeof block - 16u);
    kibi_status status = run(&model);
    const int all = memory_starts;
    int8_t expected[RESIDUAL_OUTPUT_0_BYTES];
    memcpy(expected, residual_output(&model, 0), sizeof expected);
    printf("%d %d\n", (int)status, all);
    for (int failing = 1; failing <= 2 * all; ++failing) {
        memory_failing_start = failing <= all ? failing : 0;
        memory_failing_wait = failing <= all ? 0 : failing - all;
        status = run(&model);
        printf("%d %d %d %d\n", (int)status, memory_starts, memory_waits, memory_runs);
        memory_failing_start = memory_failing_wait = 0;
        status = run(&model);
        printf("%d %d\n", (int)status, memcmp(expected, residual_output(&model, 0), sizeof expected));
    }
    const uint8_t *const bytes = (const uint8_t *)block;
    int is_whole = 1;
    for (unsigned i = 0; i < 8u; ++i) {
        is_whole = is_whole && bytes[i] == 0x5a && bytes[sizeof block - 1u - i] == 0x5a;
    }
    printf("%d %d\n", is_whole, memory_errors);
    return 0;
}
"""
_STORED = "memset(residual_input(model, 0), 3, RESIDUAL_INPUT_0_BYTES);"
_STREAMED = (
    "static const int8_t row[64]; while (residual_expected_input(model) >= 0) { residual_push_row(model, row); }"
)


@pytest.fixture(scope="module")
def glyphs() -> Graph:
    """The shipped model, simplified."""
    return kibi.simplify(kibi.load(kibi.demo.model_path()))


def _plan(model: Graph, target: str, mode: str = "stored", bandwidth: int = 1_000_000, **options: object) -> Plan:
    return kibi.plan(model, target=target, input=mode, weights=_AHEAD, bandwidth=bandwidth, **options)  # type: ignore[arg-type]


def _ahead(model: Graph, plan: Plan) -> int:
    """How many transfers run while a step computes."""
    graph, found, runs = validate(model, plan).graph, 0, [run.node for run in plan.runs]
    for node, after in pairwise(runs):
        found += graph.nodes[node].op.starts and not graph.nodes[after].op.waits
    return found


class _Memory:
    """The state of the functions in `late_weights`, in the shared object that an engine has loaded."""

    def __init__(self, shared: ctypes.CDLL) -> None:
        self._shared = shared

    def __getitem__(self, name: str) -> int:
        return ctypes.c_int.in_dll(self._shared, f"memory_{name}").value

    def __setitem__(self, name: str, value: int) -> None:
        ctypes.c_int.in_dll(self._shared, f"memory_{name}").value = value

    def spoil(self) -> None:
        """Gives the window of a transfer that runs other bytes."""
        self._shared["memory_spoil"]()


_Watched: TypeAlias = Callable[[Library, Path], tuple[HostEngine, _Memory]]


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> _Watched:
    """Makes an engine whose weights come late, and gives the state of its memory."""

    def make(library: Library, folder: Path) -> tuple[HostEngine, _Memory]:
        loaded: list[ctypes.CDLL] = []

        def load(*arguments: Any, **options: Any) -> ctypes.CDLL:
            loaded.append(load_shared(*arguments, **options))
            return loaded[-1]

        monkeypatch.setattr(host, "load_shared", load)
        engine = HostEngine(library, storage=[late_weights(library, folder)])
        return engine, _Memory(loaded[-1])

    return make


@pytest.mark.parametrize("late", [True, pytest.param(False, marks=pytest.mark.slow)], ids=["late", "early"])
@pytest.mark.parametrize(
    ("target", "mode", "bandwidth"),
    sample(
        [
            (target, mode, bandwidth)
            for target in ("host", "cortex-m4", "cortex-m0plus")
            for mode in ("stored", "streamed")
            for bandwidth in (1_000_000, 100_000_000)
        ],
        [("cortex-m4", "stored", 1_000_000)],
    ),
)
def test_c_gives_the_same_bits(
    glyphs: Graph, tmp_path: Path, target: str, mode: str, bandwidth: int, *, late: bool
) -> None:
    """Whether bytes arrive at the start of a transfer or at its end, and windows hold other bytes at each step between."""
    plan = _plan(glyphs, target, mode, bandwidth)
    assert _ahead(glyphs, plan) > 3
    library = kibi.compile(glyphs, plan, tmp_path)
    storage = [late_weights(library, tmp_path)] if late else None
    make = HostEngine if target == "host" else DeviceEngine
    engine = make(library, storage=storage)
    for seed in range(2):
        inputs = seeded_inputs(glyphs, seed)
        assert same_bits(engine.run(inputs), kibi.run(glyphs, kibi.plan(glyphs), inputs))


@requires_zoo
@pytest.mark.slow
@pytest.mark.parametrize("target", ["host", "cortex-m4", "cortex-m0plus"])
@pytest.mark.parametrize(
    ("name", "mode", "ram"),
    sample(
        [
            ("mlperf_kws_int8", "stored", 24_000),
            ("mlperf_vww_int8", "streamed", None),
            ("tflm_person_detect", "stored", 20_000),
        ],
        [("mlperf_kws_int8", "stored", 24_000)],
    ),
)
def test_models_of_the_zoo_give_the_same_bits(
    name: str, mode: str, ram: int | None, target: str, tmp_path: Path
) -> None:
    """In Python, in C on this machine and on emulated cores, with a memory that spoils windows."""
    model = kibi.simplify(kibi.load(zoo_path() / "models" / f"{name}.tflite"))
    plan = _plan(model, target, mode, 4_000_000, ram=ram)
    assert _ahead(model, plan) > 3
    library, inputs = kibi.compile(model, plan, tmp_path), seeded_inputs(model, 0)
    make = HostEngine if target == "host" else DeviceEngine
    engine = make(library, storage=[late_weights(library, tmp_path)])
    expected = kibi.run(model, kibi.plan(model, target), inputs)
    assert same_bits(kibi.run(model, plan, inputs), expected)
    assert same_bits(engine.run(inputs), expected)


def test_orders_in_tables_give_the_same_bits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A table calls functions through pointers, and looks after each of them whether the inference ends."""
    monkeypatch.setattr(schedule, "MOST_EXTRA_BYTES", -100_000)
    model = residual_network()
    library = kibi.compile(model, _plan(model, "host"), tmp_path)
    assert "plan_order" in library.files["residual.c"]
    inputs = seeded_inputs(model, 0)
    engine = HostEngine(library, storage=[late_weights(library, tmp_path)])
    assert same_bits(engine.run(inputs), kibi.run(model, kibi.plan(model), inputs))


@pytest.mark.share(2, part=0)
@pytest.mark.parametrize(
    ("mode", "lease"),
    sample([("stored", False), ("stored", True), ("streamed", True), ("streamed", False)]),
    ids=lambda each: each if isinstance(each, str) else "lease" * each,
)
def test_transfers_run_on_in_pauses_unless_the_arena_may_change_hands(
    tmp_path: Path, watched: _Watched, mode: str, *, lease: bool
) -> None:
    """A slice ends while a transfer runs, which spoils its window until the slice that waits for it; with a lease none runs."""
    model = residual_network()
    library = kibi.compile(model, _plan(model, "host", mode, ram=_AMPLE), tmp_path, spare=True, lease=lease)
    engine, memory = watched(library, tmp_path)
    inputs = seeded_inputs(model, 0)
    expected = kibi.run(model, kibi.plan(model), inputs)
    array, running = np.ascontiguousarray(inputs[0]), 0
    if mode == "stored":
        ctypes.memmove(engine.address("input", 0), array.ctypes.data, array.nbytes)
    rows, status = iter(array.reshape(array.shape[1], -1)), PAUSED
    while status == PAUSED or (mode == "streamed" and engine.call("expected_input") >= 0):
        running += memory["runs"]
        memory.spoil()
        if status != PAUSED:
            row = np.ascontiguousarray(next(rows))
            assert engine.call("push_row", ctypes.c_void_p(row.ctypes.data)) == 0
        status = engine.call("run_for", ctypes.c_uint32(1))
    assert mode == "stored" or engine.call("invoke") == 0
    assert (running == 0) is lease
    assert memory["errors"] == 0
    assert same_bits(engine.outputs(), expected)


@pytest.mark.slow
def test_rewind_waits_for_the_transfer(tmp_path: Path, watched: _Watched) -> None:
    """After each number of steps: nothing writes to the arena any more, and the next inference is right."""
    model = residual_network()
    plan = _plan(model, "host", ram=_AMPLE)
    library = kibi.compile(model, plan, tmp_path, slices=True)
    engine, memory = watched(library, tmp_path)
    inputs = seeded_inputs(model, 0)
    expected, waited = kibi.run(model, kibi.plan(model), inputs), 0
    for steps in range(1, len(plan.steps)):
        assert engine.call("run_for", ctypes.c_uint32(steps)) == PAUSED
        waited += memory["runs"]
        engine.call("rewind")
        assert memory["runs"] == 0
        assert same_bits(engine.run(inputs), expected)
    assert waited > 0
    assert memory["errors"] == 0


def test_checkpoint_waits_and_what_it_saves_goes_on(tmp_path: Path, watched: _Watched) -> None:
    """At each place: no transfer runs while it is written, and a model that has lost its memory ends with the same outputs."""
    model = residual_network()
    plan = _plan(model, "host", ram=_AMPLE)
    library = kibi.compile(model, plan, tmp_path, checkpoints=True)
    engine, memory = watched(library, tmp_path)
    inputs = seeded_inputs(model, 0)
    expected, waited = kibi.run(model, kibi.plan(model), inputs), 0
    slots = Slots(int(library.files["residual.h"].split("_CHECKPOINT_BYTES ")[1].split("u")[0]))
    ctypes.memmove(engine.address("input", 0), np.ascontiguousarray(inputs[0]).ctypes.data, inputs[0].nbytes)
    status = PAUSED
    while status == PAUSED:
        waited += memory["runs"]
        assert slots.call(engine, "checkpoint") == 0
        assert memory["runs"] == 0
        other, _ = watched(library, tmp_path)
        for block in other._blocks:
            block[64:-64] = 0x3C
        assert slots.call(other, "resume") == 0
        while other.call("run_for", ctypes.c_uint32(4)) == PAUSED:
            pass
        assert same_bits(other.outputs(), expected)
        status = engine.call("run_for", ctypes.c_uint32(1))
    assert waited > 0
    assert memory["errors"] == 0
    assert same_bits(engine.outputs(), expected)


def test_transfer_that_fails_before_a_checkpoint_ends_the_inference(tmp_path: Path, watched: _Watched) -> None:
    """The checkpoint says so, writes nothing, and so does the step that needs the window; the next inference is right."""
    model = residual_network()
    library = kibi.compile(model, _plan(model, "host", ram=_AMPLE), tmp_path, checkpoints=True)
    engine, memory = watched(library, tmp_path)
    inputs = seeded_inputs(model, 0)
    slots = Slots(int(library.files["residual.h"].split("_CHECKPOINT_BYTES ")[1].split("u")[0]))
    while memory["runs"] == 0:
        assert engine.call("run_for", ctypes.c_uint32(1)) == PAUSED
    memory["failing_wait"] = memory["waits"] + 1
    assert slots.call(engine, "checkpoint") == _ERROR_STORAGE
    assert slots.data == Slots(slots.size_bytes).data
    status = PAUSED
    while status == PAUSED:
        status = engine.call("run_for", ctypes.c_uint32(1))
    assert status == _ERROR_STORAGE
    assert same_bits(engine.run(inputs), kibi.run(model, kibi.plan(model), inputs))
    assert (memory["runs"], memory["errors"]) == (0, 0)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mode", "slices"),
    sample([(mode, slices) for mode in ("stored", "streamed") for slices in (True, False)], [("streamed", True)]),
)
def test_failing_start_or_wait_ends_the_inference_with_a_status(tmp_path: Path, mode: str, *, slices: bool) -> None:
    """Whichever fails: no transfer runs afterwards, nothing outside the arena is written, and the next inference is right."""
    model = residual_network()
    library = kibi.compile(model, _plan(model, "host", mode, ram=_AMPLE), tmp_path, slices=slices)
    main = tmp_path / "main.c"
    main.write_text(_MAIN.replace("HAND_OVER", _STORED if mode == "stored" else _STREAMED), encoding="utf-8")
    sources = [*(tmp_path / name for name in library.sources), late_weights(library, tmp_path), main]
    program = build_program(sources, compiler="gcc", level="0", includes=[tmp_path], sanitize=True)
    done = subprocess.run([program], check=True, capture_output=True, text=True, timeout=60)
    first, *found, last = done.stdout.splitlines()
    status, count = map(int, first.split())
    assert status == 0
    assert count == _WINDOWS
    starts = [f"-10 {number} {number - 1} 0" for number in range(1, count + 1)]
    waits = [line.split()[:1] + line.split()[2:] for line in found[2 * count :: 2]]
    assert found[: 2 * count : 2] == starts
    assert waits == [["-10", str(number), "0"] for number in range(1, count + 1)]
    assert set(found[1::2]) == {"0 0"}
    assert last == "1 0"


@pytest.mark.parametrize("head", sample([("MEAN",), ("FULLY_CONNECTED",)]))
def test_layers_that_add_up_rows_give_the_same_bits(tmp_path: Path, head: str) -> None:
    """Their sums outlive steps, beside a window that a transfer writes."""
    model = pooled_network(head)
    inputs = seeded_inputs(model, 0)
    library = kibi.compile(model, _plan(model, "host", ram=_AMPLE), tmp_path)
    engine = HostEngine(library, storage=[late_weights(library, tmp_path)])
    assert same_bits(engine.run(inputs), kibi.run(model, kibi.plan(model), inputs))


def test_parts_of_a_layer_are_counted_apart(glyphs: Graph, tmp_path: Path) -> None:
    """A measurement shows the instructions of each part, and what passes while they run."""
    plan = _plan(glyphs, "cortex-m4", ram=8_000)
    assert plan.slow_weights is not None
    assert max(plan.slow_weights.parts) > 1
    found = kibi.measure(kibi.compile(glyphs, plan, tmp_path), oracle=False)
    assert found.bit_exact
    assert sum(cost.instructions for cost in found.ops) <= found.instructions
    assert found.fetches is not None
    assert found.fetches.ahead == _ahead(glyphs, plan)
    assert 0.3 < found.fetches.hidden_share < 1


def test_two_models_need_functions_of_different_names(tmp_path: Path) -> None:
    """`read:a,ahead` takes the names that `read:a_wait` takes."""
    models = [residual_network(), pooled_network("MEAN")]
    ways = (_AHEAD, "read:storage_wait")
    plans = [
        kibi.plan(model, target="host", weights=way, bandwidth=1_000_000)
        for model, way in zip(models, ways, strict=True)
    ]
    with pytest.raises(InputError, match="a function of its own"):
        kibi.compile(models, plans, tmp_path)


def test_example_runs(tmp_path: Path) -> None:
    """The program that comes with a library has both functions."""
    model = residual_network()
    library = kibi.compile(model, _plan(model, "host", ram=_AMPLE), tmp_path)
    program = build_program(
        [*(tmp_path / name for name in library.sources), tmp_path / "examples" / "example_main.c"], includes=[tmp_path]
    )
    done = subprocess.run([program], cwd=tmp_path, check=True, capture_output=True, text=True, timeout=60)
    expected = kibi.run(model, kibi.plan(model), golden_inputs(model))[0].reshape(-1)
    assert done.stdout.splitlines() == [*map(str, expected.tolist()), "residual: same bits"]
