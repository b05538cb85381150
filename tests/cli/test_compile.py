"""`kibi compile` writes a library whole or not at all, the same bytes each time."""

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Kibi
from tests.frontends.models import fully_connected
from tests.support.amount import sample


def _contents(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_compile_writes_a_library_with_its_command_in_the_first_lines(kibi: Kibi, glyphs: Path, tmp_path: Path) -> None:
    """Every C file begins with its licence and the command that makes it, without the folders of this machine."""
    done = kibi("compile", glyphs, "--target", "cortex-m33", "-o", tmp_path / "lib")
    assert (done.code, done.err) == (0, "")
    assert "start with glyphs.h" in done.out
    files = _contents(tmp_path / "lib")
    assert {
        "glyphs.h",
        "glyphs.c",
        "glyphs_weights.c",
        "glyphs.json",
        "CMakeLists.txt",
        "examples/example_main.c",
    } <= set(files)
    for name, text in files.items():
        assert str(tmp_path).encode() not in text
        if name.endswith((".c", ".h")):
            assert text.splitlines()[1] == b"/* kibi compile glyphs.tflite --target cortex-m33 */"


def test_compile_twice_from_different_folders_gives_the_same_bytes(kibi: Kibi, glyphs: Path, tmp_path: Path) -> None:
    """Same input, same bytes."""
    (tmp_path / "copy").mkdir()
    copy = tmp_path / "copy" / glyphs.name
    copy.write_bytes(glyphs.read_bytes())
    kibi("compile", glyphs, "-o", tmp_path / "a")
    kibi("compile", copy, "-o", tmp_path / "b")
    assert _contents(tmp_path / "a") == _contents(tmp_path / "b")


def test_compile_with_a_saved_plan_uses_it(kibi: Kibi, glyphs: Path, tmp_path: Path) -> None:
    """A plan from `kibi plan --json`, or one that a library holds, gives the same library but for the command."""
    saved = tmp_path / "plan.json"
    saved.write_text(kibi("plan", "--no-longest-step", glyphs, "--json").out)
    assert kibi("compile", glyphs, "-o", tmp_path / "a", "--plan", saved).code == 0
    assert kibi("compile", glyphs, "-o", tmp_path / "b", "--plan", tmp_path / "a" / "glyphs.json").code == 0
    assert kibi("compile", glyphs, "-o", tmp_path / "c").code == 0
    first, second, third = (_contents(tmp_path / name) for name in "abc")
    assert first["glyphs.c"].splitlines()[1].endswith(b"--plan plan.json */")
    assert first["glyphs.c"].splitlines()[2:] == third["glyphs.c"].splitlines()[2:]
    records = [json.loads(each["glyphs.json"]) for each in (first, second, third)]
    for record in records:
        del record["files"]  # whose digests depend on the command
    assert records[0] == records[1] == records[2]


@pytest.mark.share(2, part=1)
@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"model": "other"}, "for model 'other'"),
        ({"target": "cortex-m7"}, "for 'cortex-m7', not for 'cortex-m4'"),
        ({"arena_bytes": 16}, "wrong"),
        ({"arena_bytes": "large"}, "arena_bytes is 'large'"),
        ({"format": 99}, "format"),
        ({"runs": 3}, "no saved plan"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else None,
)
def test_compile_with_a_wrong_plan_is_refused(
    kibi: Kibi, glyphs: Path, tmp_path: Path, change: dict[str, object], expected: str
) -> None:
    """No code is made from a plan that does not hold."""
    record = {**kibi("plan", "--no-longest-step", glyphs, "--json").record, **change}
    saved = tmp_path / "plan.json"
    saved.write_text(json.dumps(record))
    done = kibi("compile", glyphs, "-o", tmp_path / "lib", "--plan", saved)
    assert (done.code, done.out) == (5, "")
    assert expected in done.err
    assert not (tmp_path / "lib").exists()


def test_compile_with_a_name_gives_it_to_files_and_symbols(kibi: Kibi, glyphs: Path, tmp_path: Path) -> None:
    """A name that C does not take is refused with one that it takes."""
    record = kibi("compile", glyphs, "-o", tmp_path, "--name", "digits", "--json").record
    assert record["library"] == "digits"
    assert record["files"] == sorted(_contents(tmp_path))
    header = (tmp_path / "digits.h").read_text()
    assert "digits_invoke(digits_t *model)" in header
    assert header.splitlines()[1] == "/* kibi compile glyphs.tflite --target cortex-m4 --name digits */"
    done = kibi("compile", glyphs, "-o", tmp_path, "--name", "two words")
    assert done.code == 4
    assert "'two_words'" in done.err


def test_compile_of_several_models_shares_one_library(kibi: Kibi, glyphs: Path, tmp_path: Path) -> None:
    """Both are in it; one plan for both is refused."""
    other = tmp_path / "dense.tflite"
    other.write_bytes(fully_connected())
    record = kibi("compile", glyphs, other, "-o", tmp_path / "lib", "--name", "pair", "--json").record
    assert [model["model"] for model in record["models"]] == ["glyphs", "dense"]
    assert (tmp_path / "lib" / "pair_models.h").is_file()
    saved = tmp_path / "plan.json"
    assert kibi("plan", "--no-longest-step", glyphs, "-o", saved).code == 0
    assert kibi("compile", glyphs, other, "-o", tmp_path / "lib", "--plan", saved).code == 4
    assert kibi("compile", glyphs, glyphs, "-o", tmp_path / "lib").code == 4


