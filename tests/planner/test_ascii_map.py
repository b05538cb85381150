"""A memory plan in TFLM's form: rows are steps, columns are bytes."""

import io

import pytest

import kibi
from kibi import demo
from kibi.frontends.tflite import parse_tflite
from kibi.frontends.tflite.outline import read_outline
from kibi.planner import PlannedModel
from kibi.planner.ascii_map import memory_ascii, print_memory_plan
from kibi.tflm.tflm_plan import tflm_own_plan, tflm_plan
from tests.support.offline_models import branches


def test_steps_are_rows_and_bytes_are_columns() -> None:
    """Small enough to be read by eye: 24 columns of 32 bytes."""
    graph = read_outline(branches(), "m.tflite").graph
    text = memory_ascii(PlannedModel.of(graph, tflm_own_plan(graph)), columns=24)
    assert text.splitlines()[6:] == [
        "   0: ........1111111100000000 (1k)",
        "   1: 222222221111111100000000 (1k)",
        "   2: 222222221111111133...... (1k)",
        "   3: 2222222244......33...... (1k)",
        "   4: 55......44......33...... (1k)",
    ]
    assert text.splitlines()[:2] == [
        "0 x: size=256, offset=512, first_used=0 last_used=1",
        "1 a: size=256, offset=256, first_used=0 last_used=2",
    ]


def test_steps_with_the_same_buffers_share_a_line() -> None:
    """Row steps of one operator look alike."""
    graph = parse_tflite(branches(), "m.tflite")
    lines = memory_ascii(PlannedModel.of(graph, tflm_own_plan(graph))).splitlines()
    assert lines[6].startswith("  0-7: ")
    assert len(lines) == 6 + 5


def test_scratch_is_a_star_and_in_place_an_exclamation_mark() -> None:
    """Who is no tensor, and what two tensors share."""
    graph = read_outline(branches(), "m.tflite").graph
    assert "*" in memory_ascii(PlannedModel.of(graph, tflm_plan(graph, scratch_bytes={0: 400})))
    graph = parse_tflite(branches(), "m.tflite")
    plan = kibi.plan(graph, granularity="tensor")
    assert "!" in memory_ascii(PlannedModel.of(graph, plan))


def test_small_arena_has_a_byte_in_each_column() -> None:
    """No column stands for less; what is small is shown where there is room."""
    graph = kibi.load(demo.model_path())
    planned = PlannedModel.of(graph, kibi.plan(graph))
    lines = memory_ascii(planned, columns=5_000).splitlines()
    assert max(map(len, lines)) >= 5_000 > planned.plan.arena_bytes
    (last,) = (line for line in memory_ascii(planned, columns=1).splitlines()[-1:])
    assert last.partition(": ")[2][0] != "."


@pytest.mark.share(3, part=1)
@pytest.mark.parametrize("options", [{}, {"granularity": "tensor"}, {"input": "streamed"}])
def test_plan_of_any_kind_is_drawn(options: dict[str, str]) -> None:
    """By the row, by the tensor, with inputs that stream: every step has its line, every line its width."""
    graph = kibi.load(demo.model_path())
    plan = kibi.plan(graph, **options)  # type: ignore[arg-type] # all strings
    lines = [
        line for line in memory_ascii(PlannedModel.of(graph, plan), columns=60).splitlines() if line.endswith("k)")
    ]
    assert {len(line.partition(": ")[2].partition(" ")[0]) for line in lines} == {60}
    assert lines[-1].split(":")[0].split("-")[-1].strip() == str(len(plan.steps) - 1)


def test_print_memory_plan_prints_it(capsys: pytest.CaptureFixture[str]) -> None:
    """On standard output, or where it is told to."""
    graph = read_outline(branches(), "m.tflite").graph
    plan = tflm_own_plan(graph)
    print_memory_plan(PlannedModel.of(graph, plan))
    stream = io.StringIO()
    print_memory_plan(PlannedModel.of(graph, plan), stream=stream)
    assert capsys.readouterr().out == stream.getvalue() == memory_ascii(PlannedModel.of(graph, plan))
