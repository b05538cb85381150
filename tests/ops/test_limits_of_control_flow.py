"""Loops that never end, and subgraphs that many operators share: an error, or work that does not grow with the paths."""

from pathlib import Path

import numpy as np
import pytest

import kibi
from kibi.dtypes import Array, DType
from kibi.engines import DeviceEngine, HostEngine
from kibi.errors import LimitError, ModelError
from kibi.frontends.tflite import parse_tflite
from kibi.frontends.tflite.builder import ModelBuilder
from kibi.ir import Graph, subgraphs_within
from kibi.ops import While
from kibi.runtime import Interpreter
from tests.support.amount import share

_SHAPE = [1, 4]


def _unary(b: ModelBuilder, name: str, x: int) -> int:
    y = b.tensor(_SHAPE, DType.S8, 0.1, 3)
    b.operator(name, [x], [y])
    return y


def _counting(*, is_inner: bool = False) -> Graph:
    """X counts up by 1 while it is below a limit that is an input; with 127 it never ends, since 127 is the highest number.

    With `is_inner` an IF on a second input runs the loop.
    """
    b = ModelBuilder()

    def loop(carried: list[int], condition: int) -> list[int]:
        made = [b.tensor([1], DType.S8, 0.5, 0), b.tensor([1], DType.S8, 0.5, 0)]
        b.operator("WHILE", carried, made, cond_subgraph_index=condition, body_subgraph_index=condition + 1)
        return made

    inputs = [b.input([1], DType.S8, 0.5, 0, name=name) for name in ("x", "limit")]
    if is_inner:
        y = b.tensor([1], DType.S8, 0.5, 0)
        b.operator("IF", [b.input([1], DType.BOOL), *inputs], [y], then_subgraph_index=1, else_subgraph_index=2)
        b.end_subgraph([y])
        inner = [b.input([1], DType.S8, 0.5, 0) for _ in "xl"]
        b.end_subgraph(loop(inner, 3)[:1])
        inner = [b.input([1], DType.S8, 0.5, 0) for _ in "xl"]
        z = b.tensor([1], DType.S8, 0.5, 0)
        b.operator("RELU", inner[:1], [z])
        b.end_subgraph([z])
    else:
        b.end_subgraph(loop(inputs, 1)[:1])
    carried, answer = [b.input([1], DType.S8, 0.5, 0) for _ in "xl"], b.tensor([1], DType.BOOL)
    b.operator("LESS_EQUAL", carried, [answer])
    b.end_subgraph([answer])
    carried, after = [b.input([1], DType.S8, 0.5, 0) for _ in "xl"], b.tensor([1], DType.S8, 0.5, 0)
    b.operator("ADD", [carried[0], b.constant(np.array([1], np.int8), 0.5, 0)], [after])
    return parse_tflite(b.finish([after, carried[1]]), "counting.tflite")


def _inputs(limit: int, *more: bool) -> list[Array]:
    return [np.zeros(1, np.int8), np.array([limit], np.int8), *(np.array([each]) for each in more)]


def test_while_that_never_ends_stops_at_its_limit_and_runs_again_in_python(monkeypatch: pytest.MonkeyPatch) -> None:
    """A LimitError that names the operator; the next inference is right."""
    assert While.most_turns == 100_000
    monkeypatch.setattr(While, "most_turns", 1_000)
    interpreter = Interpreter(_counting())
    with pytest.raises(LimitError, match=r"operator 0 \(WHILE\).*1,000 iterations"):
        interpreter.run(_inputs(127))
    assert interpreter.run(_inputs(5))[0].tolist() == [6]


def test_limit_of_turns_in_python_is_an_attribute(monkeypatch: pytest.MonkeyPatch) -> None:
    """As many turns as allowed are right; with one less it is an error."""
    graph = _counting()
    monkeypatch.setattr(While, "most_turns", 6)
    assert Interpreter(graph).run(_inputs(5))[0].tolist() == [6]
    monkeypatch.setattr(While, "most_turns", 5)
    with pytest.raises(LimitError):
        Interpreter(graph).run(_inputs(5))


def _within_itself(levels: int) -> Graph:
    """Loops in loops, each of which goes on as long as what it is given says so, and never changes it."""
    b = ModelBuilder()
    for level in range(levels):
        goes_on, x = b.input([1], DType.BOOL), b.input(_SHAPE, DType.S8, 0.1, 3)
        made = [b.tensor([1], DType.BOOL), b.tensor(_SHAPE, DType.S8, 0.1, 3)]
        following = {"cond_subgraph_index": levels + 1, "body_subgraph_index": level + 1}
        b.operator("WHILE", [goes_on, x], made, following)
        b.end_subgraph(made)
    goes_on, x = b.input([1], DType.BOOL), b.input(_SHAPE, DType.S8, 0.1, 3)
    b.end_subgraph([goes_on, _unary(b, "RELU", x)])
    goes_on, x = b.input([1], DType.BOOL), b.input(_SHAPE, DType.S8, 0.1, 3)
    return parse_tflite(b.finish([goes_on]), "within.tflite")


