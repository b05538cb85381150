"""The kind `micropython`: a module of MicroPython, as a native .mpy file or inside of the firmware."""

from collections.abc import Iterable

from kibi.codegen import Library
from kibi.codegen.provenance import cmake_first_lines
from kibi.dtypes import DType
from kibi.packages.example import model_name
from kibi.packages.golden import Golden
from kibi.packages.kind import Arrangement, Kind
from kibi.packages.readme import readme
from kibi.packages.simple import Wrapped, wrapped
from kibi.packages.sources import moved_texts, sources_of, with_first_lines
from kibi.packages.templates import filled_c, filled_cmake, filled_text
from kibi.text.c import CCode, code, lines
from kibi.text.cmake import argument, cmake
from kibi.text.file_name import FileName
from kibi.text.package import PackageText, bare_word, lines_of, package_text

_CODES = {
    DType.S8: package_text('"b"'), DType.U8: package_text('"B"'), DType.S16: package_text('"h"'), DType.S32: package_text('"i"'),
    DType.U32: package_text('"I"'), DType.S64: package_text('"q"'), DType.U64: package_text('"Q"'), DType.F32: package_text('"f"'),
    DType.BOOL: package_text('"?"'),
}  # fmt: skip
"""The codes of the module `array`; `?`, which it does not have, is bytes of 0 or 1."""


def _arrange(library: Library, golden: Golden | None) -> Arrangement:
    parts = wrapped(library, golden, "micropython")
    name = bare_word(parts.model.graph.name)
    module = f"kibi_{name.text}"
    files = sources_of(library, "c")
    texts = moved_texts(library, f"{module}/c", licence=module)
    texts[FileName("module.c", module)] = with_first_lines(library, _module(library, parts))
    texts[FileName("memory.c", f"{module}/natmod")] = with_first_lines(library, filled_c("micropython/memory.c.in"))
    listed = lines_of(package_text("  $file \\", file=bare_word(file)) for file in files)
    texts[FileName("Makefile", module)] = filled_text("micropython/Makefile.in", name=name, sources=listed)
    texts[FileName("micropython.mk", module)] = filled_text("micropython/micropython.mk.in", sources=listed)
    texts[FileName("micropython.cmake", module)] = filled_cmake(
        "micropython/micropython.cmake.in",
        first_lines=cmake_first_lines(library.made_by, [library.model.graph]),
        name=argument(name.text),
        sources=cmake("\n").join(cmake("  $${CMAKE_CURRENT_LIST_DIR}/$file", file=argument(file)) for file in files),
    )
    texts[FileName("README.md")] = readme(library, filled_text("micropython/use.md.in", name=name))
    texts[FileName("golden.py", "examples")] = filled_text(
        "micropython/golden.py.in",
        name=name,
        inputs=_items(
            package_text("($code, $elements)", code=_CODES[each.dtype], elements=each.elements) for each in parts.inputs
        ),
        outputs=_items(package_text("$size", size=each.size_bytes) for each in parts.outputs),
        crc=parts.golden.crc32,
    )
    return Arrangement(texts, root=f"{module}/c")


def _items(items: Iterable[PackageText]) -> PackageText:
    """The items of a tuple, each with a comma."""
    return package_text(" ").join(package_text("$item,", item=item) for item in items)


def _module(library: Library, parts: Wrapped) -> CCode:
    """The module in C."""
    name, count = model_name(library), len(parts.inputs)
    inputs = lines(
        code(
            "    memcpy(${name}_input(&kibi_${name}_model, $number), "
            "bytes_of(arguments[$number], ${upper}_INPUT_${number}_BYTES, MP_BUFFER_READ),\n"
            "           ${upper}_INPUT_${number}_BYTES);\n",
            name=name,
            upper=name.upper(),
            number=number,
        )
        for number in range(count)
    )
    outputs = lines(
        code(
            "    memcpy(bytes_of(arguments[$place], ${upper}_OUTPUT_${number}_BYTES, MP_BUFFER_WRITE), "
            "${name}_output(&kibi_${name}_model, $number),\n           ${upper}_OUTPUT_${number}_BYTES);\n",
            name=name,
            upper=name.upper(),
            number=number,
            place=count + number,
        )
        for number in range(len(parts.outputs))
    )
    return filled_c(
        "micropython/module.c.in",
        name=name,
        upper=name.upper(),
        inputs=inputs,
        outputs=outputs,
        arguments=count + len(parts.outputs),
    )


MICROPYTHON = Kind(
    name="micropython",
    description="a MicroPython module, as a native .mpy file or inside of the firmware",
    tested="With MicroPython's sources: the native module built for armv7emsp and x64, and the module built into the Unix port; "
    "golden vector run with both on Linux. Not run on a board.",
    use="make -C {directory}/kibi_{name} MPY_DIR=.../micropython ARCH=armv7emsp. In firmware: USER_C_MODULES={directory}",
    arrange=_arrange,
)
