"""Operators that write what was there before, against TFLM."""

from collections.abc import Callable

import numpy as np
import pytest

from kibi.dtypes import Array, DType
from kibi.frontends.tflite import parse_tflite
from kibi.frontends.tflite.builder import ModelBuilder
from kibi.planner import Granularity, plan, validate
from kibi.runtime import Interpreter
from kibi.targets import target
from kibi.tflm import Oracle
from tests.frontends.models import problems_of
from tests.ops.orders import interleaved
from tests.support.choices import Choices, Seeded, flip, floats
from tests.support.drawn_values import values

_F32 = DType.F32
_SHAPE = (2, 3)


def _network(c: Choices) -> tuple[bytes, list[Array]]:
    """Operators on a few tensors, which they read and write in any order: inputs, too, and those that they read."""
    b, dtype = ModelBuilder(), c.one_of((_F32, DType.S8))
    kind = () if dtype is _F32 else (0.5, 3)
    given: list[Array] = [floats(c, _SHAPE) if dtype is _F32 else values(c, _SHAPE, dtype) for _ in range(2)]
    written = [b.input(_SHAPE, dtype, *kind) for _ in given]
    every = [*written, *(b.tensor(_SHAPE, dtype, *kind) for _ in range(2))]
    unary = ("RELU", "ABS", "NEG", "SQUARE") if dtype is _F32 else ("RELU", "ABS", "RELU6")
    for _ in range(c.integer(2, 7)):
        output = c.one_of(every)
        if flip(c):
            b.operator(c.one_of(("ADD", "MUL", "MAXIMUM")), [c.one_of(written), c.one_of(written)], [output])
        else:
            b.operator(c.one_of(unary), [c.one_of(written)], [output])
        written = sorted({*written, output})
    b.operator("ADD", [c.one_of(written), c.one_of(written)], [every[-1]])
    return b.finish([every[-1], *(index for index in written[2:3] if index != every[-1])]), given


@pytest.mark.parametrize("seed", range(40))
def test_network_that_overwrites_equals_tflm(seed: int, oracle: Oracle) -> None:
    """Readers see what was written last before them, and the caller what was written last, as planned in every way."""
    model, inputs = _network(Seeded(seed))
    graph = parse_tflite(model, "network")
    wanted = oracle.run(model, [inputs])[0].outputs
    for runs in (None, interleaved(graph)):
        made = plan(graph, target("host"), runs=runs, granularity=Granularity.ROW)
        validate(graph, made)
        found = Interpreter(graph, made).run(inputs)
        assert [each.tobytes() for each in found] == [each.tobytes() for each in wanted]


def test_input_that_is_overwritten_and_an_output_too_is_what_was_written(oracle: Oracle) -> None:
    """Its bytes are the caller's first and the operator's then."""
    b = ModelBuilder()
    x, y = b.input(_SHAPE, _F32), b.tensor(_SHAPE, _F32)
    b.operator("NEG", [x], [x])
    b.operator("ABS", [x], [y])
    model, inputs = b.finish([x, y]), [np.arange(6, dtype=np.float32).reshape(_SHAPE)]
    graph = parse_tflite(model, "network")
    found = Interpreter(graph, plan(graph, target("host"))).run(inputs)
    assert [each.tolist() for each in found] == [each.tolist() for each in oracle.run(model, [inputs])[0].outputs]


def _broadcast() -> bytes:
    b = ModelBuilder()
    x, row = b.input(_SHAPE, _F32), b.input([1, 3], _F32)
    b.operator("ADD", [x, row], [x])
    return b.finish([x])


def _turned() -> bytes:
    b = ModelBuilder()
    x = b.input([3, 3], _F32)
    b.operator("TRANSPOSE", [x, b.constant(np.array([1, 0], np.int32))], [x])
    return b.finish([x])


def _halves() -> bytes:
    b = ModelBuilder()
    x, half = b.input([4], _F32), b.input([2], _F32)
    b.operator("SPLIT", [b.constant(np.array(0, np.int32)), x], [half, half], num_splits=2)
    return b.finish([half])


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (_broadcast, "ADD: it writes the tensor that it reads"),
        (_turned, "TRANSPOSE: it writes the tensor that it reads"),
        (_halves, "SPLIT: two of its outputs are the same tensor"),
    ],
)
def test_operator_that_may_read_what_it_has_written_is_refused(make: Callable[[], bytes], expected: str) -> None:
    """Nothing is made up about the order in which TFLM's kernels read and write."""
    (problem,) = problems_of(make())
    assert expected in problem.what
    assert problem.operator == 0
    assert problem.remedy


def test_tensor_that_is_read_before_it_is_written_is_refused() -> None:
    """In TFLM it has whatever lay in the arena."""
    b = ModelBuilder()
    x, y = b.input(_SHAPE, _F32), b.tensor(_SHAPE, _F32, name="y")
    b.operator("ADD", [x, y], [y])
    (problem,) = problems_of(b.finish([y]))
    assert "read before any operator makes it" in problem.what
    assert problem.tensor == "y"
