"""Names of files: one component that every system takes."""

import pytest

from kibi.errors import InputError
from kibi.text.file_name import FileName
from tests.text.hostile import NAMES


@pytest.mark.parametrize(
    "name", ["glyphs.c", "kibi.h", "CMakeLists.txt", "a_weights.h", "x", "kibi_conv2d_s8.c", "a-b.json"]
)
def test_file_name_takes_plain_names(name: str) -> None:
    """Letters, digits, underscores, and dots inside."""
    assert FileName(name).text == name


@pytest.mark.parametrize(
    "name",
    [
        "",
        ".",
        "..",
        "../x.c",
        "a/b.c",
        "a\\b.c",
        "/x",
        ".x",
        "x.",
        "a..b",
        "con.c",
        "NUL",
        "lpt1.h",
        "-x.c",
        "C:x",
        "x" * 256,
    ]
    + [f"{name}.c" for name in NAMES if set(name) - set("abcx-_")],
    ids=ascii,
)
def test_file_name_refuses_all_others(name: str) -> None:
    """No separators, no parents, no devices, nothing hidden, nothing that a shell or a system reads otherwise."""
    with pytest.raises(InputError):
        FileName(name)


def test_suffix_and_folded_name() -> None:
    """Case counts for nothing where names are compared."""
    assert (FileName("a.b.C").suffix, FileName("Makefile").suffix, FileName("A.c").folded) == (".C", "", "a.c")
