"""Variables that are read and assigned in any order, over several inferences, against TFLM."""

from pathlib import Path

import numpy as np
import pytest

import kibi
from kibi.dtypes import Array, DType
from kibi.engines import HostEngine
from kibi.engines.core import CoreEngine, core_library
from kibi.errors import ModelError
from kibi.frontends.text import parse_text
from kibi.frontends.tflite import parse_tflite
from kibi.frontends.tflite.builder import ModelBuilder
from kibi.passes import simplify
from kibi.planner import Granularity, plan, validate
from kibi.runtime import Interpreter
from kibi.targets import target
from kibi.tflm import Oracle
from tests.ops.orders import interleaved
from tests.support.amount import amount
from tests.support.choices import Seeded
from tests.support.variable_models import call_once, handle, initialized, stream

HOST = target("host")


def _expected(oracle: Oracle, model: bytes, inputs: list[list[Array]]) -> list[list[Array]]:
    """TFLM's outputs; nothing between the runs."""
    return [[np.asarray(each) for each in result.outputs] for result in oracle.run(model, inputs)]


def _assert_same(found: list[list[Array]], wanted: list[list[Array]]) -> None:
    for number, (mine, its) in enumerate(zip(found, wanted, strict=True)):
        for a, b in zip(mine, its, strict=True):
            np.testing.assert_array_equal(a, b, err_msg=f"run {number}")


@pytest.mark.share(2, part=0)
@pytest.mark.parametrize("seed", range(amount(20, 40)))
def test_streams_several_runs_equal_tflm_as_planned_in_every_way(seed: int, oracle: Oracle) -> None:
    """By tensor, by row and interleaved, before and after passes, with a reset in between."""
    model, inputs = stream(Seeded(seed))
    wanted = _expected(oracle, model, inputs)
    loaded = parse_tflite(model, "stream.tflite")
    for graph in (loaded, simplify(loaded).graph):
        plans = [
            plan(graph, HOST),
            plan(graph, HOST, granularity=Granularity.ROW),
            plan(graph, HOST, runs=interleaved(graph), granularity=Granularity.ROW),
        ]
        for made in plans:
            validate(graph, made)
            interpreter = Interpreter(graph, made)
            for _ in range(2):
                _assert_same([interpreter.run(run) for run in inputs], wanted)
                interpreter.reset()


def test_streams_host_c_equals_tflm(oracle: Oracle, tmp_path: Path) -> None:
    """Several instances, each with its own state, and a reset."""
    for seed in range(6):
        model, inputs = stream(Seeded(100 + seed))
        wanted = _expected(oracle, model, inputs)
        graph = simplify(parse_tflite(model, "stream.tflite")).graph
        library = kibi.compile(graph, plan(graph, HOST, granularity=Granularity.ROW), tmp_path / str(seed))
        one, other = HostEngine(library), HostEngine(library)
        _assert_same([one.run(run) for run in inputs], wanted)
        _assert_same([other.run(run) for run in inputs], wanted)
        if library.models[0].variable_bytes:
            one.call("reset")
            _assert_same([one.run(run) for run in inputs], wanted)


def _shifting(rows: int = 6) -> bytes:
    """The last rows of all inputs: v ← v[1:] + x; v's rows are the output, too, as they were and as they are."""
    b = ModelBuilder()
    call_once(b)
    shape, quantization = [1, rows, 1, 4], (0.5, 3)
    x = b.input([1, 1, 1, 4], DType.S8, *quantization, name="x")
    v = handle(b, "window")
    old, tail = b.tensor(shape, DType.S8, *quantization), b.tensor([1, rows - 1, 1, 4], DType.S8, *quantization)
    new, y = b.tensor(shape, DType.S8, *quantization, name="new"), b.tensor(shape, DType.S8, *quantization)
    b.operator("READ_VARIABLE", [v], [old])
    bounds = ([0, 1, 0, 0], shape, [1, 1, 1, 1])
    b.operator("STRIDED_SLICE", [old, *(b.constant(np.array(each, np.int32)) for each in bounds)], [tail])
    b.operator("CONCATENATION", [tail, x], [new], axis=1)
    b.operator("ASSIGN_VARIABLE", [v, new], [])
    b.operator("MAXIMUM", [new, new], [y])
    first = np.arange(rows * 4, dtype=np.int8).reshape(shape)
    return initialized(b, [y], {"window": first})


def test_assignment_in_place_costs_one_row_of_arena() -> None:
    """The window moves in its own bytes, row by row: the arena holds one row, beside the output and the input."""
    graph = simplify(parse_tflite(_shifting(), "shifting.tflite")).graph
    assert [node.op.name for node in graph.nodes] == ["CONCATENATION", "MAXIMUM"]
    made = plan(graph, HOST, granularity=Granularity.ROW)
    assert made.arena_bytes <= 24 + 4 + 4
    interpreter = Interpreter(graph, made)
    assert interpreter.state_bytes == 24
    rows = [np.full((1, 1, 1, 4), number, np.int8) for number in range(3)]
    for row in rows:
        found = interpreter.run([row])[0]
    np.testing.assert_array_equal(found[0, :3, 0, 0], [12, 16, 20])
    np.testing.assert_array_equal(found[0, 3:, 0, 0], [0, 1, 2])


