"""The library for programs by hand as a folder that is ready to use: its C, a build file, an example, recorded programs."""

from collections.abc import Collection, Mapping
from typing import Final

from kibi.codegen.earlier import file_digest
from kibi.codegen.provenance import cmake_first_lines, first_lines, license_text
from kibi.eager.program import Program
from kibi.eager_c.program_c import program_in_c
from kibi.eager_c.sources import SOURCES, library_texts, operators
from kibi.errors import InputError
from kibi.packages.cmake.lists import cmake_lists
from kibi.targets import Target
from kibi.text.c import CCode, file_text
from kibi.text.file_name import FileName
from kibi.text.file_text import FileText
from kibi.text.json import json_text
from kibi.version import __version__

_NAME: Final = "kibi_eager"
_RECORD: Final = "eager.json"
"""Lists the files, so that those that a later library of the same folder no longer has can be removed."""


def eager_files(
    names: Collection[str] | None, programs: Collection[Program], target: Target, command: str
) -> Mapping[FileName, FileText]:
    """Returns the files of the library, by their paths in its folder.

    Args:
        names: of operators; None: those that the programs call, or all if there is no program.
        programs: recorded ones, each of which becomes a function.
        target: the processor, which chooses the kernels.
        command: what made it, for the first line of each file.

    Raises:
        InputError: there is no such operator, or a program does what C cannot.
    """
    written = [program_in_c(program) for program in programs]
    called = {name for each in written for name in each.operators}
    wanted = (called or set(operators())) if names is None else called | set(names)
    texts: dict[FileName, CCode] = dict(library_texts(wanted, target))
    for each in written:
        for name, text in each.files.items():
            if name in texts:
                raise InputError(
                    f"the program {name.path} would replace a file of the library. Record it by another name."
                )
            texts[name] = text
    sources, headers = ([name for name in texts if name.suffix == suffix] for suffix in (".c", ".h"))
    texts[FileName("example_main.c")] = file_text(SOURCES / "example_main.c")
    files: dict[FileName, FileText] = {name: first_lines(command, ()) + text for name, text in texts.items()}
    files[FileName("CMakeLists.txt")] = cmake_lists(
        _NAME, sources, headers, cmake_first_lines(command, ()), FileName("example_main.c")
    )
    files[FileName("LICENSE")] = license_text()
    digests = {name.path: file_digest(text.text) for name, text in sorted(files.items(), key=lambda each: each[0].path)}
    record = {"kibi": __version__, "target": target.name, "operators": sorted(wanted), "files": digests}
    files[FileName(_RECORD)] = json_text(record)
    return dict(sorted(files.items(), key=lambda each: each[0].path))
