"""Tensors in buffers of the caller's: parts of larger arrays, of which nothing else is read or written."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

import numpy as np
import pytest
from hypothesis import given, settings
from numpy.typing import NDArray

import kibi
from kibi.dtypes import Array
from kibi.errors import InputError, KibiError
from kibi.frontends.tflite import parse_tflite
from kibi.ir import Graph
from kibi.ops import operators
from kibi.runtime import seeded_inputs
from tests.engines.networks import residual_network
from tests.ops.comparison import assert_same, graph_of, python_outputs_of
from tests.support import hostile
from tests.support.amount import amount
from tests.support.case import Case
from tests.support.choices import Seeded
from tests.support.network_models import networks
from tests.support.operator_models import OPERATOR_MODELS

_CANARY = 0x5A
_MARGIN_BYTES = 64
_SAMPLES = amount(4, 8)


@contextmanager
def _parts_of_larger_arrays(graph: Graph, tensors: Iterable[int]) -> Iterator[dict[int, NDArray[np.uint8]]]:
    """A part of a larger array for each tensor; at the end, what is outside of the parts is as it was."""
    rooms = {}
    for index in tensors:
        size_bytes = graph.tensors[index].type.size_bytes
        rooms[index] = np.full(size_bytes + 2 * _MARGIN_BYTES, _CANARY, np.uint8)
    yield {index: room[_MARGIN_BYTES:-_MARGIN_BYTES] for index, room in rooms.items()}
    for index, room in rooms.items():
        outside = np.concatenate([room[:_MARGIN_BYTES], room[-_MARGIN_BYTES:]])
        assert (outside == _CANARY).all(), (
            f"{np.count_nonzero(outside != _CANARY)} bytes outside of {graph.tensors[index]}"
        )


def _check(case: Case, external: Iterable[int], granularity: str) -> None:
    """With these tensors in buffers, a case has the same bits as without, the buffers hold them, and no other byte changes."""
    graph = graph_of(case)
    wanted = python_outputs_of(case, kibi.Interpreter(graph))
    with _parts_of_larger_arrays(graph, external) as buffers:
        plan = kibi.plan(graph, granularity=granularity, external_buffers=list(buffers))
        interpreter = kibi.Interpreter(graph, plan, allocate=False)
        for index, buffer in buffers.items():
            interpreter.register_preallocated(index, buffer)
        interpreter.allocate()
        found = tuple(array for inputs in case.runs for array in _run(interpreter, inputs, buffers))
        assert [each.tobytes() for each in found] == [each.tobytes() for each in wanted]
        last = found[-len(graph.outputs) :] if found else ()
        for index, array in zip(graph.outputs, last, strict=bool(last)):
            if index in buffers:
                assert buffers[index].tobytes() == array.tobytes()


def _run(
    interpreter: kibi.Interpreter, inputs: Sequence[Array], buffers: Mapping[int, NDArray[np.uint8]]
) -> list[Array]:
    """Runs once, after it has written the inputs that are in buffers, and checks that these are still as they were written."""
    given: list[Array | None] = list(inputs)
    for number, index in enumerate(interpreter.model.inputs):
        if index in buffers:
            interpreter.input(number)[...] = inputs[number]
            given[number] = None
    outputs = interpreter.run(given)
    for index, values in zip(interpreter.model.inputs, inputs, strict=True):
        assert index not in buffers or buffers[index].tobytes() == values.tobytes()
    return outputs


def _free(graph: Graph, indices: Iterable[int]) -> list[int]:
    """Those of the tensors that may be in a caller's buffer, each once."""
    return [index for index in dict.fromkeys(indices) if graph.tensors[index].is_planned]


