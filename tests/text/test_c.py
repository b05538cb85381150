"""C as a type: templates are literals, parts are C or numbers, and foreign text means nothing but itself."""

import ast
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import kibi
from kibi.errors import InputError, InternalError
from kibi.text import c, cmake, markup
from kibi.text.reserved import HEADERS, KEYWORDS, why_reserved
from tests.text.hostile import ALPHABET, NAMES, bare

_SOURCE = Path(kibi.__file__).parent
_FILLED = ("code", "cmake", "markup", "package_text", "filled_text", "filled_c", "filled_cmake")
_MADE = ("CCode", "CMakeText", "Markup", "JsonText", "PackageText", "Code")


@pytest.mark.parametrize("part", ["text", 1.0, True, None, cmake.cmake("x"), markup.markup("x")])
def test_template_refuses_parts_that_are_no_code(part: object) -> None:
    """A text, a flag, or code of another language is no part of C."""
    with pytest.raises(TypeError, match="a template takes CCode and int"):
        c.code("$part", part=part)  # type: ignore[arg-type]  # that is the point


def test_code_joins_no_text_and_no_template_forgets_a_part() -> None:
    """Sums, joins, f-strings and places are checked, too, and by mypy, which would call an ignored error unused."""
    with pytest.raises(TypeError, match="name is a str"):
        c.code("/* $name */", name="text")  # type: ignore[arg-type]  # that is the point
    with pytest.raises(TypeError, match="takes no str"):
        c.code("a") + "b"  # type: ignore[operator]  # that is the point
    with pytest.raises(TypeError, match="its own kind"):
        c.code(", ").join(["b"])  # type: ignore[list-item]  # that is the point
    with pytest.raises(TypeError, match="is a part of templates"):
        f"{c.code('a')}"
    with pytest.raises(TypeError, match="no place for b"):
        c.code("$a", a=1, b=2)
    with pytest.raises(KeyError):
        c.code("$a")
    assert c.code("${a}_b($$, $c)", a=c.word("x"), c=-3).text == "x_b($, -3)"


@pytest.mark.parametrize("path", sorted(_SOURCE.rglob("*.py")), ids=lambda path: str(path.relative_to(_SOURCE)))
def test_templates_are_literals_and_only_the_package_of_texts_makes_code(path: Path) -> None:
    """No template is put together, and no module but those of `kibi.text` says that a text is code."""
    if path.parent.name == "text":
        return
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.Call):
            continue
        name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
        where = f"{path.name}:{node.lineno}"
        assert name not in _MADE, f"{where} makes {name} of a text; use a function of kibi.text"
        if name in _FILLED and isinstance(node.func, ast.Name):
            template = node.args[0]
            is_literal = isinstance(template, ast.Constant) and isinstance(template.value, str)
            assert is_literal, f"{where}: the template is no plain literal"


@pytest.mark.parametrize("text", NAMES, ids=ascii)
def test_comment_of_any_text_is_a_comment_alone(text: str) -> None:
    """Whole or in a line, wrapped or not: nothing of the text is code, and the comment ends where it should."""
    for made in (
        c.comment(text),
        c.comment(f"{text} {text}\n{text}", "    "),
        c.comment_lines([text, text, "end"]),
        c.comment_lines([text]),
        c.code("$what\n", what=c.remark(text)),
        c.comment(c.plain(text)),
    ):
        assert bare(made.text + "after") == " after"
        assert made.text.isascii()
        assert not any(line.endswith("\\") for line in made.text.split("\n"))
        assert made.text.count("/*") == made.text.count("*/") == 1


@given(st.lists(st.sampled_from([*ALPHABET, *"*/\\?\n -a"]), max_size=12).map("".join))
def test_comment_of_drawn_text_is_a_comment_alone(text: str) -> None:
    """Whatever stands beside what."""
    for made in (c.comment(text), c.comment_lines([text, text]), c.comment_lines(["a", text])):
        assert bare(made.text + "after") == " after"
        assert made.text.count("/*") == made.text.count("*/") == 1


def test_comment_of_plain_text_stays_as_it_is() -> None:
    """Question marks, slashes and backslashes that mean nothing are not touched."""
    assert c.comment(r"a\b ?? c/d: 5 * 3, what?").text == "/* a\\b ?? c/d: 5 * 3, what? */\n"


