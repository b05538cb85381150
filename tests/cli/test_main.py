"""The command as a whole: help, exit codes, pipes, terminals."""

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

import kibi as api
from kibi.errors import InternalError
from tests.cli.conftest import GLYPHS, Kibi
from tests.support.amount import share

VERBS = ("inspect", "plan", "pareto", "events", "run", "compile", "measure", "verify", "targets", "operators", "demo")
COMMAND = [sys.executable, "-m", "kibi.cli"]


def _run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, *arguments], env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )


def _in_terminal(*arguments: str, **environment: str) -> str:
    """What a command writes to a terminal of 120 columns."""
    controller, terminal = pty.openpty()
    cleared = {name: value for name, value in os.environ.items() if name not in {"NO_COLOR", "FORCE_COLOR", "CI"}}
    child = subprocess.Popen(
        [*COMMAND, *arguments],
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
        env={**cleared, "TERM": "xterm-256color", "COLUMNS": "120", **environment},
    )
    os.close(terminal)
    written = b""
    while True:
        try:
            part = os.read(controller, 65536)
        except OSError:  # how Linux says that the other end is closed
            break
        if not part:
            break
        written += part
    os.close(controller)
    assert child.wait() == 0
    return written.decode()


@pytest.mark.parametrize("verb", VERBS)
def test_help_of_each_verb_shows_an_example(kibi: Kibi, verb: str) -> None:
    """A person sees how it is used."""
    done = kibi(verb, "--help")
    assert (done.code, done.err) == (0, "")
    assert f"Example: kibi {verb}" in done.out


def test_help_lists_every_verb(kibi: Kibi) -> None:
    """Without arguments the same text is an error's, on standard error."""
    done, bare = kibi("--help"), kibi()
    assert done.code == 0
    assert all(f"\n  {verb} " in done.out for verb in VERBS)
    assert (bare.code, bare.out) == (2, "")
    assert all(f"\n  {verb} " in bare.err for verb in VERBS)


def test_version_is_the_packages(kibi: Kibi) -> None:
    """One line."""
    assert kibi("--version").out == f"kibi {api.__version__}\n"


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["frobnicate"], "No such command 'frobnicate'"),
        (["plan"], "Missing argument 'MODEL"),
        (["plan", "m.tflite", "--colour"], "--colour"),
        (["run", "m.tflite"], "--input"),
        (["run", "m.tflite", "-i", "x.npy", "--engine", "rust"], "rust"),
        (["compile", "m.tflite"], "--output"),
        (["verify", "m.tflite", "--seed", "-1"], "--seed"),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else None,
)
def test_arguments_that_make_no_sense_are_usage_errors(kibi: Kibi, arguments: list[str], expected: str) -> None:
    """Exit code 2, what is wrong, and where help is."""
    done = kibi(*arguments)
    assert (done.code, done.out) == (2, "")
    assert expected in done.err
    assert "--help` for what it takes." in done.err


