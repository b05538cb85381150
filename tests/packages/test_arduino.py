"""The kind `arduino`, built by the rules of the Arduino IDE: all of `src`, and the sketch as C++ with prototypes before it."""

import re
from pathlib import Path

import pytest

from tests.packages.places import NAME, package, run
from tests.toolchain.tools import check_cross, check_gcc

_HEADER = """\
#pragma once
#include <stdint.h>
#include <stdio.h>
#define F(text) text
struct Console {
    void begin(unsigned long) {}
    explicit operator bool() const { return true; }
    bool operator!() const { return false; }
    void print(const char *text) { fputs(text, stdout); }
    void println(unsigned long number) { printf("%lu\\n", number); }
};
extern Console Serial;
unsigned long micros();
void setup();
void loop();
"""
_CORE = """\
#include <Arduino.h>
Console Serial;
unsigned long micros() { return 0; }
int main() { setup(); loop(); return 0; }
"""
_M4 = ("-mcpu=cortex-m4", "-mthumb", "-mfloat-abi=hard", "-mfpu=fpv4-sp-d16")
_WARNINGS = ("-Wall", "-Wextra", "-Werror")


def _sketch(library: Path) -> str:
    """The sketch as the IDE hands it to the compiler: the core's header first, prototypes of its functions before the first."""
    text = next((library / "examples").rglob("*.ino")).read_text(encoding="utf-8")
    prototypes = re.findall(r"^((?:static )?\w+ \w+\([^)]*\))\n\{", text, re.MULTILINE)
    first = re.search(r"^(static )?\w+ \w+\([^)]*\)\n\{", text, re.MULTILINE)
    assert first is not None
    declared = "".join(f"{each};\n" for each in prototypes)
    return f"#include <Arduino.h>\n{text[: first.start()]}{declared}{text[first.start() :]}"


def _objects(folder: Path, prefix: str, flags: tuple[str, ...]) -> list[Path]:
    """Compiles the library, the sketch and the core, each file by itself, as the IDE does."""
    library, core = folder / "lib" / NAME, folder / "core"
    core.mkdir()
    (core / "Arduino.h").write_text(_HEADER, encoding="utf-8")
    (core / "main.cpp").write_text(_CORE, encoding="utf-8")
    (core / "sketch.cpp").write_text(_sketch(library), encoding="utf-8")
    sources = sorted([*(library / "src").rglob("*.c"), *core.glob("*.cpp")])
    objects = []
    for number, source in enumerate(sources):
        made = folder / f"{number}.o"
        tool, dialect = ("gcc", "gnu11") if source.suffix == ".c" else ("g++", "gnu++17")
        includes = (f"-I{library / 'src'}", f"-I{core}")
        run([f"{prefix}{tool}", *flags, f"-std={dialect}", "-Os", *_WARNINGS, *includes, "-c", source, "-o", made])
        objects.append(made)
    return objects


def test_library_and_sketch_compile_for_arm_with_one_main(tmp_path: Path) -> None:
    """All of `src` as gnu11, the sketch as C++17; the only `main` is the core's."""
    check_cross()
    package(tmp_path / "lib", "arduino", "cortex-m4")
    objects = _objects(tmp_path, "arm-none-eabi-", _M4)
    symbols = run(["arm-none-eabi-nm", "--defined-only", *objects])
    assert len(re.findall(r" T main$", symbols, re.MULTILINE)) == 1
    run(
        ["arm-none-eabi-g++", *_M4, *objects, "--specs=nosys.specs", "-Wl,--gc-sections", "-o", tmp_path / "sketch.elf"]
    )


def test_sketch_runs_the_golden_vector(tmp_path: Path) -> None:
    """On this machine, with a console that prints."""
    check_gcc()
    package(tmp_path / "lib", "arduino")
    objects = _objects(tmp_path, "", ())
    run(["g++", *objects, "-o", tmp_path / "sketch"])
    assert run([tmp_path / "sketch"]) == f"{NAME}: same bits, microseconds: 0\n"


def test_sketch_sees_a_bit_that_differs(tmp_path: Path) -> None:
    """A model with another weight prints that its bits are others."""
    check_gcc()
    package(tmp_path / "lib", "arduino")
    weights = tmp_path / "lib" / NAME / "src" / f"{NAME}_weights.c"
    text = weights.read_text(encoding="utf-8")
    changed = re.sub(r"(\{\n\s+)(-?\d+),", lambda found: f"{found[1]}{-int(found[2]) or 1},", text)
    assert changed != text
    weights.write_text(changed, encoding="utf-8")
    objects = _objects(tmp_path, "", ())
    run(["g++", *objects, "-o", tmp_path / "sketch"])
    assert run([tmp_path / "sketch"]) == f"{NAME}: other bits, microseconds: 0\n"


@pytest.mark.parametrize("language", [pytest.param("gnu11", marks=pytest.mark.slow), "c++17"])
def test_sources_compile_as_c_and_as_cpp(language: str, tmp_path: Path) -> None:
    """Cores that compile everything as C++ take them, too."""
    check_cross()
    library = package(tmp_path, "arduino", "cortex-m4")
    sources = [tmp_path / source for source in library.sources]
    kind = ["-x", "c++"] if language == "c++17" else []
    tool = "arm-none-eabi-g++" if kind else "arm-none-eabi-gcc"
    run([tool, *_M4, *kind, f"-std={language}", *_WARNINGS, "-fsyntax-only", *sources])
