"""TFLM's habit, set inputs, invoke, read outputs; inputs by name; buffers that are read and written in place."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import kibi
from kibi.dtypes import Array, DType
from kibi.errors import InputError
from kibi.frontends.tflite import parse_tflite
from kibi.frontends.tflite.builder import ModelBuilder
from kibi.ir import Graph
from kibi.runtime import seeded_inputs
from tests.engines.networks import residual_network, two_input_network

if TYPE_CHECKING:
    from kibi.runtime.given import Inputs

TWO = two_input_network()
PLANS: dict[str, Callable[[], kibi.Plan | None]] = {
    "default": lambda: None,
    "by row": partial(kibi.plan, TWO, granularity="row"),
    "streamed": partial(kibi.plan, TWO, granularity="row", input="streamed"),
    "external": partial(kibi.plan, TWO, input="external", output="external"),
}
plans = pytest.mark.parametrize("make_plan", PLANS.values(), ids=PLANS)


def _wanted(seed: int) -> np.ndarray[Any, Any]:
    return np.asarray(kibi.run(TWO, None, seeded_inputs(TWO, seed))[0])


@plans
def test_set_input_invoke_get_output_gives_the_bits_of_run(make_plan: Callable[[], kibi.Plan | None]) -> None:
    """TFLM's three calls, its numbers and TensorFlow Lite's tensors, for every way to hand inputs over, time after time."""
    interpreter = kibi.Interpreter(TWO, make_plan())
    for seed in range(2):
        first, second = seeded_inputs(TWO, seed)
        interpreter.set_input(first, 0)
        interpreter.input(1)[...] = second
        interpreter.invoke()
        np.testing.assert_array_equal(interpreter.get_output(0), _wanted(seed))
        interpreter.set_tensor(TWO.inputs[0], np.zeros_like(first))
        interpreter.set_tensor("image0", first)
        np.testing.assert_array_equal(interpreter.invoke()[0], _wanted(seed))
        np.testing.assert_array_equal(interpreter.get_tensor("sum"), _wanted(seed))
        np.testing.assert_array_equal(interpreter.get_tensor(TWO.inputs[1]), second)


def test_outputs_are_those_of_the_last_inference_whoever_ran_it() -> None:
    """`run`, `invoke` and pushed rows; an array that was given out keeps its values, and nobody can change what is kept."""
    model = residual_network()
    interpreter = kibi.Interpreter(model, kibi.plan(model, granularity="row", input="streamed"))
    with pytest.raises(InputError, match="has no outputs: no inference has ended"):
        interpreter.output(0)
    given = interpreter.run(seeded_inputs(model, 0))[0]
    kept, first = interpreter.output(), given.copy()
    given[...] = 0
    np.testing.assert_array_equal(interpreter.get_output(), first)
    with pytest.raises(ValueError, match="read-only"):
        kept[...] = 0
    for row in seeded_inputs(model, 1)[0][0]:
        interpreter.push_row(row)
        with pytest.raises(InputError, match="no inference has ended"):
            interpreter.output(0)
    second = interpreter.invoke()[0]
    np.testing.assert_array_equal(interpreter.get_output(), second)
    np.testing.assert_array_equal(kept, first)


def test_invoke_without_all_inputs_says_which_is_missing() -> None:
    """Inputs that were never set are no zeros; once set they keep their values."""
    interpreter = kibi.Interpreter(TWO)
    first, second = seeded_inputs(TWO, 0)
    with pytest.raises(InputError, match=r"input 0 \('image0'\) is not set. Call `set_input`"):
        interpreter.invoke()
    interpreter.set_input(first, 0)
    with pytest.raises(InputError, match=r"input 1 \('image1'\) is not set"):
        interpreter.invoke()
    interpreter.set_input(second, 1)
    for _ in range(2):
        np.testing.assert_array_equal(interpreter.invoke()[0], _wanted(0))


@pytest.mark.parametrize(
    ("act", "text"),
    [
        (lambda i: i.set_input(np.zeros(3, np.int8), 0), r"input 0 \('image0'\) has shape \[3\]"),
        (lambda i: i.set_input(np.zeros((1, 8, 5, 2), np.uint8), 0), "type uint8"),
        (
            lambda i: i.set_input(np.zeros((1, 8, 5, 2), np.int8), 2),
            r"no input 2. Its inputs are 0 \('image0'\), 1 \('image1'\).",
        ),
        (lambda i: i.set_input(np.zeros((1, 8, 5, 2), np.int8), -1), "no input -1"),
        (lambda i: i.input(True), "no input True"),
        (lambda i: i.input("image"), "no input 'image'"),
        (lambda i: i.output(1), r"no output 1. Its outputs are 0 \('sum'\)."),
        (lambda i: i.set_tensor("sum", 1), r"'sum' of two_inputs.tflite is no input. The inputs are 0 \('image0'\), "),
        (lambda i: i.get_tensor("conv0"), "'conv0' of two_inputs.tflite is no input or output"),
        (lambda i: i.set_tensor("none", 1), "has no tensor 'none'"),
        (lambda _: kibi.Interpreter(TWO, allocate=False).invoke(), "nothing is allocated yet"),
    ],
)
def test_wrong_numbers_names_and_arrays_are_refused(act: Callable[[kibi.Interpreter], object], text: str) -> None:
    """Each error names what is there."""
    with pytest.raises(InputError, match=text):
        act(kibi.Interpreter(TWO))


def test_run_takes_inputs_by_name() -> None:
    """In any order; `kibi.run` does, too."""
    first, second = seeded_inputs(TWO, 0)
    named = {"image1": second, "image0": first}
    np.testing.assert_array_equal(kibi.Interpreter(TWO).run(named)[0], _wanted(0))
    np.testing.assert_array_equal(kibi.run(TWO, None, named)[0], _wanted(0))


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda named: named.pop("image1"), r"two_inputs.tflite: input 1 \('image1'\) is missing"),
        (lambda named: named.clear(), r"input 0 \('image0'\), input 1 \('image1'\) are missing"),
        (lambda named: named.update(image=1), r"no input 'image'. Its inputs are 0 \('image0'\), 1 \('image1'\)."),
        (lambda named: named.update({0: 1}), "0 is no name of an input"),
        (lambda named: named.update(image1=None), r"input 1 \('image1'\) is missing"),
        (lambda named: named.update(image1=np.zeros((1, 16, 10), np.int8)), r"\('image1'\) has shape \[1, 16, 10\]"),
        (lambda named: named.update(image1=np.zeros((1, 16, 10, 1), np.int16)), "type int16"),
    ],
)
def test_names_that_do_not_fit_are_refused(change: Callable[[dict[Any, Any]], object], text: str) -> None:
    """Unknown, missing, no names, other shapes and types."""
    named: dict[Any, Any] = dict(zip(("image0", "image1"), seeded_inputs(TWO, 0), strict=True))
    change(named)
    with pytest.raises(InputError, match=text):
        kibi.Interpreter(TWO).run(named)


def _subtraction(*names: str) -> ModelBuilder:
    """A model that subtracts its second input from its first, with these names."""
    builder = ModelBuilder()
    inputs = [builder.input([1, 4], DType.S8, 0.5, 0, name=name) for name in names]
    output = builder.tensor([1, 4], DType.S8, 0.5, 0, name="difference")
    builder.operator("SUB", inputs, [output], {"fused_activation_function": "NONE"})
    builder.signature("serve", 0, [("less", inputs[1]), ("from", inputs[0])], [("left", output)])
    return builder


def _graph(*names: str) -> Graph:
    return parse_tflite(_subtraction(*names).finish([2]), "difference.tflite")


def test_names_of_signatures_are_names_of_inputs() -> None:
    """A signature's names and the tensors' own mean the same inputs; one that is named by both is named twice."""
    graph = _graph("x", "y")
    interpreter = kibi.Interpreter(graph)
    x, y = np.full((1, 4), 9, np.int8), np.arange(4, dtype=np.int8).reshape(1, 4)
    for named in ({"from": x, "less": y}, {"x": x, "y": y}, {"x": x, "less": y}):
        np.testing.assert_array_equal(interpreter.run(named)[0], x - y)
    np.testing.assert_array_equal(interpreter.output("left"), x - y)
    with pytest.raises(InputError, match="'x' and 'from' both name input 0"):
        interpreter.run({"x": x, "from": x, "y": y})
    with pytest.raises(InputError, match=r"no input 'left'. Its inputs are 0 \('x' or 'from'\), 1 \('y' or 'less'\)."):
        interpreter.run({"left": x})


def test_graph_of_a_signature_takes_the_names_of_the_signature(tmp_path: Path) -> None:
    """In the order of the signature or any other."""
    path = tmp_path / "difference.tflite"
    path.write_bytes(_subtraction("x", "y").finish([2]))
    x, y = np.full((1, 4), 9, np.int8), np.full((1, 4), 2, np.int8)
    found = kibi.Interpreter(kibi.load(path, "serve")).run({"from": x, "less": y})
    np.testing.assert_array_equal(found[0], x - y)


def test_name_that_two_inputs_have_is_refused() -> None:
    """Which of the two is meant nobody can know; by the signature's names and by number both can be given."""
    interpreter = kibi.Interpreter(_graph("x", "x"))
    x, y = np.full((1, 4), 9, np.int8), np.full((1, 4), 2, np.int8)
    with pytest.raises(InputError, match=r"'x' names inputs 0 and 1. Give the number of one, or a list"):
        interpreter.run({"x": x})
    np.testing.assert_array_equal(interpreter.run({"from": x, "less": y})[0], x - y)


