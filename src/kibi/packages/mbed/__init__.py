"""The kind `mbed`: a library for Mbed OS, for both of its build tools."""

from kibi.codegen import Library
from kibi.codegen.provenance import cmake_first_lines
from kibi.packages.example import check_no_file, example_places
from kibi.packages.golden import Golden
from kibi.packages.kind import Arrangement, Kind
from kibi.packages.readme import readme
from kibi.packages.sources import cmake_files, moved_texts, sources_of, with_first_lines
from kibi.packages.templates import filled_c, filled_cmake, filled_text
from kibi.text.cmake import argument
from kibi.text.file_name import FileName
from kibi.text.json import json_text
from kibi.text.package import bare_word


def _arrange(library: Library, golden: Golden | None) -> Arrangement:
    check_no_file(library, "mbed")
    name = library.name
    texts = moved_texts(library, "source")
    texts[FileName("README.md")] = readme(library, filled_text("mbed/use.md.in", library=bare_word(name)))
    texts[FileName("mbed_lib.json")] = json_text({"name": name}, indent=2)
    texts[FileName("CMakeLists.txt")] = filled_cmake(
        "mbed/CMakeLists.txt.in",
        first_lines=cmake_first_lines(library.made_by, [each.graph for each in library.models]),
        library=argument(name),
        sources=cmake_files(sources_of(library, "source")),
    )
    # Mbed's tools leave folders of this name out of applications.
    texts[FileName("main.cpp", f"TESTS/{name}/golden")] = with_first_lines(
        library, filled_c("mbed/main.cpp.in", **example_places(library, golden))
    )
    return Arrangement(texts, root="source")


MBED = Kind(
    name="mbed",
    description="a library for Mbed OS, for Mbed CLI 1, Mbed CLI 2 and Mbed Studio",
    tested="CMakeLists.txt in a cross build by gcc for Cortex-M4; the example as C++17 with a stub of mbed.h, run on this machine. "
    "Not built with Mbed OS.",
    use="Put {directory} into the folder of your application. TESTS/{name}/golden/main.cpp is its example.",
    arrange=_arrange,
)
