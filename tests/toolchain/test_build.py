"""Whole builds: exact sizes of images, and what runs on the host."""

import ctypes
import subprocess
import sys
from pathlib import Path

import pytest

import kibi
from kibi import demo
from kibi.errors import ToolchainError
from kibi.kernels import kernel_folder
from kibi.targets import target as target_named
from kibi.toolchain import (
    FLASH_ADDRESS,
    RAM_ADDRESS,
    build_image,
    build_program,
    build_shared,
    read_image,
)
from kibi.toolchain.build import _zig_shared
from kibi.toolchain.compile import run_tool
from kibi.toolchain.compilers import find_compiler
from kibi.toolchain.flags import compile_flags
from tests.toolchain.tools import check_cross, check_gcc

_M4 = target_named("cortex-m4")
_CODE = """
#include <stdint.h>
extern const int8_t weights[100];
static int32_t initialised[3] = {1, 2, 3};
static int32_t zeroed[5];
const int16_t table[4] = {1, 2, 3, 4};
int32_t unused(void);
int32_t f(uint32_t n);
static __attribute__((noinline)) int32_t inner(uint32_t n) { return initialised[n] + zeroed[n]++; }
int32_t unused(void) { return 77; }
int32_t f(uint32_t n) { initialised[n]++; return inner(n) + table[n & 3u] + weights[n]; }
"""
_WEIGHTS = "#include <stdint.h>\nextern const int8_t weights[100];\nconst int8_t weights[100] = {1, 2, 3};\n"


def _write(folder: Path, **texts: str) -> list[Path]:
    paths = []
    for name, text in texts.items():
        paths.append(folder / f"{name}.c")
        paths[-1].write_text(text, encoding="utf-8")
    return paths


@pytest.mark.parametrize("compiler", ["zig", "gcc"])
def test_sizes_are_exact(tmp_path: Path, compiler: str) -> None:
    """Weights, variables and zeroed variables are counted by the byte; all else in flash is code."""
    if compiler == "gcc":
        check_cross()
    sources = _write(tmp_path, code=_CODE, my_weights=_WEIGHTS)
    image = build_image(sources, _M4, entries=["f"], compiler=compiler)
    text = next(segment for segment in image.segments if segment.name == ".text")
    assert image.weights_bytes == 100
    assert image.data_bytes == 12
    assert image.bss_bytes == 20
    assert image.symbols["weights"].size == 100
    assert "unused" not in image.symbols
    padding = -text.size_bytes % 4
    assert image.code_bytes == text.size_bytes + padding + 8 + 12


def test_segments_hold_what_was_compiled(tmp_path: Path) -> None:
    """Constants lie in flash, variables in RAM, each with its initial contents and rights."""
    image = build_image(_write(tmp_path, code=_CODE, my_weights=_WEIGHTS), _M4, entries=["f"])
    segments = {segment.name: segment for segment in image.segments}
    assert set(segments) == {".text", ".weights", ".rodata", ".data", ".bss"}
    assert segments[".text"].executable
    assert segments[".text"].address == FLASH_ADDRESS
    assert segments[".weights"].data == bytes([1, 2, 3]) + bytes(97)
    assert segments[".data"].address == RAM_ADDRESS
    assert segments[".data"].data == b"".join(n.to_bytes(4, "little") for n in (1, 2, 3))
    assert segments[".bss"].data == b""
    assert [name for name, segment in segments.items() if segment.writable] == [".data", ".bss"]


def test_functions_are_found_by_address(tmp_path: Path) -> None:
    """Every address of a function, static ones too, names it; others name none."""
    image = build_image(_write(tmp_path, code=_CODE, my_weights=_WEIGHTS), _M4, entries=["f"])
    for name in ("f", "inner"):
        symbol = image.symbols[name]
        assert symbol.address % 2 == 0
        assert image.function_at(symbol.address) == image.function_at(symbol.address + symbol.size - 1) == name
    assert image.function_at(image.symbols["weights"].address) == ""
    assert image.function_at(0) == ""
    assert all(FLASH_ADDRESS <= start < end for start, end in image.code_spans)


