"""Models and buffers that were planned together, in one memory of an emulated core, by the macros of their header alone."""

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import kibi
from kibi.codegen import Library
from kibi.emulator import Core
from kibi.errors import InputError
from kibi.planner.together import ApplicationBuffer, JointPlan, plan_together
from kibi.runtime import seeded_inputs
from kibi.toolchain import build_image
from tests.engines.networks import pooled_network, residual_network

_MODELS = (residual_network(), pooled_network("MEAN"))
_SCHEDULE = """\
#include <string.h>
#include "pair_models.h"

static uint32_t drawn = 1u;
static const struct {
    uint32_t offset, bytes, from, until;
} buffers[] = {
    {PAIR_BUFFER_RX_OFFSET, PAIR_BUFFER_RX_BYTES, PAIR_BUFFER_RX_FROM, PAIR_BUFFER_RX_UNTIL},
    {PAIR_BUFFER_TX_OFFSET, PAIR_BUFFER_TX_BYTES, PAIR_BUFFER_TX_FROM, PAIR_BUFFER_TX_UNTIL},
    {PAIR_BUFFER_SHOW_OFFSET, PAIR_BUFFER_SHOW_BYTES, PAIR_BUFFER_SHOW_FROM, PAIR_BUFFER_SHOW_UNTIL},
};

/* Writes or checks the junk in all buffers that are the application's after so many steps; 1 if some of it is lost. */
static int junk(uint8_t *memory, uint32_t step, uint32_t seed, int is_check)
{
    int lost = 0;
    for (unsigned i = 0; i < sizeof buffers / sizeof buffers[0]; ++i) {
        for (uint32_t at = 0; step >= buffers[i].from && step < buffers[i].until && at < buffers[i].bytes; ++at) {
            const uint8_t byte = (uint8_t)((seed + at) * 167u >> 3);
            if (is_check != 0) {
                lost |= memory[buffers[i].offset + at] != byte;
            } else {
                memory[buffers[i].offset + at] = byte;
            }
        }
    }
    return lost;
}

#define RUN(name, NAME, data, size, out)                                                                  \\
    static int run_##name(uint8_t *memory, const uint8_t *data, size_t size, uint8_t *out)                \\
    {                                                                                                     \\
        name##_t model;                                                                                   \\
        if (name##_init(&model, memory + PAIR_MODEL_##NAME##_OFFSET, PAIR_MODEL_##NAME##_BYTES) != 0) {   \\
            return 1;                                                                                     \\
        }                                                                                                 \\
        memcpy(name##_input(&model, 0), data, size);                                                      \\
        for (uint32_t step = PAIR_MODEL_##NAME##_FROM; step < PAIR_MODEL_##NAME##_UNTIL; ++step) {        \\
            junk(memory, step, ++drawn, 0);                                                               \\
            const kibi_status status = name##_run_for(&model, 1u);                                        \\
            if (junk(memory, step, drawn, 1) != 0) {                                                      \\
                return 2;                                                                                 \\
            }                                                                                             \\
            if (status != (step + 1u < PAIR_MODEL_##NAME##_UNTIL ? KIBI_PAUSED : KIBI_OK)) {              \\
                return 3;                                                                                 \\
            }                                                                                             \\
        }                                                                                                 \\
        memcpy(out, name##_output(&model, 0), NAME##_OUTPUT_0_BYTES);                                     \\
        return 0;                                                                                         \\
    }

RUN(residual, RESIDUAL, data, size, out)
RUN(pooled, POOLED, data, size, out)

int schedule(uint8_t *memory, const uint8_t *inputs, uint8_t *out);
int schedule(uint8_t *memory, const uint8_t *inputs, uint8_t *out)
{
    drawn = 1u;
    const int failed = run_residual(memory, inputs, RESIDUAL_INPUT_0_BYTES, out);
    return failed != 0 ? failed : 10 * run_pooled(memory, inputs + RESIDUAL_INPUT_0_BYTES, POOLED_INPUT_0_BYTES,
                                                  out + RESIDUAL_OUTPUT_0_BYTES);
}
"""


@cache
def _joint(target: str = "cortex-m4") -> JointPlan:
    buffers = [ApplicationBuffer.of(text) for text in ("rx:300@0.3-0.6", "tx:40", "show:500@0.9-1.5")]
    return plan_together(_MODELS, [kibi.plan(model, target) for model in _MODELS], buffers)


