"""`python -m tests.mutations`: makes one bug after another in a copy of Kibi, and says which of them the tests catch."""

import argparse
import json
import re
import sys
from collections.abc import Sequence
from fnmatch import fnmatch

from tests.mutations.mutation import Mutation
from tests.mutations.mutations import MUTATIONS
from tests.mutations.runner import Outcome, Result, run

_ALL_TESTS = ("-n", "auto")
"""All that `make test` runs; the runner itself leaves out what is slow."""
_OWN_TESTS = ("-n", "0")
_NUMBERS = re.compile(r"([0-9]+)(?:-([0-9]+))?")
_WIDTHS = (3, 52, 44, 10, 7, 0)
"""Of the table's columns, in characters."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the chosen mutations; returns 1 if a bug is not caught.

    Each gives a row of a table on standard output: its number, name and file, whether it was caught, the seconds that its tests
    took, and the tests.
    """
    parser = argparse.ArgumentParser(prog="python -m tests.mutations", description=__doc__)
    parser.add_argument(
        "--only",
        nargs="+",
        metavar="NAME",
        default=["*"],
        help="the mutations of these names, patterns 'planner.*', numbers 7 or ranges 20-39",
    )
    parser.add_argument("--list", action="store_true", help="print the mutations, and run nothing")
    parser.add_argument(
        "--all-tests", action="store_true", help="run all tests of `make check`, not only the named ones"
    )
    parser.add_argument("--sound", action="store_true", help="leave the bugs out: then every test must pass")
    parser.add_argument("--json", action="store_true", help="for programs: one object")
    given = parser.parse_args(arguments)
    chosen = chosen_by(given.only)
    if not chosen:
        parser.error(f"no mutation is called {', '.join(given.only)}; --list prints all")
    if given.list:
        _list(chosen, as_json=given.json)
        return 0
    wanted = Outcome.NOT_CAUGHT if given.sound else Outcome.CAUGHT
    results = []
    if not given.json:
        _say(_row("no.", "mutation", "file", "result", "seconds", "tests") + "\n|--:|---|---|---|--:|---|")
    for mutation in chosen:
        tests = _ALL_TESTS if given.all_tests else (*_OWN_TESTS, *mutation.tests)
        result = run(mutation, tests=tests, is_sound=given.sound)
        results.append(result)
        if not given.json:
            _say(_row_of(result, tests))
        if result.outcome is not wanted:
            sys.stderr.write(
                f"{mutation.id}: {result.outcome.value}\n    " + result.text.replace("\n", "\n    ") + "\n"
            )
    wrong = [result for result in results if result.outcome is not wanted]
    if given.json:
        _say(json.dumps([_record(result) for result in results], indent=1))
    else:
        seconds = sum(result.seconds for result in results)
        what = "passed as they should without the bugs of" if given.sound else "caught"
        _say(f"\n{what} {len(results) - len(wrong)} of {len(results)} in {seconds:.0f} s")
        for result in wrong:
            _say(f"{result.outcome.value}: {result.mutation.id}: {result.mutation.bug}")
    return int(bool(wrong))


def _say(text: str) -> None:
    print(text, flush=True)  # noqa: T201 - a program's output


def chosen_by(patterns: Sequence[str]) -> list[Mutation]:
    """Returns the mutations that names, patterns, numbers from 1 or ranges of numbers choose, in their order."""
    return [
        mutation
        for number, mutation in enumerate(MUTATIONS, 1)
        if any(_chooses(pattern, number, mutation) for pattern in patterns)
    ]


def _chooses(pattern: str, number: int, mutation: Mutation) -> bool:
    if found := _NUMBERS.fullmatch(pattern):
        return int(found[1]) <= number <= int(found[2] or found[1])
    return fnmatch(mutation.id, pattern)


def _row(*cells: str) -> str:
    """Returns a row of the table, in which the narrow columns are aligned."""
    return "| " + " | ".join(f"{cell:{width}}" for cell, width in zip(cells, _WIDTHS, strict=True)).rstrip() + " |"


def _row_of(result: Result, tests: Sequence[str]) -> str:
    mutation = result.mutation
    cells = (mutation.id, mutation.file, result.outcome.value, f"{result.seconds:7.1f}", " ".join(tests))
    return _row(f"{MUTATIONS.index(mutation) + 1:>3}", *cells)


def _list(mutations: Sequence[Mutation], *, as_json: bool) -> None:
    if as_json:
        _say(
            json.dumps([{"id": each.id, "file": each.file, "bug": each.bug, "tests": each.tests} for each in mutations])
        )
        return
    for each in mutations:
        _say(f"{MUTATIONS.index(each) + 1:>3} {each.id:<{_WIDTHS[1]}} {each.file}: {each.bug}")


def _record(result: Result) -> dict[str, object]:
    mutation = result.mutation
    return {
        "number": MUTATIONS.index(mutation) + 1,
        "id": mutation.id, "file": mutation.file, "bug": mutation.bug, "outcome": result.outcome.value, "test": result.test,
        "seconds": round(result.seconds, 1),
    }  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
