"""The kinds with types of their own: Rust, MicroPython and Python, built and run where their tools are."""

import os
import shutil
import sys
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest

import kibi
from kibi.codegen import Library, generate, write
from kibi.frontends.tflite import parse_tflite
from kibi.ir import Graph
from kibi.packages import packaged
from kibi.planner import PlannedModel
from tests.engines.networks import two_input_network
from tests.packages.places import NAME, package, run, small_model
from tests.support.choices import Seeded
from tests.support.operator_models import OPERATOR_MODELS
from tests.toolchain.tools import check_gcc


def _written(graph: Graph, kind: str, folder: Path) -> Library:
    planned = PlannedModel.of(graph, kibi.plan(graph, "host"))
    return write(packaged(generate([planned], kibi.target("host")), kind), folder)


def _drawn(operator: str) -> Graph:
    return parse_tflite(OPERATOR_MODELS[operator](Seeded(0)).model, f"{operator.lower()}.tflite")


def _models() -> Iterable[Graph]:
    """One of each thing that a wrapper treats otherwise: several inputs, floats, variables, booleans."""
    return (_drawn("ASSIGN_VARIABLE"), small_model(), two_input_network(), _drawn("LOG"), _drawn("LOGICAL_NOT"))


_MODELS = [
    pytest.param(each, marks=pytest.mark.slow if number else (), id=each.name) for number, each in enumerate(_models())
]


def _installed(folder: Path) -> dict[str, str]:
    """Builds the C of a Python package in its folder, as installation does, and returns the environment to run it in."""
    pytest.importorskip("setuptools")
    run([sys.executable, "setup.py", "-q", "build_ext", "--inplace"], folder)
    return {**os.environ, "PYTHONPATH": str(folder)}


@pytest.mark.slow
@pytest.mark.parametrize("graph", _models(), ids=lambda graph: graph.name)
def test_python_package_runs_the_golden_vector(graph: Graph, tmp_path: Path) -> None:
    """`python -m` of the package, after its C was built."""
    check_gcc()
    _written(graph, "python", tmp_path)
    environment = _installed(tmp_path)
    assert run([sys.executable, "-m", f"kibi_{graph.name}"], environment=environment) == f"{graph.name}: same bits\n"


def test_python_package_gives_what_kibi_gives_and_checks_its_inputs(tmp_path: Path) -> None:
    """Arrays in, arrays out, again and again; an input of another shape or type is refused."""
    check_gcc()
    graph = two_input_network()
    _written(graph, "python", tmp_path)
    environment = _installed(tmp_path)
    rng = np.random.default_rng(3)
    shapes = [graph.tensors[index].type.shape for index in graph.inputs]
    inputs = [[rng.integers(-128, 128, shape).astype(np.int8) for shape in shapes] for _ in range(3)]
    wanted = [kibi.run(graph, None, each)[0] for each in inputs]
    np.savez(tmp_path / "data.npz", *(array for each in inputs for array in each), *wanted)
    (tmp_path / "use.py").write_text(
        f"import numpy as np\nfrom kibi_{graph.name} import INPUTS, Model\n"
        "data = list(np.load('data.npz').values())\nmodel = Model()\n"
        "for number in range(3):\n"
        "    found = model.run(data[2 * number], data[2 * number + 1])\n"
        "    assert np.array_equal(found, data[6 + number]) and found.shape == data[6 + number].shape\n"
        "for wrong in ((), (data[0],), (data[0], data[1].astype(np.int16)), (data[0][..., :1], data[1])):\n"
        "    try:\n        model.run(*wrong)\n    except ValueError as error:\n        print(error)\n"
        "print(INPUTS[0].shape, INPUTS[0].dtype)\n",
        encoding="utf-8",
    )
    lines = run([sys.executable, "use.py"], tmp_path, environment).splitlines()
    assert lines[:2] == ["the model has 2 inputs; 0 were given", "the model has 2 inputs; 1 were given"]
    assert lines[2].startswith("input 1 is")
    assert lines[3].startswith("input 0 is")
    assert lines[4] == f"{shapes[0]} int8"


