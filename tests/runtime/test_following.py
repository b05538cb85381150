"""The interpreter follows the current Context, and the plan that a model file carries; it says so, and can be told not to."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kibi
from kibi.dtypes import Array, DType
from kibi.eager.context import Context
from kibi.eager.events import Event
from kibi.eager.handlers import ErrorHandler
from kibi.eager.inference_events import EmbeddedPlanLeft, EmbeddedPlanUsed, InferenceEnded, InferenceStarted
from kibi.eager.memory import HandleArena, LinearArena, PageAllocator, Recording, WorkspaceArena
from kibi.eager.memory.allocator import ArenaRebalancing, PinOutlived
from kibi.eager.tensors import RamTensor
from kibi.errors import EventError, PlanError
from kibi.ir import Quantization, TensorType
from kibi.runtime import seeded_inputs
from kibi.runtime.plan_choice import PlanOrigin
from tests.engines.networks import residual_network
from tests.support.offline_models import branches, with_offsets

MODEL = residual_network()
_OFFSETS = (0, 256, 512, 768, 832, 0)
_RAM = 1 << 16


def _wanted(seed: int = 0) -> Array:
    return kibi.run(MODEL, None, seeded_inputs(MODEL, seed))[0]


def test_interpreter_takes_its_memory_from_the_current_context() -> None:
    """The arena is a block of RAM, the descriptors are in metadata, events go to the handler, and all ends with the interpreter."""
    history = ErrorHandler(1000)
    with Context(metadata=4096, ram=_RAM, handler=history) as board:
        before = board.ram.available(), board.metadata.available(), len(board.tensors)
        interpreter = kibi.Interpreter(MODEL)
        assert interpreter.context is board
        assert before[0] - board.ram.available() == interpreter.arena_used_bytes == interpreter.plan.arena_bytes
        assert before[1] - board.metadata.available() == interpreter.metadata_used_bytes > 0
        assert len(board.tensors) == len(interpreter.tensors) == interpreter.allocations - 1
        assert repr(interpreter).startswith("<Interpreter of residual.tflite, ")
        assert "default plan, in <Context, " in repr(interpreter)
        np.testing.assert_array_equal(interpreter.run(seeded_inputs(MODEL, 0))[0], _wanted())
        kinds = [event.type for event in history]
        assert (InferenceStarted in kinds, InferenceEnded in kinds) == (True, True)
        del interpreter
        assert (board.ram.available(), board.metadata.available(), len(board.tensors)) == before
    assert PinOutlived not in [event.type for event in history]


def test_interpreter_that_shall_not_follow_leaves_the_context_alone() -> None:
    """As outside of all with-blocks; the thread's default context is none that anybody entered."""
    with Context(metadata=64, ram=64) as board:
        interpreter = kibi.Interpreter(MODEL, use_context=False)
        assert interpreter.context is None
        assert (board.ram.available(), board.metadata.available(), board.tensors) == (64, 64, ())
    outside = kibi.Interpreter(MODEL)
    assert outside.context is None
    assert repr(outside).endswith("no context>")
    assert (outside.metadata_used_bytes, outside.allocations) == (
        interpreter.metadata_used_bytes,
        interpreter.allocations,
    )


def test_given_arena_and_handler_come_before_those_of_the_context() -> None:
    """Only the descriptors are then the context's."""
    arena, own, history = np.zeros(_RAM, np.uint8), ErrorHandler(), ErrorHandler()
    with Context(metadata=4096, ram=64, handler=history) as board:
        interpreter = kibi.Interpreter(MODEL, None, arena, handler=own)
        interpreter.run(seeded_inputs(MODEL, 0))
        assert board.ram.available() == 64
        assert board.metadata.available() < 4096
    assert [event.type for event in own] == [InferenceStarted, InferenceEnded]
    assert InferenceStarted not in [event.type for event in history]


