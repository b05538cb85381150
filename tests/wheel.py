"""Builds the wheel, installs it into an environment of its own, and runs the tests on it, far from the source tree.

Usage: `python tests/wheel.py [PYTEST ARGUMENT ...]`, by a Python that has `build`.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[1]
# Whether the package is complete: the story in Python, the command line, the native helpers, the shipped model, compilers and
# emulators from the installed packages. TFLM is not among what it needs. What else the tests look at does not depend on the place.
_TESTS = ("tests/test_installed.py", "tests/demo", "tests/cli/test_main.py")


def main(arguments: list[str]) -> int:
    """Returns the exit code of the tests."""
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        _run(sys.executable, "-m", "build", "--quiet", "--wheel", "--outdir", str(work / "dist"), str(_ROOT))
        _run(sys.executable, "-m", "venv", "--without-pip", str(work / "venv"))
        python = str(work / "venv" / ("Scripts" if os.name == "nt" else "bin") / "python")
        install = (sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-compile")
        # What these tests need, without Kibi itself, which comes from the wheel alone.
        _run(*install, "--group", "wheel", folder=_ROOT)
        _run(*install, *map(str, (work / "dist").glob("*.whl")))
        away = work / "away"
        shutil.copytree(_ROOT / "tests", away / "tests", ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy2(_ROOT / "pyproject.toml", away)
        command = [python, "-m", "pytest", "-p", "no:cacheprovider", *arguments, *_TESTS]
        return subprocess.run(command, cwd=away, check=False).returncode


def _run(*command: str, folder: Path | None = None) -> None:
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
