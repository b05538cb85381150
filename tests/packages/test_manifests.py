"""The manifests of all kinds, by the rules that their readers have.

The rules were written down from the documents and schemas of these tools: Arduino's specification of libraries, PlatformIO's of
library.json, Zephyr's schemas of module.yml and of twister, the keys of ESP-IDF's component manager, PACK.xsd of CMSIS-Pack, the
YAML of CMSIS-Toolbox.
"""

import json
import re
import tomllib
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]  # comes with Dask

from tests.packages.places import NAME, package

_VERSION = re.compile(r"\d+\.\d+\.\d+")
_RESTRICTED = re.compile(r"[-_A-Za-z0-9]+")


def _yaml(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def _keys(record: dict[str, Any], required: set[str], allowed: set[str]) -> None:
    """All required keys are there, and no others than the allowed ones."""
    assert required <= record.keys() <= required | allowed


def test_library_properties_have_what_arduino_requires(tmp_path: Path) -> None:
    """One `key=value` in each line; a version of three numbers, a known category, an include that exists."""
    package(tmp_path, "arduino")
    folder = tmp_path / NAME
    lines = (folder / "library.properties").read_text(encoding="utf-8").splitlines()
    fields = dict(line.split("=", 1) for line in lines)
    assert len(fields) == len(lines)
    names = {"name", "version", "author", "maintainer", "sentence", "paragraph", "category", "url", "architectures"}
    _keys(fields, names, {"includes", "depends", "dot_a_linkage", "precompiled", "ldflags"})
    assert all(fields.values())
    assert _VERSION.fullmatch(fields["version"])
    assert re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9 _.\-]*", fields["name"])
    assert fields["category"] == "Data Processing"
    assert (folder / "src" / fields["includes"]).is_file()
    assert (folder / "examples" / NAME / f"{NAME}.ino").is_file()


def test_keywords_have_one_tab_and_name_what_the_header_declares(tmp_path: Path) -> None:
    """A word, a tab, a class of words."""
    package(tmp_path, "arduino")
    header = (tmp_path / NAME / "src" / f"{NAME}.h").read_text(encoding="utf-8")
    lines = (tmp_path / NAME / "keywords.txt").read_text(encoding="utf-8").splitlines()
    for line in lines:
        word, kind = line.split("\t")
        assert kind in ("KEYWORD1", "KEYWORD2")
        assert re.search(rf"\b{word}\b", header)
    assert len(lines) == 5


def test_library_json_has_what_platformio_requires(tmp_path: Path) -> None:
    """Name, version, and examples and headers that exist."""
    package(tmp_path, "platformio")
    record = json.loads((tmp_path / "library.json").read_text(encoding="utf-8"))
    optional = {"keywords", "license", "authors", "frameworks", "platforms", "headers", "build", "examples"}
    _keys(record, {"name", "version", "description"}, optional)
    assert _VERSION.fullmatch(record["version"])
    assert 1 < len(record["name"]) < 100
    assert not set(record["name"]) & set(":;/,@<>")
    assert all(re.fullmatch(r"[a-z][a-z0-9 +-]{1,49}", word) for word in record["keywords"])
    assert record["build"].keys() <= {"flags", "unflags", "includeDir", "srcDir", "srcFilter", "libArchive"}
    assert all((tmp_path / "src" / header).is_file() for header in record["headers"])
    for example in record["examples"]:
        assert all((tmp_path / example["base"] / name).is_file() for name in example["files"])


def test_mbed_lib_json_has_a_name(tmp_path: Path) -> None:
    """A valid prefix of macros."""
    package(tmp_path, "mbed")
    record = json.loads((tmp_path / "mbed_lib.json").read_text(encoding="utf-8"))
    assert re.fullmatch(r"[A-Za-z_][\w-]*", record.pop("name"))
    assert record == {}


