"""SVG and HTML: templates, and in them text and attributes that mean nothing but themselves."""

from xml.sax.saxutils import escape

from kibi.printable import printable
from kibi.text.template import Code


class Markup(Code):
    """Elements or attributes of SVG and HTML."""

    __slots__ = ()


def markup(template: str, /, **parts: Markup | int) -> Markup:
    """Markup from a template, a literal, whose places `$name` are filled."""
    return Markup.filled(template, dict(parts))


def attributes(**values: str) -> Markup:
    """Attributes with blanks between them; `stroke_width` is written `stroke-width`, and `class_` `class`."""
    return markup(" ").join(
        Markup(f'{name.rstrip("_").replace("_", "-")}="{attribute(value).text}"') for name, value in values.items()
    )


def element_text(text: str) -> Markup:
    """Foreign text between two tags. Characters that XML 1.0 forbids, or that hide or reverse text, become `?`."""
    return Markup(escape(printable(text)))


def attribute(text: str) -> Markup:
    """Foreign text between the quotes of an attribute, of either kind."""
    return Markup(escape(printable(text), {'"': "&quot;", "'": "&#39;"}))
