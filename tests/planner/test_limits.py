"""Work that is bounded by counts: refused beyond any device, planned by whole tensors beyond the search by rows."""

import pytest

import kibi
from kibi.dtypes import DType
from kibi.errors import KibiError, PlanError
from kibi.frontends.tflite import parse_tflite
from kibi.frontends.tflite.builder import ModelBuilder
from kibi.ir import Graph, RowAccess
from kibi.planner import limits, validate

_QUANTIZATION = (0.05, 3)


def _chain(shape: list[int], count: int = 1, name: str = "RELU", **attributes: int | str) -> Graph:
    """Operators of one kind in a row."""
    b = ModelBuilder()
    x = b.input(shape, DType.S8, *_QUANTIZATION)
    for _ in range(count):
        y = b.tensor(shape, DType.S8, *_QUANTIZATION)
        b.operator(name, [x], [y], attributes)
        x = y
    return parse_tflite(b.finish([x]), "chain.tflite")


@pytest.mark.parametrize("shape", [[1, (1 << 31) - 1], [1, 1 << 20, 1, 1], [1, 3, (1 << 29) - 1, 1]])
def test_tensor_beyond_any_device_is_refused_before_memory_is_spent_on_it(shape: list[int]) -> None:
    """Under a kilobyte of file, gigabytes of elements: loading and simplifying cost nothing, and planning says why it refuses."""
    graph = kibi.simplify(_chain(shape))
    with pytest.raises(PlanError, match="Check its shape"):
        kibi.plan(graph)


def test_window_with_more_rows_than_any_device_has_pointers_is_refused() -> None:
    """A pooling of 2^31 - 1 rows: an error, not a list of its pointers."""
    size = (1 << 31) - 1
    sizes = {"filter_width": 1, "filter_height": size, "stride_w": 1, "stride_h": 1}
    graph = _chain([1, 4, 4, 1], name="MAX_POOL_2D", padding="SAME", **sizes)
    with pytest.raises(KibiError, match="rows in one step"):
        kibi.plan(kibi.simplify(graph))


def test_too_many_row_steps_for_the_search_are_planned_by_whole_tensors_and_it_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The plan is right, and `limited` has the reason; below the limit it is empty."""
    graph = _chain([1, 20, 4, 2], 3)
    assert not kibi.plan(graph).limited
    monkeypatch.setattr(limits, "_ORDERED_STEPS", 50)
    made = kibi.plan(graph)
    assert "60 row steps" in made.limited
    assert all(run.steps == 20 for run in made.runs)
    validate(graph, made)
    assert type(made).from_json(made.to_json()) == made


def test_hundreds_of_thousands_of_row_steps_are_planned_and_validated_without_looking_at_each(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """No rows are asked for step by step: not by lifetimes, nor by rows in place, nor by the validator."""
    asked: list[int] = []
    for name in ("needs", "positions"):
        monkeypatch.setattr(RowAccess, name, lambda _, y: asked.append(y))
    graph = _chain([1, 300_000, 1, 2], 3)
    made = kibi.plan(graph)
    validate(graph, made)
    assert "900,000 row steps" in made.limited
    assert made.arena_bytes == 600_000
    assert not asked


def test_rows_that_a_window_needs_are_those_inside_however_large_it_is() -> None:
    """The same rows as from every position, for windows that reach over both ends, with strides, dilations and parts."""
    for start in (-7, -1, 0, 3):
        for dilation in (1, 2, 3):
            for parts in (1, 2):
                access = RowAccess(6, 4, 9, 2, start, dilation, parts)
                for y in range(8):
                    inside = {index // parts for index in access.positions(y) if index is not None}
                    assert access.needs(y) == tuple(sorted(inside))
    assert RowAccess(4, 1, (1 << 31) - 1, start=-5).needs(0) == (0, 1, 2, 3)