def test_zephyr_files_have_the_keys_of_their_schemas(tmp_path: Path) -> None:
    """module.yml names files that exist; twister's sample has a name, and tests that wait for one line."""
    package(tmp_path, "zephyr")
    module = _yaml(tmp_path / "zephyr" / "module.yml")
    _keys(module, {"name", "build", "samples"}, {"tests", "boards", "blobs"})
    _keys(module["build"], {"cmake", "kconfig"}, {"depends", "settings", "cmake-ext", "kconfig-ext"})
    assert (tmp_path / module["build"]["cmake"] / "CMakeLists.txt").is_file()
    assert (tmp_path / module["build"]["kconfig"]).is_file()
    [folder] = [tmp_path / name for name in module["samples"]]
    sample = _yaml(folder / NAME / "sample.yaml")
    _keys(sample, {"sample", "tests"}, {"common"})
    _keys(sample["sample"], {"name"}, {"description"})
    _keys(sample["common"], {"tags", "harness", "harness_config"}, set())
    _keys(sample["common"]["harness_config"], {"type", "regex"}, {"ordered", "repeat", "record", "fixture"})
    assert isinstance(sample["common"]["harness_config"]["regex"], list)
    for name, test in sample["tests"].items():
        assert re.fullmatch(r"[a-z0-9_]+(\.[a-z0-9_]+)+", name)
        _keys(test, set(), {"integration_platforms"})
    options = (folder / NAME / "prj.conf").read_text(encoding="utf-8").splitlines()
    assert all(re.fullmatch(r"#.*|CONFIG_[A-Z0-9_]+=(y|n|\d+)", line) for line in options)
    assert f"CONFIG_KIBI_{NAME.upper()}=y" in options


@pytest.mark.parametrize("kind", ["zephyr", "esp-idf"])
def test_kconfig_defines_an_option_with_a_prompt(kind: str, tmp_path: Path) -> None:
    """Statements of the language at the depth that it wants, each option of a type with a prompt."""
    package(tmp_path, kind)
    lines = (tmp_path / "Kconfig").read_text(encoding="utf-8").splitlines()
    words = [line.split()[0] for line in lines if line.strip()]
    options = [line.split()[1] for line in lines if line.strip().startswith("config ")]
    assert all(re.fullmatch(rf"KIBI_{NAME.upper()}\w*", option) for option in options)
    assert words.count("bool") == words.count("help") == len(options) == 1
    assert words.count("menu") == words.count("endmenu")
    assert all(line.count('"') in (0, 2) for line in lines)


def test_idf_component_yml_has_keys_of_the_component_manager(tmp_path: Path) -> None:
    """And the example's depends on the component in the folder around it."""
    package(tmp_path, "esp-idf")
    record = _yaml(tmp_path / "idf_component.yml")
    optional = {"license", "dependencies", "examples", "targets", "url", "tags", "files", "maintainers"}
    _keys(record, {"version", "description"}, optional)
    assert _VERSION.fullmatch(record["version"])
    assert record["dependencies"] == {"idf": ">=5.0"}
    assert all((tmp_path / each["path"] / "CMakeLists.txt").is_file() for each in record["examples"])
    main = tmp_path / "examples" / NAME / "main"
    dependency = _yaml(main / "idf_component.yml")["dependencies"][NAME]
    _keys(dependency, {"version"}, {"override_path"})
    assert (main / dependency["override_path"]).resolve() == tmp_path.resolve()


