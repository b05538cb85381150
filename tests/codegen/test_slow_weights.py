"""C whose weights are read from slow memory: the same bits, a failing read ends in a status, and what is written."""

import json
import re
import shutil
import subprocess
import zlib
from pathlib import Path

import numpy as np
import pytest

import kibi
import kibi.demo
from kibi.codegen import schedule
from kibi.dtypes import Array
from kibi.eager.inference_events import StorageFailed
from kibi.engines import DeviceEngine, HostEngine
from kibi.errors import InputError
from kibi.frontends.tflite import parse_tflite
from kibi.ir import Graph
from kibi.packages.golden import golden_inputs
from kibi.planfile.writer import plan_file
from kibi.planner import Plan, PlannedModel
from kibi.runtime import seeded_inputs
from kibi.toolchain import build_program
from tests.engines.networks import pooled_network, residual_network
from tests.frontends.models import fully_connected
from tests.support.amount import sample

_READ = "read:storage_read"
_MAIN = r"""
#include <stdio.h>
#include <string.h>
#include "residual.h"
static uint64_t block[(RESIDUAL_ARENA_BYTES + 7u) / 8u + 2u];
static uint8_t stored[RESIDUAL_WEIGHTS_BYTES];
static unsigned calls, failing;
void told(uint32_t id) { if (id == STORAGE_FAILED) { printf("told "); } }
int storage_read(void *to, uint32_t offset, uint32_t bytes)
{
    if (++calls == failing) {
        return 7;
    }
    memcpy(to, stored + offset, bytes);
    return 0;
}
static kibi_status run(residual_t *model)
{
    calls = 0;
    HAND_OVER
    return residual_invoke(model);
}
int main(int count, char **values)
{
    FILE *const file = fopen(values[count - 1], "rb");
    const int is_read = fread(stored, 1, sizeof stored, file) == sizeof stored;
    fclose(file);
    residual_t model;
    memset(block, 0x5a, sizeof block);
    residual_init(&model, block + 1, sizeof block - 16u);
    kibi_status status = run(&model);
    const unsigned all = calls;
    int8_t expected[RESIDUAL_OUTPUT_0_BYTES];
    memcpy(expected, residual_output(&model, 0), sizeof expected);
    printf("%d %d %u\n", is_read, (int)status, all);
    for (failing = 1; failing <= all; ++failing) {
        status = run(&model);
        printf("%d %u\n", (int)status, calls);
    }
    status = run(&model);
    printf("%d %d\n", (int)status, memcmp(expected, residual_output(&model, 0), sizeof expected));
    const uint8_t *const bytes = (const uint8_t *)block;
    int is_whole = 1;
    for (unsigned i = 0; i < 8u; ++i) {
        is_whole = is_whole && bytes[i] == 0x5a && bytes[sizeof block - 1u - i] == 0x5a;
    }
    printf("%d\n", is_whole);
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


def _plan(model: Graph, target: str, mode: str = "stored", bandwidth: int = 1_000_000) -> Plan:
    return kibi.plan(model, target=target, input=mode, weights=_READ, bandwidth=bandwidth)


@pytest.mark.parametrize(
    ("target", "mode"),
    sample(
        [(target, mode) for target in ("host", "cortex-m4", "cortex-m0plus") for mode in ("stored", "streamed")],
        [("cortex-m4", "stored")],
    ),
)
def test_c_gives_the_same_bits(glyphs: Graph, tmp_path: Path, target: str, mode: str) -> None:
    """Kernels of each core read their weights from windows; layers fall into parts, and some weights are fetched again."""
    plan = _plan(glyphs, target, mode, 100_000_000)
    assert plan.slow_weights is not None
    assert max(plan.slow_weights.loads) > 1
    assert max(plan.slow_weights.parts) > 1
    library = kibi.compile(glyphs, plan, tmp_path)
    engine = HostEngine(library) if target == "host" else DeviceEngine(library)
    for seed in range(2):
        inputs = seeded_inputs(glyphs, seed)
        expected = kibi.run(glyphs, kibi.plan(glyphs), inputs)
        assert [each.tobytes() for each in engine.run(inputs)] == [each.tobytes() for each in expected]


@pytest.mark.parametrize("granularity", ["row", "tensor"])
def test_orders_of_all_kinds_give_the_same_bits(tmp_path: Path, granularity: str) -> None:
    """Rows that alternate, and operators that run to completion."""
    model = residual_network()
    plan = kibi.plan(model, target="host", granularity=granularity, weights=_READ, bandwidth=1_000_000)
    inputs = seeded_inputs(model, 0)
    expected = kibi.run(model, kibi.plan(model), inputs)
    library = kibi.compile(model, plan, tmp_path)
    assert HostEngine(library).run(inputs)[0].tobytes() == expected[0].tobytes()


def test_functions_without_steps_are_not_called(glyphs: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A line of the order names steps that a function may not have: a status would be written on bytes of other rows then."""
    monkeypatch.setattr(schedule, "MOST_EXTRA_BYTES", -100_000)
    library = kibi.compile(glyphs, _plan(glyphs, "host"), tmp_path)
    text = library.files["glyphs.c"]
    assert "REPEAT" in text
    call = text.partition("static int glyphs_run(")[2].partition("functions[function](")[0]
    assert call.rstrip().endswith("if ((step > 0 ? step : 0) < (end < limit ? end : limit)) {")


