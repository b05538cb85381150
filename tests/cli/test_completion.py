"""What shells complete: verbs, options, targets and boards."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from kibi.targets import targets
from tests.cli.conftest import Kibi

_SHELLS = ("bash", "zsh", "fish")
_TARGETS = [each.name for each in targets() if each.name.startswith("cortex-m3")]


def _ask(monkeypatch: pytest.MonkeyPatch, shell: str, words: str) -> None:
    """Sets what a shell asks with: it runs `kibi` with the line so far in variables of the environment."""
    monkeypatch.setenv("_KIBI_COMPLETE", f"complete_{shell}")
    monkeypatch.setenv("COMP_WORDS", words)
    monkeypatch.setenv("COMP_CWORD", str(len(words.split(" ")) - 1))
    monkeypatch.setenv("_TYPER_COMPLETE_ARGS", words)
    monkeypatch.setenv("_TYPER_COMPLETE_FISH_ACTION", "get-args")


@pytest.mark.parametrize("shell", _SHELLS)
@pytest.mark.parametrize(
    ("words", "wanted", "unwanted"),
    [
        ("kibi me", ["measure"], "plan"),
        ("kibi measure --tar", ["--target"], "--board"),
        ("kibi measure --target cortex-m3", _TARGETS, "cortex-m4"),
        ("kibi plan --board nucleo-l4r5", ["nucleo-l4r5zi"], "rp2040"),
    ],
    ids=["verb", "option", "target", "board"],
)
def test_shells_complete_verbs_options_and_names(
    kibi: Kibi, monkeypatch: pytest.MonkeyPatch, shell: str, words: str, wanted: list[str], unwanted: str
) -> None:
    """Each shell is offered what begins as the line ends, and nothing else."""
    assert wanted
    _ask(monkeypatch, shell, words)
    done = kibi()
    assert not done.code
    for name in wanted:
        assert name in done.out
    assert unwanted not in done.out
    assert not done.err


def test_models_are_completed_as_files(kibi: Kibi, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a model is expected, Kibi offers nothing, and so the shell offers files."""
    _ask(monkeypatch, "bash", "kibi measure mod")
    assert not kibi().out.strip()
    _ask(monkeypatch, "zsh", "kibi measure mod")
    assert kibi().out.strip() == "_files"
    _ask(monkeypatch, "fish", "kibi measure mod")
    monkeypatch.setenv("_TYPER_COMPLETE_FISH_ACTION", "is-args")
    assert kibi().code == 1


def test_unknown_shell_is_refused(kibi: Kibi, monkeypatch: pytest.MonkeyPatch) -> None:
    """A shell that is not known ends with a text and an exit code."""
    _ask(monkeypatch, "tcsh", "kibi me")
    done = kibi()
    assert done.code
    assert "tcsh not supported" in done.err


def test_help_names_completion_and_does_not_load_what_it_needs() -> None:
    """`kibi --help` imports no reader of the table of boards, which completion alone needs, and says how to set completion up."""
    script = (
        "import sys; from kibi.cli.main import main; main(['--help'])\n"
        "sys.exit(str({'kibi.targets.board_file', 'tomllib'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.stderr.strip() == "set()"
    assert "--install-completion" in done.stdout


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
def test_bash_completes_after_the_installation(tmp_path: Path) -> None:
    """`kibi --install-completion` changes the files of the user's bash alone, and a new bash then completes."""
    shim = tmp_path / "bin" / "kibi"
    shim.parent.mkdir()
    shim.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m kibi "$@"\n', encoding="utf-8")
    shim.chmod(0o755)
    home = tmp_path / "home"
    home.mkdir()
    environment = {**os.environ, "HOME": str(home), "PATH": f"{shim.parent}{os.pathsep}{os.environ['PATH']}"}

    def bash(script: str) -> str:
        command = ["bash", "--norc", "-c", f"{script}\ntrue"]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout

    assert "bash completion installed" in bash("kibi --install-completion")
    assert sorted(path.name for path in home.iterdir()) == [".bash_completions", ".bashrc"]
    typed = (
        'source ~/.bashrc; COMP_WORDS=(kibi pla); COMP_CWORD=1; _kibi_completion kibi; printf "%s\\n" "${COMPREPLY[@]}"'
    )
    assert bash(typed).split() == ["plan", "place"]
