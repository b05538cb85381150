"""Files that end early: each ends in a graph or in an error of Kibi's. `tests/fuzz` tries all other kinds of damage."""

import pytest

from tests.frontends.models import MODELS
from tests.fuzz.checks import load
from tests.support.amount import amount


@pytest.mark.parametrize("name", MODELS)
def test_model_cut_at_every_byte_is_refused_or_read(name: str) -> None:
    """A file that ends early, at any byte, ends in a graph or a `ModelError`."""
    sound = MODELS[name]()
    assert load(sound) is not None
    for size in range(0, len(sound), amount(3, 1)):
        load(sound[:size])
