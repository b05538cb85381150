"""The interpreter: the caller's arena, canaries, inputs."""

from dataclasses import replace

import numpy as np
import pytest

import kibi
from kibi.dtypes import Array
from kibi.errors import ArenaError, InputError, InternalError, PlanError
from kibi.runtime import quantize_real, seeded_inputs
from tests.engines.networks import pooled_network, residual_network


def test_caller_gives_the_arena_and_the_plan_fills_it() -> None:
    """The interpreter computes inside the caller's bytes and touches none behind the plan's."""
    model = residual_network()
    plan = kibi.plan(model)
    memory = np.full(plan.arena_bytes + 32, 0x11, np.uint8)
    inputs = seeded_inputs(model, 0)
    outputs = kibi.Interpreter(model, plan, memory).run(inputs)
    assert (memory[plan.arena_bytes :] == 0x11).all()
    offset = plan.buffers_of(model.outputs[0])[0].offset
    inside = memory[offset : offset + outputs[0].nbytes].view(np.int8)
    np.testing.assert_array_equal(inside, outputs[0].reshape(-1))


def test_arena_one_byte_too_small_says_what_is_needed() -> None:
    """The error has both numbers and the largest buffers."""
    model = residual_network()
    plan = kibi.plan(model)
    with pytest.raises(ArenaError, match="too small") as caught:
        kibi.Interpreter(model, plan, bytearray(plan.arena_bytes - 1))
    assert (caught.value.needed_bytes, caught.value.given_bytes) == (plan.arena_bytes, plan.arena_bytes - 1)
    assert caught.value.largest[0][1] == 288


def test_misaligned_arena_is_refused() -> None:
    """Scratch wants multiples of four."""
    model = pooled_network("MEAN")
    plan = kibi.plan(model)
    room = np.zeros(plan.arena_bytes + 16, np.uint8)
    start = -room.ctypes.data % 4 + 1
    with pytest.raises(ArenaError, match="multiple of 4"):
        kibi.Interpreter(model, plan, room[start : start + plan.arena_bytes])


@pytest.mark.parametrize("memory", [memoryview(bytes(4096)), "text"])
def test_arena_that_cannot_be_written_is_refused(memory: object) -> None:
    """Read-only bytes and things that are no bytes are named."""
    with pytest.raises(ArenaError, match=r"read-only|no block of bytes"):
        kibi.Interpreter(residual_network(), None, memory)  # type: ignore[arg-type]


def test_write_into_a_free_byte_is_found() -> None:
    """Canaries lie in every byte that no buffer owns; a broken one names itself."""
    model = residual_network()
    plan = kibi.plan(model, granularity="tensor")
    memory = bytearray(plan.arena_bytes)
    interpreter = kibi.Interpreter(model, plan, np.frombuffer(memory, np.uint8))
    free = next(
        byte
        for byte in range(plan.arena_bytes)
        if not any(b.offset <= byte < b.offset + b.size_bytes and b.end > 11 and b.start <= 12 for b in plan.buffers)
    )

    def spoil(index: int, array: Array) -> None:
        del index, array
        memory[free] ^= 0xFF

    with pytest.raises(InternalError, match=f"byte {free}"):
        interpreter.run(seeded_inputs(model, 0), spoil)


def test_wrong_plan_is_refused_before_anything_runs() -> None:
    """A plan whose buffers overlap is named, not run."""
    model = residual_network()
    plan = kibi.plan(model)
    moved = replace(plan, buffers=tuple(replace(buffer, offset=0) for buffer in plan.buffers))
    with pytest.raises(PlanError, match="share bytes"):
        kibi.Interpreter(model, moved)


@pytest.mark.parametrize(
    "inputs",
    [
        [],
        [np.zeros((1, 12, 6, 1), np.int8)] * 2,
        [np.zeros((1, 12, 6, 2), np.int8)],
        [np.zeros((1, 12, 6, 1), np.uint8)],
        [np.zeros(72, np.int8)],
    ],
)
def test_inputs_that_do_not_fit_are_refused(inputs: list[Array]) -> None:
    """Too few, too many, another shape, another type."""
    with pytest.raises(InputError):
        kibi.run(residual_network(), None, inputs)


def test_real_values_are_quantized_half_away_from_zero() -> None:
    """Scale 0.05, zero point -3: halves round away, the ends clamp."""
    tensor = residual_network().tensors[0]
    values = np.array([0.0, 0.025, -0.025, 0.05, 100.0, -100.0], np.float32)
    assert quantize_real(tensor, values).tolist() == [-3, -2, -4, -2, 127, -128]


def test_runs_are_independent_and_repeatable() -> None:
    """The same inputs give the same outputs, whatever ran in between."""
    model = residual_network()
    interpreter = kibi.Interpreter(model)
    first, second = seeded_inputs(model, 1), seeded_inputs(model, 2)
    before = interpreter.run(first)[0]
    interpreter.run(second)
    np.testing.assert_array_equal(interpreter.run(first)[0], before)
