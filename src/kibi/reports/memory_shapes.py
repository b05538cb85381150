"""The few SVG elements that pictures of memory are made of, as text."""

from dataclasses import dataclass
from xml.sax.saxutils import escape

INK, QUIET, GRID, ALARM = "#222222", "#6b6b6b", "#e2e2e2", "#b00020"
SCRATCH_FILL, SHARED_FILL = "url(#scratch)", "url(#shared)"
_STYLE = (
    f"text{{font-family:'Helvetica Neue',Helvetica,Arial,'Liberation Sans','DejaVu Sans',sans-serif;font-size:11px;fill:{INK}}}"
    ".title{font-size:22px}.needs{font-size:14px}.figure{font-size:26px}"
    f".quiet{{fill:{QUIET}}}.peak{{fill:{ALARM}}}.box{{stroke:#ffffff}}"
    ".on{paint-order:stroke;stroke:#ffffff;stroke-opacity:0.55;stroke-width:2.5px;stroke-linejoin:round}"
)
_HATCHING = (
    '<pattern id="scratch" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
    '<rect width="6" height="6" fill="#f4f4f4"/><rect width="1.6" height="6" fill="#8a8a8a"/></pattern>'
    '<pattern id="shared" width="5" height="5" patternUnits="userSpaceOnUse" patternTransform="rotate(-45)">'
    '<rect width="2" height="5" fill="#ffffff" fill-opacity="0.7"/></pattern>'
)


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle by its four sides; y grows downwards."""

    left: float
    top: float
    right: float
    bottom: float

    @property
    def width(self) -> float:
        """From left to right."""
        return self.right - self.left

    @property
    def height(self) -> float:
        """From top to bottom."""
        return self.bottom - self.top

    @property
    def middle(self) -> tuple[float, float]:
        """The x and y of its centre."""
        return (self.left + self.right) / 2, (self.top + self.bottom) / 2

    def draw(self, style: str, tooltip: str = "") -> str:
        """The rectangle with attributes, and a tooltip where one is given."""
        sides = f'x="{self.left:.2f}" y="{self.top:.2f}" width="{self.width:.2f}" height="{self.height:.2f}"'
        return f"<rect {sides} {style}>{f'<title>{escape(tooltip)}</title>' if tooltip else ''}</rect>"


def document(width: float, height: float, title: str, lines: list[str]) -> str:
    """An SVG document on white, with the style that the pictures of memory share; the title is for those who hear it."""
    size = f'width="{width:.0f}" height="{height:.0f}"'
    head = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" {size} role="img">',
        f"<title>{escape(title)}</title>",
        f"<style>{_STYLE}</style>",
        f"<defs>{_HATCHING}</defs>",
        f'<rect {size} rx="6" fill="#ffffff"/>',
    ]
    return "\n".join([*head, *lines, "</svg>"]) + "\n"


def label(x: float, y: float, text: str, kind: str = "", anchor: str = "start", size: float | None = None) -> str:
    """Text on a base line; `kind` is its style class, `anchor` which end of it is at `x`, `size` its own size in pixels."""
    style = f' class="{kind}"' if kind else ""
    style += "" if size is None else f' style="font-size:{size:.1f}px"'
    where = f' text-anchor="{anchor}"' if anchor != "start" else ""
    return f'<text x="{x:.1f}" y="{y:.1f}"{style}{where}>{escape(text)}</text>'


def turned_label(x: float, y: float, degrees: int, text: str, anchor: str) -> str:
    """Text turned around the point that it is anchored at."""
    place = f"translate({x:.1f} {y:.1f}) rotate({degrees})"
    return f'<text transform="{place}" text-anchor="{anchor}">{escape(text)}</text>'


def line(start: tuple[float, float], end: tuple[float, float], color: str, dashes: str = "") -> str:
    """A straight line."""
    (x1, y1), (x2, y2) = start, end
    dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{color}"{dashed}/>'
