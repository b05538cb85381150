"""The smaller install: what Kibi does where `ziglang` is not installed."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

import pytest

import kibi
import kibi.demo
from kibi.cli.main import main
from kibi.errors import ToolchainError
from kibi.toolchain import compilers
from tests.docs.documents import DOCS, ROOT
from tests.toolchain.tools import check_cross, check_gcc

_HIDDEN = "import sys; sys.modules['ziglang'] = None; from kibi.cli.main import main; sys.exit(main(sys.argv[1:]))"
"""A program that is `kibi` where Python finds no `ziglang`."""
_EXIT = 7


def _kibi(*words: str | Path, path: str | None = None, cache: Path | None = None) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, **({"PATH": path} if path else {}), **({"KIBI_CACHE": str(cache)} if cache else {})}
    command = [sys.executable, "-c", _HIDDEN, *map(str, words)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_plan_and_c_are_the_same_without_zig(tmp_path: Path) -> None:
    """The system's compiler builds what the planner needs, and plan and library are those that zig's build gives."""
    check_gcc()
    done = _kibi("compile", kibi.demo.model_path(), "-o", tmp_path / "without", "--json")
    assert not done.returncode, done.stderr
    model = kibi.simplify(kibi.load(kibi.demo.model_path()))
    kibi.compile(model, kibi.plan(model, target="cortex-m4"), tmp_path / "with")
    for name in ("glyphs.c", "glyphs_weights.c"):
        assert (tmp_path / "without" / name).read_bytes() == (tmp_path / "with" / name).read_bytes()


@pytest.mark.slow
def test_runs_in_python_and_on_the_host_without_zig() -> None:
    """`kibi run` gives the same answer by both engines."""
    check_gcc()
    picture = kibi.demo.model_path().with_name("seven.png")
    for engine in ("python", "host"):
        done = _kibi("run", kibi.demo.model_path(), "--input", picture, "--engine", engine)
        assert not done.returncode, done.stderr
        assert done.stdout.splitlines()[1].split()[0] == "7"


@pytest.mark.cross
@pytest.mark.slow
@pytest.mark.parametrize("target", ["cortex-m4", "cortex-m3", "cortex-m0plus"])
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_measures_and_verifies_without_zig(compiler: str, target: str) -> None:
    """With `--compiler` the figures are those of the compiler, close to zig's, and the bits are the same everywhere."""
    check_gcc()
    check_cross()
    if compiler == "clang" and not (shutil.which("clang") and shutil.which("ld.lld")):
        pytest.skip("clang and ld.lld are not installed")
    words = ("--compiler", compiler, "--target", target, "--json", "--no-oracle")
    measured = _kibi("measure", kibi.demo.model_path(), *words)
    assert not measured.returncode, measured.stderr
    found = json.loads(measured.stdout)
    assert found["bit_exact"] is True
    model = kibi.simplify(kibi.load(kibi.demo.model_path()))
    with tempfile.TemporaryDirectory() as folder:
        by_zig = kibi.measure(kibi.compile(model, kibi.plan(model, target=target), folder), oracle=False)
    assert abs(found["instructions"] / by_zig.instructions - 1) < 0.05
    assert found["arena_bytes"] == by_zig.arena_bytes
    verified = _kibi("verify", kibi.demo.model_path(), *words, "--runs", "1")
    assert not verified.returncode, verified.stderr
    assert json.loads(verified.stdout)["engines"] == ["host C", target]


@pytest.mark.parametrize("verb", ["measure", "pareto", "demo"])
def test_default_compiler_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], verb: str
) -> None:
    """A verb that compiles for a device names both ways out."""
    monkeypatch.setattr(compilers, "find_spec", lambda _: None)
    assert main([verb, *([] if verb == "demo" else [str(kibi.demo.model_path())])]) == _EXIT
    told = capsys.readouterr().err
    assert "pip install ziglang" in told
    assert "--compiler gcc" in told


def test_code_for_this_machine_takes_what_is_there(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Zig comes first, then gcc, clang and cc; without any compiler, the error says what to install."""
    host = kibi.target("host")
    assert compilers.host_compiler() == "zig"
    monkeypatch.setattr(compilers, "find_spec", lambda _: None)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ToolchainError, match=r"pip install ziglang.*apt install gcc"):
        compilers.host_compiler()
    for name in ("cc", "clang", "gcc"):
        tool = tmp_path / name
        tool.write_text(f"#!/bin/sh\necho {name} 1.0\n", encoding="utf-8")
        tool.chmod(0o755)
        assert compilers.host_compiler() == "gcc"
        assert compilers.find_compiler("gcc", host).identity == f"{tool} {name} 1.0"


@pytest.mark.slow
def test_machine_without_any_compiler_plans_with_a_warning(tmp_path: Path) -> None:
    """Planning places without a search, and says so and what to install; what needs compiled code ends with that error."""
    planned = _kibi("plan", kibi.demo.model_path(), "--json", path=str(tmp_path), cache=tmp_path / "cache")
    assert not planned.returncode, planned.stderr
    best = kibi.plan(kibi.simplify(kibi.load(kibi.demo.model_path())), target="cortex-m4").arena_bytes
    arena = json.loads(planned.stdout)["arena_bytes"]
    assert arena > best
    assert f"{arena:,} bytes instead of {best:,}" in (DOCS / "smaller-install.md").read_text(encoding="utf-8")
    words = ("verify", kibi.demo.model_path(), "--compiler", "gcc")
    verified = _kibi(*words, path=str(tmp_path), cache=tmp_path / "cache")
    assert verified.returncode == _EXIT
    for done in (planned, verified):
        assert "pip install ziglang" in done.stderr
        assert "apt install gcc" in done.stderr
        assert done.stderr.count("placed without a search") == 1


def test_page_names_the_packages_of_the_smaller_install() -> None:
    """What the page says to install is what Kibi depends on, but for ziglang."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = [each.partition(">")[0] for each in project["dependencies"] if not each.startswith("ziglang")]
    text = (DOCS / "smaller-install.md").read_text(encoding="utf-8")
    (line,) = [line for line in text.splitlines() if line.startswith("pip install numpy")]
    assert line.removeprefix("pip install ").split() == wanted
