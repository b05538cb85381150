"""The kind `arduino`: a library of the Arduino IDE, as a folder and as the zip file that "Add .ZIP Library" takes."""

from kibi.codegen import Library
from kibi.packages.archive import archive
from kibi.packages.example import check_no_file, example_parts, model_name
from kibi.packages.golden import Golden
from kibi.packages.kind import Arrangement, Kind
from kibi.packages.readme import readme
from kibi.packages.sources import VERSION, moved_texts, summary, with_first_lines
from kibi.packages.templates import filled_c, filled_text
from kibi.text.c import code
from kibi.text.file_name import FileName
from kibi.text.package import PackageText, bare_word, lines_of, package_text


def _arrange(library: Library, golden: Golden | None) -> Arrangement:
    check_no_file(library, "arduino")
    name = library.name
    texts = moved_texts(library, f"{name}/src", licence=name)
    texts[FileName("library.properties", name)] = filled_text(
        "arduino/library.properties.in",
        name=bare_word(name),
        version=bare_word(VERSION),
        summary=summary(library),
        arena=library.model.arena_bytes,
        header=bare_word(FileName(f"{library.model.graph.name}.h")),
    )
    texts[FileName("README.md", name)] = readme(
        library, filled_text("arduino/use.md.in", library=bare_word(name), name=bare_word(library.model.graph.name))
    )
    texts[FileName("keywords.txt", name)] = _keywords(library)
    sketch = filled_c(
        "arduino/example.ino.in",
        library_header=code("$name.h", name=model_name(library)),
        parts=example_parts(library, golden),
        name=model_name(library),
    )
    texts[FileName(f"{name}.ino", f"{name}/examples/{name}")] = with_first_lines(library, sketch)
    packed = archive({file.path: text.text.encode() for file, text in texts.items()})
    return Arrangement(texts, root=f"{name}/src", data={FileName(f"{name}.zip"): packed})


def _keywords(library: Library) -> PackageText:
    """The words that the IDE colours: the struct and the functions of each model."""
    found = []
    for model in library.models:
        words = {"t": "KEYWORD1", **dict.fromkeys(("init", "input", "output", "invoke"), "KEYWORD2")}
        found += [
            package_text(
                "${name}_$word\t$kind", name=bare_word(model.graph.name), word=bare_word(word), kind=bare_word(kind)
            )
            for word, kind in words.items()
        ]
    return lines_of(found)


ARDUINO = Kind(
    name="arduino",
    description="a library for the Arduino IDE, as a folder and as a zip file",
    tested="Sources as gnu11, and as C++17 with the sketch, by gcc for Cortex-M4, with a stub of Arduino.h; the sketch run. "
    "Not built with the Arduino IDE, and not on a board.",
    use="In the Arduino IDE: Sketch, Include Library, Add .ZIP Library, {directory}/{name}.zip",
    arrange=_arrange,
)
