"""The measuring program for boards that no debugger reaches: the library, and C that answers over a serial line."""

import re

import numpy as np
from numpy.typing import NDArray

from kibi.codegen import Library
from kibi.errors import InputError
from kibi.packages.sources import LICENSE_FILE, plain_texts, with_first_lines
from kibi.packages.templates import filled_c
from kibi.text.c import array, code, lines, word
from kibi.text.file_name import FileName

FOLDER = "serial"
"""The folder of the program's own files, in that of the library."""
_WORD_BYTES = 8


def serial_functions(library: Library) -> tuple[str, ...]:
    """The functions of a library's first model, without the prefix, in the order of the program's table."""
    name = library.model.graph.name
    header = library.files[FileName(f"{name}.h", library.root).path]
    return tuple(dict.fromkeys(re.findall(rf"^(?:const )?\w+ \*?{name}_(\w+)\(", header, re.MULTILINE)))


def operator_count(library: Library) -> int:
    """How many counts of operators the program has: one more than the greatest number of one in the model file."""
    return 1 + max((node.source for node in library.model.graph.nodes), default=0)


def with_serial_program(library: Library, memory_bytes: int, stack_bytes: int) -> Library:
    """Returns the C sources of a library with those of a program that measures its first model.

    Args:
        library: of one model, in any kind of package.
        memory_bytes: for the model's state, its arena and what it is given.
        stack_bytes: of the stack on which its functions run.

    Raises:
        InputError: the library is of several models.
    """
    if len(library.models) > 1:
        raise InputError(f"a measuring program has one model; this library has {len(library.models)}.")
    name, names = word(library.model.graph.name), serial_functions(library)
    functions = lines(
        code("    (kibi_serial_function)${name}_$function,\n", name=name, function=word(each)) for each in names
    )
    renamed = lines(
        code("#define ${name}_$function ${name}_by_operator_$function\n", name=name, function=word(each))
        for each in names
    )
    texts = {
        "kibi_serial.h": filled_c("serial/kibi_serial.h.in"),
        "kibi_serial_parts.h": filled_c("serial/kibi_serial_parts.h.in"),
        "kibi_serial.c": filled_c("serial/kibi_serial.c.in"),
        "kibi_serial_core.c": filled_c("serial/kibi_serial_core.c.in"),
        "kibi_semihosting.c": filled_c("serial/kibi_semihosting.c.in"),
    }
    files = {FileName(each, FOLDER): text for each, text in texts.items()}
    files[FileName("kibi_serial_model.c", FOLDER)] = filled_c(
        "serial/model.c.in",
        name=name,
        digest=array(code("static const uint8_t digest[32]"), _digest(library)),
        functions=functions,
        count=len(names),
        memory_words=-(-memory_bytes // _WORD_BYTES),
        stack_bytes=stack_bytes,
        operators=operator_count(library),
    )
    files[FileName("kibi_serial_by_operator.c", FOLDER)] = filled_c(
        "serial/by_operator.c.in", name=name, renamed=renamed, functions=functions
    )
    own = {file.inside(library.root): with_first_lines(library, text) for file, text in files.items()}
    sources = {f"{library.root}/{path}" if library.root else path for path in library.c_paths}
    kept = {file: text for file, text in plain_texts(library).items() if file == LICENSE_FILE or file.path in sources}
    return library.arranged({**kept, **own}, package=FOLDER, root=library.root)


def _digest(library: Library) -> NDArray[np.uint8]:
    return np.frombuffer(bytes.fromhex(library.code_digest), np.uint8)
