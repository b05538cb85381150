"""What the planner's tests have: they search anew each time."""

import math

import pytest


@pytest.fixture(autouse=True)
def _searches_anew(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """Keeps placements out of the cache, so that a test sees the search itself."""
    if request.module.__name__.rpartition(".")[2] != "test_remembered":
        monkeypatch.setattr("kibi.planner.placement.remembered._LEAST_SECONDS", math.inf)
