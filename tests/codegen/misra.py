"""Which rules of MISRA C:2012 cppcheck's addon reports on the C of Kibi."""

import re
import subprocess
import sys
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

_REPORT = re.compile(r"^(?P<file>[^:\n]+):\d+:misra-c2012-(?P<rule>[\d.]+)$", re.MULTILINE)
_ROW = re.compile(
    r"^\| (?P<rule>\d+\.\d+) \| (?P<category>\w+) \| (?P<about>[^|]+) \| (?P<places>\w+) \| (?P<why>[^|]+) \|$"
)
_PLACES = {"kernels": frozenset({"kernels"}), "model": frozenset({"model"}), "both": frozenset({"kernels", "model"})}
CATEGORIES = ("mandatory", "required", "advisory")


@dataclass(frozen=True, slots=True)
class Deviation:
    """A row of the page.

    Attributes:
        rule: its number.
        category: one of `CATEGORIES`.
        places: where it is reported: `kernels`, `model` or both.
        why: the reason.
    """

    rule: str
    category: str
    places: frozenset[str]
    why: str


def deviations(page: str) -> list[Deviation]:
    """Returns the rows of the page's table, in their order."""
    table = page.partition("<!-- rules -->\n")[2].partition("<!-- /rules -->")[0].splitlines()[2:]
    found = [_ROW.match(line) for line in table]
    assert all(found), [line for line, each in zip(table, found, strict=True) if each is None]
    return [Deviation(each["rule"], each["category"], _PLACES[each["places"]], each["why"]) for each in found if each]


def reported(files: Iterable[Path], workers: int = 1) -> set[tuple[str, str]]:
    """Returns each rule with the place in which it is reported: `kernels` for files that are named so, else `model`.

    Args:
        files: C files, with their headers beside them or in their folder `kernels`.
        workers: so many at once.
    """
    with ThreadPoolExecutor(workers) as pool:
        outputs = list(pool.map(_checked, files))
    return {
        (found["rule"], "kernels" if Path(found["file"]).name.startswith("kibi") else "model")
        for output in outputs
        for found in _REPORT.finditer(output)
    }


def _checked(file: Path) -> str:
    """What cppcheck says of a file; it fails on one that it cannot read."""
    command = [sys.executable, "-m", "cppcheck", "--addon=misra", "--std=c99", "--enable=style", "--quiet"]
    done = subprocess.run(
        [*command, "--template={file}:{line}:{id}", str(file)], capture_output=True, text=True, check=True
    )
    broken = [line for line in done.stderr.splitlines() if line.endswith((":syntaxError", ":internalError"))]
    assert not broken, broken
    return done.stderr
