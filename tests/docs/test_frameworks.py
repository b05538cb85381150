"""The pages on frameworks that Kibi does not depend on do what they say, where the framework is installed."""

import pytest

from tests.docs.fresh import PAGES_OF_FRAMEWORKS, check


@pytest.mark.timeout(600)
@pytest.mark.parametrize("page", PAGES_OF_FRAMEWORKS)
def test_page_on_a_framework_runs_and_prints_what_it_says(page: str) -> None:
    """Skipped, with the names of the packages, where one is missing."""
    check(f"docs/{page}.md")
