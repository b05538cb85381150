"""The templates of packages: files of this package, which are filled as literals are."""

from pathlib import Path

from kibi.text.c import CCode, code_file
from kibi.text.cmake import CMakeText, cmake_file
from kibi.text.package import PackageText, package_file

_FOLDER = Path(__file__).parent


def filled_c(path: str, /, **parts: CCode | int) -> CCode:
    """The template of a C or C++ file, by its path in this package, with its places filled."""
    return code_file(_FOLDER / path, **parts)


def filled_cmake(path: str, /, **parts: CMakeText | int) -> CMakeText:
    """The same for a file of CMake's."""
    return cmake_file(_FOLDER / path, **parts)


def filled_text(path: str, /, **parts: PackageText | int) -> PackageText:
    """The same for a manifest, another build file or a script."""
    return package_file(_FOLDER / path, **parts)