@pytest.mark.parametrize(("metadata", "ram"), [(4096, 64), (64, _RAM)])
def test_context_without_room_is_out_of_memory(metadata: int, ram: int) -> None:
    """The context's handler hears it, and what was taken before is given back."""
    errors: list[Event] = []
    with Context(metadata, ram, ErrorHandler(on_error=errors.append)) as board:
        with pytest.raises(EventError, match="there is no room for") as caught:
            kibi.Interpreter(MODEL)
        assert caught.value.name == "OutOfMemory"
        del caught  # its traceback knows the interpreter that there is not
        assert (board.metadata.available(), board.ram.available()) == (metadata, ram)
    assert [event.type.name for event in errors] == ["OutOfMemory"]


@pytest.mark.parametrize(
    "make",
    [
        HandleArena, LinearArena, WorkspaceArena, PageAllocator, lambda size: Recording(HandleArena(size)),
        lambda size: HandleArena(size, alignment=1), lambda size: Recording(LinearArena(size, alignment=1)),
    ],
    ids=["handles", "linear", "workspace", "pages", "recording", "unaligned", "linear unaligned"],
)  # fmt: skip
def test_every_allocator_holds_an_arena(make: Callable[[int], Any]) -> None:
    """Also one whose blocks may start anywhere, after a block of one byte."""
    with Context(ram=make(_RAM)) as board:
        kept = board.claim_ram(1)
        interpreter = kibi.Interpreter(MODEL)
        for seed in range(2):
            np.testing.assert_array_equal(interpreter.run(seeded_inputs(MODEL, seed))[0], _wanted(seed))
        assert kept.is_bound


def test_arena_stays_where_it_is_while_others_move() -> None:
    """A rebalance between two rows moves tensors by hand, and no bit of the inference."""
    plan = kibi.plan(MODEL, granularity="row", input="streamed")
    history, wanted = ErrorHandler(100), _wanted()
    kind = TensorType((1, 64), DType.S8, Quantization((0.5,), (0,)))
    with Context(ram=HandleArena(plan.arena_bytes + 320, handler=history), handler=history) as board:
        gap = RamTensor(kind)
        interpreter = kibi.Interpreter(MODEL, plan)
        tensors = [RamTensor(kind, np.full((1, 64), number, np.int8)) for number in range(3)]
        gap.free()
        rows = iter(seeded_inputs(MODEL, 0)[0][0])
        for row in (next(rows), next(rows)):
            interpreter.push_row(row)
        tensors.pop(0).free()
        tensors.append(RamTensor(TensorType((1, 96), DType.S8, Quantization((0.5,), (0,)))))
        assert ArenaRebalancing in [event.type for event in history]
        for row in rows:
            interpreter.push_row(row)
        np.testing.assert_array_equal(interpreter.invoke()[0], wanted)
        assert [int(tensor.to_array()[0, 0]) for tensor in tensors[:2]] == [1, 2]
        del interpreter
        assert board.ram.available() == board.ram.capacity_bytes - 64 - 64 - 96  # type: ignore[attr-defined]  # a HandleArena


def test_context_of_a_big_endian_device_gives_the_same_values() -> None:
    """Rows are computed in this machine's order; memory and events are the context's all the same."""
    with Context(byteorder="big") as board:
        before = board.ram.available()
        interpreter = kibi.Interpreter(MODEL)
        assert board.ram.available() < before
        np.testing.assert_array_equal(interpreter.run(seeded_inputs(MODEL, 0))[0], _wanted())


def _saved(folder: Path, data: bytes) -> kibi.Graph:
    path = folder / "planned.tflite"
    path.write_bytes(data)
    return kibi.load(path)


def _told(model: kibi.Graph, **options: Any) -> tuple[kibi.Interpreter, list[Event]]:
    history = ErrorHandler()
    return kibi.Interpreter(model, handler=history, **options), list(history)


def _offsets(interpreter: kibi.Interpreter) -> Sequence[int]:
    return [interpreter.plan.buffers_of(index)[0].offset for index in range(6)]


