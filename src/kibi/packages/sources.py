"""The C sources of a library, and what all packages say of it."""

from collections.abc import Iterable

from kibi.codegen import Library
from kibi.codegen.provenance import first_lines
from kibi.text.c import CCode
from kibi.text.cmake import CMakeText, argument, cmake
from kibi.text.file_name import FileName
from kibi.text.file_text import FileText
from kibi.text.package import PackageText, bare_word, package_text, sentence

VERSION = "1.0.0"
"""The version of every package, which managers of packages demand: a library has none."""
LICENSE_FILE = FileName("LICENSE")


def plain_texts(library: Library) -> dict[FileName, FileText]:
    """Sources, headers and licence, by their names in the library's own folder."""
    return {name: text for name, text in library.texts.items() if name not in library.records}


def moved_texts(library: Library, root: str, *, licence: str = "") -> dict[FileName, FileText]:
    """The same with sources and headers in another folder.

    Args:
        library: as it was generated.
        root: the folder of the sources.
        licence: the folder of the licence's text.
    """
    return {name.inside(licence if name == LICENSE_FILE else root): text for name, text in plain_texts(library).items()}


def sources_of(library: Library, root: str = "") -> list[FileName]:
    """The C files to compile, in that folder, sorted by their paths."""
    names = (name.inside(root) for name in plain_texts(library) if name.suffix == ".c")
    return sorted(names, key=lambda name: name.path)


def with_first_lines(library: Library, text: CCode) -> CCode:
    """A C file of a package, after the comments that say where it is from."""
    return first_lines(library.made_by, [each.graph for each in library.models]) + text


def listed_files(files: Iterable[FileName], indent: int) -> PackageText:
    """Names of files, one in a line, each after that many blanks; without the last line end."""
    blanks = package_text(" ").times(indent)
    return package_text("\n").join(blanks + bare_word(each) for each in files)


def cmake_files(files: Iterable[FileName], indent: int = 2) -> CMakeText:
    """Names of files as arguments of a command of CMake, one in a line, each after that many blanks; without the last line end."""
    blanks = cmake("").join([cmake(" ")] * indent)
    return cmake("\n").join(cmake("$blanks$file", blanks=blanks, file=argument(each)) for each in files)


def summary(library: Library) -> PackageText:
    """What the package is, in a few words."""
    sources = ", ".join(each.graph.source for each in library.models)
    return package_text("A neural network in plain C, made by Kibi of $sources", sources=sentence(sources))
