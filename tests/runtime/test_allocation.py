"""What the interpreter allocates, when, and in whose bytes."""

from dataclasses import replace
from threading import Thread

import numpy as np
import pytest

import kibi
from kibi.errors import ArenaError, InputError, PlanError
from kibi.runtime import seeded_inputs
from tests.engines.networks import pooled_network, residual_network, two_input_network
from tests.support import zoo

MODELS = {"residual": residual_network(), "pooled": pooled_network("MEAN"), "two inputs": two_input_network()}
SWEPT = (
    "mlperf_kws_int8", "mlperf_ad_int8", "mlperf_sww_int8", "tflm_micro_speech", "tflm_hello_int8", "emlearn_mnist_cnn_int8",
    "mlonmcu_catdog", "tinymaix_mnist_dw_q", "tinymaix_mnist_resnet_q", "tflm_test_conv",
)  # fmt: skip


@pytest.mark.parametrize("granularity", ["tensor", "row"])
@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_runs_allocate_nothing(model: kibi.Graph, granularity: str) -> None:
    """All blocks are handed out when the interpreter is made: one of planned bytes, and the tensors' descriptors."""
    interpreter = kibi.Interpreter(model, kibi.plan(model, granularity=granularity))
    before, metadata = interpreter.allocations, interpreter.metadata_used_bytes
    assert before == 1 + len(interpreter.tensors)
    for seed in range(3):
        interpreter.run(seeded_inputs(model, seed))
    assert (interpreter.allocations, interpreter.metadata_used_bytes) == (before, metadata)
    assert interpreter.arena_used_bytes == interpreter.arena_needed_bytes == interpreter.plan.arena_bytes


