"""What generated files say of themselves, and what becomes of an earlier library's files."""

import hashlib
import json
from dataclasses import replace
from pathlib import Path

import pytest

import kibi
import kibi.demo
from kibi.codegen import Library
from kibi.codegen.provenance import digest
from kibi.errors import OutputError
from kibi.ir import Graph
from tests.engines.networks import residual_network

_ROOT = Path(__file__).parents[2]
_SPDX = "/* SPDX-License-Identifier: Apache-2.0 */"


@pytest.fixture(scope="module")
def glyphs() -> Graph:
    """The shipped model."""
    return kibi.load(kibi.demo.model_path())


@pytest.fixture
def library(glyphs: Graph, tmp_path: Path) -> Library:
    """Its library, written."""
    return kibi.compile(glyphs, kibi.plan(glyphs, granularity="tensor"), tmp_path)


def test_first_lines_state_licence_command_and_digest(library: Library) -> None:
    """Licence, command, and the SHA-256 of the model file; kernels, which are the same for all models, have no digest."""
    found = hashlib.sha256(kibi.demo.model_path().read_bytes()).hexdigest()
    command = "kibi compile glyphs.tflite --target cortex-m4"
    for name in ("glyphs.h", "glyphs.c", "glyphs_weights.h", "glyphs_weights.c"):
        assert library.files[name].split("\n")[:3] == [
            _SPDX,
            f"/* {command} */",
            f"/* glyphs.tflite: SHA-256 {found} */",
        ]
    made = library.files["CMakeLists.txt"].split("\n")[:3]
    assert made == ["# SPDX-License-Identifier: Apache-2.0", f"# {command}", f"# glyphs.tflite: SHA-256 {found}"]
    others = [name for name in library.files if name.endswith((".c", ".h")) and not name.startswith("glyphs")]
    assert all(library.files[name].split("\n")[:2] == [_SPDX, f"/* {command} */"] for name in others)


def test_graph_without_a_file_has_a_digest_of_its_own() -> None:
    """It changes with the weights."""
    model = residual_network()
    constant = next(tensor for tensor in model.tensors if tensor.data is not None)
    assert constant.data is not None
    tensors = tuple(replace(t, data=t.data + 1) if t is constant and t.data is not None else t for t in model.tensors)
    digests = {digest(replace(each, digest="")) for each in (model, model, replace(model, tensors=tensors))}
    assert len(digests) == 2


def test_licence_is_the_projects(library: Library) -> None:
    """The text beside the sources."""
    expected = (_ROOT / "LICENSE").read_text(encoding="utf-8") if (_ROOT / "LICENSE").is_file() else None
    assert expected in (None, library.files["LICENSE"])
    assert "Apache License" in library.files["LICENSE"]


def test_record_lists_all_other_files_with_their_digests(library: Library, tmp_path: Path) -> None:
    """Each as it is on disk."""
    record = json.loads(library.files["glyphs.json"])
    assert record["files"].keys() == library.files.keys() - {"glyphs.json"}
    for name, found in record["files"].items():
        assert hashlib.sha256((tmp_path / name).read_bytes()).hexdigest() == found
    numbers = [each["operator"].split()[1] for each in record["kernels"]]
    assert [each["function"].split("_")[1] for each in record["kernels"]] == numbers


def test_lines_have_at_most_120_columns(library: Library) -> None:
    """Of all that is made for the model."""
    for name, text in library.files.items():
        if not name.startswith("kernels/") and name.endswith((".c", ".h")):
            assert [line for line in text.split("\n") if len(line) > 120] == [], name


def _recorded(folder: Path, files: dict[str, str]) -> None:
    """Files of an earlier library, with a record of them."""
    digests = {name: hashlib.sha256(text.encode()).hexdigest() for name, text in files.items()}
    for name, text in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    (folder / "residual.json").write_text(json.dumps({"kibi": "0.1.0", "files": digests}))


def test_files_of_an_earlier_version_are_removed(tmp_path: Path) -> None:
    """Kernels that lay beside the model, and kernels that it calls no more, but nothing that somebody has changed."""
    _recorded(tmp_path, {"kibi_old.c": "a", "kernels/kibi_older.c": "b", "changed.c": "c", "kept.c": "d"})
    (tmp_path / "changed.c").write_text("mine")
    (tmp_path / "other.json").write_text(json.dumps({"kibi": "0.2.0", "files": {"kept.c": "any"}}))
    (tmp_path / "mine.c").write_text("mine")
    library = kibi.compile(residual_network(), None, tmp_path)
    found = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file()}
    assert found == {*library.files, "changed.c", "kept.c", "other.json", "mine.c"}


@pytest.mark.parametrize("name", ["../outside", "kernels/../../outside", "/outside", "a/b/c", "link", "", "."])
def test_record_removes_nothing_outside_of_the_folder(tmp_path: Path, name: str) -> None:
    """A record is foreign text: paths that leave the folder, links and folders stay."""
    folder = tmp_path / "library"
    folder.mkdir()
    outside = tmp_path / "outside"
    outside.write_text("x")
    (folder / "link").symlink_to(outside)
    files = {name: hashlib.sha256(b"x").hexdigest()}
    (folder / "residual.json").write_text(json.dumps({"kibi": "0.1.0", "files": files}))
    kibi.compile(residual_network(), None, folder)
    assert outside.read_text() == "x"
    assert (folder / "link").is_symlink()


@pytest.mark.parametrize(
    "text", ["", "[]", "{", '{"kibi": 1, "files": []}', '{"kibi": 1, "files": {"a": 1}}', "[" * 100000]
)
def test_record_that_is_none_stays(tmp_path: Path, text: str) -> None:
    """It may be somebody's: nothing is written over it, and nothing beside it."""
    (tmp_path / "residual.json").write_text(text)
    with pytest.raises(OutputError, match=r"no library of Kibi's wrote: 'residual\.json'\. Nothing was written"):
        kibi.compile(residual_network(), None, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["residual.json"]
    assert (tmp_path / "residual.json").read_text() == text


def test_file_of_somebody_else_is_not_replaced(tmp_path: Path) -> None:
    """Whatever the folder: the library is written whole or not at all, and again over its own files."""
    library = kibi.compile(residual_network(), None, tmp_path / "own")
    assert kibi.compile(residual_network(), None, tmp_path / "own").files == library.files
    name = next(name for name in library.files if name.startswith("kernels/"))
    for number, each in enumerate(("residual.c", name, "CMakeLists.txt")):
        path = tmp_path / str(number) / each
        path.parent.mkdir(parents=True)
        path.write_text("mine")
        with pytest.raises(OutputError, match=rf"{number} has files that no library of Kibi's wrote: '{each}'"):
            kibi.compile(residual_network(), None, tmp_path / str(number))
        assert path.read_text() == "mine"
        assert sum(found.is_file() for found in (tmp_path / str(number)).rglob("*")) == 1


def test_run_after_a_killed_one_writes_over_what_that_one_left(tmp_path: Path) -> None:
    """A killed run leaves new files that no record lists; the same bytes again take nothing from anybody."""
    library = kibi.compile(residual_network(), None, tmp_path / "whole")
    left = [name for number, name in enumerate(library.files) if number % 2]
    for name in left:
        (tmp_path / "part" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "part" / name).write_bytes((tmp_path / "whole" / name).read_bytes())
    assert kibi.compile(residual_network(), None, tmp_path / "part").files == library.files
