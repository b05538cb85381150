"""How many drawn models a test looks at: a fair sample in each run of the tests, many times as many in `make check-all`."""

import os

IS_EXHAUSTIVE = os.environ.get("KIBI_TESTS") == "exhaustive"
"""True in `make check-all`, which sets it."""


def amount(usual: int, exhaustive: int) -> int:
    """Returns how many examples to try in this run."""
    return exhaustive if IS_EXHAUSTIVE else usual
