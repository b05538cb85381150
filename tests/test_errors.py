"""Errors of the whole package: bounded texts that can be printed anywhere, and what is raised where resources run out."""

import pytest

import kibi
from kibi.errors import (
    ArenaError,
    InputError,
    KibiError,
    ModelError,
    PlanError,
    Problem,
    ResourceError,
    ToolchainError,
    bounded,
)
from kibi.frontends.tflite import parse_tflite
from kibi.frontends.tflite.builder import ModelBuilder

_HOSTILE = "\x1b]0;x\x07\x9b31m\u202e\ud800\u2028\r"
"""A terminal's controls, a bidirectional override, a lone surrogate, a line separator."""


def test_model_with_thousands_of_problems_lists_a_hundred_and_a_count() -> None:
    """All problems are fields; the text has the first hundred and says how many more there are."""
    error = ModelError("m.tflite", [Problem(f"problem {number}", "Do it again", number) for number in range(12_445)])
    lines = str(error).splitlines()
    assert len(error.problems) == 12_445
    assert lines[0] == "m.tflite: 12445 problems"
    assert len(lines) == 102
    assert lines[-1] == "  - and 12,345 more"


def test_equal_problems_of_several_places_are_one_line() -> None:
    """It names the first places and counts the others; problems that differ in anything else stay apart."""
    equal = [Problem("it is of bf16", "Use f32", tensor=f"t{number}") for number in range(6)]
    error = ModelError("m.tflite", [*equal, Problem("it is of bf16", "Use s8", tensor="u"), equal[0]])
    assert str(error).splitlines() == [
        "m.tflite: 8 problems",
        "  - tensor 't0'; tensor 't1'; tensor 't2'; tensor 't3'; and 2 more: it is of bf16. Use f32.",
        "  - tensor 'u': it is of bf16. Use s8.",
    ]
    assert len(error.problems) == 8


def test_file_of_many_broken_operators_gives_a_short_text() -> None:
    """Operators whose names have a thousand characters do not make a text of megabytes."""
    b = ModelBuilder()
    for number in range(400):
        b.operator("CUSTOM", [], [], custom_code=f"{number}" + "x" * 2000)
    with pytest.raises(ModelError) as caught:
        parse_tflite(b.finish([]), "m.tflite")
    assert len(str(caught.value)) < 1 << 16


@pytest.mark.parametrize(
    "error",
    [
        KibiError("a" * 10_000_000),
        InputError("\n" * 10_000_000),
        PlanError("word " * 1_000_000),
        ModelError("s" * 100_000, [Problem("w" * 100_000, "r" * 100_000, 1, "t" * 100_000)] * 1000),
        ArenaError("arena", 1, 0, [("n" * 100_000, 1)] * 3),
        ToolchainError("failed", ["c" * 100_000], "o" * 10_000_000),
    ],
    ids=lambda error: type(error).__name__,
)
def test_text_of_any_error_is_bounded(error: KibiError) -> None:
    """Whatever goes into an error, its text has at most 64 KB, and no word of more than 256 characters."""
    assert len(str(error)) <= 1 << 16
    assert max(map(len, str(error).split()), default=0) <= 256


def test_text_of_any_error_can_be_printed() -> None:
    """What steers a terminal, reverses text or cannot be encoded is replaced; line ends and tabs stay."""
    text = str(KibiError(f"a\tb\n{_HOSTILE}é漢"))
    assert text.startswith("a\tb\n")
    assert text.endswith("é漢")
    assert not set(_HOSTILE) & set(text.partition("\n")[2][1:]) - set("]0;x31m")
    text.encode()


@pytest.mark.parametrize("raised", [MemoryError, RecursionError])
def test_exhausted_resource_in_a_public_function_is_an_error_of_kibis_own(
    raised: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error says what ran out and what to do; the original is its cause."""

    def fail(*_: object) -> None:
        raise raised

    monkeypatch.setattr("kibi.frontends.load", fail)
    with pytest.raises(ResourceError) as caught:
        kibi.load("any.tflite")
    assert isinstance(caught.value.__cause__, raised)
    assert caught.value.exit_code == 13


def test_other_exceptions_in_a_public_function_stay_what_they_are() -> None:
    """A bug is not disguised as an error of the user's."""

    @bounded
    def fail() -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
