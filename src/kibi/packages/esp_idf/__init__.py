"""The kind `esp-idf`: a component of ESP-IDF with a manifest and an example project."""

from kibi.codegen import Library
from kibi.codegen.provenance import LICENSE, cmake_first_lines
from kibi.packages.example import check_no_file, example_places
from kibi.packages.golden import Golden
from kibi.packages.kind import Arrangement, Kind
from kibi.packages.readme import readme
from kibi.packages.sources import VERSION, cmake_files, moved_texts, sources_of, summary, with_first_lines
from kibi.packages.templates import filled_c, filled_cmake, filled_text
from kibi.text.cmake import argument
from kibi.text.file_name import FileName
from kibi.text.package import bare_word


def _arrange(library: Library, golden: Golden | None) -> Arrangement:
    check_no_file(library, "esp-idf")
    name = bare_word(library.name)
    first = cmake_first_lines(library.made_by, [each.graph for each in library.models])
    project = f"examples/{library.name}"
    texts = moved_texts(library, "src")
    texts[FileName("CMakeLists.txt")] = filled_cmake(
        "esp_idf/CMakeLists.txt.in",
        first_lines=first,
        upper=argument(library.name.upper()),
        sources=cmake_files(sources_of(library, "src"), 4),
    )
    texts[FileName("README.md")] = readme(
        library, filled_text("esp_idf/use.md.in", library=name, upper=bare_word(library.name.upper()))
    )
    texts[FileName("Kconfig")] = filled_text("esp_idf/Kconfig.in", library=name, upper=bare_word(library.name.upper()))
    texts[FileName("idf_component.yml")] = filled_text(
        "esp_idf/idf_component.yml.in",
        version=bare_word(VERSION),
        summary=summary(library),
        license=bare_word(LICENSE),
        library=name,
    )
    texts[FileName("CMakeLists.txt", project)] = filled_cmake(
        "esp_idf/project.cmake.in", first_lines=first, library=argument(library.name)
    )
    texts[FileName("CMakeLists.txt", f"{project}/main")] = filled_cmake("esp_idf/main.cmake.in", first_lines=first)
    texts[FileName("idf_component.yml", f"{project}/main")] = filled_text("esp_idf/main_component.yml.in", library=name)
    texts[FileName("main.c", f"{project}/main")] = with_first_lines(
        library, filled_c("esp_idf/main.c.in", **example_places(library, golden))
    )
    return Arrangement(texts, root="src")


ESP_IDF = Kind(
    name="esp-idf",
    description="an ESP-IDF component with a manifest, and an example project",
    tested="The CMakeLists.txt of component and example with stubs of ESP-IDF's functions by gcc, example run; the manifest by the "
    "reader of idf-component-manager. Not built with ESP-IDF.",
    use="idf.py -C {directory}/examples/{name} set-target esp32c3 build flash monitor",
    arrange=_arrange,
)