@pytest.mark.parametrize("head", sample([("FULLY_CONNECTED",), ("MEAN",)]))
def test_layers_that_add_up_rows_give_the_same_bits(tmp_path: Path, head: str) -> None:
    """Their kernels take the number of the step, and sums that outlive it."""
    model = pooled_network(head)
    inputs = seeded_inputs(model, 0)
    library = kibi.compile(model, _plan(model, "host"), tmp_path)
    expected = kibi.run(model, kibi.plan(model), inputs)
    assert HostEngine(library).run(inputs)[0].tobytes() == expected[0].tobytes()


@pytest.mark.parametrize("mode", ["stored", "streamed"])
def test_optional_parts_work_with_windows(tmp_path: Path, mode: str) -> None:
    """Slices stop between two fetches, with leases and checkpoints."""
    model = residual_network()
    inputs = seeded_inputs(model, 0)
    library = kibi.compile(model, _plan(model, "host", mode), tmp_path, lease=True, spare=True, checkpoints=True)
    engine = HostEngine(library)
    expected = kibi.run(model, kibi.plan(model), inputs)
    assert engine.run(inputs, slice_steps=1)[0].tobytes() == expected[0].tobytes()
    assert engine.slices > 10
    assert engine.run(inputs)[0].tobytes() == expected[0].tobytes()


@pytest.mark.share(2, part=1)
@pytest.mark.parametrize("mode", ["stored", "streamed"])
def test_failing_read_ends_the_inference_with_a_status(tmp_path: Path, mode: str) -> None:
    """Whichever call fails: no further one is made, an event tells, nothing outside the arena is written, the next one works."""
    model = residual_network()
    library = kibi.compile(model, _plan(model, "host", mode), tmp_path)
    header = tmp_path / "kernels" / "kibi.h"
    header.write_text(f"#define KIBI_ON_EVENT told\n{header.read_text(encoding='utf-8')}", encoding="utf-8")
    main = tmp_path / "main.c"
    text = _MAIN.replace("HAND_OVER", _STORED if mode == "stored" else _STREAMED)
    main.write_text(text.replace("STORAGE_FAILED", f"{StorageFailed.id():#x}u"), encoding="utf-8")
    program = build_program([*(tmp_path / name for name in library.sources), main], includes=[tmp_path])
    done = subprocess.run(
        [program, str(tmp_path / "residual_weights.bin")], check=True, capture_output=True, text=True, timeout=60
    )
    first, *failed, last, guards = done.stdout.splitlines()
    is_read, status, calls = map(int, first.split())
    assert (is_read, status) == (1, 0)
    assert failed == [f"told -10 {number}" for number in range(1, calls + 1)]
    assert (last, guards) == ("0 0", "1")


def test_weights_are_in_a_file_that_the_header_describes(glyphs: Graph, tmp_path: Path) -> None:
    """Its bytes, their check sum, the largest fetch; what stays in flash is little."""
    library = kibi.compile(glyphs, _plan(glyphs, "cortex-m4"), tmp_path)
    header, weights = library.files["glyphs.h"], (tmp_path / "glyphs_weights.bin").read_bytes()
    assert weights == library.model.weights
    facts = dict(re.findall(r"#define GLYPHS_WEIGHTS_(\w+) (\w+)u\n", header))
    assert (int(facts["BYTES"]), int(facts["CRC32"], 16)) == (len(weights), zlib.crc32(weights))
    calls = [int(size) for size in re.findall(r"storage_read\([^;]*, (\d+)u\);", library.files["glyphs.c"])]
    assert max(calls) == int(facts["LARGEST_FETCH"])
    places = [
        (int(offset), int(size))
        for offset, size in re.findall(r"storage_read\([^;]*, (\d+)u, (\d+)u\);", library.files["glyphs.c"])
    ]
    assert all(offset % 4 == 0 and size % 4 == 0 and offset + size <= len(weights) for offset, size in places)
    kept = sum(data.nbytes for data in _constants(library.files["glyphs_weights.c"]))
    assert kept < 1_000
    record = json.loads(library.files["glyphs.json"])
    assert "glyphs_weights.bin" in record["files"]


