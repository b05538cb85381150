"""Custom operators are registered for one test."""

from collections.abc import Iterator

import pytest

from kibi import ops
from tests.ops.custom.motion import CODE, KERNELS, FrameDifference


@pytest.fixture(autouse=True)
def _nothing_stays_registered() -> Iterator[None]:
    """Each test begins and ends without custom operators."""
    yield
    for code in list(ops.registry._CUSTOM):  # without loading what a test broke
        ops.unregister_custom(code)


@pytest.fixture
def registered() -> None:
    """The example's operator is registered."""
    ops.register_custom(CODE, FrameDifference, kernels=KERNELS)
