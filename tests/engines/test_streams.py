"""Networks that assign variables, in all engines, however inputs and outputs are handed over."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kibi
from kibi.dtypes import Array, DType
from kibi.engines import DeviceEngine, HostEngine
from kibi.frontends.tflite import parse_tflite
from kibi.frontends.tflite.builder import ModelBuilder
from kibi.ir import Graph
from kibi.runtime import Interpreter
from kibi.tflm import Oracle
from tests.support.amount import share
from tests.support.choices import Seeded
from tests.support.variable_models import call_once, handle, initialized, stream


def _drawn(seed: int) -> tuple[Graph, list[list[Array]]]:
    model, inputs = stream(Seeded(seed), runs=3)
    return kibi.simplify(parse_tflite(model, "stream.tflite")), inputs


@pytest.mark.parametrize(
    "wish",
    share(
        [
            {"granularity": "tensor"},
            {"input": "streamed"},
            {"input": "external", "output": "external"},
            {"goal": "speed"},
        ],
        0,
        2,
    ),
    ids=str,
)
def test_streams_give_the_same_bits_in_all_engines(wish: dict[str, Any], tmp_path: Path) -> None:
    """Python, host C and the emulated core remember the same."""
    for seed in (3, 8):
        graph, inputs = _drawn(seed)
        plan = kibi.plan(graph, **wish)
        library = kibi.compile(graph, plan, tmp_path / str(seed))
        interpreter, host, device = Interpreter(graph, plan), HostEngine(library), DeviceEngine(library)
        for run in inputs:
            wanted = interpreter.run(run)
            for engine in (host, device):
                for mine, its in zip(engine.run(run), wanted, strict=True):
                    np.testing.assert_array_equal(mine, its)


def _remembering(dtype: DType, first: Array | None, zero_point: int | None) -> bytes:
    """What was given to the inference before this one."""
    b, shape = ModelBuilder(), [1, 3, 2, 2]
    if first is not None:
        call_once(b)
    x = b.input(shape, dtype, *(() if zero_point is None else (0.5, zero_point)))
    old = b.tensor(shape, dtype, *(() if zero_point is None else (0.5, zero_point)))
    v = handle(b, "last")
    b.operator("READ_VARIABLE", [v], [old])
    b.operator("ASSIGN_VARIABLE", [v, x], [])
    return b.finish([old]) if first is None else initialized(b, [old], {"last": first})


@pytest.mark.parametrize(
    ("dtype", "zero_point", "value"),
    [
        (DType.S8, -7, -7),
        (DType.S16, None, 0),
        (DType.F32, None, 0.0),
        (DType.S16, 5, 0x0505),
        (DType.BOOL, None, False),
    ],
    ids=str,
)
def test_variable_without_a_first_value_begins_with_bytes_of_the_zero_point(
    dtype: DType, zero_point: int | None, value: float, oracle: Oracle
) -> None:
    """Each byte is it, of wider elements, too; as TFLM does."""
    model = _remembering(dtype, None, zero_point)
    given = np.ones((1, 3, 2, 2), dtype.numpy)
    assert (Interpreter(parse_tflite(model, "last.tflite")).run([given])[0] == value).all()
    assert (np.asarray(oracle.run(model, [[given]])[0].outputs[0]) == value).all()


def test_first_value_comes_back_with_a_reset(tmp_path: Path) -> None:
    """In Python and in C, though the variable held others."""
    first = np.arange(12, dtype=np.float32).reshape(1, 3, 2, 2)
    graph = parse_tflite(_remembering(DType.F32, first, None), "last.tflite")
    interpreter = Interpreter(graph)
    host = HostEngine(kibi.compile(graph, kibi.plan(graph, "host"), tmp_path, target="host"))
    for _ in range(2):
        for engine in (interpreter, host):
            np.testing.assert_array_equal(engine.run([first + 1])[0], first)
            np.testing.assert_array_equal(engine.run([first])[0], first + 1)
        interpreter.reset()
        host.call("reset")
