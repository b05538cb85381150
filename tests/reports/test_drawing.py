"""Images are drawn in characters."""

import numpy as np
import pytest

from kibi.reports.drawing import beside, draw, shrink


def test_shrink_keeps_the_mean_and_takes_shares_of_pixels() -> None:
    """Three pixels in two parts: each part has one and a half."""
    assert shrink(np.array([[0, 90, 180]], np.uint8), 1, 2) == pytest.approx(np.array([[30.0, 150.0]]))
    noise = np.random.default_rng(0).integers(0, 256, (28, 28)).astype(np.uint8)
    assert shrink(noise, 7, 14).mean() == pytest.approx(noise.mean())


@pytest.mark.parametrize("ink", [0, 255])
def test_draw_without_colours_shows_ink_whichever_it_is(ink: int) -> None:
    """Dark on light and light on dark look the same."""
    image = np.full((4, 4), 255 - ink, np.uint8)
    image[:2, 2:] = ink
    assert [line.plain for line in draw(image, 4, in_color=False)] == ["  @@", "    "]


def test_draw_of_an_even_image_is_blank() -> None:
    """There is no ink."""
    assert [line.plain for line in draw(np.full((4, 4), 7, np.uint8), 4, in_color=False)] == ["    "] * 2


def test_draw_in_colours_holds_two_pixels_in_a_character() -> None:
    """The upper one is the character's colour, the lower its background."""
    image = np.array([[0, 255], [255, 16]], np.uint8)
    (line,) = draw(image, 2, in_color=True)
    assert line.plain == "▀▀"
    styles = [str(span.style) for span in line.spans]
    assert styles == ["#000000 on #ffffff", "#ffffff on #101010"]


def test_beside_joins_lines() -> None:
    """With a gap between drawings."""
    drawing = draw(np.full((4, 2), 7, np.uint8), 2, in_color=False)
    assert [line.plain for line in beside([drawing, drawing], gap=1)] == ["     "] * 2
