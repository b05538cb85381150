"""`--package`: the kind of package that `kibi compile` writes."""

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kibi.errors import InputError

if TYPE_CHECKING:
    from kibi.codegen import Library

DEFAULT_PACKAGE = "cmake"
PackageName = Annotated[
    str,
    typer.Option(
        "--package",
        metavar="KIND",
        help="What the C is written for: cmake, arduino, platformio, mbed, zephyr, esp-idf, cmsis-pack, rust, micropython or "
        "python.",
    ),
]


def check_package(name: str, *, is_plan: bool) -> None:
    """Checks the kind of package before any work.

    Raises:
        InputError: there is no such kind, or a plan file is written, which is no package.
    """
    from kibi.packages import kind  # noqa: PLC0415 - verbs pay for what they use

    kind(name)
    if is_plan and name != DEFAULT_PACKAGE:
        raise InputError("--package is for C. A plan file is one file, which a core runs. Leave one of them out.")


def package_words(name: str) -> list[str]:
    """The words of a command line that ask for this kind; the default has none."""
    return [] if name == DEFAULT_PACKAGE else ["--package", name]


def how_to_use(library: "Library", directory: Path) -> str:
    """The sentence after a package was written: what the user does with the folder."""
    from kibi.packages import kind  # noqa: PLC0415 - as above

    return kind(library.package).use.format(directory=shlex.quote(str(directory)), name=library.name)
