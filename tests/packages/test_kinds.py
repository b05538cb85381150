"""Kinds of packages: what each writes, what it refuses, and what stays of an earlier one."""

import json
import re
import zipfile
from dataclasses import replace
from functools import cache
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import kibi
import kibi.demo
from kibi.codegen import Library, generate
from kibi.errors import InputError
from kibi.packages import kind, kinds, packaged
from kibi.packages.golden import golden_inputs, golden_of, golden_words
from kibi.planner import PlannedModel
from kibi.planner.regions.file import Region
from kibi.planner.together import ApplicationBuffer, plan_together
from tests.engines.networks import residual_network, two_input_network
from tests.packages.places import NAME, package, small_model, sources

_GOLDENS = Path(__file__).parent / "goldens"
_NAMES = [each.name for each in kinds()]
_WRAPPERS = ("rust", "micropython", "python")
"""The kinds whose types own one arena."""


def _files(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@cache
def _glyphs() -> Library:
    model = kibi.load(kibi.demo.model_path())
    return generate([PlannedModel.of(model, kibi.plan(model))], kibi.target("cortex-m4"))


@pytest.mark.parametrize("name", _NAMES)
def test_tree_of_the_shipped_model_is_as_accepted(name: str, request: pytest.FixtureRequest) -> None:
    """Whoever adds or moves a file of a kind looks at the list, and accepts it."""
    made = packaged(_glyphs(), name)
    found = "".join(f"{path}\n" for path in sorted([*made.files, *(each.path for each in made.data)]))
    path = _GOLDENS / f"{name}.txt"
    if request.config.getoption("--accept-goldens"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(found, encoding="utf-8")
    message = f"{name} has other files. If that is meant: pytest tests/packages --accept-goldens"
    assert found == (path.read_text(encoding="utf-8") if path.is_file() else ""), message


@pytest.mark.parametrize("name", [each for each in _NAMES if each != "cmake"])
def test_readme_names_files_of_the_package_and_the_models_inputs(name: str) -> None:
    """Whatever looks like a path of the package is one; sizes and types are those of the model."""
    made = packaged(_glyphs(), name)
    root = "glyphs/" if name == "arduino" else ""
    text = made.files[f"{root}README.md"]
    places = {*made.files, *(each.path for each in made.data)}
    named = re.findall(r"`((?:examples|samples|layer|TESTS|src)/[^ `]*|\w+\.h|Kibi\.[^ `]*)`", text)
    for each in named:
        assert any(f"/{place}".find(f"/{each}") >= 0 for place in places), each
    assert f"an arena of {_glyphs().model.arena_bytes} bytes" in text
    assert "| input 0 | [1, 28, 28, 1] | int8 | 0.003921568859368563 * (number + 128) |\n" in text
    assert "| output 0 | [1, 10] | int8 |" in text
    assert "$" not in text


@pytest.mark.parametrize("name", _NAMES)
def test_same_input_gives_the_same_bytes(name: str, tmp_path: Path) -> None:
    """Archives, too."""
    for folder in ("a", "b"):
        package(tmp_path / folder, name)
    assert _files(tmp_path / "a") == _files(tmp_path / "b")


def test_every_kind_after_every_other_leaves_no_file_of_it_and_all_of_the_users(tmp_path: Path) -> None:
    """Into one folder, with files of the user's in the folders of packages; emptied folders go."""
    mine = dict.fromkeys(("mine.txt", "src/mine.c", "examples/mine.c", f"{NAME}/mine.txt", "c/mine/mine.h"), b"mine")
    for name, content in mine.items():
        (tmp_path / "one" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "one" / name).write_bytes(content)
    for number, (before, after) in enumerate(pairwise([*_NAMES, "cmake"])):
        for name in (before, after):
            library = package(tmp_path / "one", name)
        alone = tmp_path / f"alone{number}"
        package(alone, after)
        assert _files(tmp_path / "one") == {**_files(alone), **mine}
        assert all((tmp_path / "one" / source).is_file() for source in library.sources)
    folders = [path for path in (tmp_path / "one").rglob("*") if path.is_dir()]
    assert all(any(folder.iterdir()) for folder in folders)


def test_changed_file_of_an_earlier_kind_stays(tmp_path: Path) -> None:
    """What somebody wrote into it is theirs."""
    package(tmp_path, "zephyr")
    (tmp_path / "Kconfig").write_text("mine", encoding="utf-8")
    package(tmp_path, "cmake")
    assert (tmp_path / "Kconfig").read_text(encoding="utf-8") == "mine"
    assert not (tmp_path / "zephyr").exists()


def test_file_in_a_linked_folder_stays(tmp_path: Path) -> None:
    """A folder of a package that became a link is somebody else's."""
    package(tmp_path / "lib", "zephyr")
    (tmp_path / "lib" / "samples").rename(tmp_path / "elsewhere")
    (tmp_path / "lib" / "samples").symlink_to(tmp_path / "elsewhere")
    before = _files(tmp_path / "elsewhere")
    package(tmp_path / "lib", "cmake")
    assert _files(tmp_path / "elsewhere") == before
    assert len(before) == 4


def test_unknown_kind_names_the_nearest_and_all(tmp_path: Path) -> None:
    """Before any work, with nothing written."""
    with pytest.raises(
        InputError, match=r"unknown package 'ardino'\. Did you mean 'arduino'\? Packages are: cmake, arduino"
    ):
        package(tmp_path / "lib", "ardino")
    with pytest.raises(InputError, match=r"unknown package 'x'\. Packages are"):
        kind("x")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", _NAMES)
def test_every_kind_says_what_it_is_and_what_was_tested(name: str) -> None:
    """For the documents and for the end of `kibi compile`."""
    found = kind(name)
    assert found.description
    assert found.tested.endswith(".")
    assert "DIR" in found.use.format(directory="DIR", name="NAME")


def test_documents_list_every_kind_with_what_was_tested() -> None:
    """In the order of the table."""
    page = (Path(__file__).parents[2] / "docs" / "packages.md").read_text(encoding="utf-8")
    rows = "\n".join(f"| `{each.name}` | {each.description} | {each.tested} |" for each in kinds())
    assert rows in page


@pytest.mark.parametrize("name", _NAMES)
def test_sources_of_every_kind_are_measured_alike(name: str, tmp_path: Path) -> None:
    """The C files are those of the library, wherever they are."""
    plain = sources()
    library = package(tmp_path / name, name)
    assert [Path(source).name for source in library.sources] == [Path(source).name for source in plain.sources]
    assert not plain.package
    assert library.package == json.loads(library.files[f"{NAME}.json"])["package"] == name


@pytest.mark.parametrize("name", _NAMES)
def test_no_folder_of_sources_has_a_main(name: str, tmp_path: Path) -> None:
    """Examples are apart."""
    library = package(tmp_path, name)
    for source in library.sources:
        assert not re.search(r"\bmain\s*\(", (tmp_path / source).read_text(encoding="utf-8"))


@cache
def _variants() -> dict[str, Library]:
    """A library for each way in which a model is handed its memory and its inputs."""
    model, two = residual_network(), two_input_network()
    regions = [Region("tcm", 1 << 12, 1.0), Region("sdram", 1 << 20, 9.0)]
    plans = {
        "streamed": (two, kibi.plan(two, "host", input="streamed")),
        "external": (model, kibi.plan(model, "host", input="external", output="external")),
        "regions": (model, kibi.plan(model, "host", regions=regions)),
        "slow weights": (model, kibi.plan(model, "host", weights="read:fetch", bandwidth=1_000_000)),
    }
    target = kibi.target("host")
    made = {name: generate([PlannedModel.of(*each)], target) for name, each in plans.items()}
    both = [PlannedModel.of(each, kibi.plan(each, "host")) for each in (model, replace(two, name="two"))]
    joint = plan_together([model], [kibi.plan(model, "host")], [ApplicationBuffer("rx", 64)])
    planned = [PlannedModel.of(model, joint.plans[0])]
    return {**made, "several": generate(both, target), "joint": generate(planned, target, joint=joint)}


@pytest.mark.parametrize("name", _NAMES)
def test_library_that_a_kind_cannot_hold_is_refused_with_a_remedy(name: str) -> None:
    """All kinds in C take all but weights in a file; those with types of their own take one model in one arena."""
    for variant, library in _variants().items():
        is_refused = name in _WRAPPERS or (variant == "slow weights" and name != "cmake")
        if is_refused:
            with pytest.raises(InputError, match="--package cmake"):
                packaged(library, name)
        else:
            made = packaged(library, name)
            assert len(made.texts) > len(library.texts)


def test_golden_words_are_those_of_any_language() -> None:
    """The first words, computed by hand in Python's integers."""

    def word(number: int, index: int) -> int:
        mask = 0xFFFFFFFF
        found = (number * 0x9E3779B9 + (index + 1) * 0x85EBCA6B) & mask
        found = ((found ^ found >> 15) * 0x2C1B3C6D) & mask
        found = ((found ^ found >> 12) * 0x297A2D39) & mask
        return found ^ found >> 15

    for number in (0, 1, 7):
        assert golden_words(number, 100).tolist() == [word(number, index) for index in range(100)]


def test_golden_inputs_take_many_values() -> None:
    """A model of int8 sees most of its range, and each input others."""
    model = two_input_network()
    first, second = golden_inputs(model)
    assert len(np.unique(first)) > 50
    assert not np.array_equal(first.reshape(-1)[:50], second.reshape(-1)[:50])


def test_golden_vector_is_the_same_for_every_plan_and_target() -> None:
    """The bits belong to the model."""
    model = small_model()
    found = {
        golden_of(PlannedModel.of(model, kibi.plan(model, target, granularity=granularity)))
        for target in ("host", "cortex-m4", "generic")
        for granularity in ("row", "tensor")
    }
    assert len(found) == 1
    assert None not in found


@pytest.mark.parametrize("name", ["platformio", "mbed"])
def test_model_that_is_called_as_a_manifest_is_refused(name: str, tmp_path: Path) -> None:
    """Its record would replace the manifest."""
    taken = {"platformio": "library", "mbed": "mbed_lib"}[name]
    with pytest.raises(InputError, match="two parts of the library would be the file"):
        kibi.compile(replace(small_model(), name=taken), None, tmp_path / "lib", package=name)
    assert not (tmp_path / "lib").exists()


_KEYWORDS = ("self", "fn", "def", "lambda", "crate", "os", "sys", "array", "kernel", "main", "zephyr", "arduino")


@pytest.mark.parametrize("model_name", _KEYWORDS)
def test_names_that_other_languages_reserve_are_no_names_of_theirs(model_name: str) -> None:
    """Modules, crates and targets of shared namespaces begin with `kibi`."""
    planned = sources().model.planned
    model = replace(planned.model, name=model_name)
    library = generate([PlannedModel.of(model, replace(planned.plan, model=model_name))], kibi.target("host"))
    files = packaged(library, "python").files
    assert f"kibi_{model_name}/model.py" in files
    compile(files[f"kibi_{model_name}/model.py"], "model.py", "exec")
    assert f'name = "kibi-{model_name.lower()}-sys"' in packaged(library, "rust").files["Cargo.toml"]
    assert f"zephyr_library_named(kibi_{model_name})" in packaged(library, "zephyr").files["CMakeLists.txt"]


def test_archives_hold_what_the_folder_holds(tmp_path: Path) -> None:
    """The zip file of `arduino` has one folder; the pack of `cmsis-pack` begins with the .pdsc's own folder."""
    package(tmp_path / "a", "arduino")
    package(tmp_path / "c", "cmsis-pack")
    for folder, name in (("a", f"{NAME}.zip"), ("c", f"Kibi.{NAME}.1.0.0.pack")):
        written = _files(tmp_path / folder)
        with zipfile.ZipFile(tmp_path / folder / name) as packed:
            held = {each: packed.read(each) for each in packed.namelist()}
        assert held == {path: text for path, text in written.items() if path not in (name, f"{NAME}.json")}
    assert all(path.startswith(f"{NAME}/") for path in zipfile.ZipFile(tmp_path / "a" / f"{NAME}.zip").namelist())


def test_model_that_waits_for_further_inputs_has_a_golden_status() -> None:
    """A model without outputs in its first inference says so in its example."""
    found = golden_of(sources().model.planned)
    assert found is not None
    made = kind("cmake").arrange(sources(), replace(found, is_complete=False)).texts
    text = next(each.text for name, each in made.items() if name.text == "example_main.c")
    assert "!= KIBI_NEED_MORE_INPUT" in text
    assert "printf" not in text
