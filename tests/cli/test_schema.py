"""JSON of every verb: its origin, its schema, and files that hold it are read back."""

import hashlib
import json
import subprocess
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import typer

import kibi as api
from kibi.cli.main import app
from kibi.errors import PlanError
from kibi.planner import Plan, load_plan
from kibi.schemas import schema_text, schema_titles
from kibi.version import SCHEMA_VERSION
from tests.cli.conftest import GLYPHS, Kibi

_MODEL = str(GLYPHS)
_SHA256 = hashlib.sha256(GLYPHS.read_bytes()).hexdigest()
_FAST = ("--no-longest-step", "--json")
_ORIGIN = frozenset((
    "schema_version", "verb", "kibi_version", "compiler_version", "model_sha256", "models_sha256", "library_sha256"
))  # fmt: skip
_HOSTILE: tuple[Any, ...] = (None, -1, 1e300, "\x1b[2J" * 2000, [[]], {"plans": {}}, True)
"""Values that no version, digest or verb has."""


def _verbs_with_json() -> set[str]:
    commands = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    return {verb for verb, command in commands.items() if any("--json" in each.opts for each in command.params)}


def test_every_verb_with_json_has_a_schema_of_draft_2020_12() -> None:
    """And no other; `$id` and the verb in it are those of the file."""
    assert set(schema_titles()) == _verbs_with_json()
    for verb, title in schema_titles().items():
        schema = json.loads(schema_text(verb))
        jsonschema.Draft202012Validator.check_schema(schema)
        assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
        assert (schema["$id"], title.partition(":")[0]) == (f"urn:kibi:schema:{SCHEMA_VERSION}:{verb}", f"kibi {verb}")
        envelope = schema.get("properties") or schema["$defs"]
        assert (envelope["verb"]["const"], envelope["schema_version"]["const"]) == (verb, SCHEMA_VERSION)


def test_schema_prints_the_file_and_lists_all(kibi: Kibi) -> None:
    """An unknown verb is refused, with the one that was meant."""
    assert json.loads(kibi("schema", "plan").out) == json.loads(schema_text("plan"))
    assert [line.split()[0] for line in kibi("schema").out.splitlines()[1:-2]] == sorted(_verbs_with_json())
    done = kibi("schema", "mesure")
    assert (done.code, "Did you mean measure?" in done.err) == (4, True)


