"""What several tests of quantization take."""

import pytest

import kibi
from kibi import demo
from kibi.ir import Graph


@pytest.fixture
def glyphs() -> Graph:
    """The model that Kibi ships, which is quantized."""
    return kibi.load(demo.model_path())