@pytest.mark.share(3, part=1)
@pytest.mark.parametrize("operator", operators())
def test_any_operator_with_tensors_in_parts_of_larger_arrays_writes_nothing_else(operator: str) -> None:
    """Inputs, outputs, both, and all that is in between: the bits are the same, and what is outside of the parts is untouched."""
    for seed in range(_SAMPLES):
        case = OPERATOR_MODELS[operator](Seeded(seed))
        graph = graph_of(case)
        made = [index for node in graph.nodes for index in node.outputs]
        choices = (graph.outputs, graph.inputs, (*graph.inputs, *graph.outputs), (*graph.inputs, *made))
        _check(case, _free(graph, choices[seed % len(choices)]), ("row", "tensor")[seed // 4 % 2])


@settings(max_examples=amount(12, 50))
@given(case=networks())
def test_any_network_with_tensors_in_between_in_parts_of_larger_arrays_writes_nothing_else(case: Case) -> None:
    """Operators that read and write external tensors in the middle, by the row and as a whole."""
    graph = graph_of(case)
    made = _free(graph, (index for node in graph.nodes for index in node.outputs))
    for granularity in ("row", "tensor"):
        for external in (made[::2], made[1::2]):
            _check(case, external, granularity)


def test_cumulative_sum_into_a_registered_buffer_has_the_same_bits() -> None:
    """The file of which 49 bytes outside of the buffer were once written."""
    graph = kibi.load(hostile.path("registered_output_cumsum.tflite"))
    inputs = seeded_inputs(graph, 0)
    with _parts_of_larger_arrays(graph, graph.outputs) as buffers:
        interpreter = kibi.Interpreter(graph, allocate=False)
        interpreter.register_preallocated(graph.outputs[0], buffers[graph.outputs[0]])
        interpreter.allocate()
        assert_same(graph, interpreter.run(inputs), kibi.run(graph, None, inputs))


@pytest.mark.parametrize("operator", ["CUMSUM", "IF", "BATCH_MATMUL", "MEAN"])
def test_verification_with_external_outputs_finds_no_difference(operator: str) -> None:
    """Python and C on this machine agree where outputs are in buffers of the caller's."""
    graph = parse_tflite(OPERATOR_MODELS[operator](Seeded(3)).model, "external.tflite")
    plan = kibi.plan(graph, target="host", output="external")
    assert kibi.verify(graph, plan, target="host", runs=2).is_exact


def _two_bytes_apart(size: int) -> NDArray[np.uint8]:
    return np.zeros(2 * size, np.uint8)[::2]


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (_two_bytes_apart, "is no block of bytes"),
        (lambda size: np.zeros((size, 2), np.uint8).T, "is no block of bytes"),
        (lambda size: np.zeros(size, np.float32), "has elements of float32, the tensor of s8"),
        (lambda size: np.zeros(size, object), "holds Python objects"),
        (lambda size: np.zeros(size, [("a", object)]), "holds Python objects"),
        (lambda size: memoryview(bytes(size)), "is read-only"),
        (lambda size: b"x" * size, "is read-only"),
        (lambda size: np.broadcast_to(np.uint8(0), size), "is no block of bytes"),
        (lambda size: np.zeros(size - 1, np.uint8), "Give at least"),
        (lambda size: bytearray(0 * size), "Give at least"),
        (lambda size: [0] * size, "is no block of bytes"),
        (lambda size: 0.5 * size, "is no block of bytes"),
        (lambda size: "x" * size, "is no block of bytes"),
    ],
)  # fmt: skip
def test_buffer_that_cannot_hold_a_tensor_is_refused(make: Callable[[int], bytearray], text: str) -> None:
    """In pieces, of another type, of Python objects, read-only, too small, or no buffer at all: the error says which."""
    graph = residual_network()
    buffer = make(graph.tensors[graph.inputs[0]].type.size_bytes)
    interpreter = kibi.Interpreter(graph, allocate=False)
    with pytest.raises(InputError, match=text):
        interpreter.register_preallocated(graph.inputs[0], buffer)


def test_buffers_that_share_bytes_are_refused() -> None:
    """Two buffers, or one and the arena: what one holds would be lost when the other is written."""
    graph = residual_network()
    first, last = graph.inputs[0], graph.outputs[0]
    sizes = [graph.tensors[index].type.size_bytes for index in (first, last)]
    room = np.zeros(sum(sizes), np.uint8)
    touching, overlapping = kibi.Interpreter(graph, allocate=False), kibi.Interpreter(graph, allocate=False)
    for interpreter, start in ((touching, sizes[0]), (overlapping, sizes[0] - 1)):
        interpreter.register_preallocated(first, room[: sizes[0]])
        interpreter.register_preallocated(last, room[start:])
    touching.allocate()
    with pytest.raises(InputError, match="share bytes"):
        overlapping.allocate()
    arena = np.zeros(1 << 16, np.uint8)
    inside = kibi.Interpreter(graph, None, arena, allocate=False)
    inside.register_preallocated(first, arena[16 : 16 + sizes[0]])
    with pytest.raises(InputError, match=r"the arena .*share bytes"):
        inside.allocate()


@pytest.mark.parametrize("name", [None, 1.5, True, b"x", (), np.zeros(2)], ids=repr)
def test_name_that_names_no_tensor_is_refused(name: object) -> None:
    """Neither an index nor a name: not taken for the number that it may equal."""
    with pytest.raises(KibiError):
        kibi.Interpreter(residual_network(), allocate=False).register_preallocated(name, bytearray(512))  # type: ignore[arg-type]


def test_inputs_in_the_interpreters_own_bytes_are_read_before_they_are_overwritten() -> None:
    """An array over the arena, or over a registered buffer, is an input like any other."""
    graph = residual_network()
    kind = graph.tensors[graph.inputs[0]].type
    inputs = seeded_inputs(graph, 0)
    wanted = kibi.run(graph, None, inputs)
    for mode in ("stored", "streamed"):
        arena = np.zeros(1 << 16, np.uint8)
        interpreter = kibi.Interpreter(graph, kibi.plan(graph, input=mode), arena)
        inside = arena[: kind.size_bytes].view(kind.dtype.numpy).reshape(kind.shape)
        inside[:] = inputs[0]
        assert_same(graph, interpreter.run([inside]), wanted)