def test_interpreter_follows_the_plan_in_the_file_and_says_so(tmp_path: Path) -> None:
    """Its offsets, not those that Kibi would choose; an event and the origin tell."""
    model = _saved(tmp_path, with_offsets(_OFFSETS))
    interpreter, told = _told(model)
    assert interpreter.plan_origin is PlanOrigin.EMBEDDED
    assert f"{interpreter.plan_origin}" == "embedded"
    assert tuple(_offsets(interpreter)) == _OFFSETS
    assert [(event.type, dict(event.facts)) for event in told] == [
        (EmbeddedPlanUsed, {"model": "planned.tflite", "arena_bytes": interpreter.plan.arena_bytes})
    ]
    assert "embedded plan, no context" in repr(interpreter)
    inputs = seeded_inputs(model, 0)
    other, nothing = _told(model, use_embedded_plan=False)
    assert (other.plan_origin, nothing) == (PlanOrigin.DEFAULT, [])
    assert other.plan.arena_bytes < interpreter.plan.arena_bytes
    given, nothing = _told(model, plan=kibi.plan(model))
    assert (given.plan_origin, nothing) == (PlanOrigin.GIVEN, [])
    outputs = [each.run(inputs)[0].tobytes() for each in (interpreter, other, given)]
    assert outputs == [kibi.run(model, None, inputs)[0].tobytes()] * 3


def test_copy_with_an_embedded_plan_runs_by_it(tmp_path: Path) -> None:
    """The plan that Kibi writes for TFLM is one that Kibi follows."""
    import kibi.demo  # noqa: PLC0415 - only this test needs it

    path = tmp_path / "planned.tflite"
    kibi.embed(kibi.demo.model_path(), path)
    model = kibi.load(path)
    interpreter = kibi.Interpreter(model)
    assert interpreter.plan_origin is PlanOrigin.EMBEDDED
    wanted = kibi.plan(model, "host", use_embedded_plan=True)
    assert (interpreter.plan.buffers, interpreter.plan.runs) == (wanted.buffers, wanted.runs)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (with_offsets((0, 128, *_OFFSETS[2:])), "share bytes 128 to 255"),
        (with_offsets(_OFFSETS[:-1]), "5 offsets, but the model has 6 tensors"),
    ],
)
def test_plan_in_the_file_that_cannot_be_is_left_and_said_why(tmp_path: Path, data: bytes, reason: str) -> None:
    """By default such a model runs all the same; who asks for that plan gets the error."""
    model = _saved(tmp_path, data)
    interpreter, (event,) = _told(model)
    assert interpreter.plan_origin is PlanOrigin.DEFAULT
    assert event.type is EmbeddedPlanLeft
    assert reason in event.facts["reason"]
    with pytest.raises(kibi.KibiError, match=reason):
        kibi.Interpreter(model, use_embedded_plan=True)


def test_registered_buffers_need_another_plan_than_the_files(tmp_path: Path) -> None:
    """A plan in a file places all tensors in its arena."""
    model = _saved(tmp_path, with_offsets(_OFFSETS))
    history = ErrorHandler()
    interpreter = kibi.Interpreter(model, allocate=False, handler=history)
    interpreter.register_preallocated("x", bytearray(256))
    interpreter.allocate()
    assert interpreter.plan_origin is PlanOrigin.DEFAULT
    assert ["'x' is in a registered buffer" in event.facts["reason"] for event in history] == [True]
    strict = kibi.Interpreter(model, allocate=False, use_embedded_plan=True)
    with pytest.raises(PlanError, match="leaves no tensor to the caller"):
        strict.register_preallocated("x", bytearray(256))


def test_plan_of_a_file_that_has_changed_or_is_gone_is_not_followed(tmp_path: Path) -> None:
    """It is that of another model."""
    model = _saved(tmp_path, branches())
    assert kibi.Interpreter(model).plan_origin is PlanOrigin.DEFAULT
    with pytest.raises(PlanError, match=r"planned.tflite carries no plan"):
        kibi.Interpreter(model, use_embedded_plan=True)
    with pytest.raises(PlanError, match="a plan is given, and the one in the file is wanted"):
        kibi.Interpreter(model, kibi.plan(model), use_embedded_plan=True)
    (tmp_path / "planned.tflite").write_bytes(with_offsets(_OFFSETS))
    assert kibi.Interpreter(model).plan_origin is PlanOrigin.DEFAULT
    with pytest.raises(PlanError, match="has changed since it was loaded"):
        kibi.plan(model, use_embedded_plan=True)
    (tmp_path / "planned.tflite").unlink()
    assert kibi.Interpreter(model).plan_origin is PlanOrigin.DEFAULT
