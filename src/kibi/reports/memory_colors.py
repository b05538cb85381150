"""A colour for each tensor; hues follow the order of the network.

Neighbours in the network differ in lightness as well as in hue, so that they stay apart for colour-blind readers and on
a poor projector; all are light enough for black text. Colours are made in Oklch (Björn Ottosson, "A perceptual color
space for image processing", 2020), where equal lightness looks equally light whatever the hue.
"""

from math import cos, radians, sin

SCRATCH_COLOR = "#bbbbbb"
_FIRST_HUE, _HUES = 262.0, 305.0
"""The hues in degrees, from blue through green, yellow and red to violet; the remaining angle keeps the ends apart."""
_LIGHTNESS, _CHROMA = (0.86, 0.74, 0.80, 0.69), 0.115
_INPUT_LIGHTNESS, _INPUT_CHROMA = (0.70, 0.78, 0.64), 0.022


def layer_color(position: int, count: int) -> str:
    """The fill of the tensor that is `position`-th of `count` to be made, as `#rrggbb`."""
    hue = _FIRST_HUE - _HUES * position / max(count - 1, 1)
    return oklch(_LIGHTNESS[position % len(_LIGHTNESS)], _CHROMA, hue)


def input_color(position: int) -> str:
    """The fill of the model's `position`-th input: a blue grey that no layer has."""
    return oklch(_INPUT_LIGHTNESS[position % len(_INPUT_LIGHTNESS)], _INPUT_CHROMA, _FIRST_HUE)


def oklch(lightness: float, chroma: float, hue: float) -> str:
    """A colour as `#rrggbb`.

    Args:
        lightness: 0 to 1.
        chroma: from 0, grey; where the screen cannot show as much, it shows what it can.
        hue: degrees.
    """
    a, b = chroma * cos(radians(hue)), chroma * sin(radians(hue))
    long = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3
    middle = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3
    short = (lightness - 0.0894841775 * a - 1.2914855480 * b) ** 3
    linear = (
        4.0767416621 * long - 3.3077115913 * middle + 0.2309699292 * short,
        -1.2684380046 * long + 2.6097574011 * middle - 0.3413193965 * short,
        -0.0041960863 * long - 0.7034186147 * middle + 1.7076147010 * short,
    )
    return "#" + "".join(f"{_gamma(each):02x}" for each in linear)


def _gamma(linear: float) -> int:
    """A linear share of light as sRGB's byte."""
    share = min(max(linear, 0.0), 1.0)
    curved = 12.92 * share if share <= 0.0031308 else 1.055 * share ** (1 / 2.4) - 0.055
    return round(255 * curved)
