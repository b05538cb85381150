"""Operators that generated C measures: those of the interpreter's profile, in its order, and no byte where nobody asks."""

import subprocess
from collections.abc import Iterable
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

import kibi
from kibi.emulator import Core
from kibi.frontends.tflite import parse_tflite
from kibi.runtime import seeded_inputs
from kibi.toolchain import build_image, build_program, compile_objects
from tests.engines.networks import residual_network
from tests.support.amount import sample, share
from tests.support.choices import Seeded
from tests.support.control_models import CONTROL_MODELS

if TYPE_CHECKING:
    from kibi.runtime.profiling import OperatorRun

_MAIN = r"""
#include <stdio.h>
#include "residual.h"
static uint64_t arena[(RESIDUAL_ARENA_BYTES + 7u) / 8u];
void told(int32_t number, const char *label, int32_t steps, uint32_t ticks)
{
    printf("%d|%s|%d|%u\n", (int)number, label, (int)steps, (unsigned)ticks);
}
uint32_t now(void);
uint32_t now(void)
{
    static uint32_t time = 0xfffffff0u;
    return time += 3u;
}
TICKS
int main(void)
{
    residual_t model;
    residual_init(&model, arena, sizeof arena);
    HAND_OVER
    return residual_invoke(&model) == KIBI_OK ? 0 : 1;
}
"""
_PUSH = "static const int8_t row[64]; while (residual_expected_input(&model) >= 0) residual_push_row(&model, row);"
_PROFILED = r"""
#include <string.h>
#include "residual.h"
typedef struct {
    int32_t number, steps;
    uint32_t ticks;
    char label[52];
} record;
static record *records;
static int32_t count;
static uint32_t time = 0xfffffff0u;
void told(int32_t number, const char *label, int32_t steps, uint32_t ticks)
{
    record *const to = &records[count++];
    to->number = number;
    to->steps = steps;
    to->ticks = ticks;
    for (unsigned i = 0; i + 1u < sizeof to->label && label[i] != 0; ++i) {
        to->label[i] = label[i];
    }
}
uint32_t kibi_ticks(void)
{
    return time += 3u;
}
int32_t profiled(residual_t *model, void *arena, record *to, const int8_t *input);
int32_t profiled(residual_t *model, void *arena, record *to, const int8_t *input)
{
    records = to;
    count = 0;
    if (residual_init(model, arena, RESIDUAL_ARENA_BYTES) != KIBI_OK) {
        return -1;
    }
    HAND_OVER
    return residual_invoke(model) == KIBI_OK ? count : -2;
}
"""
_FUNCTION = "uint32_t kibi_ticks(void)\n{\n    return now();\n}"
_MACRO = "uint32_t now(void);\n#define KIBI_TICKS() now()\n"


def _define(folder: Path, text: str) -> None:
    """Puts definitions before the first line of the header that all sources include."""
    header = folder / "kernels" / "kibi.h"
    header.write_text(text + header.read_text(encoding="utf-8"), encoding="utf-8")


@pytest.mark.parametrize("mode", ["stored", "streamed"])
@pytest.mark.parametrize("clock", share(["function", "macro"], 1, 2))
def test_generated_code_tells_of_the_operators_that_the_interpreter_runs(mode: str, clock: str, tmp_path: Path) -> None:
    """The same operators in the same order, with the same labels; ticks are those of the clock, past its overflow too."""
    model = residual_network()
    plan = kibi.plan(model, input=mode)
    kibi.compile(model, plan, tmp_path)
    _define(tmp_path, f"#define KIBI_ON_OPERATOR told\n#include <stdint.h>\n{_MACRO if clock == 'macro' else ''}")
    main = tmp_path / "main.c"
    text = _MAIN.replace("HAND_OVER", _PUSH if mode == "streamed" else "")
    main.write_text(text.replace("TICKS\n", f"{_FUNCTION if clock == 'function' else ''}\n"), encoding="utf-8")
    sources = sorted(path for path in tmp_path.rglob("*.c") if path.name != "example_main.c")
    program = build_program(sources, includes=[tmp_path])
    done = subprocess.run([program], check=True, capture_output=True, text=True, timeout=60)
    found = [line.split("|") for line in done.stdout.splitlines()]
    assert {ticks for *_, ticks in found} == {"3"}
    heard: list[OperatorRun] = []
    interpreter = kibi.Interpreter(model, plan)
    with interpreter.profile(heard.append):
        interpreter.run(seeded_inputs(model, 0))
    wanted = _joined((each.label, each.steps) for each in heard)
    assert _joined((label, int(steps)) for _, label, steps, _ in found) == wanted
    numbers = {label: int(number) for number, label, *_ in found}
    assert numbers == {node.label: -1 if node.op.receives else node.source for node in interpreter.model.nodes}


def _joined(calls: Iterable[tuple[str, int]]) -> list[tuple[str, int]]:
    """The operators in their order, with the steps of neighbouring calls."""
    return [(label, sum(steps for _, steps in same)) for label, same in groupby(calls, key=lambda call: call[0])]


