"""The action for GitHub, the template for GitLab and the hook of pre-commit run commands that exist."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml  # type: ignore[import-untyped]  # comes with Dask

from kibi.cli.main import app
from tests.cli.conftest import GLYPHS

ROOT = Path(__file__).resolve().parents[2]
OPTIONS = {
    name
    for parameter in typer.main.get_command(app).commands["check"].params  # type: ignore[attr-defined]
    for name in parameter.opts
}


def _read(name: str) -> Any:
    return yaml.safe_load((ROOT / name).read_text(encoding="utf-8"))


def _options_in(script: str) -> set[str]:
    """The options that a script gives to `kibi check`, also those that it collects first."""
    return {word for word in re.findall(r"--[a-z]+", script) if word != "--quiet"}


def test_action_names_options_and_inputs_that_exist() -> None:
    """Inputs reach the shell as variables alone, so that none of them is code."""
    action = _read("action.yml")
    assert action["runs"]["using"] == "composite"
    scripts = [step["run"] for step in action["runs"]["steps"] if "run" in step]
    assert all("${{" not in script for script in scripts)
    assert _options_in(scripts[-1]) == {"--github", "--junit", "--sarif"} <= OPTIONS
    used = set(re.findall(r"inputs\.([a-z-]+)", (ROOT / "action.yml").read_text(encoding="utf-8")))
    assert used == set(action["inputs"])
    assert all("shell" in step for step in action["runs"]["steps"] if "run" in step)


def test_template_and_hook_name_options_that_exist() -> None:
    """And keep JUnit's file where it is written."""
    job = _read("ci/gitlab/kibi.yml")[".kibi-check"]
    words = shlex.split(job["script"][-1])
    assert words[:2] == ["kibi", "check"]
    assert _options_in(job["script"][-1]) <= OPTIONS
    assert job["artifacts"]["reports"]["junit"] == words[words.index("--junit") + 1]
    (hook,) = _read(".pre-commit-hooks.yaml")
    assert hook["entry"] == "kibi check"
    assert not hook["pass_filenames"]
    for name in ("a/model.tflite", "kibi.toml", "kibi-baseline.json"):
        assert re.search(hook["files"], name)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("bash") is None, reason="the action runs in bash")
def test_action_checks_a_project_and_keeps_the_exit_code(tmp_path: Path) -> None:
    """The very step of the action, with a name that a shell would run."""
    folder = tmp_path / "it's $(touch hacked)"
    folder.mkdir()
    shutil.copy(GLYPHS, folder / "m.tflite")
    (folder / "kibi.toml").write_text('[[model]]\npath = "m.tflite"\nbudget.ram = 3000\n')
    (tmp_path / "kibi").write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m kibi.cli "$@"\n')
    (tmp_path / "kibi").chmod(0o755)
    step = _read("action.yml")["runs"]["steps"][-1]
    given = {
        "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}", "KIBI_SPEC": str(folder / "kibi.toml"), "KIBI_SARIF": "",
        "KIBI_JUNIT": str(tmp_path / "j.xml"), "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md"),
        "GITHUB_WORKSPACE": str(tmp_path),
    }  # fmt: skip
    done = subprocess.run(
        ["bash", "-e", "-o", "pipefail", "-c", step["run"]],
        env={**os.environ, **given}, cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 16, done.stdout + done.stderr
    told = r"\n::error file=it's \$\(touch hacked\)/kibi.toml,line=1,title=m on cortex-m4::RAM 3,\d{3} is"
    assert re.search(told, done.stdout), done.stdout
    assert sorted(path.name for path in tmp_path.iterdir()) == ["it's $(touch hacked)", "j.xml", "kibi", "summary.md"]