def _refused(b: ModelBuilder, outputs: list[int]) -> str:
    with pytest.raises(ModelError) as caught:
        parse_tflite(b.finish(outputs), "wrong.tflite")
    return str(caught.value)


_WEIGHTS = ", ".join(str(number * 37 % 255 - 127) for number in range(9 * 4 * 2 * 8))
_WINDOW = f"""
graph "window" from "text" (%0) -> (%4) {{
  %0 "x": s8[1, 1, 2, 8] (scale 0.5, zero 3)
  %1 "filter": s8[9, 4, 2, 8] (scale 0.0625, zero 0) = [{_WEIGHTS}]
  %2 "past": s8[1, 4, 2, 8] (scale 0.5, zero 3) variable initial [{", ".join(["3"] * 64)}]
  %3 "rows": s8[1, 4, 2, 8] (scale 0.5, zero 3) updates %2 = CONCATENATION #0 (input0 %2, input1 %0) {{axis 1, skip 1}}
  %4 "y": s8[1, 1, 1, 9] (scale 16, zero 5) = CONV_2D #1 (input %3, filter %1)
}}
"""
_PLAIN = f"""
graph "plain" from "text" (%0) -> (%2) {{
  %0 "rows": s8[1, 4, 2, 8] (scale 0.5, zero 3)
  %1 "filter": s8[9, 4, 2, 8] (scale 0.0625, zero 0) = [{_WEIGHTS}]
  %2 "y": s8[1, 1, 1, 9] (scale 16, zero 5) = CONV_2D #0 (input %0, filter %1)
}}
"""


def test_convolution_over_all_rows_of_a_variable_reads_them_as_one_vector(tmp_path: Path) -> None:
    """One pointer leads to all of them, in Python, in C and in a plan file; the bits are those of the rows one by one."""
    streaming, plain = parse_text(_WINDOW), parse_text(_PLAIN)
    assert [graph.views[-1].accesses[0].pointers for graph in (streaming, plain)] == [1, 4]
    made = plan(streaming, target("cortex-m4"))
    validate(streaming, made)
    assert made.kernels[1] == "kibi_fully_connected_s8_blocks"
    rows, inputs, wanted = np.full((1, 4, 2, 8), 3, np.int8), list[list[Array]](), list[list[Array]]()
    for _ in range(6):
        inputs.append([np.random.default_rng(len(inputs)).integers(-128, 128, (1, 1, 2, 8)).astype(np.int8)])
        rows = np.concatenate([rows[:, 1:], inputs[-1][0]], axis=1)
        wanted.append(Interpreter(plain, plan(plain, HOST)).run([rows]))
    assert len({each[0].tobytes() for each in wanted}) == len(wanted)
    file = kibi.compile_plan(streaming, made)
    library = kibi.compile(streaming, plan(streaming, HOST), tmp_path)
    opened = CoreEngine(file, library=core_library(file.kernels)), kibi.open_plan(file, engine="numpy")
    for engine in (Interpreter(streaming, made), HostEngine(library), *opened):
        _assert_same([engine.run(run) for run in inputs], wanted)


def test_variable_that_nothing_assigns_is_refused() -> None:
    """TFLM has no bytes for it then, and crashes."""
    b = ModelBuilder()
    b.input([1, 4], DType.S8, 0.5, 0)
    v, y = handle(b, "lonely"), b.tensor([1, 4], DType.S8, 0.5, 0)
    b.operator("READ_VARIABLE", [v], [y])
    assert "'lonely' is read, but nothing assigns it" in _refused(b, [y])


def test_variable_of_two_sizes_is_refused() -> None:
    """TFLM copies as many bytes as the first assignment has, whatever is read."""
    b = ModelBuilder()
    x = b.input([1, 4], DType.S8, 0.5, 0)
    v, y = handle(b, "odd"), b.tensor([1, 3], DType.S8, 0.5, 0)
    b.operator("ASSIGN_VARIABLE", [v, x], [])
    b.operator("READ_VARIABLE", [v], [y])
    assert "variable 'odd' is [1, 3] int8 in one place, [1, 4] int8 in another" in _refused(b, [y])


def test_handle_that_no_operator_makes_is_refused() -> None:
    """A variable of a caller has no name that is known when the model is loaded."""
    b = ModelBuilder()
    v = b.tensor([], "RESOURCE")
    y = b.tensor([1, 4], DType.S8, 0.5, 0)
    b.operator("READ_VARIABLE", [v], [y])
    assert "its first input is not made by a VAR_HANDLE" in _refused(b, [y])


def test_first_values_behind_a_read_are_refused() -> None:
    """The first inference would read others than a reset gives."""
    b = ModelBuilder()
    v, y = handle(b, "late"), b.tensor([1, 4], DType.S8, 0.5, 0)
    b.operator("READ_VARIABLE", [v], [y])
    call_once(b)
    data = initialized(b, [y], {"late": np.zeros((1, 4), np.int8)})
    with pytest.raises(ModelError, match="CALL_ONCE: it gives variables their first values when some are used already"):
        parse_tflite(data, "late.tflite")
