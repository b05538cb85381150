"""All that CI runs but the linter: the tests, and beside them what keeps one core busy, the types and then the wheel's stage.

    python tests/check.py -n 2

Arguments are those of pytest's run of the tests. The exit code is that of the first part that failed.
"""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

_BESIDE = (
    (sys.executable, "-m", "mypy"),
    (sys.executable, str(Path("tests") / "wheel.py"), "-q", "-n", "1", "-m", "not slow and not oracle"),
)


def _beside() -> list[tuple[tuple[str, ...], int, str]]:
    """Runs one part after the other, and returns their commands, exit codes and outputs."""
    done = [
        (each, subprocess.run(each, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)) for each in _BESIDE
    ]
    return [(each, run.returncode, run.stdout.decode(errors="replace")) for each, run in done]


def main() -> int:
    """Runs all parts, prints what those beside the tests had to say, and returns the exit code."""
    with ThreadPoolExecutor(1) as pool:
        beside = pool.submit(_beside)
        tests = subprocess.run([sys.executable, "-m", "pytest", "-m", "not slow", *sys.argv[1:]], check=False)
        others = beside.result()
    for command, _, output in others:
        sys.stdout.write(f"\n$ python {' '.join(command[1:])}\n{output}")
    return next((code for code in (tests.returncode, *(code for _, code, _ in others)) if code), 0)


if __name__ == "__main__":
    sys.exit(main())