@pytest.mark.share(3, part=1)
@pytest.mark.parametrize(
    ("words", "keys"),
    [
        (("targets",), set()),
        (("inspect", _MODEL), {"model_sha256"}),
        (("plan", _MODEL, "--no-longest-step"), {"model_sha256"}),
        (("compile", _MODEL, "-o", "out"), {"model_sha256", "library_sha256"}),
        (("core", _MODEL, "-o", "out"), {"model_sha256", "library_sha256"}),
        (("eager", "--operator", "relu", "-o", "out"), {"library_sha256"}),
        (("measure", _MODEL, "--no-oracle"), {"model_sha256", "library_sha256", "compiler_version"}),
        (("measure", _MODEL, "--format", "plan"), {"model_sha256", "compiler_version"}),
        (("verify", _MODEL, "-t", "host", "--runs", "1", "--no-oracle"), {"model_sha256", "compiler_version"}),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
def test_json_tells_what_it_is_of_and_what_made_it(
    kibi: Kibi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], keys: set[str]
) -> None:
    """The verb, the versions, the digest of the model where there is one, and the compiler where one ran; twice the same."""
    monkeypatch.chdir(tmp_path)
    record, again = (kibi(*words, "--json").record for _ in range(2))
    assert _ORIGIN & set(record) == {"schema_version", "verb", "kibi_version"} | keys
    assert {name: again[name] for name in _ORIGIN & set(again)} == {
        name: record[name] for name in _ORIGIN & set(record)
    }
    assert (record["schema_version"], record["verb"], record["kibi_version"]) == (
        SCHEMA_VERSION,
        words[0],
        api.__version__,
    )
    assert record.get("model_sha256", _SHA256) == _SHA256
    assert record.get("compiler_version", "zig 0").startswith("zig ")


def test_library_digest_is_what_sha256sum_says_and_the_same_for_measure(kibi: Kibi, tmp_path: Path) -> None:
    """So that a measurement tells which library it is of."""
    record = kibi("compile", _MODEL, "--slices", "-o", tmp_path, "--json").record
    names = sorted(name for name in record["files"] if name.endswith((".c", ".h")) and not name.startswith("examples/"))
    listed = subprocess.run(["sha256sum", *names], cwd=tmp_path, capture_output=True, check=True).stdout
    assert record["library_sha256"] == hashlib.sha256(listed).hexdigest()
    assert (
        kibi("measure", _MODEL, "--slices", "--no-oracle", "--json").record["library_sha256"]
        == record["library_sha256"]
    )
    assert kibi("measure", _MODEL, "--no-oracle", "--json").record["library_sha256"] != record["library_sha256"]


def test_several_models_have_a_digest_each(kibi: Kibi, tmp_path: Path) -> None:
    """In the order in which they were given; plans side by side tell it one by one."""
    other = tmp_path / "other.tflite"
    other.write_bytes(GLYPHS.read_bytes() + b"\0")
    digests = [_SHA256, hashlib.sha256(other.read_bytes()).hexdigest()]
    assert kibi("compile", _MODEL, other, "-o", tmp_path / "out", "--json").record["models_sha256"] == digests
    compared = kibi("plan", _MODEL, other, "--compare", "--json").record
    half = len(compared) // 2
    assert [each["model_sha256"] for each in compared] == [digests[0]] * half + [digests[1]] * half


def test_digest_of_a_model_in_an_archive_is_that_of_the_archive(kibi: Kibi, tmp_path: Path) -> None:
    """The file that was given, whatever is inside."""
    import zipfile  # noqa: PLC0415 - for this test alone

    with zipfile.ZipFile(tmp_path / "m.zip", "w") as archive:
        archive.write(GLYPHS, "glyphs.tflite")
    digest = hashlib.sha256((tmp_path / "m.zip").read_bytes()).hexdigest()
    assert kibi("inspect", tmp_path / "m.zip" / "glyphs.tflite", "--json").record["model_sha256"] == digest


def test_saved_plan_is_read_with_and_without_its_origin_and_whatever_is_there(kibi: Kibi, tmp_path: Path) -> None:
    """The plan is checked against the model by itself; nobody believes the digests in a file."""
    path, saved = tmp_path / "plan.json", json.loads(kibi("plan", _MODEL, *_FAST).out)
    planned = Plan.from_json(json.dumps(saved))
    for name in sorted(_ORIGIN):
        for value in _HOSTILE:
            path.write_text(json.dumps(saved | {name: value}), encoding="utf-8")
            assert load_plan(path) == planned
        path.write_text(json.dumps({**saved, name: float("nan")}), encoding="utf-8")
        with pytest.raises(PlanError, match="NaN"):
            load_plan(path)
    path.write_text(json.dumps({name: value for name, value in saved.items() if name not in _ORIGIN}), encoding="utf-8")
    assert kibi("compile", _MODEL, "--plan", path, "-o", tmp_path / "out", "--json").code == 0


def test_joint_plan_is_read_with_and_without_its_origin(kibi: Kibi, tmp_path: Path) -> None:
    """As a plan of one model."""
    other, path = tmp_path / "other.tflite", tmp_path / "joint.json"
    other.write_bytes(GLYPHS.read_bytes())
    words = (_MODEL, other, "--buffer", "rx:1000@0.8-1.2")
    saved = kibi("plan", *words, "-o", path, "--json").record
    assert json.loads(path.read_text(encoding="utf-8")) == saved
    assert saved["models_sha256"] == [_SHA256, _SHA256]
    for changed in (saved | {"models_sha256": {"a": [None]}}, {k: saved[k] for k in saved if not k.endswith("sha256")}):
        path.write_text(json.dumps(changed), encoding="utf-8")
        done = kibi("compile", _MODEL, other, "--plan", path, "--name", "pair", "-o", tmp_path / "out", "--json")
        assert (done.code, done.record["library"]) == (0, "pair")


def test_saved_plan_is_what_json_prints(kibi: Kibi, tmp_path: Path) -> None:
    """But for the time that the search took."""
    path = tmp_path / "plan.json"
    printed = kibi("plan", _MODEL, "-o", path, *_FAST).record
    assert json.loads(path.read_text(encoding="utf-8")) == printed