def _registered(*numbers: int) -> tuple[kibi.Interpreter, dict[int, np.ndarray[Any, Any]]]:
    """An interpreter with some inputs, and the output as -1, in the caller's arrays."""
    interpreter = kibi.Interpreter(TWO, allocate=False)
    tensors = {number: TWO.outputs[0] if number < 0 else TWO.inputs[number] for number in numbers}
    kinds = {number: TWO.tensors[index].type for number, index in tensors.items()}
    arrays: dict[int, np.ndarray[Any, Any]] = {n: np.zeros(kind.shape, kind.dtype.numpy) for n, kind in kinds.items()}
    for number, index in tensors.items():
        interpreter.register_preallocated(index, arrays[number])
    interpreter.allocate()
    return interpreter, arrays


def test_registered_buffers_are_read_and_written_in_place() -> None:
    """A sensor writes, `run` or `invoke` computes, a display reads: no array is given, and no byte of the inputs changes."""
    interpreter, arrays = _registered(0, 1, -1)
    nothing: tuple[Inputs, ...] = ((), {}, [None, None])
    acts: list[Callable[[], list[Array]]] = [interpreter.invoke, *(partial(interpreter.run, each) for each in nothing)]
    for seed, act in enumerate(acts):
        inputs = seeded_inputs(TWO, seed)
        for number, values in enumerate(inputs):
            arrays[number][...] = values
        (found,) = act()
        np.testing.assert_array_equal(found, _wanted(seed))
        np.testing.assert_array_equal(arrays[-1], found)
        assert [arrays[number].tobytes() for number in (0, 1)] == [each.tobytes() for each in inputs]
        assert not np.shares_memory(found, arrays[-1])
    for number in (0, 1):
        assert np.shares_memory(interpreter.input(number), arrays[number])
    assert np.shares_memory(interpreter.output(0), arrays[-1])
    assert interpreter.output(0).ctypes.data == arrays[-1].ctypes.data


