"""Interpreters that share an arena notice that another one has used it in the middle of an inference."""

import gc
from functools import cache
from types import SimpleNamespace
from typing import TYPE_CHECKING

import numpy as np
import pytest

import kibi
from kibi.dtypes import Array
from kibi.eager.events import Event
from kibi.errors import InputError
from kibi.runtime import seeded_inputs
from tests.engines.networks import pooled_network, residual_network
from tests.ops.comparison import assert_same

if TYPE_CHECKING:
    from collections.abc import Callable

_FIRST, _SECOND = residual_network(), pooled_network("MEAN")


@cache
def _plan() -> kibi.Plan:
    return kibi.plan(_FIRST, input="streamed")


def _memory() -> Array:
    return np.zeros(1 << 14, np.uint8)


@pytest.mark.parametrize("guard", [True, False])
@pytest.mark.parametrize("rows", [3, 12])
def test_stream_that_lost_its_arena_says_so_and_begins_again(guard: bool, rows: int) -> None:
    """A row or the end of the inference is an error that names the other model; the next inference is right."""
    memory, told = _memory(), list[Event]()
    handler = SimpleNamespace(notify=told.append)
    first = kibi.Interpreter(_FIRST, _plan(), memory, guard=guard, handler=handler)
    second = kibi.Interpreter(_SECOND, arena=memory, guard=guard)
    inputs = seeded_inputs(_FIRST, 1)
    for row in inputs[0][0][:rows]:
        first.push_row(row)
    others = seeded_inputs(_SECOND, 1)
    assert_same(_SECOND, second.run(others), kibi.run(_SECOND, None, others))
    go_on: Callable[[], object] = first.invoke if rows == 12 else lambda: first.push_row(inputs[0][0][rows])
    with pytest.raises(InputError, match=r"residual\.tflite cannot go on: pooled\.tflite has used the same arena"):
        go_on()
    assert "ArenaTaken" in {event.type.name for event in told}
    assert first.expected_row == (0, 0)
    assert_same(_FIRST, first.run(inputs), kibi.run(_FIRST, None, inputs))


def test_interpreters_whose_bytes_are_apart_take_nothing_from_each_other() -> None:
    """Halves of one block, and blocks of their own."""
    memory = _memory()
    first = kibi.Interpreter(_FIRST, _plan(), memory[: 1 << 13])
    others = [kibi.Interpreter(_SECOND, arena=memory[1 << 13 :]), kibi.Interpreter(_SECOND)]
    inputs = seeded_inputs(_FIRST, 1)
    for row in inputs[0][0]:
        first.push_row(row)
        for other in others:
            other.run(seeded_inputs(_SECOND, 1))
    assert_same(_FIRST, first.invoke(), kibi.run(_FIRST, None, inputs))


def test_interpreter_that_is_gone_holds_no_lease() -> None:
    """The list of leases keeps none of them alive."""
    from kibi.runtime.lease import _LEASES  # noqa: PLC0415 - only here

    gc.collect()
    before = len(_LEASES)
    interpreter = kibi.Interpreter(_FIRST)
    assert len(_LEASES) == before + 1
    del interpreter
    gc.collect()
    assert len(_LEASES) == before
