"""The kind `cmake`: sources, a `CMakeLists.txt` for all ways in which projects use a library, and an example apart."""

from kibi.codegen import Library
from kibi.codegen.provenance import cmake_first_lines
from kibi.packages.cmake.lists import cmake_lists
from kibi.packages.example import stdio_example
from kibi.packages.golden import Golden
from kibi.packages.kind import Arrangement, Kind
from kibi.packages.sources import plain_texts
from kibi.text.file_name import FileName

EXAMPLE = FileName("example_main.c", "examples")
"""The example, in a folder of its own: builds that compile every file of the other folders get no second `main`."""


def _arrange(library: Library, golden: Golden | None) -> Arrangement:
    texts = plain_texts(library)
    headers = [name for name in texts if name.suffix == ".h"]
    sources = [name for name in texts if name.suffix == ".c"]
    weights = FileName(f"{library.model.graph.name}_weights.bin") if library.example.reads_file else None
    return Arrangement(
        {
            **texts,
            EXAMPLE: stdio_example(library, golden),
            FileName("CMakeLists.txt"): cmake_lists(
                library.name,
                sources,
                headers,
                cmake_first_lines(library.made_by, [each.graph for each in library.models]),
                EXAMPLE,
                weights,
            ),
        }
    )


CMAKE = Kind(
    name="cmake",
    description="a CMake project: add_subdirectory, FetchContent, find_package",
    tested="All ways to use it with CMake 3.25 and gcc on Linux, and in builds for Cortex-M4 by gcc and zig; example run.",
    use="Build and run its example: cmake -S {directory} -B {directory}/build && cmake --build {directory}/build",
    arrange=_arrange,
)
