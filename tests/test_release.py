"""The files of a release: built the same each time, taken by an index, true for those who have no repository."""

import ast
import hashlib
import os
import re
import subprocess
import sys
import tarfile
import zipfile
from email.parser import BytesParser
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
_SOURCE = ROOT / "src" / "kibi"
_MAKE = re.compile(r"^(?P<target>[a-z-]+):", re.MULTILINE)
_OF_A_CLONE = re.compile(
    r"pip install (?:-e|--editable)|\.venv|\b(?:docs|examples|benchmarks|tests)/[\w./-]+\.\w+|src/kibi"
)
_MONDAY = "1767571200"
"""2026-01-05, midnight, for SOURCE_DATE_EPOCH."""


def _texts(path: Path) -> list[str]:
    """Returns the texts of a module that users see: all but docstrings, and these too where they are help."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    is_help = path.parent.name == "cli" or path.parent == _SOURCE
    unseen = set()
    if not is_help:
        for node in ast.walk(tree):
            body = getattr(node, "body", None)
            for each in body if isinstance(body, list) else ():
                if isinstance(each, ast.Expr):
                    unseen.add(id(each.value))
    return [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in unseen
    ]


@cache
def _of_make() -> re.Pattern[str]:
    targets = "|".join(set(_MAKE.findall((ROOT / "Makefile").read_text(encoding="utf-8"))))
    return re.compile(rf"(?:`|: |^|\bRun )make (?:{targets})\b", re.MULTILINE)


def _commands_of_a_clone(text: str) -> list[str]:
    """Returns what a text says that only those can do or find who have the repository."""
    return _of_make().findall(text) + _OF_A_CLONE.findall(text)


def test_commands_of_a_clone_are_recognized() -> None:
    """The search finds what it is meant to find, and leaves plain words alone."""
    for text in ("Run make setup first", "see docs/sweep.md", "`make demo`", "pip install -e .", ".venv/bin/kibi"):
        assert _commands_of_a_clone(text), text
    for text in ("the rows that make tests slow", "pip install 'kibi[tflm]'", "docs of ONNX"):
        assert not _commands_of_a_clone(text), text


def test_messages_name_nothing_that_only_a_clone_has() -> None:
    """Errors, help and public docstrings advise what a user of the wheel can do."""
    found = {
        f"{path.relative_to(ROOT)}: {each}"
        for path in sorted(_SOURCE.rglob("*.py"))
        for text in _texts(path)
        for each in _commands_of_a_clone(text)
    }
    assert not found


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The source archive and the wheel, as `make release` builds them."""
    folder = tmp_path_factory.mktemp("release")
    _build(ROOT, folder)
    return folder


def _build(source: Path, folder: Path) -> None:
    environment = {**os.environ, "SOURCE_DATE_EPOCH": _MONDAY}
    command = [sys.executable, "-m", "build", "--quiet", "--outdir", str(folder), str(source)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert not done.returncode, f"{done.stdout}\n{done.stderr}"


def _digests(folder: Path) -> dict[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}


@pytest.mark.slow
def test_release_is_built_the_same_from_its_own_source_archive(release: Path, tmp_path: Path) -> None:
    """The archive holds all that a build needs, and another folder, another umask and other times of files give the same bytes."""
    (archive,) = release.glob("*.tar.gz")
    with tarfile.open(archive) as opened:
        opened.extractall(tmp_path / "source", filter="data")
    (source,) = (tmp_path / "source").iterdir()
    for path in source.rglob("*.py"):
        os.utime(path)
    before = os.umask(0o077)
    try:
        _build(source, tmp_path / "again")
    finally:
        os.umask(before)
    assert _digests(tmp_path / "again") == _digests(release)
    assert len(_digests(release)) == 2


@pytest.mark.slow
def test_index_would_take_the_release(release: Path) -> None:
    """Twine's check passes without a warning."""
    if find_spec("twine") is None:
        pytest.skip("twine is not installed: `make release` installs it")
    command = [sys.executable, "-m", "twine", "check", "--strict", *map(str, release.iterdir())]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert not done.returncode, done.stdout
    assert done.stdout.count("PASSED") == 2


@pytest.mark.slow
def test_description_has_no_relative_link_and_no_command_of_a_clone(release: Path) -> None:
    """What an index shows is true there: links are absolute, and commands are those of the package."""
    (wheel,) = release.glob("*.whl")
    with zipfile.ZipFile(wheel) as opened:
        (name,) = (each for each in opened.namelist() if each.endswith(".dist-info/METADATA"))
        metadata = BytesParser().parsebytes(opened.read(name))
    text = metadata.get_payload()
    assert isinstance(text, str)
    assert metadata["Metadata-Version"] == "2.4"
    assert metadata["License-Expression"] == "Apache-2.0"
    assert not re.findall(r"\]\((?!https://)[^)]*\)", re.sub(r"```.*?```", "", text, flags=re.DOTALL))
    assert "<!--" not in text
    assert not _commands_of_a_clone(text)
    assert "pipx run kibi demo" in text
    assert "times less RAM" in text
    for heading in re.findall(r"^## .+$", (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE):
        assert (heading in text) == (heading != "## Read on")