def test_pack_description_has_the_elements_of_the_schema(tmp_path: Path) -> None:
    """Elements once each and from its list, names of restricted letters, files that exist in categories that exist."""
    package(tmp_path, "cmsis-pack")
    root = ET.parse(tmp_path / f"Kibi.{NAME}.pdsc").getroot()  # noqa: S314 - a file that was made a moment ago
    found = [child.tag for child in root]
    assert len(set(found)) == len(found)
    optional = {"license", "licenseSets", "requirements", "keywords", "csolution", "components", "examples"}
    _keys(dict.fromkeys(found), {"name", "vendor", "description", "url", "releases"}, optional)
    assert re.fullmatch(r"\d+\.\d+(\.\d+)?", root.get("schemaVersion") or "")
    assert all(_RESTRICTED.fullmatch(root.findtext(name) or "") for name in ("name", "vendor"))
    versions = {each.get("version") for each in root.iter("release")} | {
        each.get("Cversion") for each in root.iter("component")
    }
    assert versions - {None} == {"1.0.0"}
    [component] = root.findall("components/component")
    assert {"Cclass", "Cgroup", "Cversion"} <= component.attrib.keys()
    for file in component.iter("file"):
        assert file.get("category") in ("source", "header", "include")
        assert (tmp_path / (file.get("name") or "")).exists()
    listed = {file.get("name") for file in component.iter("file")}
    assert listed >= {path.relative_to(tmp_path).as_posix() for path in (tmp_path / "src").rglob("*.[ch]")}
    [example] = root.findall("examples/example")
    folder = tmp_path / (example.get("folder") or "")
    assert [child.tag for child in example] == ["description", "project", "attributes"]
    assert (folder / (example.get("doc") or "")).is_file()
    assert (folder / (example.find("project/environment") or ET.Element("")).get("load", "")).exists()
    [layer] = root.findall("csolution/clayer")
    assert (tmp_path / layer.get("path", "") / layer.get("file", "")).is_file()


def test_files_of_cmsis_toolbox_have_keys_of_its_schemas(tmp_path: Path) -> None:
    """The solution names the project, the project the layer in the pack, and the layer the component."""
    package(tmp_path, "cmsis-pack", "cortex-m4")
    layer = _yaml(tmp_path / "layer" / f"{NAME}.clayer.yml")["layer"]
    _keys(layer, {"type", "components"}, {"description", "packs", "misc"})
    assert layer["components"] == [{"component": f"Kibi::Machine Learning:Kibi:{NAME}"}]
    assert all(each.keys() == {"for-compiler", "C"} for each in layer["misc"])
    example = tmp_path / "examples" / NAME
    solution = _yaml(example / f"{NAME}.csolution.yml")["solution"]
    _keys(solution, {"target-types", "projects"}, {"created-for", "compiler", "packs", "build-types"})
    assert solution["target-types"] == [{"type": "Model", "device": "ARM::ARMCM4"}]
    [project] = [example / each["project"] for each in solution["projects"]]
    record = _yaml(project)["project"]
    _keys(record, {"groups", "components"}, {"layers", "output"})
    assert record["layers"] == [{"layer": f"$Pack(Kibi::{NAME})$/layer/{NAME}.clayer.yml"}]


def test_pyproject_and_cargo_are_toml_with_what_their_tools_require(tmp_path: Path) -> None:
    """Name and version; a build system; the crate links one library, and takes the crate that compiles C."""
    package(tmp_path / "python", "python")
    package(tmp_path / "rust", "rust")
    project = tomllib.loads((tmp_path / "python" / "pyproject.toml").read_text(encoding="utf-8"))
    assert project["build-system"]["build-backend"] == "setuptools.build_meta"
    assert re.fullmatch(r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?", project["project"]["name"])
    assert _VERSION.fullmatch(project["project"]["version"])
    crate = tomllib.loads((tmp_path / "rust" / "Cargo.toml").read_text(encoding="utf-8"))
    assert re.fullmatch(r"[a-z0-9-]+-sys", crate["package"]["name"])
    assert _VERSION.fullmatch(crate["package"]["version"])
    assert crate["package"]["links"] == f"kibi_{NAME}"
    assert crate["build-dependencies"] == {"cc": "1"}
    build = (tmp_path / "rust" / "build.rs").read_text(encoding="utf-8")
    listed = set(re.findall(r'"(c/[^"]+\.c)"', build))
    assert listed == {path.relative_to(tmp_path / "rust").as_posix() for path in (tmp_path / "rust" / "c").rglob("*.c")}