def _answer(library: Library, folder: Path, joint: JointPlan, lead: int) -> tuple[int, bytes, bytes]:
    """The status of the schedule, the outputs of both models, and what they should be."""
    source = folder / "schedule.c"
    source.write_text(_SCHEDULE, encoding="utf-8")
    sources = [*(folder / name for name in library.sources), source]
    core = Core(
        build_image(sources, library.target, entries=["schedule"], includes=[folder], level="s"), library.target
    )
    inputs = [seeded_inputs(model, 5) for model in _MODELS]
    given = b"".join(array.tobytes() for arrays in inputs for array in arrays)
    expected = b"".join(np.asarray(kibi.run(m, None, a)[0]).tobytes() for m, a in zip(_MODELS, inputs, strict=True))
    memory = core.allocate("memory", joint.arena_bytes + lead, alignment=8)
    data, out = core.allocate("inputs", len(given)), core.allocate("outputs", len(expected))
    core.write(data, given)
    status = core.call("schedule", memory, data, out).signed_value
    return status, core.read(out, len(expected)), expected


@pytest.mark.parametrize(
    ("target", "lease"),
    [
        ("cortex-m4", True),
        *(pytest.param(each, False, marks=pytest.mark.slow) for each in ("cortex-m4", "cortex-m0plus")),
    ],
)
def test_models_and_junk_in_one_memory_give_the_same_bits(target: str, lease: bool, tmp_path: Path) -> None:
    """Each buffer is full of new junk in each step of its time, and keeps it; no byte outside of the memory is touched."""
    joint = _joint(target)
    library = kibi.compile(_MODELS, joint, tmp_path, name="pair", slices=True, lease=lease)
    status, outputs, expected = _answer(library, tmp_path, joint, 8 if lease else 0)
    assert (status, outputs) == (0, expected)
    assert (
        f"#define PAIR_MODELS_ARENA_BYTES {joint.arena_bytes + (8 if lease else 0)}u" in library.files["pair_models.h"]
    )


def test_buffer_on_a_byte_that_a_model_needs_is_noticed_by_this_test(tmp_path: Path) -> None:
    """The junk is no mere show: where a macro is wrong, the bits are, or the junk is lost."""
    joint = _joint()
    library = kibi.compile(_MODELS, joint, tmp_path, name="pair", slices=True)
    header = tmp_path / "pair_models.h"
    text = header.read_text(encoding="utf-8")
    was, now = joint.buffers[0].offset, (joint.buffers[0].offset + 304) % (joint.arena_bytes - 300)
    line = "#define PAIR_BUFFER_RX_OFFSET {}u"
    assert line.format(was) in text
    header.write_text(text.replace(line.format(was), line.format(now)), encoding="utf-8")
    status, outputs, expected = _answer(library, tmp_path, joint, 0)
    assert (status, outputs) != (0, expected)


def test_header_says_who_has_which_bytes_when(tmp_path: Path) -> None:
    """Offsets, bytes, steps, and the schedule in words."""
    joint = _joint()
    text = kibi.compile(_MODELS, joint, tmp_path, name="pair").files["pair_models.h"]
    for each in joint.buffers:
        for what, value in (
            ("OFFSET", each.offset),
            ("BYTES", each.size_bytes),
            ("FROM", each.start),
            ("UNTIL", each.end),
        ):
            assert f"#define PAIR_BUFFER_{each.name.upper()}_{what} {value}u\n" in text
    first = joint.first_steps[1]
    assert f"{first}  read the outputs of residual, then begin with the inputs of pooled\n" in text
    assert f"{joint.buffers[0].start}  rx to the application\n" in text
    assert f"{joint.buffers[0].end}  rx back to the models\n" in text


def test_joint_plan_of_one_model_has_its_header_and_no_spare_bytes(tmp_path: Path) -> None:
    """`spare` would lend what the plan gave to a buffer."""
    joint = plan_together(_MODELS[:1], [kibi.plan(_MODELS[0])], [ApplicationBuffer("rx", 64)])
    assert "RESIDUAL_BUFFER_RX_OFFSET" in kibi.compile(_MODELS[0], joint, tmp_path).files["residual_models.h"]
    with pytest.raises(InputError, match="--spare lends bytes that a joint plan has given"):
        kibi.compile(_MODELS[0], joint, tmp_path, spare=True)
    model = replace(_MODELS[0], name="pair_buffer_x")
    joint = plan_together([model], [kibi.plan(model)], [ApplicationBuffer("rx", 64)])
    with pytest.raises(InputError, match="would have macros of the library 'pair'"):
        kibi.compile(model, joint, tmp_path, name="pair")
