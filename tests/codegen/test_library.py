"""The generated library: its text, its files, how it compiles and links."""

import os
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import kibi
import kibi.demo
from kibi.codegen import generate, schedule
from kibi.engines import DeviceEngine, HostEngine
from kibi.engines.engine import entry_points, written_sources
from kibi.errors import InputError, OutputError
from kibi.frontends.tflite import parse_tflite
from kibi.ir import Graph
from kibi.kernels import closure
from kibi.packages.golden import golden_inputs
from kibi.passes import expose_intermediates
from kibi.planner import PlannedModel
from kibi.runtime import seeded_inputs
from kibi.toolchain import build_image, build_program, compile_objects
from tests.engines.networks import residual_network
from tests.planner.networks import by_row
from tests.support.amount import sample, share
from tests.support.choices import Seeded
from tests.support.operator_models import OPERATOR_MODELS
from tests.toolchain.tools import check_cross

LEVELS = ("s", "2", "3")


@pytest.fixture(scope="module")
def glyphs() -> Graph:
    """The shipped model."""
    return kibi.load(kibi.demo.model_path())


def _library(model: Graph, folder: Path, target: str = "cortex-m4") -> tuple[list[Path], Path]:
    library = kibi.compile(model, None, folder, target=target)
    return [folder / name for name in library.sources], folder


def test_same_input_gives_the_same_bytes(glyphs: Graph, tmp_path: Path) -> None:
    """Two compilations, into different folders, write equal files."""
    first = kibi.compile(glyphs, kibi.plan(glyphs), tmp_path / "a")
    second = kibi.compile(glyphs, kibi.plan(glyphs), tmp_path / "b")
    assert first.files == second.files
    for name, text in first.files.items():
        assert (tmp_path / "a" / name).read_text(encoding="utf-8") == text


def test_library_holds_the_kernels_that_it_calls_and_no_others(tmp_path: Path) -> None:
    """A network of convolutions and an addition brings no softmax."""
    library = kibi.compile(residual_network(), None, tmp_path)
    kernels = {name for name in library.sources if name.startswith("kernels/")}
    called = {f"kernels/{kernel}.c" for kernel in library.model.kernels}
    assert len(called) > 1
    assert called <= kernels
    assert kernels == {
        f"kernels/{name}"
        for name in closure(frozenset(library.model.kernels), library.target.kernel_sets)
        if name.endswith(".c")
    }
    assert not any("softmax" in name for name in kernels)


def test_source_tells_operators_tensors_shapes_and_offsets(glyphs: Graph) -> None:
    """A person can follow the network in the text."""
    text = generate([PlannedModel.of(glyphs, kibi.plan(glyphs))], kibi.target("cortex-m4")).files["glyphs.c"]
    for view in glyphs.views:
        assert f"Operator {view.node.source} ({view.op.name})" in text
        assert view.output.name in text
    assert "The arena:" in text


@pytest.mark.parametrize(
    ("target", "level", "language"),
    sample(
        [
            (name, level, language)
            for name in ("cortex-m4", "cortex-m0plus", "host")
            for level in LEVELS
            for language in ("c99", "c++17")
        ],
        [("cortex-m4", "s", "c99"), ("host", "3", "c++17")],
    ),
)
def test_library_compiles_without_a_warning(
    glyphs: Graph, tmp_path: Path, target: str, level: str, language: str
) -> None:
    """The pip-installed compiler takes it as C99 and as C++17, at each level, warnings as errors."""
    sources, folder = _library(glyphs, tmp_path)
    compile_objects(sources, kibi.target(target), level=level, includes=[folder], language=language)


