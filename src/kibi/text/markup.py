"""SVG and HTML: templates, and in them text and attributes that mean nothing but themselves."""

from typing import Any
from xml.sax.saxutils import escape

from kibi.errors import InternalError
from kibi.printable import printable
from kibi.text.json import json_text
from kibi.text.template import Code


class Markup(Code):
    """Elements or attributes of SVG and HTML."""

    __slots__ = ()

    def __html__(self) -> str:
        """The text, for templates of Jinja, which escape all else."""
        return self.text


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


def embedded_json(value: Any) -> Markup:
    """A value as JSON inside of an element `script`: ASCII alone, without a character that could end the element."""
    text = json_text(value, indent=None, is_compact=True).text.strip()
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)


def own_code(text: str) -> Markup:
    """A script or styles of the program's own, inside of their element.

    Raises:
        InternalError: the text would end the element.
    """
    if "</" in text:
        raise InternalError("a script or styles of a page hold '</', which would end their element")
    return Markup(text)