def test_traceback_is_shown_only_when_asked_for(kibi: Kibi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the option, wherever it stands, or by the environment."""
    path = str(tmp_path / "absent.tflite")
    monkeypatch.delenv("KIBI_TRACEBACK", raising=False)
    assert "Traceback" not in kibi("plan", path).err
    assert "Traceback" in kibi("plan", path, "--traceback").err
    assert "Traceback" in kibi("--traceback", "plan", path).err
    monkeypatch.setenv("KIBI_TRACEBACK", "1")
    done = kibi("plan", path)
    assert "Traceback" in done.err
    assert done.code == 3


@pytest.mark.parametrize("bug", [ZeroDivisionError("by nothing"), InternalError("two and two are five")])
def test_bug_of_our_own_asks_to_be_reported(kibi: Kibi, monkeypatch: pytest.MonkeyPatch, bug: Exception) -> None:
    """Exit code 70, and no traceback unless asked for."""

    def break_down(*_: object, **__: object) -> None:
        raise bug

    monkeypatch.setattr("kibi.plan", break_down)
    done = kibi("plan", GLYPHS)
    assert (done.code, done.out) == (70, "")
    assert str(bug) in done.err
    assert "Please report it" in done.err
    assert "Traceback" not in done.err


def test_interrupt_ends_with_130(kibi: Kibi, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the shell expects of Ctrl-C."""

    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("kibi.plan", interrupt)
    done = kibi("plan", GLYPHS)
    assert (done.code, done.out, done.err) == (130, "", "kibi: interrupted\n")


def test_model_too_large_for_memory_is_no_bug(kibi: Kibi, monkeypatch: pytest.MonkeyPatch) -> None:
    """The user can do something about it."""

    def grow(*_: object, **__: object) -> None:
        raise MemoryError

    monkeypatch.setattr("kibi.plan", grow)
    done = kibi("plan", GLYPHS)
    assert done.code == 13
    assert "not enough memory" in done.err


def test_json_in_a_pipe_is_alone_on_standard_output() -> None:
    """Exactly one object, nothing on standard error."""
    done = _run("plan", str(GLYPHS), "--json")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("{\n")
    assert done.stdout.endswith("}\n")


@pytest.mark.parametrize(
    "arguments", share([("inspect", str(GLYPHS)), ("inspect", str(GLYPHS), "--json"), ("operators",)], 1)
)
def test_reader_that_stops_reading_ends_the_command_quietly(arguments: tuple[str, ...]) -> None:
    """A closed pipe gives 141 and no noise."""
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = subprocess.run([*COMMAND, *arguments], stdout=writer, stderr=subprocess.PIPE, text=True, check=False)
    finally:
        os.close(writer)
    assert (done.returncode, done.stderr) == (141, "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full on this system")
def test_full_disk_under_standard_output_is_an_output_error() -> None:
    """The reason is the operating system's, and no bug is reported."""
    with open("/dev/full", "w") as full:  # noqa: PTH123 - a device
        done = subprocess.run(
            [*COMMAND, "inspect", str(GLYPHS)], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert done.returncode == 9
    assert "No space left" in done.stderr
    assert "bug" not in done.stderr


@pytest.mark.slow
def test_closed_streams_are_no_bug() -> None:
    """`kibi … >&-` and `2>&-` work as far as they can."""
    command = " ".join([*COMMAND, "targets"])
    for redirection in (">&-", "2>&-", ">&- 2>&-"):
        done = subprocess.run(["sh", "-c", f"{command} {redirection}"], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.slow
def test_terminal_gets_colours_and_a_pipe_does_not() -> None:
    """Escape sequences where a person reads; NO_COLOR is respected."""
    arguments = ("plan", str(GLYPHS), "--no-longest-step")
    assert "\x1b" not in _run(*arguments).stdout
    shown = _in_terminal(*arguments)
    assert "\x1b[30;48" in shown or "48;5;" in shown
    assert "48;5;" not in _in_terminal(*arguments, NO_COLOR="1")


def test_terminal_that_is_not_utf8_gets_question_marks() -> None:
    """No encoding makes a command fail."""
    done = _run("operators", PYTHONIOENCODING="ascii")
    assert done.returncode == 0
    assert "?" in done.stdout


def test_command_starts_without_what_it_does_not_need() -> None:
    """Help loads no compiler, emulator, schema, image library or oracle."""
    code = "import sys; from kibi.cli.main import main; main(['--help']); print(' '.join(sys.modules), file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = done.stderr.split()
    heavy = ("ziglang", "unicorn", "tflite", "flatbuffers", "elftools", "PIL", "tflite_micro", "kibi.emulator")
    assert not [name for name in loaded if name.split(".")[0] in heavy or name in heavy]


@pytest.mark.parametrize("module", ["typer", "numpy", "kibi.cli.commands.plan", "kibi.frontends"])
def test_interrupt_while_modules_are_imported_ends_with_one_line(module: str) -> None:
    """Ctrl-C in the first tenths of a second, when nothing but imports has happened, shows no traceback."""
    code = f"""
import sys
class Interrupt:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            raise KeyboardInterrupt
sys.meta_path.insert(0, Interrupt())
from kibi.cli.entry import run
run()
"""
    done = subprocess.run(
        [sys.executable, "-c", code, "inspect", str(GLYPHS)], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "kibi: interrupted\n")
