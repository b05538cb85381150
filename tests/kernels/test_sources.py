"""The kernels' sources: each compiles everywhere, and each is used."""

import re
from importlib.resources import files
from pathlib import Path

import pytest

from kibi.codegen import lives_c
from kibi.kernels import closure, header_of, kernel_folder
from kibi.kernels.headers import struct_fields
from kibi.kernels.params import struct_name
from kibi.ops import operators
from kibi.selection.choice import VARIANTS
from kibi.selection.conv2d_row_pairs import KERNEL as KERNEL_OF_PAIRS
from kibi.targets import target, targets
from kibi.toolchain import compile_objects
from tests.support.amount import IS_EXHAUSTIVE, amount, sample
from tests.support.kernel_files import portable_folder
from tests.toolchain.tools import check_cross, check_gcc
from tests.toolchain.unity import unity_files

FOLDER = portable_folder()
SOURCES = tuple(sorted(FOLDER.glob("*.c")))
HEADERS = tuple(sorted(FOLDER.glob("*.h")))
KERNELS = frozenset(kernel for operator in operators().values() for kernel in operator.kernels)
_HEADER_TYPES = ("int8_t", "int16_t", "int32_t", "int64_t", "float", "kibi_subgraph")
TWINS = frozenset(variant.kernel for variant in VARIANTS if (FOLDER / f"{variant.kernel}.c").is_file())
_EVERY = [
    (name, language, level)
    for name in ("host", "cortex-m4", "cortex-m0plus")
    for language in ("c99", "c++17")
    for level in ("s", "2", "3")
]
_FOR_ARM = [each for each in _EVERY if each[0] != "host"]
_USUAL = {("cortex-m0plus", "c++17", "s")}
"""Processor, language and level that each run compiles for; the long one for all."""


@pytest.mark.parametrize(
    ("name", "language"),
    sample(
        [(name, language) for name in ("host", "cortex-m4", "cortex-m0plus") for language in ("c99", "c++17")],
        [("host", "c99"), ("cortex-m0plus", "c++17")],
    ),
)
def test_kernels_in_unity_files_give_no_warning(name: str, language: str, tmp_path: Path) -> None:
    """Each kernel is clean C99 and clean C++17 on large and small processors, and kernels may share a file."""
    units = unity_files(SOURCES, tmp_path)
    compile_objects(units, target(name), level="0", includes=[FOLDER], language=language)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "language", "level"), _EVERY)
def test_kernels_by_the_default_compiler_give_no_warning(name: str, language: str, level: str) -> None:
    """The same of each file alone, at each level that people use."""
    compile_objects(SOURCES, target(name), level=level, includes=[FOLDER], language=language)


@pytest.mark.cross
@pytest.mark.parametrize(("name", "language", "level"), sample(_FOR_ARM, _USUAL))
def test_kernels_by_gcc_for_arm_give_no_warning(name: str, language: str, level: str, tmp_path: Path) -> None:
    """The same with `arm-none-eabi-gcc`, whose optimizer knows of more that is suspect; in each run, kernels share files."""
    check_cross()
    sources, flags = (SOURCES, ()) if IS_EXHAUSTIVE else (unity_files(SOURCES, tmp_path), ("-Wno-shadow",))
    compile_objects(
        sources, target(name), compiler="gcc", level=level, includes=[FOLDER], language=language, flags=flags
    )


def test_kernels_by_gcc_for_the_host_with_assertions_give_no_warning(tmp_path: Path) -> None:
    """Checked preconditions compile, too."""
    check_gcc()
    flags = (
        "-include",
        "assert.h",
        "-DKIBI_ASSERT(condition)=assert(condition)",
        "-Wno-shadow",
    )  # of other kernels' functions
    units = unity_files(SOURCES, tmp_path)
    compile_objects(units, target("host"), compiler="gcc", level="0", includes=[FOLDER], flags=flags)


def test_kernels_without_gnu_extensions_give_no_warning(tmp_path: Path) -> None:
    """The macros of `kibi.h` fall back to plain C99 where the compiler is not GCC's kin."""
    flags = ("-U__GNUC__", "-Wno-macro-redefined")
    compile_objects(unity_files(SOURCES, tmp_path), target("host"), level="0", includes=[FOLDER], flags=flags)


