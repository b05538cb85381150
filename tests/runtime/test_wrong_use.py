"""Wrong uses of the Python runtime: each ends in an error of Kibi's own, and what was interrupted is forgotten."""

import random
from collections import Counter
from collections.abc import Callable
from functools import cache
from threading import Event, Thread
from typing import Any

import numpy as np
import pytest

import kibi
from kibi.dtypes import Array, DType
from kibi.eager import events as runtime_events
from kibi.eager import tensors
from kibi.eager.context import Context
from kibi.eager.memory import HandleArena, LinearArena, PageAllocator
from kibi.errors import ArenaError, InputError, InternalError, KibiError
from kibi.ir import TensorType
from kibi.runtime import quantize_real, seeded_inputs
from tests.engines.networks import residual_network, two_input_network
from tests.ops.comparison import assert_same

_GRAPHS = (residual_network(), two_input_network())
_KIND = TensorType((1, 4, 3, 2), DType.S8)


def test_interpreter_called_by_its_own_observer_refuses_and_recovers() -> None:
    """Each call that computes or changes something; the next run is as if nothing had been."""
    graph = residual_network()
    inputs = seeded_inputs(graph, 0)
    wanted = kibi.run(graph, None, inputs)
    interpreter = kibi.Interpreter(graph)
    for call in (lambda: interpreter.run(inputs), interpreter.reset):
        with pytest.raises(InputError, match="is computing"):
            interpreter.run(inputs, lambda *_, call=call: call())
        assert_same(graph, interpreter.run(inputs), wanted)


def test_interpreter_called_by_its_own_handler_refuses_and_forgets_the_rows() -> None:
    """A handler that resets when a row comes: the inference is over, and another one can begin."""
    graph = residual_network()
    rows = seeded_inputs(graph, 1)[0][0]
    wanted = kibi.run(graph, None, seeded_inputs(graph, 1))

    class Resetting:
        is_on = True

        def notify(self, event: runtime_events.Event) -> None:
            if self.is_on and event.type.name == "RowReceived":
                interpreter.reset()

    handler = Resetting()
    interpreter = kibi.Interpreter(graph, kibi.plan(graph, input="streamed"), handler=handler)
    with pytest.raises(InputError, match="is computing"):
        interpreter.push_row(rows[0])
    assert interpreter.expected_row == (0, 0)
    handler.is_on = False
    for row in rows:
        interpreter.push_row(row)
    assert_same(graph, interpreter.invoke(), wanted)


def test_error_in_the_middle_of_pushed_rows_forgets_them() -> None:
    """What was begun is not gone on with from a step that never ran."""
    graph = residual_network()
    inputs = seeded_inputs(graph, 2)
    wanted = kibi.run(graph, None, inputs)

    class Failing:
        calls = 0

        def notify(self, event: runtime_events.Event) -> None:
            self.calls += event.type.name == "RowReceived"
            if self.calls == 5:
                raise RuntimeError("the handler's own")

    interpreter = kibi.Interpreter(graph, kibi.plan(graph, input="streamed"), handler=Failing())
    for row in inputs[0][0, :4]:
        interpreter.push_row(row)
    with pytest.raises(RuntimeError, match="the handler's own"):
        interpreter.push_row(inputs[0][0, 4])
    assert interpreter.expected_row == (0, 0)
    for row in inputs[0][0]:
        interpreter.push_row(row)
    assert_same(graph, interpreter.invoke(), wanted)


def test_interpreter_in_two_threads_refuses_the_second() -> None:
    """An error, and never bits of both."""
    graph = residual_network()
    interpreter, inputs = kibi.Interpreter(graph), seeded_inputs(graph, 0)
    is_inside, may_go, caught = Event(), Event(), list[KibiError]()

    def hold(index: int, array: Array) -> None:
        del index, array
        is_inside.set()
        may_go.wait(30)

    first = Thread(target=lambda: interpreter.run(inputs, hold))
    first.start()
    assert is_inside.wait(30)
    try:
        interpreter.run(inputs)
    except KibiError as error:
        caught.append(error)
    may_go.set()
    first.join()
    assert "Make one for each thread" in str(caught[0])
    assert_same(graph, interpreter.run(inputs), kibi.run(graph, None, inputs))


@pytest.mark.parametrize(
    "memory", [5, None, [1], np.zeros(1 << 16, object), np.zeros((1 << 12, 2), np.uint8)[:, 0]], ids=type
)
def test_arena_of_the_wrong_kind_is_refused(memory: object) -> None:
    """Numbers, lists, Python objects (whose bytes are pointers), bytes in pieces; None means bytes of its own."""
    if memory is None:
        assert kibi.Interpreter(residual_network(), None, None).arena_used_bytes
        return
    with pytest.raises(ArenaError, match="no block of bytes"):
        kibi.Interpreter(residual_network(), None, memory)  # type: ignore[arg-type]


@pytest.mark.parametrize("arguments", [(None,), ("model.tflite",), (residual_network(), "plan")], ids=str)
def test_interpreter_of_the_wrong_kinds_is_refused(arguments: tuple[Any, ...]) -> None:
    """What is no graph or no plan is named."""
    with pytest.raises(InputError, match=r"not a graph|the plan is str"):
        kibi.Interpreter(*arguments)
    with pytest.raises(InputError, match="which cannot be told"):
        kibi.Interpreter(residual_network(), handler=print)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="cannot be called"):
        kibi.Interpreter(residual_network()).run(seeded_inputs(residual_network(), 0), 5)  # type: ignore[arg-type]


