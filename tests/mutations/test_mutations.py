"""Each mutation can still be made, and the runner tells a test that catches a bug from one that does not."""

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from tests.mutations.__main__ import chosen_by
from tests.mutations.mutation import PACKAGE, Mutation
from tests.mutations.mutations import MUTATIONS
from tests.mutations.runner import PROJECT, Outcome, outcome_of, run

_AREAS = frozenset(
    {
        "kernels",
        "packages",
        "planner",
        "codegen",
        "importer",
        "onnx",
        "selection",
        "pages",
        "passes",
        "quant",
        "operators",
        "eager",
        "runtime",
        "update",
        "engines",
        "reports",
        "quantization",
        "arrays",
        "sweeps",
        "gate",
        "emulator",
        "debugger",
        "qemu",
    }
)
_LEAST = 48
_QUICK = "importer.int4-has-the-upper-half-first"


def test_mutations_still_apply_and_name_tests_that_exist() -> None:
    """The file of each holds its text once, the new text is another one, and the files of its tests exist."""
    problems = {mutation.id: problem for mutation in MUTATIONS if (problem := _problem(mutation))}
    assert not problems


def _problem(mutation: Mutation) -> str:
    """What is wrong with a mutation as it is written; empty where nothing is."""
    paths = [each.partition("::")[0] for each in mutation.tests if each.startswith("tests/")]
    missing = [path for path in paths if not (PROJECT / path).exists()]
    if missing or not paths:
        return f"its tests do not exist: {missing}" if missing else "it names no test"
    if mutation.new == mutation.old or not mutation.old or "\n" in mutation.old + mutation.new:
        return "it does not change one line"
    return mutation.problem(PROJECT)


def test_mutations_are_many_in_every_area_and_told_apart() -> None:
    """There are enough in every area, and no two are equal."""
    assert len(MUTATIONS) >= _LEAST
    assert {mutation.area for mutation in MUTATIONS} == _AREAS
    assert max(Counter(mutation.id for mutation in MUTATIONS).values()) == 1
    assert max(Counter((mutation.file, mutation.old, mutation.new) for mutation in MUTATIONS).values()) == 1


def test_mutation_of_a_text_that_is_gone_is_noticed() -> None:
    """A text that changed or that the file holds twice, or a file that moved, is a problem with a reason."""
    sound = MUTATIONS[0]
    for changed in (
        replace(sound, old="no such text"),
        replace(sound, old="int32_t"),
        replace(sound, file="no/such/file.c"),
        replace(sound, after="no such text"),
        replace(sound, after=sound.old, old="#ifndef"),
    ):
        assert changed.problem(PROJECT)


def test_mutation_after_a_text_changes_what_follows_it(tmp_path: Path) -> None:
    """Of several equal texts the first after `after` is replaced, and nothing else."""
    path = tmp_path / PACKAGE / "file.c"
    path.parent.mkdir(parents=True)
    path.write_text("a = 1;\nsecond:\na = 1;\na = 1;\n")
    Mutation("kernels.two", "file.c", "a = 1;", "a = 2;", "It is 2.", (), after="second:\n").apply(tmp_path)
    assert path.read_text() == "a = 1;\nsecond:\na = 2;\na = 1;\n"


def test_mutations_are_chosen_by_name_pattern_and_number() -> None:
    """Numbers count from 1, as in the table; a range includes its ends."""
    assert chosen_by([MUTATIONS[4].id, "2", "7-8"]) == [MUTATIONS[place] for place in (1, 4, 6, 7)]
    assert {each.area for each in chosen_by(["planner.*"])} == {"planner"}
    assert chosen_by(["no.such-name", "0", "9999"]) == []


@pytest.mark.slow
def test_runner_tells_a_bug_that_is_caught_from_one_that_is_not() -> None:
    """A test fails on the copy with the bug and passes without it; the checkout stays as it is."""
    (mutation,) = (each for each in MUTATIONS if each.id == _QUICK)
    tests = ("-n", "0", "-k", "lower_half_first", *mutation.tests)
    caught = run(mutation, tests=tests)
    assert (caught.outcome, bool(caught.test)) == (Outcome.CAUGHT, True), caught.text
    assert run(mutation, tests=tests, is_sound=True).outcome is Outcome.NOT_CAUGHT
    assert not mutation.problem(PROJECT)


@pytest.mark.parametrize(
    ("code", "text", "outcome"),
    [
        (0, "3 passed, 1 skipped in 1.00s", Outcome.NOT_CAUGHT),
        (0, "4 skipped in 1.00s", Outcome.NOT_TESTED),
        (1, "1 failed, 3 passed in 1.00s", Outcome.CAUGHT),
        (2, "1 error in 1.00s", Outcome.NOT_TESTED),
        (5, "4 deselected in 1.00s", Outcome.NOT_TESTED),
        (-11, "", Outcome.CAUGHT),
        (-15, "", Outcome.NOT_TESTED),
    ],
)
def test_outcome_follows_from_how_the_tests_ended(code: int, text: str, outcome: Outcome) -> None:
    """Tests that did not run say nothing about a bug, nor does a copy that cannot be imported; a crash catches it."""
    assert outcome_of(code, text) is outcome