def test_loops_within_loops_share_a_limit_of_row_steps_in_python(monkeypatch: pytest.MonkeyPatch) -> None:
    """However deep they are, their steps together are limited, as 100,000 turns of 100,000 would never end."""
    assert While.most_steps == 1_000_000
    monkeypatch.setattr(While, "most_steps", 500)
    interpreter = Interpreter(_within_itself(3))
    inputs = [np.array([True]), np.zeros(_SHAPE, np.int8)]
    with pytest.raises(LimitError, match="row steps") as raised:
        interpreter.run(inputs)
    assert raised.value.steps is not None
    assert 500 < raised.value.steps < 510
    assert interpreter.run([np.array([False]), inputs[1]])[0].tolist() == [False]


def test_limit_of_row_steps_counts_each_loop_by_itself_where_none_is_inside_of_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A loop that ends within the limit runs again and again: nothing adds up."""
    monkeypatch.setattr(While, "most_steps", 30)
    interpreter = Interpreter(_counting())
    for _ in range(4):
        assert interpreter.run(_inputs(5))[0].tolist() == [6]


@pytest.mark.parametrize("options", [{}, {"input": "streamed"}, {"input": "external", "output": "external"}])
@pytest.mark.parametrize("is_inner", share([False, True], 1, 2))
def test_while_that_never_ends_stops_at_its_limit_and_runs_again_in_c(
    is_inner: bool, options: dict[str, str], tmp_path: Path
) -> None:
    """`invoke` returns KIBI_ERROR_LIMIT, also from inside of an IF; the next inference is right."""
    graph, more = _counting(is_inner=is_inner), ((True,) if is_inner else ())
    made = kibi.plan(graph, **options)  # type: ignore[arg-type]  # all strings
    engine = HostEngine(kibi.compile(graph, made, tmp_path))
    for _ in range(2):
        with pytest.raises(LimitError, match="in C"):
            engine.run(_inputs(127, *more))
        assert engine.run(_inputs(5, *more))[0].tolist() == [6]
    in_slices = HostEngine(kibi.compile(graph, made, tmp_path / "slices", slices=True))
    for _ in range(2):
        with pytest.raises(LimitError, match="in C"):
            in_slices.run(_inputs(127, *more), slice_steps=1)
        assert in_slices.run(_inputs(5, *more), slice_steps=1)[0].tolist() == [6]
    if is_inner:
        assert engine.run(_inputs(127, False))[0].tolist() == [0]


def test_while_without_end_stops_on_the_emulated_core(tmp_path: Path) -> None:
    """With a lower limit, given as a macro in front of the kernels."""
    graph = _counting()
    library = kibi.compile(graph, kibi.plan(graph), tmp_path)
    header = tmp_path / "kernels" / "kibi.h"
    header.write_text("#define KIBI_WHILE_LIMIT 50u\n" + header.read_text(encoding="utf-8"), encoding="utf-8")
    engine = DeviceEngine(library)
    with pytest.raises(LimitError):
        engine.run(_inputs(127))
    assert engine.run(_inputs(5))[0].tolist() == [6]


def _shared_branches(levels: int, operators: int = 1) -> bytes:
    """IFs whose branches are the same subgraph, which holds as many IFs on the next one, and so on."""
    b = ModelBuilder()
    for level in range(levels + 1):
        condition, x = b.input([1], DType.BOOL), b.input(_SHAPE, DType.S8, 0.1, 3)
        y = _unary(b, "RELU", x)
        for _ in range(operators if level < levels else 0):
            z = b.tensor(_SHAPE, DType.S8, 0.1, 3)
            following = {"then_subgraph_index": level + 1, "else_subgraph_index": level + 1}
            b.operator("IF", [condition, condition, y], [z], following)
            y = z
        if level == levels:
            return b.finish([y])
        b.end_subgraph([y])
    raise AssertionError


def test_subgraph_that_many_operators_run_is_one_object_planned_and_written_once(tmp_path: Path) -> None:
    """Six levels of one IF whose branches are the same: six subgraphs and six pairs of C files, not 126."""
    graph = parse_tflite(_shared_branches(6), "shared.tflite")
    assert len(subgraphs_within(graph.nodes)) == 6
    assert graph.uses.graphs == 126
    made = kibi.plan(graph)
    assert made.subgraphs[0] is made.subgraphs[1]
    library = kibi.compile(graph, made, tmp_path)
    subgraphs = [name for name in library.files if name.endswith("_body.c")]
    assert len(subgraphs) == 6
    inputs = [np.array([True]), np.array([[-100, -3, 3, 100]], np.int8)]
    expected = Interpreter(graph, made).run(inputs)[0]
    assert expected.tolist() == [[3, 3, 3, 100]]
    assert HostEngine(library).run(inputs)[0].tobytes() == expected.tobytes()


def test_subgraphs_whose_uses_grow_without_bound_are_refused() -> None:
    """Fourteen levels of two IFs each are 4^14 uses in a few kilobytes: an error at once."""
    with pytest.raises(ModelError, match="at most 1,024"):
        parse_tflite(_shared_branches(14, operators=2), "uses.tflite")
