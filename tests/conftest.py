"""What every test has: Hypothesis's profiles, the marks for missing tools, and the oracle."""

import gc
import os
import signal
from collections.abc import Iterator

import pytest
from hypothesis import settings

from kibi.tflm import Oracle
from tests.support.amount import mark_shares
from tests.support.oracle import check_oracle
from tests.support.plans import shared_plans
from tests.support.zoo import check_zoo

# A shell that starts the tests in the background lets them ignore SIGINT, and so all that they start.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Tests make many objects and few cycles: looking for these seldom saves a twentieth of the time.
gc.set_threshold(100_000, 50, 100)

# No deadline in either: the first example pays for compilers and child processes, and nothing is timed in tests.
settings.register_profile("ci", derandomize=True, deadline=None, print_blob=True)
settings.register_profile("dev", deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci" if os.environ.get("CI") == "true" else "dev"))


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds the option that accepts generated files as they are now."""
    parser.addoption("--accept-goldens", action="store_true", help="write the files in tests/codegen/goldens anew")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests that take the oracle, so that `-m "not oracle"` leaves them out, and what is no part of this run."""
    for item in items:
        if "oracle" in getattr(item, "fixturenames", ()):
            item.add_marker("oracle")
    mark_shares(items)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip or fail a test whose mark asks for what is missing, before its fixtures are made."""
    check_zoo(is_marked=item.get_closest_marker("zoo") is not None)
    if item.get_closest_marker("oracle"):
        check_oracle()


@pytest.fixture(scope="session", autouse=True)
def _plans_are_shared() -> Iterator[None]:
    """Plans each model once with the same options."""
    with shared_plans():
        yield


@pytest.fixture(scope="session")
def oracle() -> Iterator[Oracle]:
    """TFLM's own Python build, one process for the session."""
    with Oracle() as running:
        yield running