@pytest.mark.parametrize(
    ("target", "language", "form"),
    sample(
        [
            (name, language, form)
            for name in ("cortex-m4", "host")
            for language in ("c99", "c++17")
            for form in ("code", "table")
        ],
        [("cortex-m4", "c++17", "code")],
    ),
)
def test_library_by_rows_compiles_without_a_warning(
    glyphs: Graph, tmp_path: Path, target: str, language: str, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So are loops and calls, and the tables of an order by rows, of 8 bits and of 16, with the function that follows them."""
    if form == "table":
        monkeypatch.setattr(schedule, "MOST_EXTRA_BYTES", -(1 << 20))
    for model in (glyphs, residual_network(height=300)):
        library = kibi.compile(model, kibi.plan(model, target, runs=by_row(model)), tmp_path / model.name)
        text = library.files[f"{model.name}.c"]
        assert ("REPEAT" in text) == (form == "table")
        assert ("for (int32_t i = 0; " in text) == (form == "code")
        sources = [tmp_path / model.name / name for name in library.sources]
        compile_objects(sources, kibi.target(target), includes=[tmp_path / model.name], language=language)


def test_arena_of_bytes_is_aligned_to_a_word_and_measured_so(tmp_path: Path) -> None:
    """Copies are slower elsewhere: the header asks for a word where no buffer does, and the emulator gives exactly that."""
    model = parse_tflite(OPERATOR_MODELS["RELU"](Seeded(0)).model, "relu.tflite")
    plan = kibi.plan(model)
    assert {buffer.alignment for buffer in plan.buffers} == {1}
    library = kibi.compile(model, plan, tmp_path)
    assert "#define RELU_ARENA_ALIGNMENT 4u" in (tmp_path / "relu.h").read_text(encoding="utf-8")
    (_, _), (arena, _) = DeviceEngine(library).blocks
    assert arena % 8 == 4


def test_order_of_a_cascade_is_a_loop(tmp_path: Path) -> None:
    """Three convolutions and an addition of 40 rows: a call for each pace, not for each row."""
    model = residual_network(height=40)
    text = kibi.compile(model, kibi.plan(model, runs=by_row(model)), tmp_path).files["residual.c"]
    body = text.partition("residual_run(uint8_t *arena)\n{")[2].partition("\n}\n")[0]
    assert re.search(r"for \(int32_t i = 0; i < (39|4\d); \+\+i\)", body)
    assert 4 <= body.count("(arena") <= 12
    assert "plan_order" not in text
    assert "(*" not in text.partition("kibi_status residual_init")[0].replace("(*at)", "")


def test_order_of_a_cascade_as_a_table_has_a_line_for_each_pace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where an order is too long for code, a line of its table may say how often those above it run."""
    monkeypatch.setattr(schedule, "MOST_EXTRA_BYTES", -(1 << 20))
    model = residual_network(height=40)
    text = kibi.compile(model, kibi.plan(model, runs=by_row(model)), tmp_path).files["residual.c"]
    table = text.partition("plan_order[")[2].partition("};")[0]
    assert 3 <= table.count("/*") <= 8
    assert re.search(r"\{REPEAT, \d, 0, (39|4\d), 0\}, /\* the \d lines above, (39|4\d) times in all \*/", table)


def test_plan_tables_are_reported(tmp_path: Path) -> None:
    """Of the code's bytes, the offsets of rows that are placed one by one; none where tensors are evenly placed."""
    model = residual_network(height=40)
    whole, rows = (
        kibi.measure(kibi.compile(model, plan, tmp_path / str(number)), oracle=False)
        for number, plan in enumerate((kibi.plan(model, granularity="tensor"), kibi.plan(model, runs=by_row(model))))
    )
    assert whole.plan_table_bytes == 0
    assert 0 < rows.plan_table_bytes < 300
    assert rows.instructions <= 1.04 * whole.instructions


@pytest.mark.parametrize(
    ("level", "language"),
    sample([(level, language) for level in LEVELS for language in ("c99", "c++17")], [("s", "c99"), ("3", "c++17")]),
)
def test_library_compiles_with_gcc_without_a_warning(glyphs: Graph, tmp_path: Path, level: str, language: str) -> None:
    """So does arm-none-eabi-gcc."""
    check_cross()
    sources, folder = _library(glyphs, tmp_path)
    target = kibi.target("cortex-m4")
    compile_objects(sources, target, compiler="gcc", level=level, includes=[folder], language=language)


@pytest.mark.parametrize("level", share(LEVELS, 0))
def test_gcc_builds_give_the_same_bits(glyphs: Graph, tmp_path: Path, level: str) -> None:
    """What arm-none-eabi-gcc makes runs on the emulated core with the same answers."""
    check_cross()
    library = kibi.compile(glyphs, None, tmp_path)
    measured = kibi.measure(library, compiler="gcc", level=level, oracle=False)
    assert measured.bit_exact
    assert all(operator.instructions > 0 for operator in measured.ops)


@pytest.mark.parametrize("target", share((target.name for target in kibi.targets() if target.emulated_cpu), 1))
def test_every_emulated_core_gives_the_same_bits(glyphs: Graph, tmp_path: Path, target: str) -> None:
    """One answer for each tensor; the cycle estimate is there where a table is.

    The model's output alone would say little: of noise, as of a clear digit, one class is certain.
    """
    every_tensor = expose_intermediates(glyphs)
    measured = kibi.measure(kibi.compile(every_tensor, None, tmp_path, target=target), oracle=False)
    assert measured.bit_exact
    assert (measured.cycles_estimate is None) == (kibi.target(target).timing is None)


def test_models_compiled_together_share_kernels_and_can_share_an_arena(glyphs: Graph, tmp_path: Path) -> None:
    """One copy of each kernel; the joint header offers the largest arena, not the sum; both models run."""
    other = residual_network()
    library = kibi.compile([glyphs, other], None, tmp_path)
    shared = set(library.models[0].kernels) & set(library.models[1].kernels)
    assert shared
    assert all(library.sources.count(f"kernels/{kernel}.c") == 1 for kernel in shared)
    largest = max(model.plan.arena_bytes for model in library.models)
    assert f"GLYPHS_MODELS_ARENA_BYTES {largest}u" in library.files["glyphs_models.h"]
    other_way = kibi.compile([other, glyphs], None, tmp_path / "other_way")
    assert f"RESIDUAL_MODELS_ARENA_BYTES {largest}u" in other_way.files["residual_models.h"]
    for index, model in enumerate((glyphs, other)):
        inputs = seeded_inputs(model, 1)
        expected = kibi.run(model, None, inputs)[0]
        for engine in (HostEngine(library, index), DeviceEngine(library, index)):
            np.testing.assert_array_equal(engine.run(inputs)[0], expected)


def test_models_compiled_together_take_less_code_than_apart(glyphs: Graph, tmp_path: Path) -> None:
    """What both call is in the firmware once."""
    models, target = [glyphs, residual_network()], kibi.target("cortex-m4")

    def code_bytes(*chosen: Graph) -> int:
        library = kibi.compile(chosen, None, tmp_path / "-".join(model.name for model in chosen), target=target)
        sources, folder = written_sources(library)
        entries = [name for model in library.models for name in entry_points(model)]
        return build_image(sources, target, entries=entries, level="s", includes=[folder]).code_bytes

    apart = [code_bytes(model) for model in models]
    assert max(apart) < code_bytes(*models) < sum(apart) - 500


def test_models_of_one_name_are_refused(glyphs: Graph, tmp_path: Path) -> None:
    """Two models of one name would be one C prefix twice."""
    with pytest.raises(InputError, match="different names"):
        kibi.compile([glyphs, glyphs], None, tmp_path)


@pytest.mark.slow
def test_libraries_made_apart_link_into_one_program(glyphs: Graph, tmp_path: Path) -> None:
    """Each brings its own copies of the kernels, under names of its own."""
    sources: list[Path] = []
    for model in (glyphs, replace(glyphs, name="other")):
        made, _ = _library(model, tmp_path / model.name, "host")
        sources += made
    main = tmp_path / "main.c"
    main.write_text(
        '#include "glyphs/glyphs.h"\n#include "other/other.h"\n'
        "static uint8_t arena[GLYPHS_ARENA_BYTES + 8];\n"
        "int main(void)\n{\n    glyphs_t a;\n    other_t b;\n"
        "    uint8_t *const aligned = arena + (8u - (uintptr_t)arena % 8u) % 8u;\n"
        "    if (glyphs_init(&a, aligned, GLYPHS_ARENA_BYTES) != KIBI_OK || glyphs_invoke(&a) != KIBI_OK) {\n"
        "        return 1;\n    }\n"
        "    if (other_init(&b, aligned, OTHER_ARENA_BYTES) != KIBI_OK || other_invoke(&b) != KIBI_OK) {\n"
        "        return 2;\n    }\n    return 0;\n}\n",
        encoding="utf-8",
    )
    program = _linked(sources, main, tmp_path)
    assert subprocess.run([program], check=False, timeout=60).returncode == 0


def _linked(sources: list[Path], main: Path, folder: Path) -> Path:
    """A program of files of equal names in several folders, compiled folder by folder."""
    host = kibi.target("host")
    for group in {folder / source.relative_to(folder).parts[0] for source in sources}:
        compile_objects([source for source in sources if group in source.parents], host)  # without a path for headers
    return build_program([*sources, main], includes=[folder])


def test_example_builds_with_cmake_and_runs(glyphs: Graph, tmp_path: Path) -> None:
    """`CMakeLists.txt` and the example work as they are."""
    if shutil.which("cmake") is None or shutil.which("cc") is None:
        pytest.skip("cmake or a C compiler is not installed")
    library = kibi.compile(glyphs, None, tmp_path, target="host")
    assert len(library.files["examples/example_main.c"].splitlines()) <= 80
    subprocess.run(["cmake", "-S", tmp_path, "-B", tmp_path / "out"], check=True, capture_output=True, timeout=120)
    subprocess.run(["cmake", "--build", tmp_path / "out"], check=True, capture_output=True, timeout=120)
    done = subprocess.run([tmp_path / "out" / "glyphs_example"], check=True, capture_output=True, text=True, timeout=60)
    expected = kibi.run(glyphs, None, golden_inputs(glyphs))[0].reshape(-1)
    assert done.stdout.splitlines() == [*map(str, expected.tolist()), "glyphs: same bits"]


def test_writing_into_a_file_is_refused_and_leaves_it(glyphs: Graph, tmp_path: Path) -> None:
    """The output folder's name is taken by a file: the file stays."""
    taken = tmp_path / "taken"
    taken.write_text("mine", encoding="utf-8")
    with pytest.raises(OutputError, match="is a file"):
        kibi.compile(glyphs, None, taken)
    assert taken.read_text(encoding="utf-8") == "mine"


def test_interrupted_writing_leaves_nothing_half_written(
    glyphs: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An interruption while texts are written aside leaves the folder as it was, other files included."""
    (tmp_path / "mine.txt").write_text("mine", encoding="utf-8")
    original = os.open

    def interrupted(path: Path, *args: int, **kwargs: int) -> int:
        if Path(path).name == "glyphs_weights.c":
            raise KeyboardInterrupt
        return original(path, *args, **kwargs)

    monkeypatch.setattr("os.open", interrupted)
    with pytest.raises(KeyboardInterrupt):
        kibi.compile(glyphs, None, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_a_streamed_model_has_the_kernels_of_the_stored_one(glyphs: Graph, tmp_path: Path) -> None:
    """The nodes that receive rows, which call no kernel, change nothing for the others."""
    stored = kibi.compile(glyphs, kibi.plan(glyphs), tmp_path / "a").model.kernels
    streamed = kibi.compile(glyphs, kibi.plan(glyphs, input="streamed"), tmp_path / "b").model.kernels
    assert tuple(kernel for kernel in streamed if kernel) == stored
