"""The mark `share`: which cases of a test are in each run."""

import pytest

from tests.support.amount import mark_shares


class _Item:
    """What `mark_shares` looks at in an item of pytest."""

    def __init__(self, nodeid: str, *marks: pytest.Mark) -> None:
        self.nodeid = nodeid
        self._marks = {mark.name: mark for mark in marks}

    def get_closest_marker(self, name: str) -> pytest.Mark | None:
        return self._marks.get(name)

    def add_marker(self, name: str) -> None:
        self._marks[name] = getattr(pytest.mark, name).mark


def _in_the_run(items: list[_Item]) -> list[str]:
    mark_shares(items)  # type: ignore[arg-type]
    return [item.nodeid for item in items if item.get_closest_marker("slow") is None]


def test_share_of_cases_without_the_slow_ones_runs() -> None:
    """Every third case runs, counted without cases that are slow anyhow, and every case of other tests."""
    third = pytest.mark.share(3, part=1).mark
    items = [_Item(f"test_a[{number}]", third) for number in range(7)]
    items.insert(1, _Item("test_a[slow]", third, pytest.mark.slow.mark))
    items += [_Item("test_b[0]"), _Item("test_b[1]")]
    assert _in_the_run(items) == ["test_a[1]", "test_a[4]", "test_b[0]", "test_b[1]"]


def test_test_of_few_cases_runs_one() -> None:
    """A test with fewer cases than parts is not left out of the run, whichever part it takes."""
    for part in range(5):
        mark = pytest.mark.share(5, part=part).mark
        assert len(_in_the_run([_Item("test_a[0]", mark), _Item("test_a[1]", mark)])) == 1