def test_run_with_another_array_never_overwrites_a_registered_buffer() -> None:
    """It is refused before anything changes; the buffer itself may be given, and the other inputs are given as ever."""
    interpreter, arrays = _registered(0)
    first, second = seeded_inputs(TWO, 0)
    arrays[0][...] = first
    others: tuple[Inputs, ...] = ([np.zeros_like(first), second], {"image0": first.copy(), "image1": second})
    for inputs in others:
        with pytest.raises(InputError, match=r"input 0 \('image0'\) is in a registered buffer, .* never overwritten"):
            interpreter.run(inputs)
        np.testing.assert_array_equal(arrays[0], first)
    right: tuple[Inputs, ...] = (
        [None, second], [arrays[0], second], {"image1": second}, {"image0": arrays[0], "image1": second},
    )  # fmt: skip
    for inputs in right:
        np.testing.assert_array_equal(interpreter.run(inputs)[0], _wanted(0))
    wrong: tuple[Inputs, ...] = ([], [second], [None, None], {})
    for inputs in wrong:
        with pytest.raises(
            InputError, match=r"missing|takes 2 inputs, . were given. Give None for those in registered"
        ):
            interpreter.run(inputs)


def test_set_input_writes_into_the_registered_buffer() -> None:
    """`set_input` asks for that, and no other array is kept."""
    interpreter, arrays = _registered(1)
    first, second = seeded_inputs(TWO, 3)
    interpreter.set_input(second, 1)
    np.testing.assert_array_equal(arrays[1], second)
    interpreter.set_input(first, 0)
    np.testing.assert_array_equal(interpreter.invoke()[0], _wanted(3))


def test_registered_boolean_that_is_neither_0_nor_1_is_refused() -> None:
    """C would take any byte but 0 as true in one place and not in another."""
    builder = ModelBuilder()
    given = builder.input([1, 4], DType.BOOL, name="given")
    output = builder.tensor([1, 4], DType.BOOL, name="not")
    builder.operator("LOGICAL_NOT", [given], [output], {})
    interpreter = kibi.Interpreter(parse_tflite(builder.finish([output]), "not.tflite"), allocate=False)
    buffer = bytearray(b"\x00\x01\x02\x00")
    interpreter.register_preallocated("given", buffer)
    interpreter.allocate()
    with pytest.raises(InputError, match=r"holds 2\. A boolean is a byte of 0 or 1"):
        interpreter.run()
    buffer[2] = 1
    assert interpreter.run()[0].tolist() == [[True, False, False, True]]