def test_python_package_that_is_not_installed_says_what_to_do(tmp_path: Path) -> None:
    """Its C is not built."""
    package(tmp_path, "python")
    text = f"from kibi_{NAME} import Model\ntry:\n    Model()\nexcept ImportError as error:\n    print(error)\n"
    (tmp_path / "use.py").write_text(text, encoding="utf-8")
    assert "pip install" in run([sys.executable, "use.py"], tmp_path)


@pytest.mark.parametrize("graph", _MODELS)
def test_rust_type_runs_the_golden_vector(graph: Graph, tmp_path: Path) -> None:
    """By rustc alone, with the C as a static library: warnings are errors, and the crate needs no standard library."""
    check_gcc()
    rustc = shutil.which("rustc")
    if rustc is None:
        pytest.skip("rustc is not installed")
    library = _written(graph, "rust", tmp_path)
    objects = []
    for number, source in enumerate(library.sources):
        objects.append(tmp_path / f"{number}.o")
        run(["gcc", "-std=c99", "-O1", "-ffp-contract=off", "-fPIC", "-c", tmp_path / source, "-o", objects[-1]])
    run(["ar", "rcs", tmp_path / "libmodel.a", *objects])
    crate, options = f"kibi_{graph.name}_sys", ["--edition", "2021", "-D", "warnings", "-L", str(tmp_path)]
    run([rustc, *options, "--crate-type", "rlib", "--crate-name", crate, "-l", "static=model", "src/lib.rs"], tmp_path)
    made = ["--extern", f"{crate}=lib{crate}.rlib"]
    run([rustc, *options, *made, "-o", tmp_path / "golden", "examples/golden.rs"], tmp_path)
    assert run([tmp_path / "golden"]) == f"{graph.name}: same bits\n"
    size = f'fn main() {{ print!("{{}}", {crate}::state_bytes()); }}'
    (tmp_path / "size.rs").write_text(size, encoding="utf-8")
    c = f'#include <stdio.h>\n#include "{graph.name}.h"\nint main(void) {{ printf("%zu", sizeof({graph.name}_t)); return 0; }}\n'
    (tmp_path / "size.c").write_text(c, encoding="utf-8")
    run([rustc, *options, *made, "-o", tmp_path / "size", "size.rs"], tmp_path)
    run(["gcc", f"-I{tmp_path / 'c'}", tmp_path / "size.c", "-o", tmp_path / "size_c"])
    assert run([tmp_path / "size"]) == run([tmp_path / "size_c"])


_MICROPYTHON = """\
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
typedef uintptr_t mp_uint_t;
typedef struct { void *buf; size_t len; int typecode; } mp_buffer_info_t;
typedef const mp_buffer_info_t *mp_obj_t;
typedef struct { const void *type; } mp_obj_base_t;
typedef struct { int used; } mp_obj_dict_t;
typedef struct { const void *key, *value; } mp_rom_map_elem_t;
typedef struct { mp_obj_base_t base; mp_obj_dict_t *globals; } mp_obj_module_t;
static const int mp_type_module, mp_type_RuntimeError;
static const mp_buffer_info_t true_object, false_object;
static int raised;
#define MP_BUFFER_READ 1
#define MP_BUFFER_WRITE 2
#define mp_const_true (&true_object)
#define mp_const_false (&false_object)
#define MP_ERROR_TEXT(text) text
#define mp_raise_ValueError(text) ((void)(text), raised = 1)
#define mp_raise_msg(type, text) ((void)(type), (void)(text), raised = 2)
#define MP_QSTR_run "run"
#define MP_QSTR___name__ "__name__"
#define MP_QSTR_ARENA_BYTES "ARENA_BYTES"
#define MP_QSTR_kibi_NAME "NAME"
#define MP_ROM_QSTR(name) (name)
#define MP_ROM_PTR(pointer) (pointer)
#define MP_ROM_INT(number) ((const void *)(uintptr_t)(number))
#define MP_DEFINE_CONST_DICT(name, table) const mp_obj_dict_t name = {(int)(sizeof(table) / sizeof(table[0]))}
#define MP_DEFINE_CONST_FUN_OBJ_VAR_BETWEEN(name, least, most, function) \\
    const struct { size_t n; mp_obj_t (*call)(size_t, const mp_obj_t *); } name = {least, function}
#define MP_REGISTER_MODULE(name, module) \\
    int stub_run(size_t count, const mp_obj_t *arguments) \\
    { \\
        raised = 0; \\
        mp_obj_t found = run_obj.call(count, arguments); \\
        return raised ? -raised : count != run_obj.n ? -9 : found == mp_const_true; \\
    }
static inline void mp_get_buffer_raise(mp_obj_t object, mp_buffer_info_t *info, mp_uint_t flags)
{
    (void)flags;
    *info = *object;
}
"""


