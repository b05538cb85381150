"""The `CMakeLists.txt` of libraries."""

from collections.abc import Iterable, Sequence

from kibi.packages.sources import VERSION, cmake_files
from kibi.packages.templates import filled_cmake
from kibi.text.cmake import CMakeText, argument, cmake
from kibi.text.file_name import FileName


def cmake_lists(
    library: str,
    sources: Sequence[FileName],
    headers: Sequence[FileName],
    first_lines: CMakeText,
    example: FileName,
    weights: FileName | None = None,
) -> CMakeText:
    """A build file with the library, its example and its installation.

    Args:
        library: its name, a target.
        sources: the C files to compile.
        headers: those to install, in the folders in which they are.
        first_lines: comments.
        example: the C file with `main`.
        weights: the file that the example reads weights from, or None.
    """
    folders = sorted({each.folder for each in headers})
    installed = (_installed(library, folder, (each for each in headers if each.folder == folder)) for folder in folders)
    return filled_cmake(
        "cmake/CMakeLists.txt.in",
        first_lines=first_lines,
        library=argument(library),
        upper=argument(library.upper()),
        version=argument(VERSION),
        sources=cmake_files(sorted(sources, key=lambda each: each.path)),
        headers=cmake("").join(installed),
        example=argument(example),
        weights=cmake("") if weights is None else _weights_file(library, weights),
    )


def _installed(library: str, folder: str, headers: Iterable[FileName]) -> CMakeText:
    """The command that installs the headers of one folder."""
    return cmake(
        """\
  install(FILES
$files
    DESTINATION $${CMAKE_INSTALL_INCLUDEDIR}/$library$folder)
""",
        files=cmake_files(sorted(headers, key=lambda each: each.path), 4),
        library=argument(library),
        folder=cmake("/$folder", folder=argument(folder)) if folder else cmake(""),
    )


def _weights_file(library: str, weights: FileName) -> CMakeText:
    """The lines that tell the example where the weights are."""
    return cmake(
        """\
  target_compile_definitions(${library}_example PRIVATE WEIGHTS_FILE="$${CMAKE_CURRENT_SOURCE_DIR}/$weights")
""",
        library=argument(library),
        weights=argument(weights),
    )