def _constants(text: str) -> list[Array]:
    return [np.zeros(int(count), np.int8) for count in re.findall(r"const \w+ \w+\[(\d+)\]", text)]


def test_file_of_weights_goes_when_they_are_constants_again(tmp_path: Path) -> None:
    """A library that is compiled into the same folder leaves nothing of the earlier one."""
    model = residual_network()
    kibi.compile(model, _plan(model, "host"), tmp_path)
    assert (tmp_path / "residual_weights.bin").exists()
    kibi.compile(model, kibi.plan(model), tmp_path)
    assert not (tmp_path / "residual_weights.bin").exists()


def test_example_reads_the_file(tmp_path: Path) -> None:
    """The program that comes with a library runs as it is, in the folder of the weights."""
    model = residual_network()
    library = kibi.compile(model, _plan(model, "host"), tmp_path)
    sources = [*(tmp_path / name for name in library.sources), tmp_path / "examples" / "example_main.c"]
    program = build_program(sources, includes=[tmp_path])
    shutil.copy(program, tmp_path / "program")
    done = subprocess.run([tmp_path / "program"], cwd=tmp_path, check=True, capture_output=True, text=True, timeout=60)
    expected = kibi.run(model, kibi.plan(model), golden_inputs(model))[0].reshape(-1)
    assert done.stdout.splitlines() == [*map(str, expected.tolist()), "residual: same bits"]
    assert 'WEIGHTS_FILE="${CMAKE_CURRENT_SOURCE_DIR}/residual_weights.bin"' in library.files["CMakeLists.txt"]


def test_model_with_next_to_no_weights_needs_no_function(tmp_path: Path) -> None:
    """All constants stay in flash: nothing is fetched, and nothing is declared."""
    model = parse_tflite(fully_connected(), "small.tflite")
    plan = _plan(model, "cortex-m4")
    assert plan.slow_weights is not None
    assert not any(plan.slow_weights.loads)
    library = kibi.compile(model, plan, tmp_path)
    inputs = seeded_inputs(model, 0)
    assert DeviceEngine(library).run(inputs)[0].tobytes() == kibi.run(model, kibi.plan(model), inputs)[0].tobytes()
    assert not any("storage_read" in text for name, text in library.files.items() if name.endswith((".c", ".h")))
    assert not list(tmp_path.glob("*.bin"))


def test_two_models_need_two_functions(tmp_path: Path) -> None:
    """Offsets count from the start of one model's file."""
    models = [residual_network(), pooled_network("MEAN")]
    plans = [_plan(model, "host") for model in models]
    with pytest.raises(InputError, match="a function of its own"):
        kibi.compile(models, plans, tmp_path)
    plans[1] = kibi.plan(models[1], target="host", weights="read:other_read", bandwidth=1_000_000)
    library = kibi.compile(models, plans, tmp_path)
    for index, model in enumerate(models):
        inputs = seeded_inputs(model, 0)
        expected = kibi.run(model, kibi.plan(model), inputs)
        assert HostEngine(library, index).run(inputs)[0].tobytes() == expected[0].tobytes()


def test_plan_files_do_not_take_such_plans() -> None:
    """A core reads weights in place."""
    model = residual_network()
    with pytest.raises(InputError, match="Plan without --weights"):
        plan_file(PlannedModel.of(model, _plan(model, "host")))


@pytest.mark.slow
def test_measurement_keeps_slow_memory_and_flash_apart(glyphs: Graph, tmp_path: Path) -> None:
    """Weights in slow memory take no flash; the fetches are those of the plan."""
    plain = kibi.measure(kibi.compile(glyphs, kibi.plan(glyphs, "cortex-m4"), tmp_path / "plain"), oracle=False)
    slow = kibi.measure(kibi.compile(glyphs, _plan(glyphs, "cortex-m4"), tmp_path / "slow"), oracle=False)
    assert slow.bit_exact
    assert slow.fetches is not None
    assert slow.weights_bytes < plain.weights_bytes // 4
    assert slow.fetches.fetched_bytes >= slow.fetches.weights_bytes
    assert plain.fetches is None
