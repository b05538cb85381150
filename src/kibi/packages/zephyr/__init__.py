"""The kind `zephyr`: a Zephyr module with a Kconfig option and a sample that twister runs."""

from kibi.codegen import Library
from kibi.codegen.provenance import cmake_first_lines
from kibi.packages.example import check_no_file, example_places
from kibi.packages.golden import Golden
from kibi.packages.kind import Arrangement, Kind
from kibi.packages.readme import readme
from kibi.packages.sources import cmake_files, moved_texts, sources_of, summary, with_first_lines
from kibi.packages.templates import filled_c, filled_cmake, filled_text
from kibi.text.cmake import argument
from kibi.text.file_name import FileName
from kibi.text.package import bare_word


def _arrange(library: Library, golden: Golden | None) -> Arrangement:
    check_no_file(library, "zephyr")
    name, upper = bare_word(library.name), bare_word(library.name.upper())
    first = cmake_first_lines(library.made_by, [each.graph for each in library.models])
    sample = f"samples/{library.name}"
    texts = moved_texts(library, "src")
    texts[FileName("module.yml", "zephyr")] = filled_text("zephyr/module.yml.in", library=name)
    texts[FileName("README.md")] = readme(library, filled_text("zephyr/use.md.in", library=name, upper=upper))
    texts[FileName("Kconfig")] = filled_text(
        "zephyr/Kconfig.in",
        library=name,
        upper=upper,
        summary=summary(library),
        arena=library.model.arena_bytes,
    )
    texts[FileName("CMakeLists.txt")] = filled_cmake(
        "zephyr/CMakeLists.txt.in",
        first_lines=first,
        library=argument(library.name),
        upper=argument(library.name.upper()),
        sources=cmake_files(sources_of(library, "src"), 4),
    )
    texts[FileName("CMakeLists.txt", sample)] = filled_cmake(
        "zephyr/sample.cmake.in", first_lines=first, library=argument(library.name)
    )
    texts[FileName("prj.conf", sample)] = filled_text("zephyr/prj.conf.in", upper=upper)
    texts[FileName("sample.yaml", sample)] = filled_text(
        "zephyr/sample.yaml.in",
        library=name,
        name=bare_word(library.model.graph.name),
        lower=bare_word(library.name.lower()),
    )
    texts[FileName("main.c", f"{sample}/src")] = with_first_lines(
        library, filled_c("zephyr/main.c.in", **example_places(library, golden))
    )
    return Arrangement(texts, root="src")


ZEPHYR = Kind(
    name="zephyr",
    description="a Zephyr module with a Kconfig option, and a sample for twister",
    tested="Both CMakeLists.txt with stubs of Zephyr's functions by gcc, sample run; Kconfig by kconfiglib's rules; module.yml and "
    "sample.yaml by the keys of their schemas. Not built with Zephyr.",
    use="west build -b BOARD {directory}/samples/{name}",
    arrange=_arrange,
)