def _junk(choose: random.Random) -> Any:
    """Anything but what is asked for."""
    return choose.choice([
        *(None, 0, -1, 1, 2**31, 2**63, 10**400, 1.5, float("nan"), complex(1, 2), True, "x", "", "\ud800", b"", b"abc", (), []),
        *({}, set(), object(), slice(None), ..., int, iter([1]), range(3), (1, 2), [1, [2]], DType.S8, bytearray(5)),
        *(np.int8(3), np.uint64(2**63), np.float32("nan"), np.datetime64("2020-01-01"), np.zeros(3), np.zeros(0), np.array(5)),
        *(np.zeros(4, object), np.array(["a"]), np.ma.array([1, 2]), np.zeros(3, [("a", object)]), memoryview(b"abc")),
    ])  # fmt: skip


def _read_when_freed(tensor: tensors.RamTensor) -> object:
    tensor.free()
    return tensor.row(0)


@cache
def _interpreters(name: str, is_allocated: bool) -> tuple[kibi.Interpreter, kibi.Interpreter]:
    """One that stores its inputs, and one that streams them."""
    graph = next(graph for graph in _GRAPHS if graph.name == name)
    streamed = kibi.plan(graph, input="streamed")
    return kibi.Interpreter(graph, allocate=is_allocated), kibi.Interpreter(graph, streamed)


def _uses(choose: random.Random) -> dict[str, Callable[[], object]]:
    """One wrong use of each part."""
    graph = choose.choice(_GRAPHS)
    interpreter, streaming = _interpreters(graph.name, choose.random() < 0.8)
    allocator = choose.choice([HandleArena, LinearArena, PageAllocator])

    names: list[Any] = ["x", "image", "image0", 0, None, b"x"]

    def junk() -> Any:
        return _junk(choose)

    def by_hand(use: Callable[[tensors.RamTensor], object]) -> Callable[[], object]:
        def work() -> object:
            with Context(4096, 4096), tensors.RamTensor(_KIND) as tensor:
                return use(tensor)

        return work

    return {
        "run": lambda: interpreter.run(junk()),
        "run elements": lambda: interpreter.run([junk() for _ in graph.inputs]),
        "run names": lambda: interpreter.run(dict.fromkeys(choose.sample(names, 2), junk())),
        "run named": lambda: interpreter.run({graph.tensors[index].name: junk() for index in graph.inputs}),
        "set input": lambda: interpreter.set_input(junk(), choose.choice([0, junk()])),
        "set tensor": lambda: interpreter.set_tensor(choose.choice([graph.inputs[0], junk()]), junk()),
        "input": lambda: interpreter.input(junk()),
        "output": lambda: (interpreter.get_output(junk()), interpreter.get_tensor(junk())),
        "invoke": choose.choice([interpreter, streaming]).invoke,
        "profile": lambda: interpreter.profile(junk(), junk()).__enter__(),
        "follow": lambda: kibi.Interpreter(graph, use_context=junk(), use_embedded_plan=junk()),
        "push": lambda: streaming.push_row(junk(), junk()),
        "register": lambda: interpreter.register_preallocated(junk(), junk()),
        "register index": lambda: interpreter.register_preallocated(0, junk()),
        "arena": lambda: kibi.Interpreter(graph, interpreter.plan, junk()),
        "tensor": lambda: next(iter(interpreter.tensors.values())).assign(junk()),
        "context": lambda: Context(junk(), junk(), junk(), byteorder=junk()),
        "allocator": lambda: allocator(junk(), alignment=choose.choice([8, junk()])),
        "allocate": lambda: allocator(1024).allocate(junk()),
        "contains": lambda: allocator(1024).contains(junk()),
        "camera": lambda: tensors.CameraTensor(_KIND, junk(), keep=choose.choice([1, junk()])),
        "rows": lambda: tensors.RowTensor(_KIND, offsets=junk(), ring=choose.choice([None, junk()]), memory=junk()),
        "constant": lambda: tensors.RomTensor(_KIND, junk()),
        "buffer": lambda: tensors.BufferTensor(_KIND, junk()),
        "element": by_hand(lambda tensor: tensor[junk()]),
        "set element": by_hand(lambda tensor: tensor.__setitem__(choose.choice([0, junk()]), junk())),
        "row": by_hand(lambda tensor: tensor.row(junk())),
        "write row": by_hand(lambda tensor: tensor.write_row(choose.choice([0, junk()]), junk())),
        "read bytes": by_hand(lambda tensor: tensor.read_bytes(junk(), junk())),
        "write bytes": by_hand(lambda tensor: tensor.write_bytes(choose.choice([0, junk()]), junk())),
        "read as": by_hand(lambda tensor: tensor[0].read(junk())),
        "freed": by_hand(_read_when_freed),
        "quantize": lambda: quantize_real(graph.tensors[0], junk()),
        "seed": lambda: seeded_inputs(graph, junk()),
    }


@pytest.mark.parametrize("part", sorted(_uses(random.Random(0))))
def test_wrong_use_of_any_part_succeeds_or_is_an_error_of_kibis(part: str) -> None:
    """Whatever is given: no other exception, and none that calls it a bug of Kibi's."""
    counts: Counter[str] = Counter()
    for seed in range(60):
        try:
            _uses(random.Random(seed))[part]()
            counts["succeeded"] += 1
        except InternalError:
            raise
        except KibiError:
            counts["refused"] += 1
    assert sum(counts.values()) == 60