@pytest.mark.share(2, part=0)
@zoo.requires_zoo
@pytest.mark.parametrize("step", [21, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", SWEPT)
def test_every_arena_size_is_an_error_or_gives_the_right_bits(name: str, step: int) -> None:
    """From no byte to 64 more than are needed: too small ones say what is needed, and that is the smallest that works.

    Each run tries some of those that are far from it.
    """
    model = kibi.load(zoo.model_path(name))
    plan = kibi.plan(model)
    inputs = seeded_inputs(model, 0)
    expected = kibi.run(model, None, inputs)
    needed = kibi.Interpreter(model, plan, allocate=False).arena_needed_bytes
    room = np.zeros(needed + 80, np.uint8)
    start = -room.ctypes.data % 16
    for size in {*range(0, needed, step), *range(max(0, needed - 64), needed)}:
        with pytest.raises(ArenaError, match="too small") as caught:
            kibi.Interpreter(model, plan, room[start : start + size])
        assert caught.value.needed_bytes == needed
    for size in (needed, *range(needed + 1, needed + 65, step)):
        outputs = kibi.Interpreter(model, plan, room[start : start + size]).run(inputs)
        for got, want in zip(outputs, expected, strict=True):
            np.testing.assert_array_equal(got, want)


def test_interpreters_share_an_arena_in_turns() -> None:
    """The largest arena serves all of them, not the sum."""
    models = list(MODELS.values())
    plans = [kibi.plan(model) for model in models]
    arena = np.zeros(max(plan.arena_bytes for plan in plans) + 16, np.uint8)
    shared = arena[-arena.ctypes.data % 16 :]
    interpreters = [kibi.Interpreter(model, plan, shared) for model, plan in zip(models, plans, strict=True)]
    for seed in range(2):
        for model, interpreter in zip(models, interpreters, strict=True):
            inputs = seeded_inputs(model, seed)
            np.testing.assert_array_equal(interpreter.run(inputs)[0], kibi.run(model, None, inputs)[0])


def test_interpreters_run_in_several_threads() -> None:
    """Each has its own bytes; nothing is shared but the model."""
    model = MODELS["residual"]
    plan = kibi.plan(model)
    expected = [kibi.run(model, None, seeded_inputs(model, seed))[0] for seed in range(4)]
    found: dict[int, np.ndarray[tuple[int, ...], np.dtype[np.generic]]] = {}

    def work(seed: int) -> None:
        interpreter = kibi.Interpreter(model, plan)
        for _ in range(5):
            found[seed] = interpreter.run(seeded_inputs(model, seed))[0]

    threads = [Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for seed, want in enumerate(expected):
        np.testing.assert_array_equal(found[seed], want)


def test_preallocated_tensors_take_no_arena_and_are_used() -> None:
    """Registered by name or index before allocation: the plan shrinks by what is said, and the outputs lie in the buffers."""
    model = MODELS["two inputs"]
    interpreter = kibi.Interpreter(model, allocate=False)
    whole = interpreter.arena_needed_bytes
    sizes = {index: model.tensors[index].type.size_bytes for index in (*model.inputs, *model.outputs)}
    buffers = {index: np.zeros(size, np.uint8) for index, size in sizes.items()}
    spared = sum(
        interpreter.register_preallocated(model.tensors[index].name if index in model.outputs else index, buffer)
        for index, buffer in buffers.items()
    )
    assert interpreter.arena_needed_bytes == whole - spared < whole
    interpreter.allocate()
    inputs = seeded_inputs(model, 2)
    for index, values in zip(model.inputs, inputs, strict=True):
        buffers[index][:] = values.view(np.uint8).reshape(-1)
    (output,) = interpreter.run()
    np.testing.assert_array_equal(output, kibi.run(model, None, inputs)[0])
    np.testing.assert_array_equal(buffers[model.outputs[0]].view(np.int8), output.reshape(-1))
    np.testing.assert_array_equal(buffers[model.inputs[0]].view(np.int8), inputs[0].reshape(-1))


def test_preallocation_that_cannot_be_is_refused() -> None:
    """Unknown, constant, too small, read-only, too late, or planned elsewhere: each error says what and what to do."""
    model = MODELS["residual"]
    size = model.tensors[model.inputs[0]].type.size_bytes
    constant = next(tensor.index for tensor in model.tensors if tensor.is_constant)
    fresh = kibi.Interpreter(model, allocate=False)
    with pytest.raises(InputError, match="has no tensor 'nothing'"):
        fresh.register_preallocated("nothing", bytearray(size))
    with pytest.raises(InputError, match="is a constant"):
        fresh.register_preallocated(constant, bytearray(1 << 16))
    with pytest.raises(InputError, match=f"Give at least {size}"):
        fresh.register_preallocated(model.inputs[0], bytearray(size - 1))
    with pytest.raises(InputError, match="read-only"):
        fresh.register_preallocated(model.inputs[0], memoryview(bytes(size)))
    with pytest.raises(InputError, match="nothing is allocated yet"):
        fresh.run(seeded_inputs(model, 0))
    fresh.allocate()
    with pytest.raises(InputError, match="allocated already"):
        fresh.register_preallocated(model.inputs[0], bytearray(size))
    planned = kibi.Interpreter(model, kibi.plan(model), allocate=False)
    with pytest.raises(PlanError, match="the given plan has a place"):
        planned.register_preallocated(model.inputs[0], bytearray(size))


def test_plan_that_leaves_a_tensor_to_the_caller_takes_its_buffer() -> None:
    """A plan with external tensors uses the buffers that are registered for them, and bytes of its own for others."""
    model = MODELS["residual"]
    name = model.tensors[model.nodes[0].outputs[0]].name
    plan = kibi.plan(model, external_buffers=[name])
    interpreter = kibi.Interpreter(model, plan, allocate=False)
    buffer = bytearray(
        model.tensors[plan.external_buffers[0]].type.size_bytes
    )  # no input, so that `run` takes all inputs
    assert interpreter.register_preallocated(name, buffer) == 0
    interpreter.allocate()
    inputs = seeded_inputs(model, 1)
    for each in (interpreter, kibi.Interpreter(model, plan)):
        np.testing.assert_array_equal(each.run(inputs)[0], kibi.run(model, None, inputs)[0])
    assert any(buffer)


def test_broken_plan_is_refused_before_anything_is_allocated() -> None:
    """Whatever a plan says of itself, the error is one of Kibi's own, with memory of the caller's and without."""
    model = MODELS["residual"]
    plan = kibi.plan(model)
    for wrong in (
        replace(plan, arena_bytes=-5),
        replace(plan, arena_bytes=1 << 60),
        replace(plan, external_buffers=(9999,)),
        replace(plan, buffers=(replace(plan.buffers[0], tensor=9999), *plan.buffers[1:])),
        replace(plan, buffers=(replace(plan.buffers[0], alignment=0), *plan.buffers[1:])),
    ):
        for arena in (None, bytearray(plan.arena_bytes)):
            with pytest.raises(PlanError):
                kibi.Interpreter(model, wrong, arena)


def test_what_only_exists_behind_allocation_says_so() -> None:
    """Figures of blocks that are not there yet are refused, not missing."""
    interpreter = kibi.Interpreter(MODELS["residual"], allocate=False)
    for name in ("tensors", "allocations", "arena_used_bytes", "metadata_used_bytes"):
        with pytest.raises(InputError, match="nothing is allocated yet"):
            getattr(interpreter, name)
