"""The kind `cmake`, used in each way in which projects use a library."""

import shutil
from pathlib import Path

import pytest

from kibi.toolchain.compilers import zig_command
from tests.packages.places import NAME, package, run
from tests.toolchain.tools import check_cross, check_gcc

_USER = f"""\
#include "{NAME}.h"

static {NAME}_t model;
static uint64_t arena[({NAME.upper()}_ARENA_BYTES + 7u) / 8u];

int main(void)
{{
    return {NAME}_init(&model, arena, sizeof arena) == KIBI_OK && {NAME}_invoke(&model) == KIBI_OK ? 0 : 1;
}}
"""
_BARE = """\
set(CMAKE_SYSTEM_NAME Generic)
set(CMAKE_SYSTEM_PROCESSOR arm)
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
"""
_GCC = """\
set(CMAKE_C_COMPILER arm-none-eabi-gcc)
set(CMAKE_C_FLAGS_INIT "-mcpu=cortex-m4 -mthumb -mfloat-abi=hard -mfpu=fpv4-sp-d16")
set(CMAKE_EXE_LINKER_FLAGS_INIT "-nostartfiles -Wl,--entry=main -Wl,--fatal-warnings")
"""
_ZIG = """\
set(CMAKE_C_COMPILER "{zig}" cc -target thumb-freestanding-eabihf -mcpu=cortex_m4+vfp4d16sp)
set(CMAKE_C_COMPILER_WORKS 1)
set(CMAKE_AR "{ar}")
set(CMAKE_RANLIB "{ranlib}")
"""


@pytest.fixture(autouse=True)
def _tools() -> None:
    check_gcc()
    if shutil.which("cmake") is None:
        pytest.skip("cmake is not installed")


def _project(folder: Path, use: str, target: str) -> Path:
    """A project of a user's that links the library."""
    folder.mkdir()
    (folder / "main.c").write_text(_USER, encoding="utf-8")
    (folder / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.14)\nproject(user C)\n"
        f"{use}\nadd_executable(user main.c)\ntarget_link_libraries(user PRIVATE {target})\n",
        encoding="utf-8",
    )
    return folder


def _build(source: Path, *options: str) -> Path:
    """Configures and builds a project, and returns the folder of the build."""
    build = source.parent / f"{source.name}-build"
    run(["cmake", "-S", source, "-B", build, *options])
    run(["cmake", "--build", build])
    return build


def test_library_by_itself_builds_its_example_and_test_and_installs(tmp_path: Path) -> None:
    """And `find_package` finds what was installed, with headers in a folder of the library's own."""
    package(tmp_path / "lib", "cmake")
    build = _build(tmp_path / "lib", f"-DCMAKE_INSTALL_PREFIX={tmp_path / 'there'}")
    assert "100% tests passed, 0 tests failed out of 1" in run(["ctest", "--test-dir", build])
    assert run([build / f"{NAME}_example"]).splitlines()[-1] == f"{NAME}: same bits"
    run(["cmake", "--install", build])
    shutil.rmtree(tmp_path / "lib")
    shutil.rmtree(build)
    user = _project(tmp_path / "user", f"find_package({NAME} 1.0 REQUIRED)", f"{NAME}::{NAME}")
    run([_build(user, f"-DCMAKE_PREFIX_PATH={tmp_path / 'there'}") / "user"])
    assert (tmp_path / "there" / "include" / NAME / "kernels" / "kibi.h").is_file()


@pytest.mark.slow
def test_library_inside_of_a_project_has_no_example_and_no_installation(tmp_path: Path) -> None:
    """With FetchContent, which takes the folder as it is."""
    package(tmp_path / "lib", "cmake")
    use = f"include(FetchContent)\nFetchContent_Declare({NAME} SOURCE_DIR {tmp_path / 'lib'})\nFetchContent_MakeAvailable({NAME})"
    build = _build(_project(tmp_path / "user", use, f"{NAME}::{NAME}"))
    run([build / "user"])
    assert not list(build.rglob(f"{NAME}_example*"))
    run(["cmake", "--install", build, "--prefix", tmp_path / "there"])
    assert not (tmp_path / "there").exists()


@pytest.mark.parametrize("compiler", ["gcc", pytest.param("zig", marks=pytest.mark.slow)])
def test_library_in_a_bare_metal_project_links(compiler: str, tmp_path: Path) -> None:
    """Without an operating system: gcc with add_subdirectory, zig by itself, where nothing has `main`."""
    if compiler == "gcc":
        check_cross()
    package(tmp_path / "lib", "cmake", "cortex-m4")
    toolchain = tmp_path / "toolchain.cmake"
    tools = {name: _zig_tool(tmp_path, name) for name in ("ar", "ranlib")}
    text = _GCC if compiler == "gcc" else _ZIG.format(zig=zig_command(), **tools)
    toolchain.write_text(_BARE + text, encoding="utf-8")
    options = [f"-DCMAKE_TOOLCHAIN_FILE={toolchain}"]
    if compiler == "gcc":
        use = f"add_subdirectory({tmp_path / 'lib'} lib)"
        build = _build(_project(tmp_path / "user", use, NAME), *options)
        assert (build / "user").read_bytes()[:4] == b"\x7fELF"
        return
    build = _build(tmp_path / "lib", *options)
    assert (build / f"lib{NAME}.a").is_file()
    assert not list(build.rglob("*_example*"))


def _zig_tool(folder: Path, name: str) -> Path:
    """A tool of zig's under a name of its own, as CMake wants it."""
    path = folder / name
    path.write_text(f'#!/bin/sh\nexec "{zig_command()}" {name} "$@"\n', encoding="utf-8")
    path.chmod(0o755)
    return path
