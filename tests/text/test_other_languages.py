"""CMake, markup, JSON, Markdown and the terminal: foreign text means nothing but itself."""

import json
import math
import unicodedata
from xml.etree import ElementTree as ET

import pytest

from kibi.errors import InternalError
from kibi.printable import paragraph, printable
from kibi.text import cmake, markdown, markup
from kibi.text.file_name import FileName
from kibi.text.json import json_text, with_own_keys
from tests.text.hostile import NAMES


@pytest.mark.parametrize("text", NAMES, ids=ascii)
def test_cmake_comment_is_one_line_and_no_bracket(text: str) -> None:
    """The line begins with `# `, so that no bracket opens a comment of several lines."""
    made = cmake.comment(text).text
    assert made.startswith("# ")
    assert made.isprintable()
    assert made.isascii()


def test_cmake_argument_needs_no_quotes() -> None:
    """Names of files and targets alone; anything else is a bug."""
    assert cmake.argument(FileName("a_1.c")).text == "a_1.c"
    with pytest.raises(InternalError):
        cmake.argument("a b")


@pytest.mark.parametrize("text", NAMES, ids=ascii)
def test_markup_keeps_text_text(text: str) -> None:
    """A parser of XML reads the visible text back, between tags and in attributes."""
    made = markup.markup(
        "<a $b c='d'>$text</a>",
        b=markup.attributes(b=text, stroke_width="1", class_="x"),
        text=markup.element_text(text),
    ).text
    found = ET.fromstring(made)  # noqa: S314 - made here
    assert found.attrib == {"b": printable(text), "stroke-width": "1", "class": "x", "c": "d"}
    assert (found.text or "") == printable(text)
    assert len(found) == 0


@pytest.mark.parametrize("text", [*NAMES, "</script >", "<!--<script>", "&lt;"], ids=ascii)
def test_json_in_an_element_never_ends_it(text: str) -> None:
    """It reads back as what it was, without a character that means anything in HTML."""
    made = markup.embedded_json({text: [text]}).text
    assert made.isascii()
    assert not set("<>&\x7f\n") & set(made)
    assert json.loads(made) == json.loads(json_text({text: [text]}).text)


def test_script_that_would_end_its_element_is_refused() -> None:
    """A bug of our own."""
    assert markup.own_code("a < b").text == "a < b"
    with pytest.raises(InternalError, match="would end their element"):
        markup.own_code("'</script>'")


@pytest.mark.parametrize("text", NAMES, ids=ascii)
def test_terminal_shows_visible_characters_alone(text: str) -> None:
    """No control of any kind, no half of a pair, no separator; a line stays a line."""
    shown = printable(text)
    assert len(shown) == len(text)
    assert not any(unicodedata.category(each) in {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"} for each in shown)
    shown.encode("utf-8")
    assert paragraph("a\n\tb\x1b") == "a\n\tb?"
    assert printable("a\u00a0b\u3000c") == "a b c"


@pytest.mark.parametrize("text", NAMES, ids=ascii)
def test_json_is_ascii_that_reads_back(text: str) -> None:
    """Halves of surrogate pairs become U+FFFD; all else is the same."""
    made = json_text({"name": text, text: 1, "list": [text]}).text
    assert made.isascii()
    assert "\x7f" not in made
    wanted = "".join("\ufffd" if "\ud800" <= each <= "\udfff" else each for each in text)
    assert json.loads(made) == {"name": wanted, wanted: 1, "list": [wanted]}


def test_json_has_null_for_what_it_lacks_and_an_entry_for_each_key() -> None:
    """Infinities, and keys that become equal."""
    halves = {chr(0xD800): 1, chr(0xDFFF): 2, chr(0xFFFD): 3}
    made = json.loads(json_text({"a": math.inf, **halves, 1: (math.nan, 0.5), "1": None}).text)
    assert made == {"a": None, "\ufffd": 1, "\ufffd (2)": 2, "\ufffd (3)": 3, "1": [None, 0.5], "1 (2)": None}
    assert with_own_keys([("a", 1), ("a (2)", 2), ("a", 3)]) == {"a": 1, "a (2)": 2, "a (3)": 3}
    with pytest.raises(InternalError):
        json_text({(1, 2): 3})


@pytest.mark.parametrize("text", NAMES, ids=ascii)
def test_markdown_code_stays_in_its_cell(text: str) -> None:
    """One line; no bar that is not escaped; no run of backticks as long as the fence inside."""
    made = markdown.code_span(text)
    fence = made[: len(made) - len(made.lstrip("`"))]
    inner = made.removeprefix(fence).removesuffix(fence)
    assert made.isprintable()
    assert inner.replace("\\|", "").count("|") == 0
    assert all(run != fence for run in inner.replace(" ", "\n").split())
