"""How much a test looks at: a fair sample in each run of the tests, everything in `make check-all`."""

import os
from collections import defaultdict
from collections.abc import Collection, Iterable
from typing import Any

import pytest

IS_EXHAUSTIVE = os.environ.get("KIBI_TESTS") == "exhaustive"
"""True in `make check-all`, which sets it."""


def amount(usual: int, exhaustive: int) -> int:
    """Returns how many examples to try in this run."""
    return exhaustive if IS_EXHAUSTIVE else usual


def sample(cases: Iterable[tuple[Any, ...]], usual: Collection[tuple[Any, ...]] | None = None) -> list[Any]:
    """Returns the cases of a parametrized test; those that are not in the sample are marked `slow`.

    Args:
        cases: the values of each case.
        usual: the sample; None: every other case.
    """
    listed = list(cases)
    chosen = listed[::2] if usual is None else usual
    missing = [case for case in chosen if case not in listed]
    if missing:
        raise ValueError(f"the sample has cases that do not exist: {missing}")
    return [pytest.param(*case, marks=[] if case in chosen else [pytest.mark.slow]) for case in listed]


def share(cases: Iterable[Any], part: int, of: int = 3) -> list[Any]:
    """Returns the cases of a test whose like are in other tests; each run tries every `of`-th of them, and the others are `slow`.

    Args:
        cases: the values of the parameter.
        part: which case is the first in each run; tests that look at the same cases take different parts.
        of: how many parts there are.
    """
    return [
        pytest.param(case, marks=[] if number % of == part else [pytest.mark.slow]) for number, case in enumerate(cases)
    ]


def mark_shares(items: Iterable[pytest.Item]) -> None:
    """Marks `slow` what is no part of a run: the cases of tests with the mark `share(of, part)` but for each `of`-th.

    The mark does what `share` does for the values of one parameter, for all cases of a test. At least one case of each
    test runs.
    """
    cases: dict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        if item.get_closest_marker("share") and not item.get_closest_marker("slow"):
            cases[item.nodeid.partition("[")[0]].append(item)
    for listed in cases.values():
        mark = listed[0].get_closest_marker("share")
        assert mark is not None
        of, part = mark.args[0], mark.kwargs["part"]
        for number, item in enumerate(listed):
            if number % of != part % min(of, len(listed)):
                item.add_marker("slow")
