"""What names may hold that somebody means ill by, and C as the compiler sees it without comments."""

import re
from dataclasses import replace

from kibi.ir import Graph
from kibi.planner.plan import Plan

ALPHABET = (
    *("*/", "/*", "*", "/", "//", "*/ int stolen; /*", "*/\nint stolen;\n/*", "/*/", "**/", "*/*"),
    *("\n", "\r", "\r\n", "\v", "\f", "\u0085", "\u2028", "\u2029", "\0", "\t"),
    *(
        "\\",
        "\\\n",
        "end\\",
        "*\\\n/",
        "\\ \n",
        "a\\--b",
        "??/",
        "??/\n",
        "*??/\n/",
        "???/",
        "??=",
        "??'",
        "??<",
        "??>",
        "??!",
    ),
    *(
        "\x1b[31m",
        "\x1b]0;title\x07",
        "\x1b]8;;https://example.org\x1b\\",
        "\x9b31m",
        "\x9d0;t\x9c",
        "\x07",
        "\x08",
        "\x7f",
    ),
    *("\u202e", "\u2066", "\u2069", "\u200b", "\u200d", "\ufeff", "\U000e0041", "\u00a0", "\u3000"),
    *('"', "'", "`", "<b>", "</title><script>", "]]>", "&amp;", "<!--", "-->", "--", "<![CDATA["),
    *(
        "${CMAKE_SOURCE_DIR}",
        "$(touch stolen)",
        "$name",
        "@A@",
        "%s%n",
        "#",
        "#[[",
        "]]",
        ";",
        "|",
        "{",
        "}",
        "\\n",
        "#if 0",
    ),
    *("\ud800", "\udfff", "\udc80", "\ufffe", "é", "模型", "🙂", "", " ", "x" * 300),
)
"""Ends of comments and of lines, escapes, trigraphs, what steers terminals, directions, quotes, markup, halves of pairs."""
LONG = tuple(f"{'a' * 33}{each}{'b' * 40}{each}{'c' * 60}" for each in ALPHABET)
"""The same in names that are shortened in the middle."""
NAMES = (*ALPHABET, *LONG, "*/ __attribute__((constructor)) static void a(void) {", "system(0); } /*")

_TRIGRAPHS = {"=": "#", "/": "\\", "'": "^", "(": "[", ")": "]", "!": "|", "<": "{", ">": "}", "-": "~"}
COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_TOKENS = re.compile(r"""/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'""", re.DOTALL)


def named(graph: Graph, names: tuple[str, ...], start: int = 0) -> Graph:
    """A graph whose tensors, file and signature have hostile names, one after another from a place in the list on."""
    tensors = [
        replace(tensor, name=names[(start + number) % len(names)]) for number, tensor in enumerate(graph.tensors)
    ]
    return replace(graph, tensors=tuple(tensors), source=names[start % len(names)])


def renamed(plan: Plan, names: tuple[str, ...], start: int = 0) -> Plan:
    """A plan that says it is for a model of such a name."""
    return replace(plan, model=names[start % len(names)])


def bare(text: str) -> str:
    """C without its comments and blanks, as a compiler sees it that takes trigraphs and joins continued lines."""
    text = re.sub(r"\?\?([=/'()!<>-])", lambda found: _TRIGRAPHS[found[1]], text)
    text = re.sub(r"\\[ \t]*\r?\n", "", text)
    text = _TOKENS.sub(lambda found: " " if found[0].startswith("/") else found[0], text)
    return re.sub(r"\s+", " ", text)
