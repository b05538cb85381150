"""The few SVG elements that pictures of memory are made of."""

from collections.abc import Sequence
from dataclasses import dataclass

from kibi.text.markup import Markup, attributes, element_text, markup

INK, QUIET, GRID, ALARM = "#222222", "#6b6b6b", "#e2e2e2", "#b00020"
SCRATCH_FILL, SHARED_FILL = "url(#scratch)", "url(#shared)"
_STYLE = markup(
    """\
text{font-family:'Helvetica Neue',Helvetica,Arial,'Liberation Sans','DejaVu Sans',sans-serif;font-size:11px;fill:$ink}\
.title{font-size:22px}.needs{font-size:14px}.figure{font-size:26px}\
.quiet{fill:$quiet}.peak{fill:$alarm}.box{stroke:#ffffff}\
.on{paint-order:stroke;stroke:#ffffff;stroke-opacity:0.55;stroke-width:2.5px;stroke-linejoin:round}""",
    ink=element_text(INK),
    quiet=element_text(QUIET),
    alarm=element_text(ALARM),
)
_HATCHING = markup(
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
        """The extent from left to right."""
        return self.right - self.left

    @property
    def height(self) -> float:
        """The extent from top to bottom."""
        return self.bottom - self.top

    @property
    def middle(self) -> tuple[float, float]:
        """The x and y of its centre."""
        return (self.left + self.right) / 2, (self.top + self.bottom) / 2

    def draw(self, tooltip: str = "", **style: str) -> Markup:
        """The rectangle with further attributes, and a tooltip where one is given."""
        sides = {
            "x": f"{self.left:.2f}",
            "y": f"{self.top:.2f}",
            "width": f"{self.width:.2f}",
            "height": f"{self.height:.2f}",
        }
        title = markup("<title>$text</title>", text=element_text(tooltip)) if tooltip else markup("")
        return markup("<rect $attributes>$title</rect>", attributes=attributes(**sides, **style), title=title)


def document(width: float, height: float, title: str, lines: Sequence[Markup]) -> str:
    """An SVG document on white, in the style of the pictures of memory; screen readers read the title."""
    return markup(
        """\
<svg xmlns="http://www.w3.org/2000/svg" $view $size role="img">
<title>$title</title>
<style>$style</style>
<defs>$hatching</defs>
<rect $size rx="6" fill="#ffffff"/>
$lines
</svg>
""",
        view=attributes(viewBox=f"0 0 {width:.0f} {height:.0f}"),
        size=attributes(width=f"{width:.0f}", height=f"{height:.0f}"),
        title=element_text(title),
        style=_STYLE,
        hatching=_HATCHING,
        lines=markup("\n").join(lines),
    ).text


def label(x: float, y: float, text: str, kind: str = "", anchor: str = "start", size: float | None = None) -> Markup:
    """Text on a base line; `kind` is its style class, `anchor` the end of it that is at `x`, `size` its size in pixels."""
    style = {"x": f"{x:.1f}", "y": f"{y:.1f}"}
    style |= {"class": kind} if kind else {}
    style |= {} if size is None else {"style": f"font-size:{size:.1f}px"}
    style |= {"text_anchor": anchor} if anchor != "start" else {}
    return markup("<text $style>$text</text>", style=attributes(**style), text=element_text(text))


def turned_label(x: float, y: float, degrees: int, text: str, anchor: str) -> Markup:
    """Text turned around the point that it is anchored at."""
    place = attributes(transform=f"translate({x:.1f} {y:.1f}) rotate({degrees})", text_anchor=anchor)
    return markup("<text $place>$text</text>", place=place, text=element_text(text))


def line(start: tuple[float, float], end: tuple[float, float], color: str, dashes: str = "", **further: str) -> Markup:
    """A straight line, with further attributes."""
    (x1, y1), (x2, y2) = start, end
    style = {"x1": f"{x1:.1f}", "y1": f"{y1:.1f}", "x2": f"{x2:.1f}", "y2": f"{y2:.1f}", "stroke": color}
    style |= {"stroke_dasharray": dashes} if dashes else {}
    return markup("<line $style/>", style=attributes(**style, **further))


def circle(middle: tuple[float, float], radius: float, kind: str = "", **further: str) -> Markup:
    """A circle with further attributes; `kind` is its style class."""
    style = {"class": kind} if kind else {}
    style |= {"cx": f"{middle[0]:.1f}", "cy": f"{middle[1]:.1f}", "r": f"{radius:g}"}
    return markup("<circle $style/>", style=attributes(**style, **further))


def area(path: str, fill: str) -> Markup:
    """Returns the filled area that a path encloses."""
    return markup("<path $style/>", style=attributes(d=path, fill=fill))
