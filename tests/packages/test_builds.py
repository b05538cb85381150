"""Kinds whose build tools are in no registry: built by the rules of these tools, with small stand-ins for their functions."""

import re
import shutil
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from tests.packages.places import NAME, package, run
from tests.toolchain.tools import check_cross, check_gcc

_WARNINGS = ("-Wall", "-Wextra", "-Werror")
_ESP_TIMER = """\
#pragma once
#include <stdint.h>
static inline int64_t esp_timer_get_time(void) { return 0; }
"""
_ZEPHYR_KERNEL = """\
#pragma once
#include <stdint.h>
static inline uint32_t k_cycle_get_32(void) { return 0; }
"""
_MBED = """\
#pragma once
#include <chrono>
struct Timer {
    void start() {}
    void stop() {}
    std::chrono::microseconds elapsed_time() const { return std::chrono::microseconds{0}; }
};
"""
_ESP_IDF = """\
# The build functions of ESP-IDF that components call.
macro(idf_component_register)
  cmake_parse_arguments(COMPONENT "" "" "SRCS;INCLUDE_DIRS" ${ARGN})
  get_filename_component(COMPONENT_LIB ${CMAKE_CURRENT_SOURCE_DIR} NAME)
  add_library(${COMPONENT_LIB} STATIC ${COMPONENT_SRCS})
  target_include_directories(${COMPONENT_LIB} PUBLIC ${COMPONENT_INCLUDE_DIRS} $ENV{IDF_PATH}/include)
endmacro()
"""
_ESP_IDF_PROJECT = """\
include($ENV{IDF_PATH}/functions.cmake)
macro(project name)
  _project(${name} C)
  add_subdirectory(${COMPONENT} component)
  add_subdirectory(main)
  get_filename_component(library ${COMPONENT} NAME)
  target_link_libraries(main ${library})
  add_executable(${name} $ENV{IDF_PATH}/start.c)
  target_link_libraries(${name} main)
endmacro()
"""
_ZEPHYR_PACKAGE = """\
# The functions of Zephyr that modules call, and the application's library.
macro(zephyr_library_named name)
  add_library(${name} STATIC)
  set(ZEPHYR_CURRENT_LIBRARY ${name})
  set_property(GLOBAL APPEND PROPERTY ZEPHYR_LIBS ${name})
endmacro()
macro(zephyr_library_sources)
  target_sources(${ZEPHYR_CURRENT_LIBRARY} PRIVATE ${ARGN})
endmacro()
macro(zephyr_library_compile_options)
  target_compile_options(${ZEPHYR_CURRENT_LIBRARY} PRIVATE ${ARGN})
endmacro()
function(zephyr_include_directories)
  foreach(each ${ARGN})
    target_include_directories(zephyr_interface INTERFACE ${CMAKE_CURRENT_SOURCE_DIR}/${each})
  endforeach()
endfunction()
add_library(zephyr_interface INTERFACE)
target_include_directories(zephyr_interface INTERFACE ${CMAKE_CURRENT_LIST_DIR}/include)
file(STRINGS ${CMAKE_CURRENT_SOURCE_DIR}/prj.conf options REGEX "^CONFIG_")
foreach(option ${options})
  string(REPLACE "=" ";" parts ${option})
  list(GET parts 0 key)
  list(GET parts 1 value)
  set(${key} ${value})
endforeach()
enable_language(C)
add_executable(app)
foreach(module ${ZEPHYR_EXTRA_MODULES})
  add_subdirectory(${module} modules)
endforeach()
get_property(libraries GLOBAL PROPERTY ZEPHYR_LIBS)
target_link_libraries(app PRIVATE ${libraries} zephyr_interface)
"""


