"""Pictures as PNG."""

from io import BytesIO

import numpy as np
import pytest
from PIL import Image

from kibi.errors import InternalError
from kibi.planner import PlannedModel, plan
from kibi.reports.memory_png import png
from kibi.reports.memory_shapes import Box, document, label
from kibi.reports.memory_svg import memory_svg
from kibi.targets import target
from tests.planner.networks import chain


def _pixels(drawn: bytes) -> np.ndarray:
    with Image.open(BytesIO(drawn)) as image:
        assert image.mode == "RGB"
        return np.asarray(image).astype(int)


def test_png_has_twice_the_size_and_the_colours_of_the_drawing() -> None:
    """Two pixels for each unit, opaque, on white."""
    box = Box(10, 10, 30, 20).draw(fill="#ff0000")
    pixels = _pixels(png(document(60, 40, "a box", [box])))
    assert pixels.shape == (80, 120, 3)
    assert pixels[30, 40].tolist() == [255, 0, 0]
    assert pixels[70, 60].tolist() == [255, 255, 255]


def test_png_letters_do_not_depend_on_the_machines_fonts() -> None:
    """Text is drawn, darkly, whatever is installed: the typeface comes along."""
    blank, written = (_pixels(png(document(80, 30, "t", lines))) for lines in ([], [label(5, 20, "kibi 42")]))
    assert blank[20:60, 20:140].min() > 250
    assert written.min() < 80
    assert (written[8:56, 8:120].min(axis=2) < 128).sum() > 100


def test_png_of_a_name_in_other_letters_is_drawn_too() -> None:
    """What the typeface lacks is left to the machine's fonts, and harms nothing where there are none."""
    assert _pixels(png(document(80, 30, "t", [label(5, 20, "тензор 层")]))).shape == (60, 160, 3)


def test_png_of_a_huge_picture_stays_within_bounds() -> None:
    """Twelve thousand pixels are enough for any wall."""
    assert _pixels(png(document(24_000, 240, "t", []))).shape == (120, 12_000, 3)


def test_png_same_plan_same_bytes() -> None:
    """A picture in a repository changes when the plan does."""
    net = chain(3, 3)
    svg = memory_svg(PlannedModel.of(net, plan(net, target("cortex-m4"))))
    assert png(svg, zoom=0.5) == png(svg, zoom=0.5)


def test_png_of_something_without_a_size_is_a_bug() -> None:
    """Only our own drawings come here."""
    with pytest.raises(InternalError, match="no size"):
        png("<svg/>")
