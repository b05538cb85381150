"""Colours of tensors."""

from kibi.reports.memory_colors import input_color, layer_color, oklch


def _luminance(color: str) -> float:
    """Relative luminance of `#rrggbb`, as WCAG 2 defines it."""
    shares = [int(color[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4 for share in shares)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_oklch_grey_has_no_hue() -> None:
    """Without chroma the three channels are equal, and the ends are black and white."""
    assert oklch(0.0, 0.0, 0.0) == "#000000"
    assert oklch(1.0, 0.0, 123.0) == "#ffffff"
    middle = oklch(0.6, 0.0, 50.0)
    assert middle[1:3] == middle[3:5] == middle[5:7]


def test_colors_are_all_different_and_bear_black_text() -> None:
    """A hundred layers and three inputs: each its own, with a contrast to black of at least 4.5."""
    colors = [*(layer_color(number, 100) for number in range(100)), *map(input_color, range(3))]
    assert len(set(colors)) == len(colors)
    assert min((_luminance(color) + 0.05) / 0.05 for color in colors) >= 4.5


def test_layer_color_of_a_single_tensor() -> None:
    """Nothing is divided by zero."""
    assert layer_color(0, 1).startswith("#")