@pytest.mark.parametrize("text", NAMES, ids=ascii)
def test_string_literal_of_any_text_is_one_token(text: str) -> None:
    """Nothing ends the string or continues its line, and no trigraph is in it."""
    made = c.string_literal(text).text
    assert bare(made) == made.replace("  ", " ") or "  " in text
    assert "??" not in made
    assert made.isprintable()
    assert ast.literal_eval(f"b{made}") == text.encode("utf-8", "replace")


@pytest.mark.parametrize(
    "name", ["", "1a", "a b", "a-b", "_a", "é", "a\n", "a;", "../../x", "kibi", "kibi_x", *NAMES[:20]]
)
def test_identifier_refuses_what_is_no_name(name: str) -> None:
    """Nothing but letters, digits and underscores, a letter first, outside of Kibi's own names."""
    with pytest.raises(InputError, match="the model cannot be called"):
        c.identifier(name)


@pytest.mark.parametrize(
    "name",
    [
        *(
            "stdint",
            "stddef",
            "string",
            "features",
            "locale",
            "example_main",
            "all",
            "install",
            "clean",
            "help",
            "int",
            "null",
        ),
        *("String", "CON", "com1", "size", "pthread_mutex", "test"),
    ],
)
def test_identifier_refuses_names_that_break_libraries(name: str) -> None:
    """Headers, types, targets of build tools, own files and devices, in upper or lower case."""
    with pytest.raises(InputError, match=f"cannot be called '{name}': .*such as 'my_model'"):
        c.identifier(name)
    assert why_reserved(f"{name.lower()}_model") == ""


def test_reserved_headers_are_those_of_the_system() -> None:
    """Every header of C's standard is among them, and no word is twice a reason to wonder."""
    standard = (
        "assert complex ctype errno fenv float inttypes iso646 limits locale math setjmp signal stdarg stdbool stddef"
    )
    assert (
        set(standard.split()) | {"stdint", "stdio", "stdlib", "string", "tgmath", "time", "wchar", "wctype"} <= HEADERS
    )
    assert not any(name.lower() != name for name in HEADERS | KEYWORDS)


@pytest.mark.parametrize("text", ["a b", "a*/", "", "1", "a.b"])
def test_words_and_types_of_the_program_itself_are_checked(text: str) -> None:
    """What is no word there is a bug, and says so."""
    with pytest.raises(InternalError):
        c.word(text)
    with pytest.raises(InternalError):
        c.type_name(text)
    with pytest.raises(InputError):
        c.name_part(text)


@pytest.mark.parametrize(
    ("value", "c_type", "text"),
    [
        *((-128, "int8_t", "-128"), (255, "uint8_t", "255"), (-(1 << 31), "int32_t", "(-2147483647 - 1)")),
        *(((1 << 31) - 1, "int32_t", "2147483647"), ((1 << 32) - 1, "uint32_t", "4294967295u")),
        *((-(1 << 63), "int64_t", "(-9223372036854775807 - 1)"), ((1 << 64) - 1, "uint64_t", "18446744073709551615u")),
    ],
)
def test_literal_of_the_ends_of_each_type_is_one_that_c_has(value: int, c_type: str, text: str) -> None:
    """A literal has no sign of its own: the least numbers are differences."""
    assert c.literal(value, c_type).text == text


def test_long_lines_are_cut_after_the_commas_in_the_fewest_parentheses() -> None:
    """What is left goes on under what the parentheses hold; comments, and lines without such commas, stay as they are."""
    text = c.code(
        "    x = f(first, g(second, third), h(fourth, fifth));\n/* one, two, three, four, five, six, seven */\n"
    )
    assert text.within(36).text.splitlines() == [
        "    x = f(first, g(second, third),",
        "          h(fourth, fifth));",
        "/* one, two, three, four, five, six, seven */",
    ]
    assert c.code("return f(g(first, second, third), fourth);\n").within(27).text.splitlines() == [
        "return f(g(first, second,",
        "           third), fourth);",
    ]
    assert text.within(120).text == text.text
    assert c.code("a_name_without_commas(another);\n").within(10).text == "a_name_without_commas(another);\n"


def test_stripped_code_has_no_empty_lines_around_it() -> None:
    """Indentation stays."""
    assert c.code("\n\n    x;\n\n").stripped().text == "    x;"