@pytest.mark.parametrize("graph", [two_input_network()], ids=lambda graph: graph.name)
def test_micropython_module_runs_the_golden_vector_with_a_stand_in(graph: Graph, tmp_path: Path) -> None:
    """The module in C with stand-ins for MicroPython's headers, called by the example, in Python, through a module of its name."""
    check_gcc()
    library = _written(graph, "micropython", tmp_path)
    folder = tmp_path / f"kibi_{graph.name}"
    (tmp_path / "py").mkdir()
    (tmp_path / "py" / "runtime.h").write_text(_MICROPYTHON.replace("NAME", graph.name), encoding="utf-8")
    sources = [folder / "module.c", *(tmp_path / source for source in library.sources)]
    shared = tmp_path / "module.so"
    run(["gcc", "-shared", "-fPIC", "-O1", "-Wall", "-Werror", f"-I{tmp_path}", f"-I{folder}", *sources, "-o", shared])
    (tmp_path / f"kibi_{graph.name}.py").write_text(
        "import ctypes\n\n\nclass Buffer(ctypes.Structure):\n"
        "    _fields_ = [('buf', ctypes.c_void_p), ('len', ctypes.c_size_t), ('typecode', ctypes.c_int)]\n\n\n"
        f"library = ctypes.CDLL({str(shared)!r})\n\n\ndef run(*buffers):\n"
        "    views = [(ctypes.c_char * memoryview(each).nbytes).from_buffer(each) for each in buffers]\n"
        "    held = [Buffer(ctypes.addressof(each), len(each), 0) for each in views]\n"
        "    pointers = (ctypes.POINTER(Buffer) * len(held))(*map(ctypes.pointer, held))\n"
        "    found = library.stub_run(ctypes.c_size_t(len(held)), pointers)\n"
        "    assert found >= 0, found\n    return bool(found)\n",
        encoding="utf-8",
    )
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    assert (
        run([sys.executable, tmp_path / "examples" / "golden.py"], environment=environment)
        == f"{graph.name}: same bits\n"
    )


def test_micropython_module_builds_with_its_sources(tmp_path: Path) -> None:
    """As a native module for a Cortex-M4 and for this machine, whose Unix port runs the example."""
    sources = os.environ.get("KIBI_MICROPYTHON")
    if not sources:
        pytest.skip(
            "KIBI_MICROPYTHON names no folder with MicroPython's sources, its mpy-cross and its Unix port built"
        )
    for target, arch, cross in (("cortex-m4", "armv7emsp", "arm-none-eabi-"), ("host", "x64", "")):
        package(tmp_path / arch, "micropython", target)
        run(["make", "-C", tmp_path / arch / f"kibi_{NAME}", f"MPY_DIR={sources}", f"ARCH={arch}", f"CROSS={cross}"])
    port = Path(sources) / "ports" / "unix" / "build-standard" / "micropython"
    environment = {**os.environ, "MICROPYPATH": str(tmp_path / "x64" / f"kibi_{NAME}")}
    assert run([port, tmp_path / "x64" / "examples" / "golden.py"], environment=environment) == f"{NAME}: same bits\n"