def test_literal_pools_are_no_code(tmp_path: Path) -> None:
    """Data between instructions is told apart."""
    text = "unsigned f(unsigned n) { return n * 0x12345678u + 0x9ABCDEF1u; }"
    image = build_image(_write(tmp_path, pool=text), target_named("cortex-m0plus"), entries=["f"])
    symbol = image.symbols["f"]
    code_bytes = sum(end - start for start, end in image.code_spans)
    assert symbol.size - code_bytes == 8


def test_same_sources_give_the_same_image(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two caches, and so two compilations, give the same bytes."""
    sources = _write(tmp_path, code=_CODE, my_weights=_WEIGHTS)
    images = []
    for name in ("one", "two"):
        monkeypatch.setenv("KIBI_CACHE", str(tmp_path / name))
        images.append(build_image(sources, _M4, entries=["f"]).path)
    assert images[0] != images[1]
    assert images[0].read_bytes() == images[1].read_bytes()


def test_missing_symbols_are_errors(tmp_path: Path) -> None:
    """An entry that nobody defines, and a call of a function that nobody defines, are named."""
    sources = _write(tmp_path, code="int g(void); int f(void) { return g(); } int h(void) { return 1; }")
    with pytest.raises(ToolchainError, match="no source defines the function other"):
        build_image(sources, _M4, entries=["h", "other"])
    with pytest.raises(ToolchainError, match="does not link") as caught:
        build_image(sources, _M4, entries=["f"])
    assert "undefined symbol: g" in caught.value.output


def test_host_and_empty_entries_are_refused(tmp_path: Path) -> None:
    """An image is for a device and has a function."""
    sources = _write(tmp_path, code="int f(void) { return 1; }")
    with pytest.raises(ToolchainError, match="host is not a device"):
        build_image(sources, target_named("host"), entries=["f"])
    with pytest.raises(ToolchainError, match="no entries"):
        build_image(sources, _M4, entries=[])


def test_other_files_are_no_images(tmp_path: Path) -> None:
    """Reading a text file, a host's library or nothing is an error."""
    path = tmp_path / "text"
    path.write_text("no program", encoding="utf-8")
    with pytest.raises(ToolchainError, match="cannot read the program"):
        read_image(path)
    with pytest.raises(ToolchainError, match="cannot read the program"):
        read_image(tmp_path / "nothing")
    library = build_shared(_write(tmp_path, code="int f(void) { return 1; }"))
    with pytest.raises(ToolchainError, match="not a program for a 32-bit Arm or RISC-V device"):
        read_image(library)


@pytest.mark.parametrize("compiler", ["zig", "gcc"])
def test_shared_library_runs_in_python(tmp_path: Path, compiler: str) -> None:
    """A library for the host is loaded and called, with the C library's functions."""
    if compiler == "gcc":
        check_gcc()
    text = (
        "#include <string.h>\nint f(unsigned char *to, const unsigned char *from, unsigned n)"
        "{ memcpy(to, from, n); return (int)n * 2; }"
    )
    library = ctypes.CDLL(str(build_shared(_write(tmp_path, code=text), compiler=compiler, level="3")))
    buffer = ctypes.create_string_buffer(8)
    assert library.f(buffer, b"abcdefg", 7) == 14
    assert buffer.value == b"abcdefg"


_OVERFLOW = "int f(int a, int b); int f(int a, int b) { return a + b; }"


@pytest.mark.parametrize("compiler", ["zig", "gcc"])
def test_sanitized_library_stops_at_undefined_behaviour(tmp_path: Path, compiler: str) -> None:
    """An overflowing sum ends the process; a harmless one does not."""
    if compiler == "gcc":
        check_gcc()
    path = build_shared(_write(tmp_path, code=_OVERFLOW), compiler=compiler, sanitize=True)
    for number, fails in ((1, False), (2**31 - 1, True)):
        script = f"import ctypes; ctypes.CDLL({str(path)!r}).f({number}, 1)"
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
        assert (done.returncode != 0) == fails, done.stderr


def test_sanitized_program_stops_at_bad_access(tmp_path: Path) -> None:
    """GCC's sanitizers find an access one byte past an array."""
    check_gcc()
    text = (
        "#include <stdlib.h>\nint main(int n, char **names) { (void)names; char *p = malloc(4);"
        " p[n + LAST] = 1; int r = p[n + LAST] - 1; free(p); return r; }"
    )
    for last, fails in ((2, False), (3, True)):
        source = _write(tmp_path, **{f"program{last}": f"#define LAST {last}\n" + text})
        done = subprocess.run(
            [build_program(source, compiler="gcc", sanitize=True)], capture_output=True, text=True, check=False
        )
        assert (done.returncode != 0) == fails
        assert ("program3.c" in done.stderr) == fails


@pytest.mark.parametrize("compiler", ["zig", "gcc"])
def test_program_runs(tmp_path: Path, compiler: str) -> None:
    """A program for the host runs and returns its code."""
    if compiler == "gcc":
        check_gcc()
    source = _write(tmp_path, program='#include <stdio.h>\nint main(void) { puts("hello"); return 3; }')
    done = subprocess.run([build_program(source, compiler=compiler)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (3, "hello\n")


@pytest.mark.slow
def test_program_that_needs_the_run_time_library_runs(tmp_path: Path) -> None:
    """What the compiler calls by itself, such as a product of complex numbers, is linked from zig's library."""
    text = "int main(int n, char **names) { (void)names; double _Complex z = n; z *= z; return (int)*(double *)&z; }"
    done = subprocess.run([build_program(_write(tmp_path, program=text))], check=False)
    assert done.returncode == 1


def test_shared_libraries_of_other_systems_are_linked_by_their_own_linkers() -> None:
    """Lld for ELF knows Linux alone."""
    tool = find_compiler("zig", target_named("host"))
    assert _zig_shared(tool, "linux")[1:] == ("ld.lld", "-shared")
    assert _zig_shared(tool, "darwin") == _zig_shared(tool, "win32") == (*tool.link, "-shared")


@pytest.mark.slow
@pytest.mark.parametrize("triple", ["x86_64-windows-gnu", "aarch64-windows-gnu", "aarch64-macos", "x86_64-macos"])
def test_host_kernels_and_a_library_are_built_for_other_systems(triple: str, tmp_path: Path) -> None:
    """The kernels for vectors compile without a warning, and a model's library with its example links; nothing here runs them."""
    model = kibi.load(demo.model_path())
    kibi.compile(model, kibi.plan(model, "host"), tmp_path)
    tool = find_compiler("zig", target_named("host"))
    processor = {"x86_64": "x86_64_v3", "aarch64": "baseline"}[triple.partition("-")[0]]
    flags = [
        flag
        for flag in compile_flags("zig", target_named("host"), "1", "c99", sanitize=False)
        if flag != "-march=native"
    ]
    command = [*tool.link, "-target", triple, f"-mcpu={processor}", *flags]
    folders = [kernel_folder(name) for name in ("host", "portable")]
    for kernel in sorted(folders[0].glob("*.c")):
        includes = [f"-I{folder}" for folder in folders]
        run_tool(
            [*command, *includes, "-c", str(kernel), "-o", str(tmp_path / "kernel.o")], "a kernel does not compile"
        )
    sources = [str(path) for path in sorted(tmp_path.rglob("*.c"))]
    run_tool([*command, f"-I{tmp_path}", *sources, "-o", str(tmp_path / "example")], "the library does not link")
