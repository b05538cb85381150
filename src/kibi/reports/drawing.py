"""Small grey images as text: two pixels in a character where there are colours, shades of characters where not."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from rich.style import Style
from rich.text import Text

_UPPER_HALF = "▀"
_SHADES = " .:-=+*#%@"
_FAINTEST = 0.3
"""Less than this share of the darkest ink is taken for paper: it has grain, and folds."""


def draw(image: NDArray[np.uint8], columns: int, *, in_color: bool) -> tuple[Text, ...]:
    """Draws an image.

    Args:
        image: grey pixels, `[H, W]` u8, both at least `columns` where it is to look right.
        columns: characters in a line; a line is as high as two of them are wide.
        in_color: True to use colours; False: ink is dark characters whether it was dark or light.

    Returns:
        A text of `columns` characters for each line.
    """
    lines = max(1, round(image.shape[0] * columns / image.shape[1] / 2))
    if in_color:
        return _half_blocks(shrink(image, 2 * lines, columns))
    return _shades(shrink(image, lines, columns))


def shrink(image: NDArray[np.uint8], height: int, width: int) -> NDArray[np.float64]:
    """Returns the image `[height, width]`, each of whose elements is the weighted mean of the pixels that it covers."""
    rows, columns = (_shares(size, parts) for size, parts in zip(image.shape, (height, width), strict=True))
    return rows @ image.astype(np.float64) @ columns.T


def beside(drawings: Sequence[Sequence[Text]], gap: int = 2) -> tuple[Text, ...]:
    """Joins drawings of equal height side by side."""
    return tuple(Text(" " * gap).join(parts) for parts in zip(*drawings, strict=True))


def _shares(size: int, parts: int) -> NDArray[np.float64]:
    """The share of each of `size` pixels in each of `parts`: `[parts, size]`, rows that sum to 1."""
    edges = np.arange(parts + 1) * size / parts
    low = np.maximum(edges[:-1, None], np.arange(size)[None, :])
    high = np.minimum(edges[1:, None], np.arange(1, size + 1)[None, :])
    covered = np.maximum(high - low, 0.0)
    return np.asarray(covered / covered.sum(axis=1, keepdims=True))


def _half_blocks(pixels: NDArray[np.float64]) -> tuple[Text, ...]:
    lines = []
    for upper, lower in zip(pixels[0::2], pixels[1::2], strict=True):
        line = Text(no_wrap=True)
        for top, bottom in zip(upper, lower, strict=True):
            line.append(_UPPER_HALF, Style(color=_grey(top), bgcolor=_grey(bottom)))
        lines.append(line)
    return tuple(lines)


def _grey(value: float) -> str:
    level = int(np.clip(round(value), 0, 255))
    return f"#{level:02x}{level:02x}{level:02x}"


def _shades(pixels: NDArray[np.float64]) -> tuple[Text, ...]:
    """The shares of ink: pixels that differ from the paper, which the image's edge shows."""
    edge = np.concatenate([pixels[0], pixels[-1], pixels[:, 0], pixels[:, -1]])
    distance = np.abs(pixels - np.median(edge))
    ink = np.clip((distance / max(float(distance.max()), 1.0) - _FAINTEST) / (1 - _FAINTEST), 0.0, 1.0)
    levels = np.rint(ink * (len(_SHADES) - 1)).astype(int)
    return tuple(Text("".join(_SHADES[level] for level in row), no_wrap=True) for row in levels)
