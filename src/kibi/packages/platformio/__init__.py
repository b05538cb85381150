"""The kind `platformio`: a library with a manifest for PlatformIO, for every platform and framework."""

from kibi.codegen import Library
from kibi.codegen.provenance import LICENSE
from kibi.packages.example import check_no_file, stdio_example
from kibi.packages.golden import Golden
from kibi.packages.kind import Arrangement, Kind
from kibi.packages.readme import readme
from kibi.packages.sources import VERSION, moved_texts, summary
from kibi.packages.templates import filled_text
from kibi.text.file_name import FileName
from kibi.text.json import json_text
from kibi.text.package import bare_word


def _arrange(library: Library, golden: Golden | None) -> Arrangement:
    check_no_file(library, "platformio")
    name = library.name
    example = f"examples/{name}"
    texts = moved_texts(library, "src")
    texts[FileName("library.json")] = json_text(
        {
            "name": name,
            "version": VERSION,
            "description": summary(library).text,
            "keywords": ["neural network", "inference", "tinyml"],
            "license": LICENSE,
            "authors": [{"name": "Kibi"}],
            "frameworks": "*",
            "platforms": "*",
            "headers": [f"{model.graph.name}.h" for model in library.models],
            "build": {"flags": ["-ffp-contract=off"]},
            "examples": [{"name": name, "base": example, "files": ["platformio.ini", "src/main.c"]}],
        },
        indent=2,
    )
    texts[FileName("README.md")] = readme(library, filled_text("platformio/use.md.in", library=bare_word(name)))
    texts[FileName("platformio.ini", example)] = filled_text("platformio/platformio.ini.in")
    texts[FileName("main.c", f"{example}/src")] = stdio_example(library, golden)
    return Arrangement(texts, root="src")


PLATFORMIO = Kind(
    name="platformio",
    description="a PlatformIO library for every platform and framework",
    tested="The manifest by PlatformIO's own reader; sources and example by its rules for libraries with gcc, example run. "
    "Not built with `pio run`, which loads platforms from a registry.",
    use="Add it to lib_deps of platformio.ini: symlink://{directory}. Its example: pio run -d {directory}/examples/{name} -t exec",
    arrange=_arrange,
)
