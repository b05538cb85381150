"""Events in generated C: the ids of the Python runtime, and no byte where nobody asks."""

import subprocess
from pathlib import Path

import pytest

import kibi
from kibi.eager.event_scan import scan
from kibi.eager.handlers import ErrorHandler
from kibi.eager.inference_events import ERRORS, EVENTS, InferenceEnded, InferenceStarted
from kibi.runtime import seeded_inputs
from kibi.toolchain import build_program
from tests.engines.networks import residual_network
from tests.support.amount import sample

_MAIN = r"""
#include <stdio.h>
#include "residual.h"
static uint64_t arena[(RESIDUAL_ARENA_BYTES + 7u) / 8u];
void told(uint32_t id) { printf("%x\n", (unsigned)id); }
int main(void)
{
    residual_t model;
    residual_init(&model, arena, sizeof arena - 8u * (sizeof arena / 8u));
    residual_init(&model, arena, sizeof arena);
    HAND_OVER
    return residual_invoke(&model) == KIBI_OK ? 0 : 1;
}
"""
_PUSH = "static const int8_t row[64]; while (residual_expected_input(&model) >= 0) residual_push_row(&model, row);"


def _ids(folder: Path, hand_over: str, defines: str) -> list[int]:
    """What a program prints that is told of events."""
    main = folder / "main.c"
    main.write_text(f"{defines}{_MAIN.replace('HAND_OVER', hand_over)}", encoding="utf-8")
    header = folder / "kernels" / "kibi.h"
    header.write_text(defines + header.read_text(encoding="utf-8"), encoding="utf-8")
    program = build_program(
        [*sorted(path for path in folder.rglob("*.c") if path.name != "example_main.c")], includes=[folder]
    )
    done = subprocess.run([program], check=True, capture_output=True, text=True, timeout=60)
    return [int(line, 16) for line in done.stdout.split()]


@pytest.mark.parametrize(
    ("width", "mode"),
    sample([(width, mode) for width in (1, 2, 4) for mode in ("stored", "streamed")], [(1, "streamed"), (4, "stored")]),
)
def test_generated_code_reports_what_the_interpreter_reports(mode: str, width: int, tmp_path: Path) -> None:
    """The same events in the same order, by the same ids, at each width; the refused arena first."""
    model = residual_network()
    plan = kibi.plan(model, input=mode)
    kibi.compile(model, plan, tmp_path)
    handler = ErrorHandler(history=1000)
    kibi.Interpreter(model, plan, handler=handler).run(seeded_inputs(model, 0))
    names = {kind.name for kind in EVENTS}
    expected = [event.type.id(width) for event in handler if event.type.name in names]
    defines = f"#define KIBI_ON_EVENT told\n#define KIBI_EVENT_ID_BYTES {width}\n"
    found = _ids(tmp_path, _PUSH if mode == "streamed" else "", defines)
    assert found == [ERRORS["KIBI_ERROR_ARENA_SIZE"].id(width), *expected]


def test_inference_in_slices_begins_once_and_ends_once(tmp_path: Path) -> None:
    """However many slices there are; then the same again by `invoke`. A slice of no steps is an error of its own."""
    model = residual_network()
    kibi.compile(model, None, tmp_path, slices=True)
    slices = "residual_run_for(&model, 0); while (residual_run_for(&model, 3) == KIBI_PAUSED) { }"
    found = _ids(tmp_path, slices, "#define KIBI_ON_EVENT told\n")
    whole = [InferenceStarted.id(), InferenceEnded.id()]
    assert found == [ERRORS["KIBI_ERROR_ARENA_SIZE"].id(), ERRORS["KIBI_ERROR_STEPS"].id(), *whole, *whole]


def test_events_cost_no_byte_unless_they_are_asked_for(tmp_path: Path) -> None:
    """Without the option the code is the same as without the statements."""
    model = residual_network()
    library = kibi.compile(model, kibi.plan(model), tmp_path / "with")
    measured = kibi.measure(library, oracle=False)
    lines = library.files["residual.c"].splitlines(keepends=True)
    silent = "".join(line for line in lines if not line.lstrip().startswith(("KIBI_EVENT(", "KIBI_ERROR(")))
    assert silent != library.files["residual.c"]
    (tmp_path / "with" / "residual.c").write_text(silent, encoding="utf-8")
    assert kibi.measure(library, oracle=False).code_bytes == measured.code_bytes


def test_scanner_finds_the_events_of_generated_code(tmp_path: Path) -> None:
    """`kibi events` on a library's folder names all that it can report, and every stated id is the hash of its name."""
    model = residual_network()
    kibi.compile(model, kibi.plan(model, input="streamed"), tmp_path)
    found = {kind.name for kind in scan([tmp_path]).types}
    assert {"InferenceEnded", "RowReceived", "OutOfSequence", "NullPointer", "ArenaTooSmall", "NotInitialized"} <= found


def test_status_codes_have_an_error_each() -> None:
    """Whoever listens hears of every refusal."""
    from kibi.engines.engine import STATUS  # noqa: PLC0415 - only here

    assert len(ERRORS) == sum(code < 0 for code in STATUS)