def _written(folder: Path, **files: str) -> Path:
    """A folder with these files; `__` in a name is a slash, and `_dot_` a dot."""
    for name, text in files.items():
        path = folder / name.replace("__", "/").replace("_dot_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


def _check_cmake() -> None:
    check_gcc()
    if shutil.which("cmake") is None:
        pytest.skip("cmake is not installed")


def test_platformio_library_builds_by_the_rules_of_pio(tmp_path: Path) -> None:
    """All C files of `src`, with it on the path and the manifest's flags; then the sources of the example."""
    check_gcc()
    package(tmp_path, "platformio")
    sources = [*(tmp_path / "src").rglob("*.c"), *(tmp_path / "examples" / NAME / "src").rglob("*.c")]
    run(["gcc", *_WARNINGS, "-ffp-contract=off", f"-I{tmp_path / 'src'}", *sources, "-o", tmp_path / "program"])
    assert run([tmp_path / "program"]).splitlines()[-1] == f"{NAME}: same bits"


def test_mbed_example_runs_with_a_stand_in(tmp_path: Path) -> None:
    """All C files of `source` as gnu11, and the example as C++17."""
    check_gcc()
    package(tmp_path / "lib", "mbed")
    stub, library = _written(tmp_path / "stub", mbed_dot_h=_MBED), tmp_path / "lib"
    for source in (library / "source").rglob("*.c"):
        made = tmp_path / f"{source.stem}.o"
        run(["gcc", "-std=gnu11", *_WARNINGS, f"-I{library / 'source'}", "-c", source, "-o", made])
    main = library / "TESTS" / NAME / "golden" / "main.cpp"
    includes = (f"-I{library / 'source'}", f"-I{stub}")
    run(["g++", "-std=c++17", *_WARNINGS, *includes, main, *tmp_path.glob("*.o"), "-o", tmp_path / "program"])
    assert run([tmp_path / "program"]) == f"{NAME}: same bits, microseconds: 0\n"


@pytest.mark.slow
def test_mbed_library_takes_the_flags_of_the_processor_from_mbed_os(tmp_path: Path) -> None:
    """With Mbed CLI 2, in whose builds a target holds them."""
    _check_cmake()
    check_cross()
    package(tmp_path / "lib", "mbed", "cortex-m4")
    project = _written(
        tmp_path / "user",
        CMakeLists_dot_txt="cmake_minimum_required(VERSION 3.19)\nproject(user C)\nadd_library(mbed-core-flags INTERFACE)\n"
        "target_compile_options(mbed-core-flags INTERFACE -mcpu=cortex-m4 -mthumb -mfloat-abi=hard -mfpu=fpv4-sp-d16)\n"
        f"add_subdirectory({tmp_path / 'lib'} lib)\n",
    )
    options = ["-DCMAKE_SYSTEM_NAME=Generic", "-DCMAKE_C_COMPILER=arm-none-eabi-gcc"]
    run(["cmake", "-S", project, "-B", tmp_path / "build", *options, "-DCMAKE_TRY_COMPILE_TARGET_TYPE=STATIC_LIBRARY"])
    run(["cmake", "--build", tmp_path / "build"])
    [archive] = (tmp_path / "build").rglob(f"lib{NAME}.a")
    assert "VFPv4-D16" in run(["arm-none-eabi-readelf", "--arch-specific", archive])


def test_zephyr_sample_runs_with_stand_ins(tmp_path: Path) -> None:
    """The sample brings its own module, and its prj.conf selects the library."""
    _check_cmake()
    package(tmp_path / "lib", "zephyr")
    stub = _written(
        tmp_path / "zephyr",
        ZephyrConfig_dot_cmake=_ZEPHYR_PACKAGE,
        include__zephyr__kernel_dot_h=_ZEPHYR_KERNEL,
        include__zephyr__sys__printk_dot_h="#include <stdio.h>\n#define printk printf\n",
    )
    sample = tmp_path / "lib" / "samples" / NAME
    run(["cmake", "-S", sample, "-B", tmp_path / "build", f"-DZephyr_DIR={stub}"])
    run(["cmake", "--build", tmp_path / "build"])
    assert run([tmp_path / "build" / "app"]) == f"{NAME}: same bits, cycles: 0\n"


def test_zephyr_module_that_is_not_selected_builds_nothing(tmp_path: Path) -> None:
    """Its option is off until the application turns it on."""
    _check_cmake()
    package(tmp_path / "lib", "zephyr")
    text = f"cmake_minimum_required(VERSION 3.20)\nproject(user LANGUAGES NONE)\nadd_subdirectory({tmp_path / 'lib'} lib)\n"
    project = _written(tmp_path / "user", CMakeLists_dot_txt=text)
    run(["cmake", "-S", project, "-B", tmp_path / "build"])
    made = {path.name for path in (tmp_path / "build").rglob("*") if path.is_dir()}
    assert not any(name.startswith("kibi_") for name in made)


@pytest.mark.slow
def test_esp_idf_example_runs_with_stand_ins(tmp_path: Path) -> None:
    """The component registers its sources, and the example's main component calls it."""
    _check_cmake()
    package(tmp_path / NAME, "esp-idf")
    stub = _written(
        tmp_path / "idf",
        functions_dot_cmake=_ESP_IDF,
        tools__cmake__project_dot_cmake=_ESP_IDF_PROJECT,
        include__esp_timer_dot_h=_ESP_TIMER,
        start_dot_c="void app_main(void);\nint main(void) { app_main(); return 0; }\n",
    )
    project, build = tmp_path / NAME / "examples" / NAME, tmp_path / "build"
    options = [f"-DCOMPONENT={tmp_path / NAME}", f"-DCONFIG_KIBI_{NAME.upper()}_SPEED=y"]
    run(["cmake", "-E", "env", f"IDF_PATH={stub}", "cmake", "-S", project, "-B", build, *options])
    run(["cmake", "-E", "env", f"IDF_PATH={stub}", "cmake", "--build", build])
    assert run([build / f"{NAME}_golden"]) == f"{NAME}: same bits, microseconds: 0\n"


def test_files_that_the_pack_lists_build_its_example(tmp_path: Path) -> None:
    """The sources of the component, with its include folder, and the file of the example's project."""
    check_gcc()
    package(tmp_path, "cmsis-pack")
    root = ET.parse(tmp_path / f"Kibi.{NAME}.pdsc").getroot()  # noqa: S314 - a file that was made a moment ago
    files = {each.get("category"): [] for each in root.iter("file")}  # type: dict[str | None, list[Path]]
    for each in root.iter("file"):
        files[each.get("category")].append(tmp_path / (each.get("name") or ""))
    project = tmp_path / "examples" / NAME
    listed = re.findall(r"- file: (\S+)", (project / "golden.cproject.yml").read_text(encoding="utf-8"))
    sources = [*files["source"], *(project / name for name in listed)]
    includes = [f"-I{folder}" for folder in files["include"]]
    run(["gcc", *_WARNINGS, *includes, *sources, "-o", tmp_path / "program"])
    assert run([tmp_path / "program"]).splitlines()[-1] == f"{NAME}: same bits"