@pytest.mark.parametrize("mode", ["stored", "streamed"])
@pytest.mark.parametrize("target", ["cortex-m4", "cortex-m0plus"])
def test_emulated_core_tells_of_the_operators_that_the_interpreter_runs(target: str, mode: str, tmp_path: Path) -> None:
    """Numbers, labels, steps and ticks of each call on a device, and the same bits as without them."""
    model = residual_network()
    plan = kibi.plan(model, target, input=mode)
    library = kibi.compile(model, plan, tmp_path)
    _define(tmp_path, "#define KIBI_ON_OPERATOR told\n")
    source = tmp_path / "profiled.c"
    stored = "memcpy(residual_input(model, 0), input, RESIDUAL_INPUT_0_BYTES);"
    kind = model.tensors[model.inputs[0]].type
    pushed = (
        f"for (int32_t i = 0; i < {kind.rows}; ++i) {{ residual_push_row(model, input + i * {kind.row_elements}); }}"
    )
    source.write_text(_PROFILED.replace("HAND_OVER", stored if mode == "stored" else pushed), encoding="utf-8")
    sources = [*(tmp_path / name for name in library.sources), source]
    entries, processor = ["profiled", "residual_output"], kibi.target(target)
    core = Core(build_image(sources, processor, entries=entries, includes=[tmp_path], level="s"), processor)
    inputs, heard = seeded_inputs(model, 4), list["OperatorRun"]()
    state = core.allocate("state", library.model.state_bytes(), alignment=8)
    arena, given = core.allocate("arena", plan.arena_bytes), core.allocate("input", inputs[0].nbytes)
    records = core.allocate("records", 64 * 4 * len(plan.steps), fill=0)
    core.write(given, inputs[0].tobytes())
    count = core.call("profiled", state, arena, records, given).signed_value
    read = core.read(records, 64 * count)
    found = [
        (*np.frombuffer(each[:12], "<i4").tolist(), each[12:].split(b"\0")[0].decode())
        for each in (read[at : at + 64] for at in range(0, len(read), 64))
    ]
    interpreter = kibi.Interpreter(model, plan)
    with interpreter.profile(heard.append):
        wanted = interpreter.run(inputs)[0]
    assert {ticks for _, _, ticks, _ in found} == {3}
    assert _joined((label, steps) for _, steps, _, label in found) == _joined((run.label, run.steps) for run in heard)
    nodes = interpreter.model.nodes
    assert {label: number for number, _, _, label in found} == {
        node.label: -1 if node.op.receives else node.source for node in nodes
    }
    assert core.read(core.call("residual_output", state, 0).value, wanted.nbytes) == wanted.tobytes()


def test_operators_cost_no_byte_unless_they_are_asked_for(tmp_path: Path) -> None:
    """Without the option the code is the same as without the statements."""
    model = residual_network()
    library = kibi.compile(model, kibi.plan(model), tmp_path)
    measured = kibi.measure(library, oracle=False)
    lines = library.files["residual.c"].splitlines(keepends=True)
    silent = "".join(line for line in lines if not line.lstrip().startswith("KIBI_OPERATOR_"))
    assert len(silent.splitlines()) == len(lines) - 2 * len(model.nodes)
    (tmp_path / "residual.c").write_text(silent, encoding="utf-8")
    assert kibi.measure(library, oracle=False).code_bytes == measured.code_bytes


@pytest.mark.parametrize(
    ("target", "language"), sample([("cortex-m4", "c99"), ("cortex-m0plus", "c++17"), ("host", "c99")])
)
def test_library_that_measures_compiles_without_a_warning(target: str, language: str, tmp_path: Path) -> None:
    """Stored and streamed inputs, with a clock that is a register."""
    model = residual_network()
    for mode in ("stored", "streamed"):
        folder = tmp_path / mode
        library = kibi.compile(model, kibi.plan(model, target, input=mode), folder)
        _define(folder, "#define KIBI_ON_OPERATOR told\n#define KIBI_TICKS() (*(volatile uint32_t *)0xE0001004u)\n")
        sources = [folder / name for name in library.sources]
        compile_objects(sources, kibi.target(target), level="s", includes=[folder], language=language)


def test_operators_inside_of_operators_are_told_apart() -> None:
    """The label of an operator in a body begins with the name of the body."""
    graph = parse_tflite(CONTROL_MODELS["WHILE"](Seeded(0)).model, "loop.tflite")
    from kibi.codegen import generate  # noqa: PLC0415 - only here
    from kibi.planner import PlannedModel  # noqa: PLC0415 - only here

    files = generate([PlannedModel.of(graph, kibi.plan(graph))], kibi.target("cortex-m4")).files
    assert f'KIBI_OPERATOR_END(0, "operator 0 ({graph.nodes[0].op.name})");' in files["loop.c"]
    bodies = [name for name in files if name.startswith("loop_0_") and name.endswith(".c") and "weights" not in name]
    assert bodies
    for name in bodies:
        assert f'KIBI_OPERATOR_END(0, "{name.removesuffix(".c")}: operator 0 (' in files[name]