def test_kernels_every_file_is_used() -> None:
    """All files of the set are what the operators' kernels, their variants and checkpoints include on some core, and no others."""
    sets = {("portable",), *(each.kernel_sets for each in targets())}
    used = {
        name
        for each in sets
        for name in closure(KERNELS | TWINS | {KERNEL_OF_PAIRS} | lives_c.KERNELS, each)
        if (FOLDER / name).is_file()
    }
    assert used == {path.name for path in (*SOURCES, *HEADERS)}


def test_headers_stand_alone(tmp_path: Path) -> None:
    """A header includes all that it needs, may be included twice, and has a guard of its own name."""
    sources = []
    for header in [*HEADERS][:: amount(3, 1)]:
        sources.append(tmp_path / f"{header.stem}_alone.c")
        sources[-1].write_text(f'#include "{header.name}"\n' * 2 + "typedef int not_empty;\n")
        assert f"#ifndef {header.stem.upper()}_H\n" in header.read_text()
    compile_objects(sources, target("host"), level="0", includes=[FOLDER])


@pytest.mark.parametrize("kernel", sorted(KERNELS))
def test_kernel_header_states_its_contract(kernel: str) -> None:
    """A kernel's header declares it and its struct, and says before it what output or outputs, rows and scratch are."""
    header, struct = FOLDER / header_of(kernel), struct_name(kernel)
    text = header.read_text()
    first = r"(\w+ \*output|void \*const \*outputs)"
    operands = rf"{first}, const \w+ \*const \*rows,\s+const {struct} \*params,\s+void \*scratch"
    optional = r"(,\s+int32_t step)?(,\s+void \*const \*states)?(,\s+const kibi_subgraph \*const \*bodies)?"
    found = re.search(rf"void {kernel}\({operands}{optional}\);", text)
    assert found
    comment = next(
        each
        for each in reversed(re.findall(r"/\*.*?\*/", text[: found.start()], re.DOTALL))
        if re.search("outputs?:", each)
    )
    output = "outputs" if "outputs" in found[1] else "output"
    further = [name for number, name in ((2, "step"), (3, "states"), (4, "bodies")) if found[number]]
    named = (output, "rows", "scratch", *further)
    assert all(f"{word}:" in comment for word in named)
    fields = struct_fields(kernel, ("portable",))
    headers = [header, *(FOLDER / name for name in re.findall(r'#include "([\w.]+)"', text))]
    defining = next(each for path in headers if f"}} {struct};" in (each := path.read_text()))
    end = defining.index(f"}} {struct};")
    body = defining[defining.rindex("typedef struct {", 0, end) : end]
    assert len(fields) == re.sub(r"/\*.*?\*/", "", body, flags=re.DOTALL).count(";")
    assert {field.type for field in fields} <= set(_HEADER_TYPES)


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.stem)
def test_source_needs_the_freestanding_library_alone(source: Path) -> None:
    """Kernels include their own headers, freestanding ones, and `string.h`; they allocate nothing and keep nothing."""
    text = source.read_text()
    allowed = {"float.h", "limits.h", "stddef.h", "stdint.h", "string.h"}
    assert set(re.findall(r"#include <([\w.]+)>", text)) <= allowed
    assert not re.search(r"\b(malloc|calloc|realloc|free|alloca)\s*\(", text)
    assert not re.search(r"^static (?!inline|KIBI_NOINLINE|const)[^()]*(=|;)", text, re.MULTILINE)


def test_page_of_the_library_names_all_functions_that_it_needs_of_the_system() -> None:
    """Kernels and generated code call three functions of `string.h`; the page says so in its first lines."""
    generated = Path(str(files("kibi.codegen")))
    texts = [*FOLDER.glob("*.[ch]"), *kernel_folder("templates").glob("*.[ch]"), *generated.glob("*.py")]
    called = {
        name
        for path in texts
        for name in re.findall(r"\b(mem(?:cpy|move|set|cmp|chr)|str[nr]?(?:len|cpy|cmp|chr))\(", path.read_text())
    }
    page = (Path(__file__).parents[2] / "docs" / "c-library.md").read_text(encoding="utf-8")
    (sentence,) = re.findall(r"`string.h` \(of which (.*?)\)", page, re.DOTALL)
    assert called == set(re.findall(r"`(\w+)`", sentence))
