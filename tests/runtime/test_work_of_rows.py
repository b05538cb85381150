"""What a row step costs: whatever is the same for all steps of a node is derived once, however many rows and runs there are."""

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import kibi
from kibi.dtypes import DType
from kibi.eager.memory import HandleArena, blocks, handle_arena
from kibi.frontends.tflite import parse_tflite
from kibi.frontends.tflite.builder import ModelBuilder
from kibi.ir import Graph
from kibi.ops.elementwise.relu import Relu
from kibi.ops.windows.resize_bilinear import ResizeBilinear
from kibi.planner import PlannedModel, Run, validate
from kibi.reports.memory_svg import memory_svg
from kibi.runtime import Interpreter, seeded_inputs

if TYPE_CHECKING:
    from collections.abc import Callable

_QUANTIZATION = (0.05, 3)


def _counted(patch: pytest.MonkeyPatch, kind: type, name: str) -> Counter[str]:
    """How often a method is called from here on."""
    counts: Counter[str] = Counter()
    original: Callable[..., Any] = getattr(kind, name)

    def counting(*arguments: object) -> object:
        counts[name] += 1
        return original(*arguments)

    patch.setattr(kind, name, counting)
    return counts


def _resized(rows: int) -> Graph:
    b = ModelBuilder()
    x, y = b.input([1, rows, 2, 1], DType.S8, *_QUANTIZATION), b.tensor([1, 2 * rows, 2, 1], DType.S8, *_QUANTIZATION)
    b.operator("RESIZE_BILINEAR", [x, b.constant(np.array([2 * rows, 2], np.int32))], [y])
    return parse_tflite(b.finish([y]), "resized.tflite")


def _geometries(patch: pytest.MonkeyPatch, rows: int) -> int:
    """How often the geometry of a resize is derived from loading to running."""
    with patch.context() as inner:
        counts = _counted(inner, ResizeBilinear, "geometry")
        graph = kibi.simplify(_resized(rows))
        plan = kibi.plan(graph)
        validate(graph, plan)
        memory_svg(PlannedModel.of(graph, plan))
        Interpreter(graph, plan).run(seeded_inputs(graph, 0))
        return counts["geometry"]


def test_geometry_of_a_resize_is_derived_as_often_for_many_rows_as_for_few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planning, validating, drawing and running ask for steps and accesses in every step; the answer is kept."""
    assert _geometries(monkeypatch, 300) == _geometries(monkeypatch, 20) <= 24


def test_node_that_takes_turns_with_others_is_prepared_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many runs a plan cuts its steps into: 40 runs of two operators, two preparations."""
    b = ModelBuilder()
    x, y, z = (b.tensor([1, 20, 2, 1], DType.S8, *_QUANTIZATION) for _ in "xyz")
    b.operator("RELU", [x], [y])
    b.operator("RELU", [y], [z])
    graph = parse_tflite(b.finish([z], [x]), "turns.tflite")
    plan = kibi.plan(graph, runs=[Run(node, row, 1) for row in range(20) for node in range(2)])
    counts = _counted(monkeypatch, Relu, "reference")
    Interpreter(graph, plan)
    assert counts["reference"] == 2


def test_blocks_that_follow_one_another_are_placed_without_a_look_at_those_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As many descriptors as a model has tensors: no list of gaps is made, until one is freed and its place is found again."""
    made: list[int] = []

    def counting(*arguments: Any) -> Any:
        made.append(1)
        return blocks.gaps(*arguments)

    monkeypatch.setattr(handle_arena, "gaps", counting)
    arena = HandleArena(64 * 100, alignment=8)
    handles = [arena.allocate_handle(44) for _ in range(100)]
    assert [each.address for each in handles if each is not None] == list(range(0, 4800, 48))
    assert not made
    arena.deallocate(480)
    assert arena.allocate(8) == 480
    assert arena.allocate(32) == 488
    assert len(made) == 2
    assert [arena.allocate(8) for _ in range(2)] == [520, 4800]
