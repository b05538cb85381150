"""SVG pictures as PNG, the same on every machine: drawn by resvg, with the typeface that comes with Pillow.

A bare machine has no fonts at all, and two machines seldom have the same. Pillow holds a typeface for exactly this, with
the letters of English; only where a model's names need others are the machine's own fonts asked for help.
"""

import re
from io import BytesIO
from xml.etree import ElementTree as ET

from PIL import Image, ImageFont

from kibi.errors import InternalError
from kibi.files import temporary_folder

ZOOM = 2.0
"""Pixels for each unit of the drawing: sharp on a projector and in print."""
_LONGEST_SIDE, _MOST_PIXELS = 12_000, 25_000_000
"""The limits of the longer side, and of all pixels; larger pictures are scaled down."""
_SIZE = re.compile(r'<svg [^>]*width="(?P<width>\d+)" height="(?P<height>\d+)"')


def png(svg: str, *, zoom: float = ZOOM) -> bytes:
    """Draws an SVG document of this package.

    Args:
        svg: the document, with a width and a height.
        zoom: pixels for each unit; fewer where the picture would have more than 12,000 pixels on a side, or 25 million in all.

    Returns:
        A PNG file's bytes, without an alpha channel.
    """
    import resvg_py  # noqa: PLC0415 - native code, loaded by those alone who ask for PNG

    size = _SIZE.search(svg)
    if size is None:
        raise InternalError("the picture has no size")
    width, height = int(size["width"]), int(size["height"])
    fits = min(_LONGEST_SIDE / max(width, height), (_MOST_PIXELS / (width * height)) ** 0.5)
    font = ImageFont.load_default(size=16)
    if not isinstance(font, ImageFont.FreeTypeFont):
        raise InternalError("Pillow was built without FreeType, so there is no typeface to draw with")
    family, _ = font.getname()
    with temporary_folder() as folder:
        path = folder / "typeface.ttf"
        path.write_bytes(font.font_bytes)
        drawn = resvg_py.svg_to_bytes(
            svg_string=svg,
            background="#ffffff",
            zoom=min(zoom, fits),
            font_files=[str(path)],
            font_family=family,
            sans_serif_family=family,
            skip_system_fonts=_has_letters(font, svg),
        )
    return _opaque(bytes(drawn))


def _has_letters(font: ImageFont.FreeTypeFont, svg: str) -> bool:
    """True if a typeface has every character of a document's text."""
    missing = bytes(font.getmask("\uffff"))
    written = {each for text in ET.fromstring(svg).itertext() for each in text if not each.isspace()}  # noqa: S314 - ours
    return all(each.isascii() or bytes(font.getmask(each)) != missing for each in written)


def _opaque(drawn: bytes) -> bytes:
    """The same picture without transparency, which some programs show as black."""
    with Image.open(BytesIO(drawn)) as image, BytesIO() as file:
        image.convert("RGB").save(file, "PNG", optimize=True)
        return file.getvalue()
