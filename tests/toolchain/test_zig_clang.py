"""Zig's clang, called without zig's driver: the same code in half the time; zigs without it use the driver."""

from pathlib import Path

import pytest

from kibi.kernels import kernel_folder, text_of
from kibi.targets import Target, target
from kibi.toolchain import compile_objects, compilers
from kibi.toolchain.compilers import find_compiler


@pytest.fixture
def driver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A zig that does not know the command `clang`."""
    zig = tmp_path / "zig"
    zig.write_text(f'#!/bin/sh\n[ "$1" = clang ] && exit 1\nexec "{compilers.zig_command()}" "$@"\n', encoding="utf-8")
    zig.chmod(0o755)
    (tmp_path / "lib").symlink_to(Path(compilers.zig_command()).parent / "lib")
    monkeypatch.setattr(compilers, "_zig_path", lambda: str(zig))


def _code(folder: Path, processor: Target) -> list[bytes]:
    """What is linked of two kernels: the sections of an object that hold code and constants."""
    from elftools.elf.elffile import ELFFile  # noqa: PLC0415

    found = []
    for name in ("kibi_add_s8.c", "kibi_softmax_f32.c"):
        (folder / name).write_text(text_of(name, processor.kernel_sets).text, encoding="utf-8")
        includes = [kernel_folder(each) for each in processor.kernel_sets]
        (made,) = compile_objects([folder / name], processor, level="s", includes=includes)
        with made.open("rb") as stream:
            sections = ELFFile(stream).iter_sections()
            found += [each.data() for each in sections if each.name.startswith((".text", ".rodata"))]
    return found


@pytest.mark.parametrize("name", ["cortex-m4", "rv32imac", "rv32imafc"])
def test_code_is_that_of_zig_s_driver(name: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """Byte for byte, so that no figure depends on the way."""
    processor = target(name)
    assert find_compiler("zig", processor).c[-1] == "clang"
    first = _code(tmp_path, processor)
    request.getfixturevalue("driver")
    assert find_compiler("zig", processor).c[-1] == "cc"
    assert _code(tmp_path, processor) == first
    assert sum(map(len, first)) > 500


def test_host_needs_its_c_library_s_headers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without them, and for C++, zig's driver brings its own along."""
    host = target("host")
    assert find_compiler("zig", host, "c++17").c[-1] == "cc"
    monkeypatch.setattr(compilers, "_has_glibc_headers", lambda: False)
    found = find_compiler("zig", host)
    assert (found.c[-1], found.link[-1]) == ("cc", "cc")
    monkeypatch.setattr(compilers, "_has_glibc_headers", lambda: True)
    found = find_compiler("zig", host)
    assert (found.c[-1], found.link[-1]) == ("clang", "cc")
