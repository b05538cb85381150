"""The measuring program for boards that no debugger reaches: the library, and C that answers over a serial line."""

import re
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from kibi.codegen import CompiledModel, Library
from kibi.packages.sources import LICENSE_FILE, plain_texts, with_first_lines
from kibi.packages.templates import filled_c
from kibi.text.c import CCode, array, code, lines, word
from kibi.text.file_name import FileName

FOLDER = "serial"
"""The folder of the program's own files, in that of the library."""
_WORD_BYTES = 8


def serial_functions(library: Library, model: CompiledModel) -> tuple[str, ...]:
    """The functions of a library's model, without the prefix, in the order of the program's table."""
    name = model.graph.name
    header = library.files[FileName(f"{name}.h", library.root).path]
    return tuple(dict.fromkeys(re.findall(rf"^(?:const )?\w+ \*?{name}_(\w+)\(", header, re.MULTILINE)))


def operator_count(library: Library) -> int:
    """How many counts of operators the program has: one more than the greatest number of one in a model file."""
    return 1 + max((node.source for model in library.models for node in model.graph.nodes), default=0)


def with_serial_program(library: Library, memory_bytes: int, stack_bytes: int) -> Library:
    """Returns the C sources of a library with those of a program that measures its models.

    Args:
        library: in any kind of package.
        memory_bytes: for the state of any of its models, its arena and what it is given.
        stack_bytes: of the stack on which its functions run.
    """
    texts = {
        "kibi_serial.h": filled_c("serial/kibi_serial.h.in"),
        "kibi_serial_parts.h": filled_c("serial/kibi_serial_parts.h.in"),
        "kibi_serial.c": filled_c("serial/kibi_serial.c.in"),
        "kibi_serial_core.c": filled_c("serial/kibi_serial_core.c.in"),
        "kibi_semihosting.c": filled_c("serial/kibi_semihosting.c.in"),
    }
    files = {FileName(each, FOLDER): text for each, text in texts.items()}
    named = {each.graph.name: serial_functions(library, each) for each in library.models}
    files[FileName("kibi_serial_model.c", FOLDER)] = _models_text(library, named, memory_bytes, stack_bytes)
    for model, functions in named.items():
        renamed = lines(
            code("#define ${name}_$function ${name}_by_operator_$function\n", name=word(model), function=word(each))
            for each in functions
        )
        files[FileName(f"{model}_by_operator.c", FOLDER)] = filled_c(
            "serial/by_operator.c.in", name=word(model), renamed=renamed, functions=_listed(model, functions)
        )
    own = {file.inside(library.root): with_first_lines(library, text) for file, text in files.items()}
    sources = {f"{library.root}/{path}" if library.root else path for path in library.c_paths}
    kept = {file: text for file, text in plain_texts(library).items() if file == LICENSE_FILE or file.path in sources}
    return library.arranged({**kept, **own}, package=FOLDER, root=library.root)


def _models_text(library: Library, named: Mapping[str, tuple[str, ...]], memory_bytes: int, stack_bytes: int) -> CCode:
    """The file with the tables of all models, and their memory."""
    tables = lines(
        code(
            "extern const kibi_serial_function ${name}_by_operator[];\n"
            "static const kibi_serial_function ${name}_functions[] = {\n$functions};\n",
            name=word(model),
            functions=_listed(model, functions),
        )
        for model, functions in named.items()
    )
    models = lines(
        code(
            "    {.plain = ${name}_functions, .by_operator = ${name}_by_operator, .count = ${count}u},\n",
            name=word(model),
            count=len(functions),
        )
        for model, functions in named.items()
    )
    return filled_c(
        "serial/model.c.in",
        includes=lines(code('#include "../${name}.h"\n', name=word(model)) for model in named),
        digest=array(code("static const uint8_t digest[32]"), _digest(library)),
        functions=tables,
        models=models,
        count=sum(map(len, named.values())),
        memory_words=-(-memory_bytes // _WORD_BYTES),
        stack_bytes=stack_bytes,
        operators=operator_count(library),
    )


def _listed(model: str, functions: tuple[str, ...]) -> CCode:
    """The lines of a table of a model's functions."""
    return lines(
        code("    (kibi_serial_function)${name}_$function,\n", name=word(model), function=word(each))
        for each in functions
    )


def _digest(library: Library) -> NDArray[np.uint8]:
    return np.frombuffer(bytes.fromhex(library.code_digest), np.uint8)
