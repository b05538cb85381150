"""The few SVG elements that pictures of memory are made of, as text."""

from dataclasses import dataclass
from xml.sax.saxutils import escape


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


def label(x: float, y: float, text: str, kind: str = "", anchor: str = "start") -> str:
    """Text on a base line; `kind` is its style class, `anchor` which end of it is at `x`."""
    style = f' class="{kind}"' if kind else ""
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
