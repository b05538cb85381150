"""The kind `cmsis-pack`: a software pack for CMSIS-Toolbox, Keil and IAR, with a layer and an example solution."""

from kibi.codegen import Library
from kibi.packages.archive import archive
from kibi.packages.example import check_no_file, stdio_example
from kibi.packages.golden import Golden
from kibi.packages.kind import Arrangement, Kind
from kibi.packages.readme import readme
from kibi.packages.sources import VERSION, moved_texts, summary
from kibi.packages.templates import filled_text
from kibi.text.file_name import FileName
from kibi.text.package import bare_word, lines_of, package_text

_DEVICES = {
    "cortex-m0plus": "ARMCM0P", "cortex-m3": "ARMCM3", "cortex-m4": "ARMCM4", "cortex-m7": "ARMCM7", "cortex-m33": "ARMCM33",
}  # fmt: skip
"""The models of cores in the pack ARM.Cortex_DFP."""
_CATEGORIES = {".c": package_text("source"), ".h": package_text("header")}


def _arrange(library: Library, golden: Golden | None) -> Arrangement:
    check_no_file(library, "cmsis-pack")
    name, version, about = bare_word(library.name), bare_word(VERSION), summary(library)
    example = f"examples/{library.name}"
    texts = moved_texts(library, "src")
    files = sorted((each for each in texts if each.suffix in _CATEGORIES), key=lambda each: each.path)
    listed = lines_of(
        package_text(
            '        <file category="$category" name="$file"/>', category=_CATEGORIES[each.suffix], file=bare_word(each)
        )
        for each in files
    )
    texts[FileName(f"Kibi.{library.name}.pdsc")] = filled_text(
        "cmsis_pack/pack.pdsc.in",
        name=name,
        upper=bare_word(library.name.upper()),
        version=version,
        summary=about,
        files=listed,
    )
    texts[FileName(f"{library.name}.clayer.yml", "layer")] = filled_text(
        "cmsis_pack/clayer.yml.in", name=name, summary=about
    )
    texts[FileName(f"{library.name}.csolution.yml", example)] = filled_text(
        "cmsis_pack/csolution.yml.in", name=name, device=bare_word(_DEVICES.get(library.target.name, "ARMCM3"))
    )
    texts[FileName("golden.cproject.yml", example)] = filled_text("cmsis_pack/cproject.yml.in", name=name)
    texts[FileName("README.md", example)] = filled_text("cmsis_pack/README.md.in", name=name)
    texts[FileName("README.md")] = readme(library, filled_text("cmsis_pack/use.md.in", library=name, version=version))
    texts[FileName("main.c", example)] = stdio_example(library, golden)
    packed = archive({file.path: text.text.encode() for file, text in texts.items()})
    return Arrangement(texts, root="src", data={FileName(f"Kibi.{library.name}.{VERSION}.pack"): packed})


CMSIS_PACK = Kind(
    name="cmsis-pack",
    description="a CMSIS pack with a layer and an example solution, for CMSIS-Toolbox, Keil and IAR",
    tested="The .pdsc by the rules of PACK.xsd, the .yml files by those of CMSIS-Toolbox's schemas; the files that the .pdsc lists "
    "with the example by gcc, run. Not built with CMSIS-Toolbox.",
    use="cpackget add {directory}/Kibi.{name}.1.0.0.pack && cbuild {directory}/examples/{name}/{name}.csolution.yml",
    arrange=_arrange,
)
