"""Placements in the user's cache: found again, and never believed where they cannot be right."""

import json
from pathlib import Path

import numpy as np
import pytest

from kibi.errors import ToolchainError
from kibi.planner.placement import placing, remembered
from kibi.planner.placement.items import Item
from kibi.planner.placement.placing import Solution, place_items


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of the test's own."""
    monkeypatch.setenv("KIBI_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "placements"


def _place(seed: int = 5, capacity: int | None = None) -> Solution:
    """Places items whose least peak is not found at once."""
    rng = np.random.default_rng(seed)
    starts, lengths, sizes = rng.integers(0, 60, 90), rng.integers(1, 25, 90), rng.integers(1, 90, 90)
    rows = zip(starts.tolist(), lengths.tolist(), sizes.tolist(), strict=True)
    items = [Item(start, start + length, size) for start, length, size in rows]
    return place_items(items, capacity=capacity, time_limit_seconds=0.12)


def _forbid(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("searched again")

    monkeypatch.setattr(placing, "refine", refuse)


def _entry(folder: Path) -> Path:
    (entry,) = folder.iterdir()
    return entry / "placement.json"


def test_placement_is_searched_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second time the same solution is there without a search."""
    first = _place()
    assert _entry(folder).is_file()
    _forbid(monkeypatch)
    assert _place() == first


def test_another_problem_capacity_or_planner_is_searched(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What an entry was found for is part of its name, and so is the planner's code."""
    first = _place()
    _place(seed=9)
    _place(capacity=first.peak_bytes)
    assert len(list(folder.iterdir())) == 3
    monkeypatch.setattr(remembered, "_code", lambda: "another")
    assert _place() == first
    assert len(list(folder.iterdir())) == 4


@pytest.mark.parametrize(
    "text",
    [
        "", "[]", "{}", '{"offsets": null, "lower_bound_bytes": 0}', '{"offsets": [0], "lower_bound_bytes": 0}',
        json.dumps({"offsets": [-1] * 90, "lower_bound_bytes": 0}), json.dumps({"offsets": [0.5] * 90, "lower_bound_bytes": 0}),
        json.dumps({"offsets": [1 << 70] * 90, "lower_bound_bytes": 0}), json.dumps({"offsets": [0] * 90}),
    ],
)  # fmt: skip
def test_entry_that_is_no_placement_is_not_taken(text: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever an entry holds, the solution is the one that a search finds."""
    first = _place()
    monkeypatch.setattr(remembered, "_written", lambda _: text)
    (_entry(folder).parent).rename(folder.parent / "old")
    _place()
    monkeypatch.undo()
    monkeypatch.setenv("KIBI_CACHE", str(folder.parent))
    assert _entry(folder).read_text() == text
    assert _place() == first


def test_placement_without_a_cache_is_searched_each_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the cache cannot be written, plans are made as ever."""
    first = _place()
    (tmp_path / "file").write_text("")

    def fail(*_: object) -> Path:
        raise ToolchainError("no space left")

    monkeypatch.setattr("kibi.toolchain.cache.cached", fail)
    assert _place() == first


def test_search_that_a_clock_ended_is_not_kept(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What another machine would go on with is not remembered."""
    monkeypatch.setattr(placing, "_GUARD", 0.0)
    assert _place().offsets is not None
    assert not folder.exists()
