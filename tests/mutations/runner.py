"""Runs tests on copies of the project with one bug each; the checkout does not change.

Compiled code is cached by contents: a bug in C is compiled, and the cache of sound code stays sound.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from time import monotonic

from tests.mutations.mutation import Mutation

PROJECT = Path(__file__).resolve().parents[2]
_COPIED = (
    *("src", "tests", "docs", "examples", "benchmarks", "pyproject.toml", "Makefile", "LICENSE"),
    *("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"),
)
"""All parts of the project that tests read."""
_FAILED = re.compile(r"^(?:FAILED|ERROR) (\S+)", re.MULTILINE)
_PASSED = re.compile(r"\b[1-9]\d* passed\b")
_TAIL_LINES = 40
_CRASHES = frozenset({signal.SIGABRT, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGSEGV, signal.SIGTRAP})
"""What native code ends with that is wrong; whoever ends the tests by another signal has seen no bug."""
_OK, _TESTS_FAILED = 0, 1
"""Exit codes of pytest: all others mean that tests did not run as they should."""


class Outcome(Enum):
    """Whether tests catch a bug."""

    CAUGHT = "caught"
    NOT_CAUGHT = "NOT CAUGHT"
    NOT_TESTED = "NOT TESTED"
    """No test ran: no test has these names, all are skipped here, or the copy cannot be imported."""


@dataclass(frozen=True, slots=True)
class Result:
    """The result of a run.

    Attributes:
        mutation: the bug.
        outcome: whether the tests caught it.
        test: the first that failed; empty where none did.
        seconds: how long they took.
        text: the end of their output.
    """

    mutation: Mutation
    outcome: Outcome
    test: str
    seconds: float
    text: str


def run(mutation: Mutation, *, tests: Sequence[str] | None = None, is_sound: bool = False) -> Result:
    """Runs tests on a copy with a bug.

    Args:
        mutation: the bug.
        tests: arguments of pytest; None: the mutation's own.
        is_sound: True to leave the bug out, which shows that the tests fail because of the bug alone.
    """
    with _copy() as project:
        if not is_sound:
            mutation.apply(project)
        started = monotonic()
        chosen = mutation.tests if tests is None else tests
        options = ("-x", "-q", "-m", "not slow", "-p", "no:cacheprovider", "--tb=short")
        code, text = _python(project, "-m", "pytest", *options, *chosen)
        seconds = monotonic() - started
    failed = _FAILED.search(text)
    return Result(mutation, outcome_of(code, text), failed[1] if failed else "", seconds, _tail(text))


def outcome_of(code: int, text: str) -> Outcome:
    """Returns the meaning of pytest's exit code and output for a bug."""
    if code == _OK:
        return Outcome.NOT_CAUGHT if _PASSED.search(text) else Outcome.NOT_TESTED
    return Outcome.CAUGHT if code == _TESTS_FAILED or -code in _CRASHES else Outcome.NOT_TESTED


def _tail(text: str) -> str:
    return "\n".join(text.splitlines()[-_TAIL_LINES:])


@contextmanager
def _copy() -> Iterator[Path]:
    """Yields a copy of the project in a temporary folder, whose package the tests there import."""
    with tempfile.TemporaryDirectory(prefix="kibi-mutation-") as folder:
        project = Path(folder).resolve()
        for name in _COPIED:
            source = PROJECT / name
            if source.is_dir():
                shutil.copytree(source, project / name, ignore=shutil.ignore_patterns("__pycache__"))
            elif source.exists():
                shutil.copy2(source, project / name)
        _, found = _python(project, "-c", "import importlib.util as u; print(u.find_spec('kibi').origin)")
        if Path(found.strip()) != project / "src" / "kibi" / "__init__.py":
            raise RuntimeError(f"a copy of Kibi in {project} was to be tested, but Python imports {found.strip()}")
        yield project


def _python(project: Path, *arguments: str) -> tuple[int, str]:
    """Runs Python in a copy, on its package; returns the exit code and the output.

    Hypothesis draws the same models each time, so that a bug that is caught is caught again.
    """
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    paths = [str(project / "src"), inherited.get("PYTHONPATH", "")]
    environment = {
        **inherited,
        "PYTHONPATH": os.pathsep.join(filter(None, paths)),
        "HYPOTHESIS_PROFILE": "ci",
    }
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=project, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
    )  # fmt: skip
    return done.returncode, done.stdout.decode(errors="replace")
