"""Text from outside on the command line: nothing of it steers the terminal that shows it."""

import re
import unicodedata
from pathlib import Path

import pytest

from kibi import demo
from tests.cli.conftest import Kibi, Outcome

_STEERS = "\x1b[31mred\x1b]0;title\x07\x9b1m\u202egnp.exe\u2066\u2028\x7f\x08"


def _check(outcome: Outcome) -> None:
    """No control but line ends and tabulators."""
    for text in (outcome.out, outcome.err):
        strange = {each for each in text if unicodedata.category(each) in {"Cc", "Cf", "Cs", "Zl", "Zp"}} - {"\n", "\t"}
        assert not strange, ascii(text)


def _labels(tmp_path: Path) -> Path:
    path = tmp_path / "labels.txt"
    path.write_text("".join(f"{_STEERS.replace(chr(0x2028), '')}{number}\n" for number in range(10)), encoding="utf-8")
    return path


def test_labels_steer_no_terminal(kibi: Kibi, glyphs: Path, tmp_path: Path) -> None:
    """Escape sequences, titles and directions of a file of labels are shown as question marks."""
    found = kibi("run", glyphs, "--input", demo.picture_paths()[0], "--labels", _labels(tmp_path))
    assert found.code == 0
    assert "?[31mred?]0;title" in found.out
    _check(found)


@pytest.mark.share(2, part=0)
@pytest.mark.parametrize(
    "command", [("inspect",), ("inspect", "--passes"), ("plan",), ("plan", "--print-plan"), ("run",)]
)
def test_name_of_a_model_file_steers_no_terminal(kibi: Kibi, tmp_path: Path, command: tuple[str, ...]) -> None:
    """A file may be called anything; results and errors show what can be seen."""
    path = tmp_path / f"a{_STEERS}.tflite"
    path.write_bytes(demo.model_path().read_bytes())
    _check(kibi(*command, path))
    path.write_bytes(b"no model")
    found = kibi(*command, path)
    assert found.code != 0
    _check(found)
    _check(kibi("--traceback", *command, path))


def test_terminal_of_a_person_gets_the_programs_own_escapes_alone(
    kibi: Kibi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Colours of the program's own are there; those of the file's name are not, nor its title."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "200")
    path = tmp_path / f"a{_STEERS}.tflite"
    path.write_bytes(demo.model_path().read_bytes())
    found = kibi("inspect", path)
    assert "\x1b[" in found.out
    assert "?[31mred?]0;title?" in found.out
    assert re.sub(r"\x1b\[[0-9;]*m", "", found.out).replace("\n", "").isprintable()


def test_compile_of_a_hostile_file_name_works(kibi: Kibi, tmp_path: Path) -> None:
    """The library has a name of letters, and what is printed can be seen."""
    path = tmp_path / f"{_STEERS}'$(x).tflite"
    path.write_bytes(demo.model_path().read_bytes())
    found = kibi("compile", path, "-o", tmp_path / f"out{_STEERS}")
    assert found.code == 0, found.err
    _check(found)


def test_names_of_events_steer_no_terminal(kibi: Kibi, tmp_path: Path) -> None:
    """Declared in Python, a name may hold anything but what no encoding has."""
    source = tmp_path / f"a{_STEERS}.py"
    source.write_text(
        f"from kibi.eager.events import declare_event\nA = declare_event({_STEERS!a})\n", encoding="utf-8"
    )
    found = kibi("events", source)
    assert "1 events" in found.out or found.out.count("red") == 1
    _check(found)
    _check(kibi("events", tmp_path, "--decode", f"{_STEERS}"))
    (tmp_path / f"b{_STEERS}.py").write_text("def (", encoding="utf-8")
    _check(kibi("events", tmp_path))


@pytest.mark.parametrize("key", ["/* x", "*/ int x;", "a??/", "end\\", _STEERS])
def test_unknown_signature_of_any_key_is_an_error_that_can_be_seen(kibi: Kibi, key: str) -> None:
    """The error repeats the key."""
    found = kibi("inspect", demo.model_path(), "--signature", key)
    assert found.code != 0
    _check(found)


def test_reserved_name_is_refused_with_one_that_is_free(kibi: Kibi, glyphs: Path, tmp_path: Path) -> None:
    """And a file that is called so compiles under that name."""
    found = kibi("compile", glyphs, "-o", tmp_path / "a", "--name", "string")
    assert found.code == 4
    assert "Take, for example, 'string_model'" in found.err
    path = tmp_path / "string.tflite"
    path.write_bytes(glyphs.read_bytes())
    found = kibi("compile", path, "-o", tmp_path / "b")
    assert found.code == 0
    assert (tmp_path / "b" / "string_model.h").is_file()
    assert not (tmp_path / "b" / "string.h").exists()


def test_models_that_need_one_file_are_refused(kibi: Kibi, glyphs: Path, tmp_path: Path) -> None:
    """`a` has the file `a_weights.h`, which another model would overwrite."""
    paths = [tmp_path / "a.tflite", tmp_path / "a_weights.tflite"]
    for path in paths:
        path.write_bytes(glyphs.read_bytes())
    found = kibi("compile", *paths, "-o", tmp_path / "out")
    assert found.code == 4
    assert "two parts of the library would be the file a_weights.h" in found.err
    assert not (tmp_path / "out").exists()