def test_compile_into_a_file_is_refused_and_the_file_stays(kibi: Kibi, glyphs: Path, tmp_path: Path) -> None:
    """Neither the file nor a file in the folder's path is touched."""
    path = tmp_path / "occupied"
    path.write_text("mine")
    for folder in (path, path / "below"):
        done = kibi("compile", glyphs, "-o", folder)
        assert (done.code, done.out) == (9, "")
        assert "occupied" in done.err
    assert path.read_text() == "mine"


def test_compile_into_a_read_only_folder_says_so(
    kibi: Kibi, glyphs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The operating system's reason is in the error; root may write anywhere, so it is made up here."""
    opened = os.open

    def refuse(path: str, flags: int, *mode: int, **more: int) -> int:
        if flags & os.O_CREAT and str(path).startswith(str(tmp_path)):
            raise PermissionError(13, "Permission denied", str(path))
        return opened(path, flags, *mode, **more)

    monkeypatch.setattr("os.open", refuse)
    done = kibi("compile", glyphs, "-o", tmp_path / "lib")
    assert (done.code, done.out) == (9, "")
    assert "Permission denied" in done.err


@pytest.mark.share(2, part=0)
@pytest.mark.parametrize(
    ("signal_name", "call"),
    sample(
        [(name, call) for name in ("SIGINT", "SIGTERM") for call in ("rename", "replace")],
        [("SIGINT", "rename"), ("SIGTERM", "replace")],
    ),
)
def test_compile_interrupted_leaves_the_folder_as_it_was(
    glyphs: Path, tmp_path: Path, signal_name: str, call: str
) -> None:
    """A signal in the middle of writing ends the command with 130, and no file is new, half or left over.

    A folder that is new comes by one call; in one that exists, the third file is interrupted.
    """
    record = json.dumps({"kibi": "0.1.0", "files": {"glyphs.c": hashlib.sha256(b"old").hexdigest()}})
    old = {"glyphs.c": "old", "mine.txt": "mine", "glyphs.json": record} if call == "replace" else {}
    for name, text in old.items():
        (tmp_path / "lib").mkdir(exist_ok=True)
        (tmp_path / "lib" / name).write_text(text)
    program = f"""
import os, signal, sys
from kibi.cli.entry import run
move, left = os.{call}, [{3 if old else 1}]
def moved(*paths):
    left[0] -= "{tmp_path.name}" in str(paths[1])
    if left[0] == 0:
        os.kill(os.getpid(), signal.{signal_name})
    move(*paths)
os.{call} = moved
sys.argv = ["kibi", "compile", {str(glyphs)!r}, "-o", {str(tmp_path / "lib")!r}]
run()
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "kibi: interrupted\n")
    assert (tmp_path / "lib").exists() is bool(old)
    assert {path.name: path.read_text() for path in tmp_path.rglob("*") if path.is_file()} == old


def test_compile_tuned_for_what_is_not_emulated_is_refused(kibi: Kibi, glyphs: Path, tmp_path: Path) -> None:
    """Nothing can be counted there, and nothing is written."""
    done = kibi("compile", glyphs, "--target", "host", "--tune", "-o", tmp_path / "a")
    assert done.code
    assert "not emulated" in done.err
    assert not (tmp_path / "a").exists()


def test_compile_for_a_goal_names_it_in_the_first_lines_and_records_each_kernel(kibi: Kibi, tmp_path: Path) -> None:
    """The same command makes the same files; the record says which kernel runs which operator."""
    (tmp_path / "dense.tflite").write_bytes(fully_connected())
    assert kibi("compile", tmp_path / "dense.tflite", "--goal", "flash", "--tune", "-o", tmp_path / "a").code == 0
    source = (tmp_path / "a" / "dense.c").read_text()
    assert "--target cortex-m4 --goal flash --tune" in source.splitlines()[1]
    record = json.loads((tmp_path / "a" / "dense.json").read_text())
    assert record["kernels"]
    assert all(f"{each['kernel']}(" in source for each in record["kernels"])


def test_plan_file_with_fences_says_where_weights_are(kibi: Kibi, glyphs: Path, tmp_path: Path) -> None:
    """In text and in JSON; a later version made like it has them, too; C has none."""
    path, later = tmp_path / "glyphs.kibi", tmp_path / "later.kibi"
    arguments = ("compile", glyphs, "--format", "plan")
    record = kibi(*arguments, "--fences", "-o", path, "--json").record
    assert record["fences"][0]["offset"] == 64
    assert len(record["fences"]) > 5
    weights = sum(each["size_bytes"] for each in record["fences"])
    assert f"{len(record['fences'])}, for {weights:,} bytes of weights" in kibi(*arguments, "--fences", "-o", path).out
    assert kibi(*arguments, "--like", path, "-o", later, "--json").record["fences"] == record["fences"]
    assert kibi(*arguments, "-o", later, "--json").record["fences"] == []
    assert "the old file decides on --fences" in kibi(*arguments, "--like", path, "--fences", "-o", later).err
    assert "--fences is for plan files" in kibi("compile", glyphs, "--fences", "-o", tmp_path / "c").err
